"""Make hftok/_core/unicode_tables.h: Unicode as the reference sees it, packed into two-stage tables.

    python tools/unicode_tables.py            write the header
    python tools/unicode_tables.py --check    fail if the header on disk differs from what would be written

unicode_probe.py asks the installed reference about every code point (it takes minutes); this packs the answers. The
tests compare the tables with the reference again, by other means.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Iterable, Sequence

import tokenizers
import unicode_probe as probe
from unicode_probe import L_BASE, L_COUNT, LIMIT, S_BASE, S_COUNT, SCALARS, T_BASE, T_COUNT, V_BASE, V_COUNT, need, say

HEADER = pathlib.Path(__file__).resolve().parent.parent / "hftok" / "_core" / "unicode_tables.h"


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
        form: {c: m for c, m in mapping.items() if m != chr(c) and not probe.is_hangul(c)}
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
    space, word, word_in_class = probe.onig(r"\s"), probe.onig(r"\w"), probe.onig(r"[\w]")
    need(space == probe.onig(r"[\s]") == probe.onig("[[:space:]]"), r"\s within and without brackets")
    need(probe.onig(r"\d") == probe.onig("[[:digit:]]") == {c for c in SCALARS if category[c] == "Nd"}, r"\d is Nd")
    need(probe.onig(r"\p{Word}") == word and probe.onig("[[:word:]]") == word_in_class, r"\w is \p{Word}")
    need(word_in_class == {c for c in word if category[c] != "No"}, r"[\w] is \w without No")
    header.add("""
/* Bits 0-7: uc_props; 8-12: category; 13: space, 14: word, 15: Han, all three as Oniguruma has them. */
""")
    header.enum((f"UC_{name}", 1 << i) for i, name in enumerate(probe.PROPS))
    header.enum((f"UC_GC_{name.upper()}", i) for i, name in enumerate(probe.CATEGORIES))
    values = {
        c: props[c]
        | probe.CATEGORIES.index(category[c]) << 8
        | (c in space) << 13
        | (c in word) << 14
        | (onig_script[c] == "Han") << 15
        for c in SCALARS
    }
    values.update(dict.fromkeys(range(0xD800, 0xE000), probe.CATEGORIES.index("Cs") << 8))
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
    names = sorted(set(probe.SCRIPTS) - {"Unknown"})
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


def add_folding(header: Header, fold: dict[int, int]) -> None:
    deltas = [0, *sorted({d - c for c, d in fold.items()} - {0})]
    header.add("""
/* (?i) of Oniguruma: two characters match each other if this gives the same. (Not in it: one character that matches a
   sequence, as U+00DF and ss.) */
""")
    header.table("fold", 8, dense({c: deltas.index(d - c) for c, d in fold.items()}))
    header.array("hftok_uc_fold_delta", 32, deltas, signed=True)
    header.add("""
static inline uint32_t uc_onig_fold(uint32_t cp) { return cp + (uint32_t)hftok_uc_fold_delta[hftok_uc_fold(cp)]; }
""")


def add_graphemes(header: Header, classes: dict[int, str]) -> None:
    alphabetic, upper, lower = (probe.onig(rf"\p{{{name}}}") for name in ("Alphabetic", "Uppercase", "Lowercase"))
    header.add("""
/* Bits 0-4: class of extended grapheme clusters, one of UC_GB_*; 5: Alphabetic, 6: Uppercase, 7: Lowercase, these three
   as Oniguruma has them. */
""")
    header.enum((f"UC_GB_{name.upper()}", i) for i, name in enumerate(probe.GRAPHEME_CLASSES))
    values = {
        c: probe.GRAPHEME_CLASSES.index(classes[c]) | (c in alphabetic) << 5 | (c in upper) << 6 | (c in lower) << 7
        for c in SCALARS
    }
    header.table("shape", 8, dense(values))
    header.add("""
static inline int uc_onig_alphabetic(uint32_t cp) { return (hftok_uc_shape(cp) >> 5) & 1; }
static inline int uc_onig_uppercase(uint32_t cp) { return (hftok_uc_shape(cp) >> 6) & 1; }
static inline int uc_onig_lowercase(uint32_t cp) { return (hftok_uc_shape(cp) >> 7) & 1; }
static inline int uc_grapheme_class(uint32_t cp) { return hftok_uc_shape(cp) & 31; }

