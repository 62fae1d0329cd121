"""What a seed is worth on text: new correct facts of held-out documents against the size of the seed, and controls.

    python recipes/kg_seed.py --data dev_revised.json --split examples/kg/redocred_split.json --start MINILM --out OUT

A seed is so many facts of the training documents, drawn at random; the injection chooses which stand in the leaves of
which chunks. The model (``graphmert``, from a BERT directory) masks the roots of the training documents and the leaves,
and is then asked, for every entity of a held-out document and each of the commonest relations, which other entity of
the chunk the masked leaves hold. Entities are given. Controls: no seed, and the same seed with the tails of each
relation dealt out anew among its heads. All runs have the same number of steps. OUT/results.jsonl gets a line for each:
correct facts that the seed lacks, among the 100, 200 and 400 surest and at the threshold with the highest F1 on the
validation documents, and average precision, there and on the held-out ones. Runs that it already holds are not done
again, and a file that was measured with other settings is refused.

With --made N the corpus is N made texts of one to three plain sentences (`kg_text_made.py`), and other such texts are
held out: of the same sentences, with other names.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import torch
from kept import identity, kept_records, settings_of
from kg_text_small import plain_texts

from weft.kg.dataset.text import TextBuildConfig, build_redocred, build_text
from weft.kg.dataset.text_chunks import text_chunks
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.dataset.vocabulary import bert_vocabulary, learn_vocabulary
from weft.kg.evaluate.triples import guess_chunks
from weft.kg.inject.injection import InjectionConfig
from weft.kg.learn.code import course, named_config, started
from weft.kg.learn.start import load_start
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.read.documents import TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.redocred import read_redocred, redocred_schema
from weft.kg.represent.dataset import Corpus, load_dataset
from weft.kg.represent.passages import Fact, load_text_dataset
from weft.kg.represent.sampling import SamplingConfig
from weft.kg.represent.standing import AskedChunk, standing_in
from weft.kg.schema import Schema
from weft.platform.files import append_text, write_text
from weft.platform.reading import read_object
from weft.train import TrainConfig
from weft.train.identity import digests
from weft.train.snapshot import seed_everything

RANKS = (100, 200, 400)
SELECTING = ("kinds", "sizes", "shuffled", "alphas", "seeds")
"""Options that say which runs there are, not what one is."""
_OF_TRIPLES = (
    *("chunk", "relation", "head_word", "head_start", "head_length"),
    *("tail_ids", "tail_length", "tail_word", "query", "origin"),
)
"""Fields of a corpus with a row for each triple."""


@dataclass(frozen=True)
class Run:
    """One training.

    Args:
        size: Facts of the seed.
        shuffled: Whether its tails are dealt out anew.
        alpha: The quantile of scores above which a triple stands in a chunk.
        seed: Of the draw and of the training.
        kind: Of model.
    """

    size: int
    shuffled: bool
    alpha: float
    seed: int
    kind: str

    @property
    def name(self) -> str:
        """Of its folder."""
        return (
            f"{self.kind}-{self.size}{'-shuffled' if self.shuffled else ''}-alpha{self.alpha:g}-{self.seed}"
        )


def main(argv: list[str]) -> int:
    """Train and score every run that has no line yet."""
    parser = argparse.ArgumentParser(description="Measure what a seed is worth on text.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", type=Path, required=True)
    parser.add_argument(
        "--start", type=Path, help="a BERT directory; without, two layers of width 128 from scratch"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kinds", nargs="*", default=["graphmert"])
    parser.add_argument("--sizes", nargs="*", type=int, default=[0, 125, 500, 2000])
    parser.add_argument("--shuffled", nargs="*", type=int, default=[500])
    parser.add_argument("--alphas", nargs="*", type=float, default=[0.55])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--relations", type=int, default=8)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument(
        "--made", type=int, default=0, metavar="N", help="N made texts instead of Re-DocRED's"
    )
    parser.add_argument("--documents", nargs=2, type=int, default=(25, 50), help="for choices, held out")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    results = out / "results.jsonl"
    settings = settings_of(arguments, without=SELECTING)
    done = {record["name"] for record in kept_records(results, settings)}
    prepared = prepare(arguments)
    runs = [
        Run(size, shuffled, alpha, seed, kind)
        for seed in arguments.seeds
        for kind in arguments.kinds
        for alpha in arguments.alphas
        for shuffled, sizes in ((False, arguments.sizes), (True, arguments.shuffled))
        for size in sizes
    ]
    for run in (run for run in runs if run.name not in done):
        begin = time.process_time()
        triples, injected, model = train(run, arguments, prepared)
        spent = time.process_time() - begin
        record = score(model, prepared, triples)
        record = {"name": run.name, **vars(run), "injected": injected, "seconds": round(spent), **record}
        record["settings"] = settings
        append_text(results, json.dumps(record) + "\n")
        print(json.dumps(record), flush=True)
    return 0


@dataclass(frozen=True)
class Held:
    """Documents with their facts, none of which training sees.

    Args:
        chunks: Theirs, with their entities.
        names: Of the entities of each document.
        facts: Of each document, relations by the ids of the schema.
    """

    chunks: Sequence[AskedChunk]
    names: Sequence[Mapping[int, str]]
    facts: Sequence[frozenset[Fact]]


@dataclass(frozen=True)
class Prepared:
    """What all runs share.

    Args:
        vocabulary: A folder with the tokenizer of all.
        schema: The commonest relations.
        known: Facts of the training documents, by names.
        chosen: Documents for choices.
        held_out: Documents to count on.
    """

    vocabulary: Path
    schema: Schema
    known: Sequence[tuple[str, str, str]]
    chosen: Held
    held_out: Held


def prepare(arguments: argparse.Namespace) -> Prepared:
    """All documents with their facts, the commonest relations, and the training documents as a corpus."""
    out: Path = arguments.out
    parts = {name: part for part, names in read_object(arguments.split).items() for name in names}
    every = list(read_redocred(arguments.data, Funnel()))
    training, valid, test = (
        [document for document in every if parts.get(document.id) == part]
        for part in ("train", "valid", "test")
    )
    if arguments.made:
        build_redocred([arguments.data], out / "gold", split=parts)
        texts = plain_texts(load_text_dataset(out / "gold"), arguments.made + sum(arguments.documents))
        training, rest = texts[: arguments.made], texts[arguments.made :]
        valid, test = rest[: arguments.documents[0]], rest[arguments.documents[0] :]
    ids = redocred_schema().ids()
    names = redocred_schema().names
    counts = Counter(names[ids[fact.relation]] for document in training for fact in document.facts)
    common = {name for name, _ in counts.most_common(arguments.relations)}
    kept = [relation for relation in redocred_schema().relations if relation.name in common]
    schema = Schema(
        tuple(replace(item, inverse=item.inverse if item.inverse in common else "") for item in kept)
    )
    lines: list[str] = []
    known: dict[tuple[str, str, str], None] = {}
    for document in training:
        mentions = [
            {"start": item.start, "end": item.end, "entity": item.name, "type": item.type}
            for item in document.mentions
        ]
        lines.append(json.dumps({"id": document.id, "text": document.text, "mentions": mentions}))
        called = {item.entity: item.name for item in document.mentions}
        for head, relation, tail in document.facts:
            name = names[ids[relation]]
            if name in common:
                known[called[head], name, called[tail]] = None
    write_text(out / "corpus.jsonl", "\n".join(lines) + "\n")
    if arguments.start is None:
        learnt = learn_vocabulary([document.text for document in training], 2000)
        (out / "vocabulary").mkdir(exist_ok=True)
        learnt.save(out / "vocabulary" / "tokenizer.json")
    vocabulary = arguments.start or out / "vocabulary"
    tokenizer = bert_vocabulary(vocabulary)
    return Prepared(
        vocabulary,
        schema,
        list(known),
        _held(valid[: arguments.documents[0]], tokenizer, schema),
        _held(test[: arguments.documents[1]], tokenizer, schema),
    )


def _held(documents: Sequence[TextDocument], tokenizer: CodeTokenizer, schema: Schema) -> Held:
    sizes, ids = TextBuildConfig(), schema.ids()
    chunks = [
        AskedChunk(number, tuple(chunk.ids.tolist()), standing_in(chunk, sizes.longest_tail))
        for number, document in enumerate(documents)
        for chunk in text_chunks(document, tokenizer.encode(document.text), sizes.roots, Funnel())
    ]
    return Held(
        chunks,
        [{item.entity: item.name for item in document.mentions} for document in documents],
        [
            frozenset(
                (head, ids[relation], tail) for head, relation, tail in document.facts if relation in ids
            )
            for document in documents
        ],
    )


def draw(prepared: Prepared, run: Run) -> list[tuple[str, str, str]]:
    """Facts of the training documents by names; tails of a relation dealt out anew where the run is shuffled."""
    random = Random(run.seed)
    drawn = random.sample(list(prepared.known), min(run.size, len(prepared.known)))
    if not run.shuffled:
        return drawn
    result: list[tuple[str, str, str]] = []
    for name in prepared.schema.names[1:]:
        mine = [item for item in drawn if item[1] == name]
        tails = [item[2] for item in mine]
        random.shuffle(tails)
        result += [(head, name, tail) for (head, _, _), tail in zip(mine, tails, strict=True)]
    return result


def train(
    run: Run, arguments: argparse.Namespace, prepared: Prepared
) -> tuple[list[tuple[str, str, str]], int, LeafyChainModel]:
    """Draw, build, train; also how many triples stand in the leaves of chunks."""
    folder: Path = arguments.out / run.name
    folder.mkdir(parents=True, exist_ok=True)
    triples = draw(prepared, run)
    # Without a seed the corpus is the same and no leaf hangs anywhere: one triple is drawn, for a build wants some,
    # and taken away again.
    stated = triples or draw(prepared, Run(1, False, run.alpha, run.seed, run.kind))
    rows = [json.dumps({"head": head, "relation": name, "tail": tail}) for head, name, tail in stated]
    write_text(folder / "seed.jsonl", "\n".join(rows) + "\n")
    build_text(
        [arguments.out / "corpus.jsonl"],
        folder / "data",
        prepared.schema,
        [folder / "seed.jsonl"],
        TextBuildConfig(valid_percent=0, test_percent=0),
        injection=InjectionConfig(alpha=run.alpha),
        near=None,
        vocabulary=prepared.vocabulary,
    )
    dataset = load_dataset(folder / "data")
    if not triples:
        dataset = replace(dataset, corpus=bare(dataset.corpus))
    injected = int(dataset.corpus.first_triple[-1])
    seed_everything(run.seed)
    if arguments.start is None:
        model = LeafyChainModel(named_config(run.kind, dataset, 128, 2, 4))
    else:
        model = started(run.kind, dataset, load_start(arguments.start, dataset.tokenizer.vocab_size))
    config = TrainConfig(
        steps=arguments.steps,
        batch_size=arguments.batch_size,
        learning_rate=2e-3 if arguments.start is None else 4e-4,
        betas=(0.9, 0.98),
        warmup=0.1,
        schedule="linear",
        precision="bf16",
        restore_best=False,
        eval_every=10**6,
        save_every=10**6,
        seed=run.seed,
        threads=1,
    )
    # The budget is small: half of the leaves are masked at a time instead of 15 %, and chunks with leaves come oftener.
    sampling = SamplingConfig(
        batch_size=config.batch_size,
        seed=run.seed,
        mlm_share=1.0,
        hide_share=0.0,
        mnm_share=0.5 if triples else 0.0,
        oversampling=3 if triples else 1,
    )
    decides = identity(arguments, without=(*SELECTING, "documents")) | digests({"of": run}, arguments.out)
    course(model, dataset.corpus, sampling, config).run(folder / "run", identity=decides)
    return triples, injected, model


def bare(corpus: Corpus) -> Corpus:
    """The corpus with no triple in any chunk; one empty row stays: a batch looks up the first where there is none."""
    none = {name: getattr(corpus, name) for name in _OF_TRIPLES}
    return replace(
        corpus,
        first_triple=torch.zeros_like(corpus.first_triple),
        **{name: value.new_zeros(1, *value.shape[1:]) for name, value in none.items()},
    )


def score(
    model: LeafyChainModel, prepared: Prepared, triples: Sequence[tuple[str, str, str]]
) -> dict[str, object]:
    """Correct facts of held-out documents that the seed lacks."""
    stated = set(triples)
    (right_there, scores_there, new_there), (right, scores, new) = (
        _judged(model, held, prepared.schema, stated) for held in (prepared.chosen, prepared.held_out)
    )
    f1 = [2 * sum(right_there[:kept]) / (kept + new_there) for kept in range(1, len(right_there) + 1)]
    threshold = scores_there[max(range(len(f1)), key=f1.__getitem__)] if f1 else 0.0
    kept = sum(value >= threshold for value in scores)
    return {
        "new_facts": new,
        "asked": len(right),
        **{f"right_of_{rank}": sum(right[:rank]) for rank in RANKS},
        "kept": kept,
        "right": sum(right[:kept]),
        "f1": round(2 * sum(right[:kept]) / max(kept + new, 1), 4),
        "average_precision": average_precision(right, new),
        "valid_average_precision": average_precision(right_there, new_there),
    }


def _judged(
    model: LeafyChainModel, held: Held, schema: Schema, stated: Set[tuple[str, str, str]]
) -> tuple[list[bool], list[float], int]:
    """Guesses that the seed lacks, the surest first: whether right, and how sure; and how many such facts there are."""

    def is_new(document: int, fact: Fact) -> bool:
        names, (head, relation, tail) = held.names[document], fact
        return (names[head], schema.names[relation], names[tail]) not in stated

    with torch.autocast("cpu", torch.bfloat16):
        guesses = guess_chunks(model, held.chunks, schema)
    ordered = sorted(
        (item for item in guesses if is_new(item.document, item.fact)), key=lambda item: -item.score
    )
    right = [item.fact in held.facts[item.document] for item in ordered]
    there = sum(is_new(number, fact) for number, facts in enumerate(held.facts) for fact in facts)
    return right, [item.score for item in ordered], there


def average_precision(right: Sequence[bool], there: int) -> float:
    """Precision at the rank of each right guess, summed, by the number of facts that there are."""
    found, total = 0, 0.0
    for rank, hit in enumerate(right, 1):
        found += hit
        total += hit * found / rank
    return round(total / max(there, 1), 4)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
