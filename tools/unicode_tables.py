"""Make hftok/_core/unicode_tables.h: Unicode as the reference sees it.

Several libraries of different Unicode versions meet in the reference (Rust's ``char``, the regex crate, Oniguruma,
unicode_categories, unicode-normalization-alignments, its own table of scripts). So no Unicode database is read here:
each class and each mapping is taken by calling the component of the installed reference that uses it, on every scalar
value. Names (categories, scripts) are looked up in the reference too: a class is named by the Oniguruma property that
it matches. Python's own tables only lend the numbers of the canonical combining classes.

    python tools/unicode_tables.py            write the header
    python tools/unicode_tables.py --check    fail if the header on disk differs from what would be written

The header is read by tests/unit/test_unicode.py, which compares it with the reference again, by other means.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence

import tokenizers
from tokenizers import NormalizedString, Regex, normalizers, pre_tokenizers

HEADER = pathlib.Path(__file__).resolve().parent.parent / "hftok" / "_core" / "unicode_tables.h"

LIMIT = 0x110000
SCALARS = [c for c in range(LIMIT) if not 0xD800 <= c < 0xE000]
CHARS = [chr(c) for c in SCALARS]
TEXT = "".join(CHARS)

# A letter without case, decomposition or combining class, that nothing decomposes to: it keeps probed characters apart.
FENCE = "\ua66e"
FENCE_FOR_FENCE = "\u4e01"

PROPS = ["WHITESPACE", "NUMERIC", "PUNCTUATION", "OTHER", "MARK_NONSPACING", "COMBINING_MARK", "WORD", "CHINESE"]
CATEGORY_NAMES = "Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co"
CATEGORIES = CATEGORY_NAMES.split()
SCRIPT_NAMES = """
    Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo
    Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common
    Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs
    Elbasan Elymaic Ethiopic Garay Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi
    Gurung_Khema Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited
    Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi
    Khitan_Small_Script Khmer Khojki Khudawadi Kirat_Rai Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian
    Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui
    Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari
    New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian
    Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong
    Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham
    SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le
    Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Todhri Toto Tulu_Tigalari
    Ugaritic Unknown Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square
