r"""What a relation by words is worth that no training saw: relations are left out of a training in turn.

    weft kg build dev_revised.json --language redocred --split SPLIT --vocabulary MINILM -o DATASET
    python recipes/kg_relations_left_out.py --data DATASET --corpus dev_revised.json --start MINILM --out OUT

The relations are dealt into four hands, a relation and its inverse into one. Each hand in turn is left out of the
labels and of the schema of a training of few epochs on the training part, whole and as `kg-text-small` finds its
entities; its relations are then asked for by their definitions, out of the raw test documents, with the types of their
ends and without. One more training of the same length has all relations: what they are worth trained, and what is said
of them when only the map leaves them out. OUT/results.json has every relation with at least twenty facts.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import torch
from kg_kept import identity_on
from kg_text_pieces import as_found
from kg_text_small import settings, started, typed_schema, with_documents

from weft.kg.evaluate.judge import documents_of
from weft.kg.extraction.entities import EntityExtractor
from weft.kg.learn.text import course
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.read.funnel import Funnel
from weft.kg.represent.passages import TextDataset, load_text_dataset
from weft.kg.schema import Relation, Schema
from weft.kg.worded.judge import ENOUGH, best_scores
from weft.kg.worded.scores import worded_scores
from weft.platform.files import write_text
from weft.platform.models import find_model
from weft.train.snapshot import seed_everything

HANDS = 4


def hands(dataset: TextDataset) -> list[set[str]]:
    """The relations, dealt by how many facts of the training part they have."""
    names = dataset.schema.names
    counts = Counter(
        names[fact[1]] for number in dataset.documents_of("train") for fact in dataset.facts[number]
    )
    inverse = {item.name: item.inverse for item in dataset.schema.relations}
    dealt: list[set[str]] = [set() for _ in range(HANDS)]
    turn, done = 0, set[str]()
    for name, _ in counts.most_common():
        if name not in done:
            pair = {name, inverse[name] or name}
            dealt[turn % HANDS] |= pair
            done |= pair
            turn += 1
    return dealt


def without(dataset: TextDataset, left: Collection[str]) -> TextDataset:
    """The data set without some relations: none of their facts, and no number for them."""
    kept = [item for item in dataset.schema.relations if item.name not in left]
    old = {item.name: number for number, item in enumerate(dataset.schema.relations, 1)}
    number_of = {old[item.name]: number for number, item in enumerate(kept, 1)}
    passages = []
    for passage in dataset.passages:
        rows = [[h, number_of[r], t] for h, r, t in passage.facts.tolist() if r in number_of]
        passages.append(replace(passage, facts=torch.tensor(rows, dtype=torch.int64).reshape(-1, 3)))
    facts = tuple(
        frozenset((h, number_of[r], t) for h, r, t in known if r in number_of) for known in dataset.facts
    )
    return replace(dataset, schema=Schema(tuple(kept)), passages=tuple(passages), facts=facts)


def trained(
    arguments: argparse.Namespace, dataset: TextDataset, found: EntityGraphModel, name: str
) -> EntityExtractor:
    """A model of the data set's relations that finds mentions as the given one does."""
    model = started(arguments, dataset, tuned=True)
    assert model.mentions is not None
    assert found.mentions is not None
    model.mentions.load_state_dict(found.mentions.state_dict())
    model.mentions.requires_grad_(False)
    seed_everything(arguments.seed)
    config = replace(settings(arguments), epochs=arguments.epochs, weight_decay=0.05, warmup=0.08)
    decides = identity_on(arguments, relations=dataset.schema.names)
    course(model, dataset, config).run(arguments.out / name, identity=decides)
    return EntityExtractor(model.eval(), dataset.tokenizer, typed_schema(dataset), None)


def asked(extractor: EntityExtractor, relations: Sequence[Relation]) -> EntityExtractor:
    """The model, asked for relations by words beside its own; no confidence is needed to order their facts."""
    bare = tuple(replace(item, inverse="", one_tail=False) for item in relations)
    scores = worded_scores(extractor.model, extractor.tokenizer, extractor.schema, bare)
    new = {item.name for item in bare}
    known = extractor.schema.relations
    own = tuple(replace(item, inverse="") if item.inverse in new else item for item in known)
    return replace(extractor, schema=Schema((*own, *bare)), worded=scores)


def untyped(relations: Sequence[Relation]) -> tuple[Relation, ...]:
    """The relations without the types of their ends."""
    return tuple(replace(item, head_types=(), tail_types=()) for item in relations)


def main(argv: list[str]) -> int:
    """Train, measure, save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DATASET")
    parser.add_argument("--corpus", type=Path, required=True, metavar="FILE")
    parser.add_argument("--split", type=Path, default=Path("examples/kg/redocred_split.json"), metavar="FILE")
    parser.add_argument("--start", type=Path, required=True, metavar="DIR", help="a BERT directory")
    parser.add_argument("--mentions-of", default="kg-text-small", metavar="MODEL")
    parser.add_argument("--out", type=Path, required=True, metavar="OUT")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.set_defaults(mention_epochs=1, pair_size=128)
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    begun = time.process_time()
    dataset = load_text_dataset(arguments.data)
    found = EntityGraphModel.load(find_model("kg", arguments.mentions_of)).eval()
    read = documents_of(arguments.corpus, "redocred", arguments.split, "train", Funnel())
    random = Random(7)
    dataset = with_documents(
        dataset, [as_found(found, dataset.tokenizer, document, random) for document in read]
    )
    documents = documents_of(arguments.corpus, "redocred", arguments.split, "test", Funnel())
    own = typed_schema(dataset).relations
    whole = trained(arguments, dataset, found, "whole")
    scores = {
        "trained": best_scores(whole, documents),
        "by words, trained with it": best_scores(whole.without_training(), documents),
        "by words, trained with it, no types": best_scores(whole.without_training(untyped(own)), documents),
    }
    scores |= {"by words, never trained": {}, "by words, never trained, no types": {}}
    for number, hand in enumerate(hands(dataset)):
        model = trained(arguments, without(dataset, hand), found, f"without-{number}")
        new = [item for item in own if item.name in hand]
        scores["by words, never trained"] |= only(best_scores(asked(model, new), documents), hand)
        scores["by words, never trained, no types"] |= only(
            best_scores(asked(model, untyped(new)), documents), hand
        )
    counts = Counter(
        Schema(own).names[Schema(own).ids()[fact.relation]] for one in documents for fact in one.facts
    )
    write_text(arguments.out / "results.json", json.dumps(table(scores, counts), indent=1) + "\n")
    print(json.dumps({"seconds": round(time.process_time() - begun)}))
    return 0


def only(scores: dict[str, float], names: Collection[str]) -> dict[str, float]:
    """The scores of some relations."""
    return {name: value for name, value in scores.items() if name in names}


def table(scores: dict[str, dict[str, float]], facts: Counter[str]) -> dict[str, object]:
    """The means over relations with enough facts, printed, and each of them."""
    names = [name for name in scores["trained"] if facts[name] >= ENOUGH]
    means = {what: float(np.mean([found.get(name, 0.0) for name in names])) for what, found in scores.items()}
    for what, mean in means.items():
        print(f"{what:40}{mean:.3f}")
    each = {name: {what: round(found.get(name, 0.0), 4) for what, found in scores.items()} for name in names}
    return {"relations": len(names), "means": means, "each": each}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
