r"""Train `kg-text-small`: raw English text to facts, nothing given.

    weft kg build dev_revised.json --language redocred --split SPLIT --vocabulary MINILM -o DATASET
    python recipes/kg_text_small.py --data DATASET --corpus dev_revised.json --sentences val_wiki.json \
        --start MINILM --teacher MPNET --out OUT

SPLIT is examples/kg/redocred_split.json. A base-size teacher learns the mentions of Re-DocRED's training part, of
made texts and of written ones, and tags sentences of FewRel; layers that find mentions learn from all of these, then
for one epoch from plain made sentences as well. Then leaves, pairs and relations, and the lower layers that they are
read from, learn from the training part, from made texts, from written ones, from the training part cut into
sentences, from plain made sentences, and from the training part with the mentions that the model found itself. Then
confidences are fitted on what the model reads out of the raw documents of the validation part, whole and cut, and of
written texts that were kept apart.
OUT/model is the model, its matrices in bytes of six bits. It goes on where it was stopped. With --mentions-of MODEL
and another --seed the relations alone are trained anew (with --begin MODEL that one's are trained on), with
--relations-of MODEL what finds mentions alone (with --mentions-on MODEL that one's is trained on). --long texts are
several documents below each other, whose names have no fact in common.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import torch
from kg_kept import identity_on
from kg_text_made import HERE, Maker, Scene, read_scenes
from kg_text_pieces import as_found, long_texts
from kg_text_teacher import bare_passages, given_probabilities, learn_tags, soft_tags
from kg_text_written import choosing, trained_on

from weft.kg.evaluate.judge import calibrated, documents_of
from weft.kg.extraction.entities import EntityExtractor
from weft.kg.learn.text import course, from_pretrained
from weft.kg.mentions.tags import number_of_tags
from weft.kg.mentions.training import Tagger
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.read.documents import TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.sentences import pieces
from weft.kg.read.sentences_with_entities import read_fewrel
from weft.kg.represent.document import document_passages
from weft.kg.represent.entities import EntityExample
from weft.kg.represent.passages import TextDataset, TextEntity, load_text_dataset
from weft.kg.schema import Schema
from weft.platform.models import find_model
from weft.train import TrainConfig
from weft.train.snapshot import seed_everything

SHARED, MEAN, MENTION_LAYERS = 5, 3, 6
TEACHER_EPOCHS = 5
MADE_FOR_MENTIONS = 200
PAIRS_TOGETHER, COINED = 24, 0.5
PLAIN_FOR_MENTIONS = 1500
BITS = 6
_LEAST_SHARE = 0.02
_OF_TEACHER = ("data", "teacher", "sentences", "written", "seed")
_OF_MENTIONS = (*_OF_TEACHER, "start", "pair_size", "mention_epochs")
_OF_RELATIONS_ALONE = ("corpus", "split", "made", "plain", "long", "relation_epochs")
"""Options that what finds mentions does not depend on."""

Weights = dict[str, torch.Tensor]


def with_documents(dataset: TextDataset, documents: Sequence[TextDocument]) -> TextDataset:
    """The data set with further documents in its training part."""
    passages, entities, facts = list(dataset.passages), list(dataset.entities), list(dataset.facts)
    ids = dataset.schema.ids()
    for number, document in enumerate(documents, len(dataset.titles)):
        found = document_passages(
            document, dataset.tokenizer, dataset.types, 512, schema=dataset.schema, number=number
        )
        passages += [example for example, _ in found]
        entities.append({item.entity: TextEntity(item.name, item.type) for item in document.mentions})
        facts.append(frozenset((fact.head, ids[fact.relation], fact.tail) for fact in document.facts))
    return replace(
        dataset,
        titles=(*dataset.titles, *(document.id for document in documents)),
        parts=(*dataset.parts, *("train" for _ in documents)),
        passages=tuple(passages),
        entities=tuple(entities),
        facts=tuple(facts),
    )


def made_texts(dataset: TextDataset, count: int) -> list[TextDocument]:
    """Made texts; a part of their names stands in the training part."""
    maker = maker_of(dataset, read_scenes(), Random(0))
    return [maker(f"made-{number}") for number in range(count)]


def maker_of(dataset: TextDataset, scenes: Sequence[Scene], random: Random, coined: float = 0.0) -> Maker:
    """Makes texts with a part of the names that stand in the training part."""
    real: dict[str, set[str]] = {"PER": set(), "ORG": set(), "LOC": set()}
    for number in dataset.documents_of("train"):
        for entity in dataset.entities[number].values():
            words = len(entity.name.split())
            if entity.type in real and entity.name[0].isupper() and (entity.type != "PER" or 1 < words < 4):
                real[entity.type].add(entity.name)
    return Maker(scenes, random, {kind: sorted(names) for kind, names in real.items()}, coined=coined)


def plain_texts(dataset: TextDataset, count: int) -> list[TextDocument]:
    """Made sentences, one to three together, of the scenes of made texts and of plain ones."""
    maker = maker_of(dataset, [*read_scenes(), *read_scenes(HERE / "plain.txt")], Random(11), COINED)
    return [maker.plain(f"plain-{number}") for number in range(count)]


def short_and_found(
    model: EntityGraphModel, dataset: TextDataset, documents: Sequence[TextDocument]
) -> list[TextDocument]:
    """The documents in pieces of a few sentences, then whole with the entities that the model finds in them."""
    random = Random(7)
    short = [piece for document in documents for piece in pieces(document, random)]
    found = [as_found(model, dataset.tokenizer, document, random) for document in documents]
    return [piece for piece in short if len({item.entity for item in piece.mentions}) > 1] + found


def typed_schema(dataset: TextDataset) -> Schema:
    """The schema with the types that heads and tails have in the training part, without the rarest ones."""
    heads: dict[int, Counter[str]] = defaultdict(Counter)
    tails: dict[int, Counter[str]] = defaultdict(Counter)
    for number in dataset.documents_of("train"):
        kinds = {entity: value.type for entity, value in dataset.entities[number].items()}
        for head, relation, tail in dataset.facts[number]:
            if kinds.get(head) and kinds.get(tail):
                heads[relation][kinds[head]] += 1
                tails[relation][kinds[tail]] += 1

    def common(counted: Counter[str]) -> tuple[str, ...]:
        return tuple(
            sorted(kind for kind, count in counted.items() if count >= _LEAST_SHARE * counted.total())
        )

    return Schema(
        tuple(
            replace(relation, head_types=common(heads[number]), tail_types=common(tails[number]))
            for number, relation in enumerate(dataset.schema.relations, 1)
        )
    )


def settings(arguments: argparse.Namespace) -> TrainConfig:
    """What all trainings have in common."""
    return TrainConfig(
        epochs=arguments.mention_epochs, batch_size=4, learning_rate=1.5e-3, weight_decay=0.01, warmup=0.1,
        schedule="linear", restore_best=False, seed=arguments.seed, threads=1, precision="bf16", keep=1,
    )  # fmt: skip


def started(arguments: argparse.Namespace, dataset: TextDataset, *, tuned: bool) -> EntityGraphModel:
    """A model whose layers are the start's, the same every time."""
    seed_everything(arguments.seed)
    return from_pretrained(
        dataset, arguments.start, shared_layers=SHARED, tuned=tuned, mean_layers=MEAN, moving_roots=False,
        mention_layers=MENTION_LAYERS, pair_size=arguments.pair_size,
    )  # fmt: skip