"""
SCRIPTS = SCRIPT_NAMES.split()

S_BASE, L_BASE, V_BASE, T_BASE = 0xAC00, 0x1100, 0x1161, 0x11A7
S_COUNT, L_COUNT, V_COUNT, T_COUNT = 11172, 19, 21, 28
HANGUL_SECONDS = {*range(V_BASE, V_BASE + V_COUNT), *range(T_BASE + 1, T_BASE + T_COUNT)}


# ---------------------------------------------------------------------------------------------------------- probing


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def need(condition: bool, text: str) -> None:
    if not condition:
        raise SystemExit(f"the reference behaves as this tool does not expect: {text}")


def map_each(call: Callable[[str], str], chars: Sequence[str] = CHARS) -> list[str]:
    """What `call` makes of each character, from one call on all of them with a fence between."""
    result = call(FENCE.join(c if c != FENCE else "" for c in chars)).split(FENCE)
    need(len(result) == len(chars), "a mapping gives the fence")
    if FENCE in chars:
        result[chars.index(FENCE)] = call(FENCE_FOR_FENCE + FENCE + FENCE_FOR_FENCE).strip(FENCE_FOR_FENCE)
    return result


def spans(splitter: pre_tokenizers.PreTokenizer, text: str) -> list[tuple[int, int]]:
    return [span for _, span in splitter.pre_tokenize_str(text)]


def starts_after_letter(splitter: pre_tokenizers.PreTokenizer) -> list[bool]:
    """For each character whether a pre-token starts at it in "a" c "a" c ..."""
    text = "a" + "a".join(CHARS)
    starts = {start for start, _ in spans(splitter, text)}
    return [1 + 2 * i in starts for i in range(len(CHARS))]


def covered(splitter: pre_tokenizers.PreTokenizer) -> bytearray:
    """One byte for each character of TEXT: 1 where a pre-token covers it."""
    result = bytearray(len(TEXT))
    for start, end in spans(splitter, TEXT):
        result[start:end] = b"\1" * (end - start)
    return result


def onig(pattern: str) -> set[int]:
    """The code points that Oniguruma lets a pattern of one character match."""
    rest = covered(pre_tokenizers.Split(Regex(pattern), "removed"))
    return {c for c, left in zip(SCALARS, rest, strict=True) if not left}


def normalize(*parts: normalizers.Normalizer) -> Callable[[str], str]:
    return normalizers.Sequence(list(parts)).normalize_str


def probe_props() -> dict[int, int]:
    """The bits of uc_props."""
    classes: dict[str, set[int]] = {}
    kept = covered(pre_tokenizers.WhitespaceSplit())
    classes["WHITESPACE"] = {c for c, k in zip(SCALARS, kept, strict=True) if not k}
    for name, splitter in [
        ("NUMERIC", pre_tokenizers.Digits(individual_digits=True)),
        ("PUNCTUATION", pre_tokenizers.Punctuation("isolated")),
    ]:
        classes[name] = {c for c, s in zip(SCALARS, starts_after_letter(splitter), strict=True) if s}

    # \w+|[^\w\s]+ of the regex crate: a word character continues the word, white space is in no pre-token.
    kept = covered(pre_tokenizers.Whitespace())
    spaces = {c for c, k in zip(SCALARS, kept, strict=True) if not k}
    need(spaces == classes["WHITESPACE"], r"\s of the regex crate is char::is_whitespace")
    breaks = starts_after_letter(pre_tokenizers.Whitespace())
    classes["WORD"] = {c for c, s in zip(SCALARS, breaks, strict=True) if not s} - spaces

    # BertNormalizer's clean_text drops NUL, U+FFFD and the control characters, and \t \n \r only become spaces. The
    # class is that of its is_other, so \t \n \r (Cc) are put in and U+FFFD (So) is taken out.
    bert = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    cleaned = map_each(normalizers.BertNormalizer(**{**bert, "clean_text": True}).normalize_str)
    classes["OTHER"] = {c for c, m in zip(SCALARS, cleaned, strict=True) if not m} - {0xFFFD} | {9, 10, 13}
    for c, m in zip(SCALARS, cleaned, strict=True):
        space = c in classes["WHITESPACE"] or c in (9, 10, 13)
        need(m in ("", " " if space else chr(c)), f"clean_text of U+{c:04X}")
    # strip_accents decomposes first. A character that decomposes is never tested itself; it gets the bit if all its
    # parts have it, so that a character with the bit is one that strip_accents removes.
    stripped = map_each(normalizers.BertNormalizer(**{**bert, "strip_accents": True}).normalize_str)
    classes["MARK_NONSPACING"] = {c for c, m in zip(SCALARS, stripped, strict=True) if not m}
    chinese = map_each(normalizers.BertNormalizer(**{**bert, "handle_chinese_chars": True}).normalize_str)
    classes["CHINESE"] = {c for c, m in zip(SCALARS, chinese, strict=True) if m == f" {chr(c)} "}
    marks = map_each(normalizers.StripAccents().normalize_str)
    classes["COMBINING_MARK"] = {c for c, m in zip(SCALARS, marks, strict=True) if not m}

    for name in PROPS:
        say(f"  {name}: {len(classes[name])}")
    return {c: sum(1 << i for i, name in enumerate(PROPS) if c in classes[name]) for c in SCALARS}


def probe_categories() -> dict[int, str]:
    """General category as Oniguruma has it; one for each scalar value."""
    result: dict[int, str] = {}
    for name in CATEGORIES:
        members = onig(rf"\p{{{name}}}")
        need(not members & result.keys(), f"category {name} overlaps another")
        result.update(dict.fromkeys(members, name))
    need(len(result) == len(SCALARS), "a code point without category")
    for name in "LMNPSZC":
        union = {c for c, category in result.items() if category[0] == name}
        need(onig(rf"\p{{{name}}}") == union, rf"\p{{{name}}} is not the union of its categories")
    return result


def probe_onig_scripts() -> dict[int, str]:
    result: dict[int, str] = {}
    for name in SCRIPTS:
        members = onig(rf"\p{{{name}}}")
        need(not members & result.keys(), f"script {name} overlaps another")
        result.update(dict.fromkeys(members, name))
    need(len(result) == len(SCALARS), "a code point without script")
    return result


def probe_scripts(onig_script: dict[int, str]) -> dict[int, str]:
    """Script of the UnicodeScripts pre-tokenizer, "Any" where its table has none.

    The pre-tokenizer starts a piece where the script changes; U+0020 has script Any, a character of script Any never
    starts a piece and leaves the last script as it is, and Hiragana, Katakana and U+30FC count as Han. So classes are
    seen, and Han stands for three scripts; which of the three, and the scripts of U+0020 and U+30FC (both are Common
    in the table), no call can tell, and no output depends on.
    """
    splitter = pre_tokenizers.UnicodeScripts()
    # "a" c U+4EAC c "a" ...: neither c starts a piece <=> Any. (Latin starts one after the ideograph.)
    starts = {start for start, _ in spans(splitter, "".join(f"a{c}\u4eac{c}" for c in CHARS))}
    any_ = {c for i, c in enumerate(SCALARS) if 4 * i + 1 not in starts and 4 * i + 3 not in starts}
    need(0x20 in any_, "U+0020 has a script")
    known = [c for c in SCALARS if c not in any_]
    runs: list[tuple[int, int]] = spans(splitter, "".join(map(chr, known)))
    need(runs[0][0] == 0 and runs[-1][1] == len(known), "UnicodeScripts loses text")
    result = dict.fromkeys(any_, "Any")
    while runs:
        # All runs whose first character has the script of the first run's. No piece starts at such a character after
        # one of that script.
        text = "".join(chr(known[runs[0][0]]) + chr(known[start]) for start, _ in runs)
        starts = {start for start, _ in spans(splitter, text)}
        members: set[int] = set()
        for i, (start, end) in enumerate(runs):
            if 2 * i + 1 not in starts:
                members.update(known[start:end])
        runs = [run for i, run in enumerate(runs) if 2 * i + 1 in starts]
        names = [onig_script[c] for c in members]
        name = max(sorted(set(names)), key=names.count)
        need(name not in result.values(), f"two classes look like {name}")
        result.update(dict.fromkeys(members, name))
        if name == "Han":
            result.update({c: onig_script[c] for c in members if onig_script[c] in ("Hiragana", "Katakana")})
    result[0x20] = result[0x30FC] = "Common"
    return result


def probe_case() -> tuple[dict[int, str], dict[int, str]]:
    def upper(text: str) -> str:
        string = NormalizedString(text)
        string.uppercase()
        return string.normalized

    return (
        dict(zip(SCALARS, map_each(normalizers.Lowercase().normalize_str), strict=True)),
        dict(zip(SCALARS, map_each(upper), strict=True)),
    )


def probe_combining_classes(nfd: dict[int, str]) -> dict[int, int]:
    """Canonical combining class of each code point; those with class 0 are left out.

    Seen only through the order in which NFD puts marks: x y becomes y x iff class(x) > class(y) > 0. Python lends the
    numbers (a character's class never changes from one Unicode version to the next); the comparison of each mark with
    one mark of each class must then confirm them.
    """
    call = normalizers.NFD().normalize_str

    def swapped(pairs: Sequence[tuple[str, str]]) -> list[bool]:
        result = call(FENCE + FENCE.join(x + y for x, y in pairs)).split(FENCE)[1:]
        for (x, y), got in zip(pairs, result, strict=True):
            need(got in (x + y, y + x), f"NFD of {x + y!r}")
        return [got != x + y for (x, y), got in zip(pairs, result, strict=True)]

    lowest, highest = "\u0334", "\u0345"  # of classes 1 and 240
    whole = [c for c in CHARS if nfd[ord(c)] == c and c != FENCE]
    above = swapped([(c, lowest) for c in whole])
    below = swapped([(highest, c) for c in whole])
    marks = [c for c, a, b in zip(whole, above, below, strict=True) if a or b]
    ladder: dict[int, str] = {}
    for c in marks:
        ladder.setdefault(unicodedata.combining(c), c)
    need(0 not in ladder and min(ladder) == 1 and max(ladder) == 240, "a mark that Python does not know")
    result: dict[int, int] = {}
    for number, mark in ladder.items():
        after = swapped([(c, mark) for c in marks])
        before = swapped([(mark, c) for c in marks])
        for c, a, b in zip(marks, after, before, strict=True):
            if not a and not b:
                need(ord(c) not in result, f"U+{ord(c):04X} has two combining classes")
                result[ord(c)] = number
    need(result.keys() == set(map(ord, marks)), "a mark that equals no class")
    # A character that decomposes is never asked for its class; it gets that of the first of its parts.
    for c, parts in nfd.items():
        if parts != chr(c) and (number := result.get(ord(parts[0]), 0)):
            result[c] = number
    return result


def is_hangul(c: int) -> bool:
    return 0 <= c - S_BASE < S_COUNT


def probe_compositions(nfd: dict[int, str], nfc: dict[int, str], ccc: dict[int, int]) -> dict[tuple[int, int], int]:
    """Every pair that NFC joins, Hangul left out.

    A primary composite c decomposes to its pair (a, b); b is the last part of its full decomposition, a is what NFC
    makes of the parts before. All firsts are then tried with all seconds, so that a pair cannot be missed that joins
    to a character with another decomposition; but for pairs whose second moves before a mark of the first.
    """
    call = normalizers.NFC().normalize_str
    result: dict[tuple[int, int], int] = {}
    for c, parts in nfd.items():
        if len(parts) > 1 and nfc[c] == chr(c) and not is_hangul(c):
            first = call(parts[:-1])
            need(len(first) == 1, f"U+{c:04X} is not made of a pair")
            result[ord(first), ord(parts[-1])] = c
    firsts = sorted({a for a, _ in result})
    seconds = sorted({b for _, b in result} | HANGUL_SECONDS)
    for b in seconds:
        for a, got in zip(firsts, map_each(call, [chr(a) + chr(b) for a in firsts]), strict=True):
            if 0 < ccc.get(b, 0) < ccc.get(ord(nfd[a][-1]), 0):
                continue
            expected = result.get((a, b))
            need((got == chr(expected)) if expected else len(got) > 1, f"NFC of U+{a:04X} U+{b:04X}")
    return result


def stable_bits(
    nf: dict[str, dict[int, str]], ccc: dict[int, int], pairs: dict[tuple[int, int], int]
) -> dict[int, int]:
    """uc_stable; the rule is written where the header defines it."""
    seconds = {b for _, b in pairs} | HANGUL_SECONDS
    result = {}
    for c in SCALARS:
        bits = 0
        for i, form in enumerate(("NFD", "NFKD", "NFC", "NFKC")):
            if nf[form][c] != chr(c):
                continue
            first = ord(nf["NFKD" if "K" in form else "NFD"][c][0])
            if first in ccc or c in ccc or (form.endswith("C") and (first in seconds or c in seconds)):
                continue
            bits |= 1 << i
        result[c] = bits
    return result


# ---------------------------------------------------------------------------------------------------------- packing


class Header:
    """The text of the header, and the bytes of its data."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.size = 0

    def add(self, text: str) -> None:
        self.lines += text.strip("\n").split("\n")

    def array(self, name: str, bits: int, values: Sequence[int], signed: bool = False) -> None:
        self.size += bits // 8 * len(values)
        self.lines.append(f"static const {'' if signed else 'u'}int{bits}_t {name}[{len(values)}] = {{")
        line = "   "
        for value in values:
            word = f" {value},"
            if len(line) + len(word) > 120:
                self.lines.append(line)
                line = "   "
            line += word
        self.lines += [line, "};"]

    def table(self, name: str, bits: int, values: Sequence[int], default: int = 0) -> None:
        """A two-stage table: pages of 2**shift code points, equal pages kept once; hftok_uc_NAME(cp) reads it.

        Code points from the first page on after which all values are the default are left out, and the accessor gives
        the default there, as it does for numbers that are no code points.
        """
        best: tuple[int, int, list[int], list[int]] | None = None
        for shift in range(5, 9):
            count = len(values) >> shift
            pages = [tuple(values[i << shift : (i + 1) << shift]) for i in range(count)]
            while pages and set(pages[-1]) == {default}:
                pages.pop()
            index = {page: i for i, page in enumerate(dict.fromkeys(pages))}
            first = [index[page] for page in pages]
            second = [value for page in index for value in page]
            size = len(first) * (1 if len(index) <= 256 else 2) + len(second) * bits // 8
            if best is None or size < best[0]:
                best = size, shift, first, second
        assert best is not None
        size, shift, first, second = best
        lower = name.lower()
        self.array(f"hftok_uc_{lower}_1", 8 if max(first) < 256 else 16, first)
        self.array(f"hftok_uc_{lower}_2", bits, second)
        type_ = f"uint{bits}_t"
        self.add(f"""
static inline {type_} hftok_uc_{lower}(uint32_t cp) {{
    if (cp >= 0x{len(first) << shift:X}u) return {default};
    return hftok_uc_{lower}_2[((uint32_t)hftok_uc_{lower}_1[cp >> {shift}] << {shift}) | (cp & {(1 << shift) - 1}u)];
}}
""")
        say(f"  table {name}: pages of {1 << shift}, {size} bytes")

    def enum(self, names: Iterable[tuple[str, int]]) -> None:
        line = "enum {"
        for name, value in names:
            word = f" {name} = {value},"
            if len(line) + len(word) > 118:
                self.lines.append(line)
                line = "   "
            line += word
        self.lines.append(line[:-1] + " };")


def dense(values: dict[int, int], default: int = 0) -> list[int]:
    return [values.get(c, default) for c in range(LIMIT)]


def add_mapping(header: Header, name: str, mapping: dict[int, str]) -> None:
    """uc_lower or uc_upper: an index into differences, or beyond them into sequences."""
    single = {c: ord(m) - c for c, m in mapping.items() if len(m) == 1}
    deltas = [0, *sorted(set(single.values()) - {0})]
    sequences = sorted({m for m in mapping.values() if len(m) != 1})
    need(all(1 < len(m) <= 3 for m in sequences), f"{name} gives more than three characters")
    index = {c: deltas.index(d) for c, d in single.items()}
    index.update({c: len(deltas) + sequences.index(m) for c, m in mapping.items() if len(m) != 1})
    header.table(name, 8, dense(index))
    header.array(f"hftok_uc_{name}_delta", 32, deltas, signed=True)
    header.array(f"hftok_uc_{name}_sequence", 32, [ord(m[i]) if i < len(m) else 0 for m in sequences for i in range(3)])
    header.add(f"""
static inline int uc_{name}(uint32_t cp, uint32_t *out) {{
    uint32_t index = hftok_uc_{name}(cp);
    const uint32_t *sequence;
    if (index < {len(deltas)}u) {{
        out[0] = cp + (uint32_t)hftok_uc_{name}_delta[index];
        return 1;
    }}
    sequence = hftok_uc_{name}_sequence + 3 * (index - {len(deltas)}u);
    out[0] = sequence[0];
    out[1] = sequence[1];
    if (!sequence[2]) return 2;
    out[2] = sequence[2];
    return 3;
}}
""")


def add_decompositions(header: Header, nfd: dict[int, str], nfkd: dict[int, str]) -> None:
    forms = {
        form: {c: m for c, m in mapping.items() if m != chr(c) and not is_hangul(c)}
        for form, mapping in (("nfd", nfd), ("nfkd", nfkd))
    }
    sequences = list(dict.fromkeys(sorted(m for mapping in forms.values() for m in mapping.values())))
    need(max(map(len, sequences)) <= 18 and min(map(len, sequences)) >= 1, "the length of a decomposition")
    starts, pool = [0, 0], []
    for sequence in sequences:
        pool += map(ord, sequence)
        starts.append(len(pool))
    index = {sequence: i + 1 for i, sequence in enumerate(sequences)}
    header.add("/* Decompositions: an index; its sequence lies between two starts. 0: none. */")
    header.array("hftok_uc_decomposition_start", 16, starts)
    header.array("hftok_uc_decomposition_pool", 32, pool)
    header.add(f"""
static inline int hftok_uc_decompose_with(uint32_t cp, uint32_t index, uint32_t *out) {{
    uint32_t at, end;
    int n = 0;
    if (index) {{
        end = hftok_uc_decomposition_start[index + 1];
        for (at = hftok_uc_decomposition_start[index]; at < end; at++) out[n++] = hftok_uc_decomposition_pool[at];
        return n;
    }}
    if (cp - 0x{S_BASE:X}u < {S_COUNT}u) {{ /* Hangul syllables by rule: leading consonant, vowel, trailing consonant */
        uint32_t syllable = cp - 0x{S_BASE:X}u;
        out[0] = 0x{L_BASE:X}u + syllable / {V_COUNT * T_COUNT}u;
        out[1] = 0x{V_BASE:X}u + syllable % {V_COUNT * T_COUNT}u / {T_COUNT}u;
        if (syllable % {T_COUNT}u == 0) return 2;
        out[2] = 0x{T_BASE:X}u + syllable % {T_COUNT}u;
        return 3;
    }}
    out[0] = cp;
    return 1;
}}
""")
    for form, function in (("nfd", "uc_decompose"), ("nfkd", "uc_decompose_compat")):
        header.table(form, 16, dense({c: index[m] for c, m in forms[form].items()}))
        header.add(f"""
static inline int {function}(uint32_t cp, uint32_t *out) {{
    return hftok_uc_decompose_with(cp, hftok_uc_{form}(cp), out);
}}
""")


def add_normalization(header: Header, ccc: dict[int, int], stable: dict[int, int]) -> None:
    classes = sorted(set(ccc.values()))
    need(all(stable[c] == 0 for c in ccc), "a mark that is stable")
    header.add("""
/* Below 16: combining class 0, and the value is uc_stable. From 16 on: not stable, an index into the classes. */
""")
    values = {c: 16 + classes.index(ccc[c]) if c in ccc else stable[c] for c in SCALARS}
    header.table("norm", 8, dense(values, 15), 15)
    header.array("hftok_uc_ccc_values", 8, [0] * 16 + classes)
    header.add("""
static inline int uc_ccc(uint32_t cp) { return hftok_uc_ccc_values[hftok_uc_norm(cp)]; }
static inline int uc_stable(uint32_t cp) {
    int value = hftok_uc_norm(cp);
    return value < 16 ? value : 0;
}
""")


def add_compositions(header: Header, pairs: dict[tuple[int, int], int]) -> None:
    seconds = sorted({b for _, b in pairs})
    ordered = sorted(pairs, key=lambda pair: (pair[1], pair[0]))
    starts = [0, 0] + [sum(1 for pair in ordered if pair[1] <= b) for b in seconds]
    header.add("""
/* Primary composites by their second part: its index (0: it is none), then a range of ascending first parts. */
""")
    header.table("second", 8, dense({b: i + 1 for i, b in enumerate(seconds)}))
    header.array("hftok_uc_first_start", 16, starts)
    header.array("hftok_uc_first", 32, [a for a, _ in ordered])
    header.array("hftok_uc_composite", 32, [pairs[pair] for pair in ordered])
    header.add(f"""
static inline uint32_t uc_compose(uint32_t a, uint32_t b) {{
    uint32_t second = hftok_uc_second(b), low, high, middle;
    if (!second) {{
        if (b - 0x{V_BASE:X}u < {V_COUNT}u && a - 0x{L_BASE:X}u < {L_COUNT}u)
            return 0x{S_BASE:X}u + ((a - 0x{L_BASE:X}u) * {V_COUNT}u + (b - 0x{V_BASE:X}u)) * {T_COUNT}u;
        if (b - 0x{T_BASE + 1:X}u < {T_COUNT - 1}u && a - 0x{S_BASE:X}u < {S_COUNT}u
            && (a - 0x{S_BASE:X}u) % {T_COUNT}u == 0)
            return a + (b - 0x{T_BASE:X}u);
        return 0;
    }}
    low = hftok_uc_first_start[second];
    high = hftok_uc_first_start[second + 1];
    while (low < high) {{
        middle = (low + high) / 2;
        if (hftok_uc_first[middle] < a) low = middle + 1;
        else high = middle;
    }}
    return low < hftok_uc_first_start[second + 1] && hftok_uc_first[low] == a ? hftok_uc_composite[low] : 0;
}}
""")


STABLE = """
/* uc_stable. Bit 0 (NFD) and bit 1 (NFKD): the character has combining class 0 and no decomposition. It is copied
   whatever stands around it, and nothing is moved across it, so runs of such characters may be copied, and what lies
   between two of them normalized apart.

   Bit 2 (NFC) and bit 3 (NFKC): by itself the character is its own normal form, its combining class is 0, and neither
   it nor the first character of its full decomposition is the second part of a composition or has a class other than
   0. So it never joins what stands before it, nor is anything moved across its start; but it may join what follows,
   if that lacks the bit. A text is cut right before any character that has the bit, and the pieces are normalized
   apart. A piece of one character is copied: so a run of characters that have the bit is its own normal form, but for
   its last character, which belongs to the piece with the characters without the bit that follow it. */
"""

INTRODUCTION = f"""
/* Unicode as the reference has it: tokenizers {tokenizers.__version__}.

   Made by tools/unicode_tables.py, which asks the reference about every code point; do not edit. Functions are
   static inline, data static const, so that a module keeps only the tables it uses. All are two-stage tables: the page
   of a code point, then its place in the page, equal pages kept once. Any number may be asked about; what is no
   scalar value has no property, category Cn (surrogates Cs) and maps to itself. Works in C99 and C++. */
#ifndef HFTOK_UNICODE_TABLES_H
#define HFTOK_UNICODE_TABLES_H

#include <stdint.h>

#define UC_REFERENCE_VERSION "{tokenizers.__version__}"
"""


def add_classes(header: Header, props: dict[int, int], category: dict[int, str], onig_script: dict[int, str]) -> None:
    space, word, word_in_class = onig(r"\s"), onig(r"\w"), onig(r"[\w]")
    need(space == onig(r"[\s]") == onig("[[:space:]]"), r"\s within and without brackets")
    need(onig(r"\d") == onig("[[:digit:]]") == {c for c in SCALARS if category[c] == "Nd"}, r"\d is Nd")
    need(onig(r"\p{Word}") == word and onig("[[:word:]]") == word_in_class, r"\w is \p{Word}")
    need(word_in_class == {c for c in word if category[c] != "No"}, r"[\w] is \w without No")
    header.add("""
/* Bits 0-7: uc_props; 8-12: category; 13: space, 14: word, 15: Han, all three as Oniguruma has them. */
""")
    header.enum((f"UC_{name}", 1 << i) for i, name in enumerate(PROPS))
    header.enum((f"UC_GC_{name.upper()}", i) for i, name in enumerate(CATEGORIES))
    values = {
        c: props[c]
        | CATEGORIES.index(category[c]) << 8
        | (c in space) << 13
        | (c in word) << 14
        | (onig_script[c] == "Han") << 15
        for c in SCALARS
    }
    values.update(dict.fromkeys(range(0xD800, 0xE000), CATEGORIES.index("Cs") << 8))
    header.table("class", 16, dense(values))
    header.add("""
static inline uint32_t uc_props(uint32_t cp) { return hftok_uc_class(cp) & 255u; }
static inline int uc_onig_category(uint32_t cp) { return (hftok_uc_class(cp) >> 8) & 31; }
static inline int uc_onig_space(uint32_t cp) { return (hftok_uc_class(cp) >> 13) & 1; }
static inline int uc_onig_han(uint32_t cp) { return (hftok_uc_class(cp) >> 15) & 1; }

/* \\w by itself, \\W, \\b and \\B. Within brackets, as [\\w] or [[:word:]], Oniguruma leaves out U+00B2, U+00B3, U+00B9
   and U+00BC..U+00BE, the only ones of category No. */
static inline int uc_onig_word(uint32_t cp) { return (hftok_uc_class(cp) >> 14) & 1; }
static inline int uc_onig_word_in_class(uint32_t cp) {
    uint32_t value = hftok_uc_class(cp);
    return ((value >> 14) & 1) && ((value >> 8) & 31) != UC_GC_NO;
}
""")


def add_scripts(header: Header, script: dict[int, str], onig_script: dict[int, str]) -> None:
    names = sorted(set(SCRIPTS) - {"Unknown"})
    number = {"Any": 0, "Unknown": 0, **{name: i + 1 for i, name in enumerate(names)}}
    header.add("/* Scripts. */")
    header.enum((f"UC_SCRIPT_{name.upper()}", i) for name, i in number.items())
    header.add(f"""
enum {{ UC_SCRIPT_COUNT = {len(names) + 1} }};
static inline const char *uc_script_name(int script) {{
    static const char *const hftok_uc_names[UC_SCRIPT_COUNT] = {{
""")
    line = '    "Unknown",'
    for name in names:
        word = f' "{name}",'
        if len(line) + len(word) > 120:
            header.lines.append(line)
            line = "   "
        line += word
    header.lines += [line, "    };"]
    header.add("""
    return script >= 0 && script < UC_SCRIPT_COUNT ? hftok_uc_names[script] : "";
}
""")
    header.add("/* The table of the UnicodeScripts pre-tokenizer, and the script that it acts on. */")
    header.table("script", 8, dense({c: number[s] for c, s in script.items()}))
    header.add("""
static inline int uc_script(uint32_t cp) { return hftok_uc_script(cp); }
static inline int uc_script_fixed(uint32_t cp) {
    int script = hftok_uc_script(cp);
    if (cp == 0x20u) return UC_SCRIPT_ANY;
    if (cp == 0x30FCu || script == UC_SCRIPT_HIRAGANA || script == UC_SCRIPT_KATAKANA) return UC_SCRIPT_HAN;
    return script;
}

/* \\p{Script} of Oniguruma. */
""")
    header.table("onig_script", 8, dense({c: number[s] for c, s in onig_script.items()}))
    header.add("static inline int uc_onig_script(uint32_t cp) { return hftok_uc_onig_script(cp); }")


def build() -> tuple[str, int]:
    header = Header()
    header.add(INTRODUCTION)
    say("categories")
    category = probe_categories()
    say("classes")
    props = probe_props()
    say("scripts")
    onig_script = probe_onig_scripts()
    script = probe_scripts(onig_script)
    add_classes(header, props, category, onig_script)
    add_scripts(header, script, onig_script)
    say("case")
    header.add("""
/* Lower and upper case of one character, as Rust's char has them: an index into differences; the indices beyond these
   are sequences of two or three characters. */
""")
    for name, mapping in zip(("lower", "upper"), probe_case(), strict=True):
        add_mapping(header, name, mapping)
    say("normalization")
    forms = {
        form: dict(zip(SCALARS, map_each(normalize(getattr(normalizers, form)())), strict=True))
        for form in ("NFD", "NFKD", "NFC", "NFKC")
    }
    ccc = probe_combining_classes(forms["NFD"])
    pairs = probe_compositions(forms["NFD"], forms["NFC"], ccc)
    say(f"  {len(ccc)} characters with a combining class, {len(pairs)} composites")
    add_decompositions(header, forms["NFD"], forms["NFKD"])
    header.add(STABLE)
    add_normalization(header, ccc, stable_bits(forms, ccc, pairs))
    add_compositions(header, pairs)
    header.add("\n#endif")
    return "\n".join(header.lines) + "\n", header.size


def main() -> int:
    parser = argparse.ArgumentParser(description="Make hftok/_core/unicode_tables.h from the installed reference.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the header is not up to date")
    check = parser.parse_args().check
    text, size = build()
    say(f"{size} bytes of data")
    if check:
        return 0 if HEADER.read_text() == text else 1
    HEADER.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