/* Whether an extended grapheme cluster (Unicode Standard Annex 29) starts at cp; called for one character after the
   other, with *state 0 before the first. State: bits 0-4 class of the last character, 5 set once there is one; 6-7: 1
   after a pictograph and its Extend, 2 if a ZWJ followed; 8-9: 1 after a consonant, 2 once a linker followed; 10: after
   an odd number of regional indicators. */
static inline int uc_grapheme_start(uint32_t *state, uint32_t cp) {
    uint32_t old = *state, last = old & 31u, picture = (old >> 6) & 3u, conjunct = (old >> 8) & 3u, odd = old >> 10;
    uint32_t now = hftok_uc_shape(cp) & 31u;
    int extends = now == UC_GB_EXTEND || now == UC_GB_CONJUNCT_EXTEND || now == UC_GB_LINKER;
    int start;
    if (!old) start = 1;
    else if (last == UC_GB_CR && now == UC_GB_LF) start = 0;
    else if (last == UC_GB_CR || last == UC_GB_LF || last == UC_GB_CONTROL) start = 1;
    else if (now == UC_GB_CR || now == UC_GB_LF || now == UC_GB_CONTROL) start = 1;
    else if (extends || now == UC_GB_ZWJ || now == UC_GB_SPACING_MARK || last == UC_GB_PREPEND) start = 0;
    else if (last == UC_GB_L)
        start = !(now == UC_GB_L || now == UC_GB_V || now == UC_GB_LV || now == UC_GB_LVT);
    else if (last == UC_GB_V || last == UC_GB_LV) start = !(now == UC_GB_V || now == UC_GB_T);
    else if (last == UC_GB_T || last == UC_GB_LVT) start = now != UC_GB_T;
    else if (now == UC_GB_CONSONANT) start = conjunct != 2u;
    else if (now == UC_GB_PICTOGRAPHIC) start = picture != 2u;
    else if (now == UC_GB_REGIONAL_INDICATOR) start = !odd;
    else start = 1;

    if (now == UC_GB_PICTOGRAPHIC) picture = 1;
    else if (now == UC_GB_ZWJ && picture == 1u) picture = 2;
    else if (!(extends && picture == 1u)) picture = 0;
    if (now == UC_GB_CONSONANT) conjunct = 1;
    else if (now == UC_GB_LINKER && conjunct) conjunct = 2;
    else if (now != UC_GB_CONJUNCT_EXTEND && now != UC_GB_ZWJ) conjunct = 0;
    odd = now == UC_GB_REGIONAL_INDICATOR ? !odd : 0;
    *state = now | 32u | picture << 6 | conjunct << 8 | odd << 10;
    return start;
}
""")


def build() -> tuple[str, int]:
    header = Header()
    header.add(INTRODUCTION)
    say("categories")
    category = probe.categories()
    say("classes")
    props = probe.props()
    say("scripts")
    onig_script = probe.onig_scripts()
    script = probe.scripts(onig_script)
    add_classes(header, props, category, onig_script)
    add_scripts(header, script, onig_script)
    say("case")
    header.add("""
/* Lower and upper case of one character, as Rust's char has them: an index into differences; the indices beyond these
   are sequences of two or three characters. */
""")
    for name, mapping in zip(("lower", "upper"), probe.case(), strict=True):
        add_mapping(header, name, mapping)
    say("normalization")
    forms = probe.normal_forms()
    ccc = probe.combining_classes(forms["NFD"])
    pairs = probe.compositions(forms["NFD"], forms["NFC"], ccc)
    say(f"  {len(ccc)} characters with a combining class, {len(pairs)} composites")
    add_decompositions(header, forms["NFD"], forms["NFKD"])
    header.add(STABLE)
    add_normalization(header, ccc, probe.stable_bits(forms, ccc, pairs))
    add_compositions(header, pairs)
    say("folding and graphemes")
    add_folding(header, probe.foldings())
    add_graphemes(header, probe.grapheme_classes())
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
