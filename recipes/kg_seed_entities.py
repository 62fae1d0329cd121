"""What a seed is worth to the model that learns a user's relations from it: new correct facts of held-out documents.

    weft kg build dev_revised.json --language redocred --split SPLIT --vocabulary MINILM -o DATASET
    python recipes/kg_seed_entities.py --data DATASET --start MINILM --out OUT

The training documents are a user's folder, the seed is so many of their facts, drawn at random by names: what
training is told, and all that it is told. Where a document names both entities of a seed fact, it counts as stated
there. The model (``kind: entities``, lower layers of the start frozen, all relations of the schema) is then asked
about the held-out documents, entities given. Controls: no seed; the tails of each relation dealt out anew among its
heads (``shuffled``); each tail another entity of its type in the same document (``moved``): as many facts in the same
places, of the same types, and wrong. All runs have the same number of steps. OUT/results.jsonl gets a line for each:
correct facts that the seed lacks, among the 100, 200 and 400 surest and at the threshold with the highest F1 on the
validation documents, average precision, and how many the model states by itself. Runs that it already holds are not
done again, and a file that was measured with other settings is refused; another --part is asked of the same
models, `seconds` null.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import torch
from kept import kept_records, settings_of
from kg_kept import identity_on
from kg_redocred import SHARED, STILL, encoded
from kg_seed import RANKS, average_precision

from weft.kg.evaluate.triples import Guess, guess
from weft.kg.learn.setup import UNSTATED
from weft.kg.learn.text import course, from_pretrained
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.represent.entities import EntityExample
from weft.kg.represent.passages import Fact, TextDataset, load_text_dataset
from weft.platform.files import append_text
from weft.train import TrainConfig
from weft.train.snapshot import seed_everything

SELECTING = ("sizes", "controls", "unweighed", "unstated", "seeds", "part")
"""Options that say which runs there are and what they are asked, not what one is."""
LEAST = -30.0
"""Of guesses: all that can be among the surest."""
Named = tuple[str, int, str]


@dataclass(frozen=True)
class Run:
    """One training.

    Args:
        size: Facts of the seed.
        control: ``""``, ``"shuffled"`` or ``"moved"``.
        unstated: As in ``weft kg train``; None counts all pairs alike.
        seed: Of the draw and of the training.
    """

    size: int
    control: str
    unstated: float | None
    seed: int

    @property
    def name(self) -> str:
        """Of its folder."""
        control = f"-{self.control}" if self.control else ""
        return f"{self.size}{control}-{'all' if self.unstated is None else f'{self.unstated:g}'}-{self.seed}"


def main(argv: list[str]) -> int:
    """Train and score every run that has no line yet."""
    parser = argparse.ArgumentParser(
        description="Measure what a seed is worth to the model that learns of it."
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DATASET")
    parser.add_argument("--start", type=Path, required=True, help="a BERT directory")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sizes", nargs="*", type=int, default=[0, 50, 150, 500, 1500])
    parser.add_argument(
        "--controls", nargs="*", type=int, default=[500], help="sizes of shuffled and moved seeds"
    )
    parser.add_argument(
        "--unweighed", nargs="*", type=int, default=[500], help="sizes with all pairs alike as well"
    )
    parser.add_argument("--unstated", type=float, default=UNSTATED)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--part", default="test", help="whose facts are counted (test)")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = arguments.out / "results.jsonl"
    settings = settings_of(arguments, without=SELECTING)
    done = {(record["name"], record["part"]) for record in kept_records(results, settings)}
    dataset = load_text_dataset(arguments.data)
    dataset = replace(dataset, passages=tuple(encoded(dataset, arguments.start)))
    for run in (run for run in _runs(arguments) if (run.name, arguments.part) not in done):
        begin = time.process_time()
        seed, told = with_seed(dataset, run)
        model, whole = train(run, arguments, told)
        spent = time.process_time() - begin
        record = {
            "name": run.name,
            **vars(run),
            "part": arguments.part,
            "seconds": round(spent) if whole else None,
        }
        stated = sum(len(told.facts[number]) for number in told.documents_of("train"))
        record |= {"stated_in_training": stated, **score(model, dataset, seed, arguments.part)}
        record["settings"] = settings
        append_text(results, json.dumps(record) + "\n")
        print(json.dumps(record), flush=True)
    return 0


def _runs(arguments: argparse.Namespace) -> Iterable[Run]:
    for seed in arguments.seeds:
        for size in arguments.sizes:
            yield Run(size, "", arguments.unstated, seed)
        for size in arguments.controls:
            for control in ("shuffled", "moved"):
                yield Run(size, control, arguments.unstated, seed)
        for size in arguments.unweighed:
            yield Run(size, "", None, seed)


def with_seed(dataset: TextDataset, run: Run) -> tuple[set[Named], TextDataset]:
    """The seed that is drawn, and the data set whose training documents state nothing but it."""
    random = Random(run.seed)
    names = [{number: item.name for number, item in of_one.items()} for of_one in dataset.entities]
    pool: dict[Named, None] = {}
    for number in dataset.documents_of("train"):
        for head, relation, tail in sorted(dataset.facts[number]):
            if head in names[number] and tail in names[number]:
                pool[names[number][head], relation, names[number][tail]] = None
    drawn = random.sample(list(pool), min(run.size, len(pool)))
    if run.control == "shuffled":
        drawn = _shuffled(drawn, random)
    facts = list(dataset.facts)
    for number in dataset.documents_of("train"):
        by_name: dict[str, list[int]] = {}
        for entity, name in names[number].items():
            by_name.setdefault(name, []).append(entity)
        stated = {
            (head, relation, tail)
            for first, relation, second in drawn
            for head in by_name.get(first, ())
            for tail in by_name.get(second, ())
            if head != tail
        }
        if run.control == "moved":
            stated = {_moved(fact, dataset, number, random) for fact in sorted(stated)}
        facts[number] = frozenset(stated)
    told = set(dataset.documents_of("train"))
    passages = [
        _stating(item, facts[item.document]) if item.document in told else item for item in dataset.passages
    ]
    return set(drawn), replace(dataset, facts=tuple(facts), passages=tuple(passages))


def _shuffled(drawn: Sequence[Named], random: Random) -> list[Named]:
    result: list[Named] = []
    for relation in sorted({item[1] for item in drawn}):
        mine = [item for item in drawn if item[1] == relation]
        tails = [item[2] for item in mine]
        random.shuffle(tails)
        result += [(head, relation, tail) for (head, _, _), tail in zip(mine, tails, strict=True)]
    return result


def _moved(fact: Fact, dataset: TextDataset, number: int, random: Random) -> Fact:
    """The fact with another tail of the same type; as it is where the document has none."""
    head, relation, tail = fact
    entities = dataset.entities[number]
    others = [
        entity
        for entity, item in entities.items()
        if entity not in (head, tail) and item.type == entities[tail].type
    ]
    return (head, relation, random.choice(others)) if others else fact


def _stating(passage: EntityExample, facts: Iterable[Fact]) -> EntityExample:
    place = {entity: index for index, entity in enumerate(passage.entity.tolist())}
    inside = sorted((place[h], relation, place[t]) for h, relation, t in facts if h in place and t in place)
    return replace(passage, facts=torch.tensor(inside, dtype=torch.int64).view(-1, 3))


def train(run: Run, arguments: argparse.Namespace, dataset: TextDataset) -> tuple[EntityGraphModel, bool]:
    """Train one model, and whether from its first step on: a run that was cut off goes on where it stopped."""
    seed_everything(run.seed)
    model = from_pretrained(dataset, arguments.start, shared_layers=SHARED, **STILL)
    config = TrainConfig(
        steps=arguments.steps, batch_size=4, learning_rate=1.5e-3, weight_decay=0.05, warmup=0.08, schedule="linear",
        precision="bf16", restore_best=False, eval_every=10**6, save_every=10**6, seed=run.seed, threads=1,
    )  # fmt: skip
    decides = identity_on(arguments, SELECTING, run=run)
    lessons = course(model, dataset, config, unstated=run.unstated)
    return model, lessons.run(arguments.out / run.name, identity=decides).history.first_step == 0


def score(model: EntityGraphModel, dataset: TextDataset, seed: Set[Named], part: str) -> dict[str, object]:
    """Correct facts of held-out documents that the seed lacks."""
    (right_there, sure_there, new_there), (right, sure, new) = (
        _judged(model, dataset, seed, name) for name in ("valid", part)
    )
    found, f1 = 0, list[float]()
    for kept, hit in enumerate(right_there, 1):
        found += hit
        f1.append(2 * found / (kept + new_there))
    threshold = sure_there[max(range(len(f1)), key=f1.__getitem__)] if f1 else 0.0
    kept, own = (sum(value >= least for value in sure) for least in (threshold, 0.0))
    return {
        "new_facts": new,
        **{f"right_of_{rank}": sum(right[:rank]) for rank in RANKS},
        "kept": kept,
        "right": sum(right[:kept]),
        "f1": round(2 * sum(right[:kept]) / max(kept + new, 1), 4),
        "average_precision": average_precision(right, new),
        "valid_average_precision": average_precision(right_there, new_there),
        "states": own,
        "states_right": sum(right[:own]),
    }


def _judged(
    model: EntityGraphModel, dataset: TextDataset, seed: Set[Named], part: str
) -> tuple[list[bool], list[float], int]:
    """Guesses that the seed lacks, the surest first: whether right, and how sure; and how many such facts there are."""

    def is_new(document: int, fact: Fact) -> bool:
        entities = dataset.entities[document]
        if fact[0] not in entities or fact[2] not in entities:
            return True
        return (entities[fact[0]].name, fact[1], entities[fact[2]].name) not in seed

    with torch.autocast("cpu", torch.bfloat16):
        guesses: list[Guess] = guess(model, dataset.passages_of(part), least=LEAST)
    ordered = sorted((item for item in guesses if is_new(*item[:2])), key=lambda item: -item.score)
    right = [item.fact in dataset.facts[item.document] for item in ordered]
    there = sum(
        is_new(number, fact) for number in dataset.documents_of(part) for fact in dataset.facts[number]
    )
    return right, [item.score for item in ordered], there


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
