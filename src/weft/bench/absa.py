"""`weft bench absa`: many questions in one pass against sentence pairs, and a long table in a stream."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import torch
from tokenizers import Tokenizer

from weft.absa.config import ModelOptions
from weft.absa.model.build import build_model
from weft.absa.records import Context, Sentence
from weft.absa.use.asker import Asker, Precision
from weft.absa.use.store import DEFAULT_MODEL, load
from weft.bench.measure import medians
from weft.bench.table import Row
from weft.errors import MissingExtraError

_TEXTS = (
    "My cousin moved to {a} last year and finds it pricey, but says the streets around {b} feel less safe at night.",
    "If you want to live close to work, {a} has decent tube links, while {b} is cheaper and a bit further out.",
    "We looked at flats in {a} and in {b}; the first has better cafes, the second has the park.",
    "{a} has changed a lot, rents are going up fast, and {b} next door is following.",
    "I would avoid {a} after dark. {b} on the other hand is lively, friendly and full of good places to eat.",
)
_TARGETS = ("LOCATION1", "LOCATION2")
_ASPECTS = (
    *("price", "safety", "transit-location", "general", "dining", "green-nature", "live", "multicultural"),
    *("nightlife", "quiet", "shopping", "touristy", "schools", "parking", "noise", "neighbours"),
)
_RATE = 1500.0


def rows(quick: bool = False) -> Iterator[Row]:
    """Every row of the table; ``quick`` runs few repetitions and short tables, for a look.

    The whole takes some five minutes on two cores that do nothing else.
    """
    torch.manual_seed(0)
    ours = load(DEFAULT_MODEL)
    pair = _pair_model(ours)
    for aspects, target in ((4, 4.5), (16, 8.0)):
        yield _against_pairs(ours, pair, _ASPECTS[:aspects], target, repeats=2 if quick else 3)
    yield _against_transformers(ours, "fp32", None, repeats=2 if quick else 5)
    yield _against_transformers(ours, "auto", 4.0, repeats=2 if quick else 5)
    for precision in ("fp32", "bf16"):
        yield from _table(precision, 2_000, 400)
    # The fastest there is answers the long table: its rate has the target, and its memory must stay.
    yield from _table("auto", *((4_000, 400) if quick else (100_000, 10_000)), target=_RATE)


def _pair_model(asker: Asker) -> Asker:
    """A sentence-pair model of the same encoder; what its weights are does not change how long it takes."""
    options = ModelOptions(kind="pair", max_length=asker.config.options.max_length)
    return Asker(build_model(replace(asker.config, options=options)).eval(), asker.tokenizer)


def _texts(count: int, first: int = 0) -> list[str]:
    """Distinct texts: one that is asked twice is answered once."""
    names = dict(zip("ab", _TARGETS, strict=True))
    return [
        f"{number} {_TEXTS[number % len(_TEXTS)].format(**names)}" for number in range(first, first + count)
    ]


def _against_pairs(ours: Asker, pair: Asker, aspects: tuple[str, ...], target: float, repeats: int) -> Row:
    contexts = tuple(Context(aspect, name) for name in _TARGETS for aspect in aspects)
    sentences = [Sentence(text, contexts) for text in _texts(16)]
    times = medians(lambda: ours.answer(sentences), lambda: pair.answer(sentences), repeats, warmup=1)
    one_pass, pair_passes = (len(sentences) * 1e3 / milliseconds for milliseconds in times)
    threads = torch.get_num_threads()
    variant = (
        f"{len(contexts)} contexts (2 targets), {len(sentences)} texts, {threads} threads, processor time"
    )
    return Row(
        "absa: one pass / pair passes", variant, "fp32", "texts/s", one_pass, pair_passes, "higher", target
    )


def _against_transformers(ours: Asker, precision: Precision, target: float | None, repeats: int) -> Row:
    """64 texts, each asked eight aspects of one target, on one thread; every run has texts that are new to both.

    The baseline is the sentence pair of transformers: BERT with a classifier, of the same sizes and vocabulary,
    float32, SDPA, 32 pairs of similar length at a time.
    """
    if find_spec("transformers") is None:
        raise MissingExtraError("transformers", "transformers")
    from transformers import BertConfig, BertForSequenceClassification

    shape = ours.config.encoder
    config = BertConfig(
        vocab_size=shape.vocab_size,
        hidden_size=shape.hidden_size,
        num_hidden_layers=shape.num_hidden_layers,
        num_attention_heads=shape.num_attention_heads,
        intermediate_size=shape.intermediate_size,
    )
    config.num_labels = len(ours.classes_)
    pair = BertForSequenceClassification(config).eval()
    pair.set_attn_implementation("sdpa")
    tokenizer = Tokenizer.from_str(ours.tokenizer.to_str())
    tokenizer.enable_padding(pad_id=shape.pad_token_id)
    numbers = count(step=64)
    contexts = tuple(Context(aspect, _TARGETS[0]) for aspect in _ASPECTS[:8])

    def answer() -> None:
        ours.answer([Sentence(text, contexts) for text in _texts(64, next(numbers))])

    def classify() -> None:
        rows = [
            (text, f"{context.target} - {context.aspect}")
            for text in sorted(_texts(64, next(numbers)), key=len)
            for context in contexts
        ]
        for first in range(0, len(rows), 32):
            encoded = tokenizer.encode_batch(rows[first : first + 32])
            ids, types, mask = (
                torch.tensor([getattr(one, name) for one in encoded])
                for name in ("ids", "type_ids", "attention_mask")
            )
            with torch.no_grad():
                pair(input_ids=ids, token_type_ids=types, attention_mask=mask).logits.softmax(dim=-1)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    ours.compute_in(precision)
    try:
        times = medians(answer, classify, repeats, warmup=1)
    finally:
        torch.set_num_threads(threads)
        ours.compute_in("fp32")
    rate, baseline = (512e3 / milliseconds for milliseconds in times)
    variant = "64 texts × 8 aspects of a target, 1 thread, processor time"
    return Row(
        "absa / transformers pair", variant, precision, "questions/s", rate, baseline, "higher", target
    )


@dataclass(frozen=True)
class _Passage:
    """One run of ``weft absa predict`` over a table."""

    seconds: float
    processor_seconds: float
    megabytes: float


def _table(precision: Precision, count: int, short_count: int, target: float | None = None) -> Iterator[Row]:
    """A table of ``count`` texts against a shorter one: the rate, and whether memory stays where it is."""
    threads = torch.get_num_threads()
    with tempfile.TemporaryDirectory() as folder:
        short, long = (_predict(Path(folder), size, precision) for size in (short_count, count))
    # What both need (start, loading) is subtracted: the rate is that of the stream.
    questions = 4 * (count - short_count)
    variant = f"{count:,} texts × 4 questions, CSV, {threads} threads"
    rate = questions / (long.seconds - short.seconds)
    yield Row("absa: questions per second", variant, precision, "1/s", rate, 1.0, "higher", target)
    # On a machine with other work the clock on the wall measures that work; this one does not.
    rate = questions / (long.processor_seconds - short.processor_seconds)
    yield Row("absa: questions per processor second", variant, precision, "1/s", rate, 1.0, "higher")
    variant = f"{count:,} texts against {short_count:,}"
    bound = None if target is None else 1.1
    megabytes = (long.megabytes, short.megabytes)
    yield Row("absa: peak memory of a table", variant, precision, "MiB", *megabytes, target=bound)


def _predict(folder: Path, count: int, precision: str) -> _Passage:
    """Time and peak memory of a process that does nothing else."""
    table, output = folder / f"{count}.csv", folder / f"{count}-out.csv"
    lines = (f'"{text}"\n' for text in _texts(count))
    with table.open("w", encoding="utf-8") as file:
        file.write("text\n")
        file.writelines(lines)
    aspects = [part for aspect in _ASPECTS[:4] for part in ("--aspect", aspect)]
    threads = [
        "--threads",
        str(torch.get_num_threads()),
        "--device",
        "cpu",
        "--quiet",
        "--precision",
        precision,
    ]
    arguments = ["absa", "predict", str(table), "-o", str(output), *aspects, *threads]
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "weft", *arguments])
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, "weft absa predict")
    return _Passage(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
