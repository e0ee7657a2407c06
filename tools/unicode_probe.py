"""What the reference knows of each code point: the questions that tools/unicode_tables.py asks.

Several libraries of different Unicode versions meet in the reference (Rust's ``char``, the regex crate, Oniguruma,
unicode_categories, unicode-normalization-alignments, unicode-segmentation, its own table of scripts). So no Unicode
database is read here: each class and each mapping is taken by calling the component of the installed reference that
uses it, on every scalar value. Names (categories, scripts) are looked up in the reference too: a class is named by the
Oniguruma property that it matches. Python's own tables only lend the numbers of the canonical combining classes.
"""

from __future__ import annotations

import struct
import sys
import unicodedata
from collections.abc import Callable, Sequence

from tokenizers import NormalizedString, Regex, normalizers, pre_tokenizers

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
GRAPHEME_CLASS_NAMES = """
    Other CR LF Control Extend Conjunct_Extend Linker ZWJ Regional_Indicator Prepend Spacing_Mark L V T LV LVT
    Pictographic Consonant
"""
GRAPHEME_CLASSES = GRAPHEME_CLASS_NAMES.split()
HANGUL_SECONDS = {*range(V_BASE, V_BASE + V_COUNT), *range(T_BASE + 1, T_BASE + T_COUNT)}


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


def props() -> dict[int, int]:
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


def categories() -> dict[int, str]:
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


def onig_scripts() -> dict[int, str]:
    result: dict[int, str] = {}
    for name in SCRIPTS:
        members = onig(rf"\p{{{name}}}")
        need(not members & result.keys(), f"script {name} overlaps another")
        result.update(dict.fromkeys(members, name))
    need(len(result) == len(SCALARS), "a code point without script")
    return result


def scripts(onig_script: dict[int, str]) -> dict[int, str]:
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


def case() -> tuple[dict[int, str], dict[int, str]]:
    def upper(text: str) -> str:
        string = NormalizedString(text)
        string.uppercase()
        return string.normalized

    return (
        dict(zip(SCALARS, map_each(normalizers.Lowercase().normalize_str), strict=True)),
        dict(zip(SCALARS, map_each(upper), strict=True)),
    )


def normal_forms() -> dict[str, dict[int, str]]:
    """NFD, NFKD, NFC and NFKC of each character."""
    return {
        form: dict(zip(SCALARS, map_each(getattr(normalizers, form)().normalize_str), strict=True))
        for form in ("NFD", "NFKD", "NFC", "NFKC")
    }


def combining_classes(nfd: dict[int, str]) -> dict[int, int]:
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


def compositions(nfd: dict[int, str], nfc: dict[int, str], ccc: dict[int, int]) -> dict[tuple[int, int], int]:
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


def foldings() -> dict[int, int]:
    """Case folding as (?i) of Oniguruma has it: the representative of each character that equals another.

    Equality of single characters; that (?i) also lets "ss" match one character is not in it. The representative is
    the smallest of those that are their own lower case.
    """

    def escaped(chars: str) -> str:
        return "".join(rf"\x{{{ord(c):x}}}" for c in chars)

    def matched(pattern: str, text: str) -> str:
        splitter = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
        return "".join(piece for piece, _ in splitter.pre_tokenize_str(text))

    # What has a case by Oniguruma's properties, and all that equals one of these.
    cased = matched(r"[\p{Cased}\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]", TEXT)
    text = matched(f"(?i:[{escaped(cased)}])", TEXT)
    # No two others are equal: they would differ in a bit, and one half by this bit would match one of the other half.
    others = [c for c in matched(r"[^\p{Cn}\p{Co}]", TEXT) if c not in set(text)]
    for bit in range(21):
        halves = ["".join(c for c in others if ord(c) >> bit & 1 == value) for value in (0, 1)]
        for at in range(0, len(halves[0]), 5000):  # Oniguruma takes 10000 ranges
            class_ = f"(?i:[{escaped(halves[0][at : at + 5000])}])"
            need(not halves[1] or not matched(class_, halves[1]), "(?i) of characters without case")
    result: dict[int, int] = {}
    for c in text:
        if ord(c) in result:
            continue
        equal = matched(f"(?i:{escaped(c)})", FENCE.join(text))
        for d in equal:
            need(matched(f"(?i:[{escaped(d)}])", FENCE.join(text)) == equal, f"(?i) of U+{ord(c):04X} is no equality")
        own = [d for d in equal if d.lower() == d] or list(equal)
        result.update({ord(d): ord(min(own)) for d in equal})
    return {c: d for c, d in result.items() if any(d == e for f, e in result.items() if f != c)}