def mentions_learnt(
    arguments: argparse.Namespace,
    dataset: TextDataset,
    made: Sequence[TextDocument],
    plain: Sequence[TextDocument],
) -> tuple[Weights, Weights]:
    """The layers that find mentions: before and after one epoch more of labelled texts, plain sentences among them.

    Before it they learn given tags, and those that a teacher gives the sentences of FewRel.
    """
    shared, tags = settings(arguments), number_of_tags(len(dataset.types) - 1)
    known = identity_on(arguments)
    of_teacher, of_mentions = ({name: known[name] for name in names} for names in (_OF_TEACHER, _OF_MENTIONS))
    labelled = tagged(with_documents(dataset, made))
    sentences = bare_passages(dataset, list(read_fewrel(arguments.sentences, Funnel())))
    teaching = replace(shared, epochs=TEACHER_EPOCHS)
    soft = soft_tags(arguments.teacher, dataset, labelled, sentences, teaching, arguments.out, of_teacher)
    model = started(arguments, dataset, tuned=False)
    assert model.mentions is not None
    reader = model.mentions
    both = [*given_probabilities(labelled, tags), *soft]
    learn_tags(Tagger(model), [*labelled, *sentences], both, shared, arguments.out / "mentions", of_mentions)
    before = {name: value.clone() for name, value in reader.state_dict().items()}
    labelled = tagged(with_documents(dataset, [*made, *plain[:PLAIN_FOR_MENTIONS]]))
    again = replace(shared, epochs=1, learning_rate=7.5e-4)
    given = given_probabilities(labelled, tags)
    learn_tags(Tagger(model), labelled, given, again, arguments.out / "mentions-plain", of_mentions)
    return before, dict(reader.state_dict())


def learn_on(
    arguments: argparse.Namespace,
    model: EntityGraphModel,
    dataset: TextDataset,
    more: Sequence[TextDocument],
) -> None:
    """Train the layers that find mentions on: given tags alone, further labelled texts beside the training part."""
    config = replace(settings(arguments), learning_rate=7.5e-4)
    labelled = tagged(with_documents(dataset, more))
    given = given_probabilities(labelled, number_of_tags(len(dataset.types) - 1))
    decides = identity_on(arguments, _OF_RELATIONS_ALONE)
    learn_tags(Tagger(model), labelled, given, config, arguments.out / "mentions-on", decides)


def tagged(dataset: TextDataset) -> list[EntityExample]:
    """The training part's passages with mentions."""
    return [item for item in dataset.passages_of("train") if len(item.mention_entity)]


