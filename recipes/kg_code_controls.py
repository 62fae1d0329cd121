"""What a tree's clues are worth: leaves of their head, nothing, leaves dealt out anew, words behind the text.

    python recipes/kg_code_controls.py TRAINING --held HELD --start MODEL --out FOLDER [--steps 50] [--seeds 3]

TRAINING and HELD are corpora of `kg_code_types.py build`, HELD that of the packages of the fit; MODEL is one that never
saw a clue. Each control goes on from it for as many steps of the same batches, with as many columns for leaves, and is
then asked for all types of HELD as it was taught; the one taught on shuffled leaves is asked with the right ones too.
FOLDER/results.jsonl gets a line for each; those that it already holds are not done again, and a file that was measured
with other settings is refused. `summary.py` makes a table.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from kept import kept_records, settings_of
from kg_code_types import SCHEMA, read, seen, taught
from torch import Tensor

from weft.kg.dataset.tokens import PAD, CodeTokenizer
from weft.kg.model.decode import Queries, find_tails
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.dataset import ClueTable, Corpus
from weft.kg.represent.given import Clues
from weft.platform.files import append_text
from weft.train.identity import digests

CONTROLS = {
    "no clues": "none",
    "clues as leaves": "leaves",
    "clues as leaves, shuffled": "shuffled",
    "clues as words": "words",
}
VIEWS = {"has_type": "parameter types", "returns": "return types"}
BEAMS = 4


def answered(model: LeafyChainModel, corpus: Corpus, shuffle: bool, most: int) -> dict[str, dict[str, float]]:
    """P@1 and Hit@4 of the types of some chunks of a corpus, parameters and returns apart."""
    model.eval()
    asked = (corpus.origin == 1).nonzero().squeeze(1)
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randperm(len(corpus.ids), generator=generator)[:most]
    order = drawn[(corpus.ids[drawn] != PAD).sum(dim=1).argsort()]
    first: dict[int, list[bool]] = {SCHEMA.id_of(name): [] for name in VIEWS}
    among: dict[int, list[bool]] = {relation: [] for relation in first}
    for chunks in order.split(16):
        rows = [asked[corpus.chunk[asked] == chunk] for chunk in chunks.tolist()]
        queries = queries_of(corpus, chunks, rows)
        if shuffle and queries.clues is not None:
            clues = queries.clues.shuffled(generator)
            queries = Queries(
                queries.roots, queries.there, queries.relation, queries.head_start, queries.head_length, clues
            )
        found = find_tails(model, queries, BEAMS)
        for row, triples in enumerate(rows):
            for column, triple in enumerate(triples.tolist()):
                gold = tuple(corpus.tail_ids[triple, : corpus.tail_length[triple]].tolist())
                tails = [found.tail(row, column, rank) for rank in range(found.tokens.shape[2])]
                relation = int(corpus.relation[triple])
                first[relation].append(tails[:1] == [gold])
                among[relation].append(gold in tails)
    return {
        view: {
            "queries": len(first[SCHEMA.id_of(name)]),
            "precision_at_1": float(np.mean(first[SCHEMA.id_of(name)])),
            "hit_at_4": float(np.mean(among[SCHEMA.id_of(name)])),
        }
        for name, view in VIEWS.items()
    }


def queries_of(corpus: Corpus, chunks: Tensor, rows: list[Tensor]) -> Queries:
    """The questions of some chunks, with what is shown of their heads."""
    width = int((corpus.ids[chunks] != PAD).sum(dim=1).max())
    there, index = padded(rows)
    table = corpus.clues
    return Queries(
        corpus.ids[chunks, :width].long(),
        there,
        corpus.relation[index],
        corpus.head_start[index],
        corpus.head_length[index],
        None if table is None else clues_of(table, chunks),
    )


def clues_of(table: ClueTable, chunks: Tensor) -> Clues:
    """All clues of some chunks."""
    rows = [torch.arange(int(table.first[one]), int(table.first[one + 1])) for one in chunks.tolist()]
    there, index = padded(rows)
    return Clues(
        there,
        table.relation[index],
        torch.where(there, table.head_start[index], 0),
        table.head_length[index],
        table.tail_ids[index],
        table.tail_length[index],
    )


def padded(rows: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Rows of indices as a table, and where there is one."""
    most = max(1, *map(len, rows))
    index = torch.zeros(len(rows), most, dtype=torch.int64)
    there = torch.zeros(len(rows), most, dtype=torch.bool)
    for number, row in enumerate(rows):
        index[number, : len(row)], there[number, : len(row)] = row, True
    return there, index


def measured(name: str, seed: int, arguments: argparse.Namespace) -> list[dict[str, object]]:
    """Train and ask one control; a record for each manner of asking."""
    tokenizer = CodeTokenizer.load(arguments.start / "tokenizer.json")
    show, begin = CONTROLS[name], time.monotonic()
    corpus = seen(read(arguments.corpus), show, tokenizer)
    folder = arguments.out / f"{show}-{seed}"
    decides = digests({"corpus": arguments.corpus, "start": arguments.start, "show": show}, arguments.out)
    model = taught(corpus, arguments.start, show, arguments.steps, seed, folder / "run", decides)
    seconds = time.monotonic() - begin
    held = seen(read(arguments.held), show, tokenizer)
    manners = {name: show == "shuffled"}
    if show == "shuffled":
        manners[f"{name} in training only"] = False
    return [
        {
            "control": manner,
            "seed": seed,
            "steps": arguments.steps,
            "train_seconds": round(seconds, 1),
            "views": answered(model, held, shuffle, arguments.chunks),
        }
        for manner, shuffle in manners.items()
    ]


def main(argv: list[str]) -> int:
    """Measure what is not measured yet."""
    parser = argparse.ArgumentParser(description="Measure what a tree's clues are worth.")
    parser.add_argument("corpus", type=Path, metavar="TRAINING")
    parser.add_argument("--held", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True, help="a model that never saw a clue")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--chunks", type=int, default=400, help="of HELD that are asked about")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = arguments.out / "results.jsonl"
    settings = settings_of(arguments, without=("seeds",))
    done = {(record["control"], record["seed"]) for record in kept_records(results, settings)}
    for seed in range(arguments.seeds):
        for name in CONTROLS:
            if (name, seed) not in done:
                records = [{**record, "settings": settings} for record in measured(name, seed, arguments)]
                # At once: a control that is there is there with every manner of asking.
                append_text(results, "".join(json.dumps(record) + "\n" for record in records))
                for record in records:
                    print(json.dumps(record), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