def charsmap(mapping: dict[str, str]) -> bytes:
    """The precompiled_charsmap that replaces some characters: the size of a double array, its units, the results."""
    trie: dict[int, dict | str] = {}
    for key, value in mapping.items():
        node = trie
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[0] = value
    units, bases, results, todo = {0: 0}, set(), bytearray(), [(0, trie)]
    while todo:
        at, node = todo.pop()
        base = 1
        while base in bases or any(base ^ label in units for label in node):
            base += 1
        bases.add(base)
        units[at] |= (at ^ base) << 10 | (0 in node) << 8
        for label, child in node.items():
            if label:
                units[base ^ label] = label
                todo.append((base ^ label, child))
            else:
                units[base] = 1 << 31 | len(results)
                results += child.encode() + b"\0"
    array = b"".join(struct.pack("<I", units.get(i, 0)) for i in range(max(units) + 256))
    return struct.pack("<I", len(array)) + array + bytes(results)


def grapheme_classes() -> dict[int, str]:
    """Grapheme_Cluster_Break with what its rules need of Indic_Conjunct_Break and Extended_Pictographic, in one.

    Clusters show in the Precompiled normalizer: a cluster of less than 6 bytes is replaced as a whole by what its
    first character maps to; in any other each character is mapped by itself. So of a mapped character and U+0300 the
    mark is lost if a cluster starts at the character, and kept otherwise. Longer clusters count only in so far as they
    begin before such a character; what no call can tell is taken from where it is in Unicode for good: which Hangul
    are syllables (V or LV, T or LVT), and the regional indicators.
    """
    mark, fence = "\u0300", "\x01"  # a control character: a cluster of its own

    def ask(mapping: dict[str, str], make: Callable[[str], str]) -> list[str]:
        call = normalizers.Precompiled(charsmap(mapping)).normalize_str
        result = call(fence.join(make(c) if c != fence else "" for c in CHARS)).split(fence)
        need(len(result) == len(CHARS), "a text of clusters gives the fence")
        return result

    def joins(key: str, make: Callable[[str], str]) -> set[int]:
        """The characters c such that no cluster starts at the key that follows the text made of c."""
        result = ask({key: "#"}, lambda c: make(c) + key + mark)
        need(all(r.endswith(("#", "#" + mark)) for c, r in zip(CHARS, result, strict=True) if c != fence), "clusters")
        return {c for c, r in zip(SCALARS, result, strict=True) if r.endswith("#" + mark)}

    extending = {c for c, r in zip(SCALARS, ask({"x": "#"}, lambda c: "x" + c), strict=True) if r == "#"}
    prepend = joins("x", lambda c: c)
    zwj = joins("\xae", lambda c: "\xa9" + c) - prepend
    pictographic = joins("\xae", lambda c: c + "\u200d")
    extend = joins("\xae", lambda c: "\xa9" + c + "\u200d") & extending
    before = {
        name: joins(key, lambda c: c) - prepend for name, key in [("L", "\u1100"), ("V", "\u1161"), ("T", "\u11a8")]
    }
    consonant = joins("\u0915", lambda c: c + "\u094d")
    linker = joins("\u0915", lambda c: "\u0916" + c) - prepend - zwj
    conjunct = joins("\u0915", lambda c: "\u0916" + c + "\u094d") - consonant
    need(zwj == {0x200D} and zwj <= conjunct and linker <= conjunct <= extend | zwj, "conjunct classes of graphemes")
    leading = before["L"]
    need(leading <= before["V"] and not leading & before["T"], "Hangul in graphemes")
    syllables = set(range(S_BASE, S_BASE + S_COUNT))
    need(syllables <= before["T"], "Hangul syllables in graphemes")
    # A cluster starts at U+0301 in c U+0301 U+0300 after a control character only.
    control = {
        c for c, r in zip(SCALARS, ask({"\u0301": "#"}, lambda c: f"{c}\u0301{mark}"), strict=True) if r[-1:] == "#"
    }
    parts = {
        "CR": {0x0D},
        "LF": {0x0A},
        "Control": (control | {ord(fence)}) - {0x0A, 0x0D},
        "Extend": extend - conjunct - zwj,
        "Conjunct_Extend": conjunct - linker - zwj,
        "Linker": linker,
        "ZWJ": zwj,
        "Regional_Indicator": set(range(0x1F1E6, 0x1F200)),
        "Prepend": prepend,
        "Spacing_Mark": extending - extend - zwj,
        "L": leading,
        "V": before["V"] & before["T"] - syllables,
        "T": before["T"] - before["V"] - syllables,
        "LV": before["V"] & syllables,
        "LVT": syllables - before["V"],
        "Pictographic": pictographic,
        "Consonant": consonant,
    }
    result = dict.fromkeys(SCALARS, "Other")
    for name, members in parts.items():
        need(all(result[c] == "Other" for c in members), f"class {name} of graphemes overlaps another")
        result.update(dict.fromkeys(members, name))
    return result