def main(argv: list[str]) -> int:
    """Train, calibrate, save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DATASET")
    parser.add_argument(
        "--corpus", type=Path, required=True, metavar="FILE", help="Re-DocRED, to calibrate with"
    )
    parser.add_argument("--split", type=Path, default=Path("examples/kg/redocred_split.json"), metavar="FILE")
    parser.add_argument("--start", type=Path, required=True, metavar="DIR", help="a BERT directory")
    parser.add_argument("--teacher", type=Path, metavar="DIR", help="MPNet, see recipes/base_start.py")
    parser.add_argument("--sentences", type=Path, metavar="FILE", help="FewRel, for the teacher to tag")
    known = parser.add_mutually_exclusive_group()
    known.add_argument(
        "--mentions-of", metavar="MODEL", help="take what finds mentions from a model; no teacher is needed"
    )
    known.add_argument(
        "--mentions-on", metavar="MODEL", help="train what finds mentions on from a model's, at half the rate"
    )
    parser.add_argument(
        "--relations-of", metavar="MODEL", help="take all but what finds mentions from a model"
    )
    parser.add_argument(
        "--begin", metavar="MODEL", help="a model whose relations are trained on, at half the rate"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="OUT")
    parser.add_argument("--made", type=int, default=200, help="made texts (200)")
    parser.add_argument("--plain", type=int, default=3000, help="made plain sentences (3000)")
    parser.add_argument(
        "--written", type=int, choices=(0, 1), default=1, help="whether written texts are read (1)"
    )
    parser.add_argument("--long", type=int, default=0, help="texts of several documents each (0)")
    parser.add_argument("--mention-epochs", type=int, default=4)
    parser.add_argument("--relation-epochs", type=int, default=8)
    parser.add_argument("--pair-size", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    goes_on = arguments.mentions_of or arguments.mentions_on
    if goes_on is None and None in (arguments.teacher, arguments.sentences):
        parser.error("--teacher and --sentences, or --mentions-of, or --mentions-on")
    torch.set_num_threads(1)
    begun = time.process_time()
    dataset = load_text_dataset(arguments.data)
    made = made_texts(dataset, max(arguments.made, MADE_FOR_MENTIONS))
    plain = plain_texts(dataset, max(arguments.plain, PLAIN_FOR_MENTIONS))
    written = trained_on() if arguments.written else []
    begin = None if arguments.relations_of is None else find_model("kg", arguments.relations_of)
    model = started(arguments, dataset, tuned=True) if begin is None else EntityGraphModel.load(begin)
    if arguments.begin is not None:
        model = EntityGraphModel.load(find_model("kg", arguments.begin))
        model.encoder.embeddings.requires_grad_(False)
    assert model.mentions is not None
    if goes_on is None:
        before, after = mentions_learnt(arguments, dataset, [*made[:MADE_FOR_MENTIONS], *written], plain)
        # Half way between both: documents are read as before the plain sentences, and those as after them.
        found = {name: (value + after[name]) / 2 for name, value in before.items()}
    else:
        other = EntityGraphModel.load(find_model("kg", goes_on)).mentions
        if other is None:
            parser.error(f"{goes_on} finds no mentions")
        found = dict(other.state_dict())
    model.mentions.load_state_dict(found)
    if arguments.mentions_on is not None:
        learn_on(
            arguments, model, dataset, [*made[:MADE_FOR_MENTIONS], *written, *plain[:PLAIN_FOR_MENTIONS]]
        )
    folder = arguments.out / "model"
    if begin is None:
        model.mentions.requires_grad_(False)
        documents = documents_of(arguments.corpus, "redocred", arguments.split, "train", Funnel())
        more = [*made[: arguments.made], *plain[: arguments.plain], *written]
        more += [
            as_found(model, dataset.tokenizer, text, Random(number)) for number, text in enumerate(written)
        ]
        long = long_texts([*documents, *written], arguments.long, Random(13))
        more += [
            as_found(model, dataset.tokenizer, text, Random(number)) if number % 2 else text
            for number, text in enumerate(long)
        ]
        everything = with_documents(dataset, [*more, *short_and_found(model, dataset, documents)])
        seed_everything(arguments.seed)
        config = replace(
            settings(arguments),
            epochs=arguments.relation_epochs,
            learning_rate=1.5e-3 if arguments.begin is None else 7.5e-4,
            weight_decay=0.05,
            warmup=0.08,
        )
        lessons = course(model, everything, config, pairs_together=PAIRS_TOGETHER)
        lessons.run(arguments.out / "relations", identity=identity_on(arguments))
        schema = typed_schema(with_documents(dataset, [*made, *written]))
    else:
        schema = Schema.load(begin / "schema.json")
    model.save(folder, dataset.tokenizer.tokenizer, bits=BITS)
    schema.save(folder / "schema.json")
    others = choosing() if arguments.written else []
    extractor = calibrated(EntityExtractor.load(folder), arguments.corpus, arguments.split, others=others)
    if extractor.confidence is not None:
        extractor.confidence.save(folder)
    print(json.dumps({"model": str(folder), "seconds": round(time.process_time() - begun)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
