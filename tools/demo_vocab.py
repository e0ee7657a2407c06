"""Makes hftok/data/demo_vocab.txt, the vocabulary of `hftok demo`, from this project's own texts.

    python tools/demo_vocab.py [--size 4000]

Sources: hftok/data/demo_texts.txt, the project's documentation and the comments and docstrings of its Python files.
Words are cut as a BERT tokenizer cuts them. Every character gets a piece for where it stands; then the most frequent
pair of neighbouring pieces becomes a piece, of equal ones the last in alphabetical order, until the vocabulary is full
or no pair occurs twice. The file is committed: run this only to make a new one.
"""

from __future__ import annotations

import argparse
import io
import itertools
import pathlib
import tokenize
from collections import Counter, defaultdict

from hftok.normalizers import BertNormalizer
from hftok.pre_tokenizers import BertPreTokenizer

ROOT = pathlib.Path(__file__).parent.parent
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def prose(path: pathlib.Path) -> str:
    """Comments and strings of a Python file."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return "\n".join(t.string for t in tokens if t.type in (tokenize.COMMENT, tokenize.STRING))


def word_counts() -> Counter[str]:
    texts = [(ROOT / "hftok/data/demo_texts.txt").read_text(encoding="utf-8")] * 3
    texts += [path.read_text(encoding="utf-8") for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])]
    texts += [prose(path) for path in sorted(ROOT.glob("hftok/*.py"))]
    normalizer, pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    counts: Counter[str] = Counter()
    for text in texts:
        for word, _ in pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(text)):
            counts[word] += 1
    return counts


def learn(counts: Counter[str], size: int) -> list[str]:
    words = [([word[0], *("##" + c for c in word[1:])], n) for word, n in sorted(counts.items())]
    pieces = sorted({piece for word, _ in words for piece in word})
    pairs: Counter[tuple[str, str]] = Counter()
    where: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for index, (word, n) in enumerate(words):
        for pair in itertools.pairwise(word):
            pairs[pair] += n
            where[pair].add(index)
    known = set(pieces)
    while len(SPECIAL) + len(pieces) < size and pairs:
        pair = max(pairs, key=lambda p: (pairs[p], p))
        if pairs[pair] < 2:
            break
        merged = pair[0] + pair[1].removeprefix("##")
        if merged not in known:
            known.add(merged)
            pieces.append(merged)
        for index in sorted(where[pair]):
            word, n = words[index]
            for old in itertools.pairwise(word):
                pairs[old] -= n
                where[old].discard(index)
            at = 0
            while at < len(word) - 1:
                if (word[at], word[at + 1]) == pair:
                    word[at : at + 2] = [merged]
                at += 1
            for new in itertools.pairwise(word):
                pairs[new] += n
                where[new].add(index)
        del pairs[pair]
    return pieces


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the vocabulary of `hftok demo`.")
    parser.add_argument("--size", type=int, default=4000)
    size = parser.parse_args().size
    pieces = learn(word_counts(), size)
    path = ROOT / "hftok/data/demo_vocab.txt"
    path.write_text("".join(f"{piece}\n" for piece in [*SPECIAL, *pieces]), encoding="utf-8")
    print(f"{len(SPECIAL) + len(pieces)} pieces")


if __name__ == "__main__":
    main()
