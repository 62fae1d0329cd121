"""What a seed is worth on text: new correct facts of held-out documents against the size of the seed, and controls.

    python recipes/kg_seed.py --data dev_revised.json --split examples/kg/redocred_split.json --start MINILM --out OUT

A seed is so many facts of the training documents, drawn at random; the injection chooses which stand in the leaves of
which chunks. The model (``graphmert``, from a BERT directory) masks the roots of the training documents and the leaves,
and is then asked, for every entity of a held-out document and each of the commonest relations, which other entity of
the chunk the masked leaves hold. Entities are given. Controls: no seed, and the same seed with the tails of each
relation dealt out anew among its heads. All runs have the same number of steps. OUT/results.jsonl gets a line for each:
correct facts that the seed lacks, among the 100, 200 and 400 surest and at the threshold with the highest F1 on the
validation documents, and average precision, there and on the held-out ones.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import torch

from weft.kg.dataset.text import TextBuildConfig, build_redocred, build_text
from weft.kg.evaluate.triples import Guess, best_threshold, guess_tails
from weft.kg.inject.injection import InjectionConfig
from weft.kg.learn.code import course, started
from weft.kg.learn.start import load_start
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.read.funnel import Funnel
from weft.kg.read.redocred import read_redocred, redocred_schema
from weft.kg.represent.dataset import load_dataset
from weft.kg.represent.passages import Fact, TextDataset, load_text_dataset
from weft.kg.represent.sampling import SamplingConfig
from weft.kg.schema import Schema
from weft.platform.files import append_text, write_text
from weft.platform.reading import read_object
from weft.train import TrainConfig
from weft.train.snapshot import seed_everything

RANKS = (100, 200, 400)


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
    parser.add_argument("--start", type=Path, required=True, help="a BERT directory")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kinds", nargs="*", default=["graphmert"])
    parser.add_argument("--sizes", nargs="*", type=int, default=[0, 125, 500, 2000])
    parser.add_argument("--shuffled", nargs="*", type=int, default=[500])
    parser.add_argument("--alphas", nargs="*", type=float, default=[0.55])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--relations", type=int, default=8)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--documents", nargs=2, type=int, default=(25, 50), help="for choices, held out")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    gold, schema = prepare(arguments)
    results = out / "results.jsonl"
    known = results.read_text().splitlines() if results.is_file() else []
    done = {json.loads(line)["name"] for line in known}
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
        triples, injected, model = train(run, arguments, gold, schema)
        spent = time.process_time() - begin
        record = score(model, gold, schema, triples, arguments.documents)
        record = {"name": run.name, **vars(run), "injected": injected, "seconds": round(spent), **record}
        append_text(results, json.dumps(record) + "\n")
        print(json.dumps(record), flush=True)
    return 0


def prepare(arguments: argparse.Namespace) -> tuple[TextDataset, Schema]:
    """All documents with their facts, the commonest relations, and the training documents as a corpus."""
    out: Path = arguments.out
    split = read_object(arguments.split)
    parts = {name: part for part, names in split.items() for name in names}
    if not (out / "gold" / "build.json").is_file():
        build_redocred([arguments.data], out / "gold", split=parts, vocabulary=arguments.start)
    gold = load_text_dataset(out / "gold")
    counts = Counter(
        relation for number in gold.documents_of("train") for _, relation, _ in gold.facts[number]
    )
    names = {gold.schema.names[relation] for relation, _ in counts.most_common(arguments.relations)}
    kept = [relation for relation in redocred_schema().relations if relation.name in names]
    schema = Schema(
        tuple(replace(item, inverse=item.inverse if item.inverse in names else "") for item in kept)
    )
    schema.save(out / "schema.json")
    lines: list[str] = []
    for document in read_redocred(arguments.data, Funnel()):
        if parts.get(document.id) != "train":
            continue
        mentions = [
            {"start": item.start, "end": item.end, "entity": item.name, "type": item.type}
            for item in document.mentions
        ]
        lines.append(json.dumps({"id": document.id, "text": document.text, "mentions": mentions}))
    write_text(out / "corpus.jsonl", "\n".join(lines) + "\n")
    return gold, schema


def draw(gold: TextDataset, schema: Schema, run: Run) -> list[tuple[str, str, str]]:
    """Facts of the training documents by names; tails of a relation dealt out anew where the run is shuffled."""
    ids = {gold.schema.id_of(name): name for name in schema.names[1:]}
    known: dict[tuple[str, str, str], None] = {}
    for number in gold.documents_of("train"):
        entities = gold.entities[number]
        for head, relation, tail in sorted(gold.facts[number]):
            if relation in ids and head in entities and tail in entities:
                known[entities[head].name, ids[relation], entities[tail].name] = None
    random = Random(run.seed)
    drawn = random.sample(list(known), min(run.size, len(known)))
    if not run.shuffled:
        return drawn
    result: list[tuple[str, str, str]] = []
    for name in schema.names[1:]:
        mine = [item for item in drawn if item[1] == name]
        tails = [item[2] for item in mine]
        random.shuffle(tails)
        result += [(head, name, tail) for (head, _, _), tail in zip(mine, tails, strict=True)]
    return result


def train(
    run: Run, arguments: argparse.Namespace, gold: TextDataset, schema: Schema
) -> tuple[list[tuple[str, str, str]], int, LeafyChainModel]:
    """Draw, build, train."""
    folder: Path = arguments.out / run.name
    folder.mkdir(parents=True, exist_ok=True)
    triples = draw(gold, schema, run)
    # Without a seed the corpus is the same and no leaf hangs anywhere: one triple is drawn to name the schema.
    stated = triples or draw(gold, schema, Run(1, False, run.alpha, run.seed, run.kind))
    rows = [json.dumps({"head": head, "relation": name, "tail": tail}) for head, name, tail in stated]
    write_text(folder / "seed.jsonl", "\n".join(rows) + "\n")
    funnel = build_text(
        [arguments.out / "corpus.jsonl"],
        folder / "data",
        schema,
        [folder / "seed.jsonl"],
        TextBuildConfig(valid_percent=0, test_percent=0),
        injection=InjectionConfig(alpha=run.alpha if triples else 0.0),
        near=None,
        vocabulary=arguments.start,
    )
    injected = funnel.counts["triples"] if triples else 0
    dataset = load_dataset(folder / "data")
    seed_everything(run.seed)
    model = started(run.kind, dataset, load_start(arguments.start, dataset.tokenizer.vocab_size))
    config = TrainConfig(
        steps=arguments.steps,
        batch_size=arguments.batch_size,
        learning_rate=4e-4,
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
    course(model, dataset.corpus, sampling, config).run(folder / "run")
    return triples, injected, model


def score(
    model: LeafyChainModel,
    gold: TextDataset,
    schema: Schema,
    triples: Sequence[tuple[str, str, str]],
    sizes: tuple[int, int],
) -> dict[str, object]:
    """Correct facts of held-out documents that the seed lacks."""
    chosen, held_out = gold.documents_of("valid")[: sizes[0]], gold.documents_of("test")[: sizes[1]]
    ids = {gold.schema.id_of(name) for name in schema.names[1:]}
    stated = set(triples)

    def is_new(document: int, fact: Fact) -> bool:
        entities, (head, relation, tail) = gold.entities[document], fact
        if head not in entities or tail not in entities or relation not in ids:
            return False
        return (entities[head].name, gold.schema.names[relation], entities[tail].name) not in stated

    facts = [
        frozenset(fact for fact in known if is_new(number, fact)) for number, known in enumerate(gold.facts)
    ]
    only = replace(gold, facts=tuple(facts))
    with torch.autocast("cpu", torch.bfloat16):
        valid, asked = (
            [item for item in guess_tails(model, gold, documents, schema) if is_new(item.document, item.fact)]
            for documents in (chosen, held_out)
        )
    threshold = best_threshold(only, valid, chosen)
    right = _right(only, asked)
    kept, there = (
        sum(item.score >= threshold for item in asked),
        sum(len(facts[number]) for number in held_out),
    )
    found = sum(right[:kept])
    return {
        "new_facts": there,
        "asked": len(asked),
        **{f"right_of_{rank}": sum(right[:rank]) for rank in RANKS},
        "kept": kept,
        "right": found,
        "f1": round(2 * found / max(kept + there, 1), 4),
        "average_precision": _average(right, there),
        "valid_average_precision": _average(
            _right(only, valid), sum(len(facts[number]) for number in chosen)
        ),
    }


def _right(gold: TextDataset, guesses: Sequence[Guess]) -> list[bool]:
    """Whether each guess is right, the surest first."""
    return [item.fact in gold.facts[item.document] for item in sorted(guesses, key=lambda item: -item.score)]


def _average(right: Sequence[bool], there: int) -> float:
    """Precision at the rank of each right guess, summed, by the number of facts that there are."""
    found, total = 0, 0.0
    for rank, hit in enumerate(right, 1):
        found += hit
        total += hit * found / rank
    return round(total / max(there, 1), 4)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
