"""placeholder"""

from __future__ import annotations

CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d"
WHITE = r"\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = CONTRACTIONS + r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def _cl100k(numbers: str, letters: str = r"\p{L}", others: str = r"[^\s\p{L}\p{N}]+[\r\n]*") -> str:
    return rf"(?i:{CONTRACTIONS})|[^\r\n\p{{L}}\p{{N}}]?{letters}+|{numbers}| ?{others}|{WHITE}"


def _o200k(numbers: str, contractions: str, tail: str, minus: str = "", first: str = "") -> str:
    upper, lower = rf"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}{minus}]", rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}{minus}]"
    prefix = r"[^\r\n\p{L}\p{N}]?"
    return (
        f"{first}{prefix}{upper}*{lower}+{contractions}|{prefix}{upper}+{lower}*{contractions}|{numbers}"
        rf"| ?[^\s\p{{L}}\p{{N}}]+{tail}*|{WHITE}"
    )


def _split(pattern: str) -> tuple:
    return ("Split", "Regex", pattern, "isolated", False)


def _then_bytes(*patterns: str) -> tuple:
    return ("Sequence", (*map(_split, patterns), ("ByteLevel", False, True, False)))


FOLDED = f"(?i:{CONTRACTIONS})?"

FAMILIES = {
    "gpt2": ("ByteLevel", False, True, True),
    "gpt2_digits": ("Sequence", (("Digits", True), ("ByteLevel", False, True, True))),
    "cl100k": _then_bytes(_cl100k(r"\p{N}{1,3}")),
    "cl100k_end": _then_bytes(_cl100k(r"\p{N}{1,3}").replace(r"|\s*[\r\n]+|", r"|\s++$|\s*[\r\n]+|")),
    "nanochat": _then_bytes(_cl100k(r"\p{N}{1,2}")),
    "qwen2": _then_bytes(_cl100k(r"\p{N}")),
    "qwen3_5": _then_bytes(_cl100k(r"\p{N}", r"[\p{L}\p{M}]", r"[^\s\p{L}\p{M}\p{N}]+[\r\n]*")),
    "seed_coder": _then_bytes(_cl100k(r"\p{N}", others=r"[^\s\p{L}\p{N}\r\n]+")),
    "o200k": _then_bytes(_o200k(r"\p{N}{1,3}", FOLDED, r"[\r\n/]")),
    "tekken": _then_bytes(_o200k(r"\p{N}", "", r"[\r\n/]")),
    "kimi_k2": _then_bytes(_o200k(r"\p{N}{1,3}", FOLDED, r"[\r\n]", r"&&[^\p{Han}]", r"[\p{Han}]+|")),
    "deepseek_v3": _then_bytes(
        r"\p{N}{1,3}",
        "[一-龥\u3040-ゟ゠-ヿ]+",
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^"""
        "\r\n"
        r"""\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+["""
        "\r\n"
        rf"]*|{WHITE}",
    ),
    "deepseek_coder": (
        "Sequence",
        (
            _split("[\r\n]"),
            _split(r"\s?\p{L}+"),
            _split(r"\s?\p{P}+"),
            _split("[一-龥ࠀ-一가-\ud7ff]+"),
            ("Digits", True),
            ("ByteLevel", False, True, False),
        ),
    ),
    "bloom": _then_bytes(r" ?[^(\s|[.,!?…。，、।۔،])]+"),
    "falcon": (
        "Sequence",
        (
            ("Punctuation", "contiguous"),
            ("ByteLevel", False, True, True),
            ("Digits", False),
            _split("[0-9][0-9][0-9]"),
        ),
    ),
    "clip": (
        "Sequence",
        (
            (
                "Split",
                "Regex",
                rf"<\|startoftext\|>|<\|endoftext\|>|{CONTRACTIONS}|[\p{{L}}]+|[\p{{N}}]|[^\s\p{{L}}\p{{N}}]+",
                "removed",
                True,
            ),
            ("ByteLevel", False, True, True),
        ),
    ),
}


def _plain(spec):
    if spec[0] == "Sequence":
        return ("Sequence", tuple(map(_plain, spec[1])))
    if spec[0] == "ByteLevel":
        return ("ByteLevel", False, True, spec[3])
    return spec


def recognise(spec):
    for name, known in FAMILIES.items():
        if _plain(spec) == known:
            return name
    return None
