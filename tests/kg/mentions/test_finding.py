"""A model that finds mentions: it learns to, reads raw text to facts, and says where it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
import torch
from tests.kg.text_corpus import write_corpus

from weft.encoder.answering import precision as precisions
from weft.encoder.answering.layer import AnsweringLayer
from weft.encoder.answering.precision import Precision, arithmetic_of
from weft.encoder.answering.product import cpu_multiplies_int8
from weft.encoder.layer import EncoderLayer
from weft.errors import ConfigError, InputError
from weft.kg.dataset.text import TextBuildConfig, build_redocred
from weft.kg.evaluate.raw import b_cubed, judge, score_raw
from weft.kg.extraction.entities import EntityExtractor
from weft.kg.learn.text import course, from_scratch
from weft.kg.mentions.document import _beginning, mentions_in, with_mentions
from weft.kg.mentions.find import find_spans, score_mentions
from weft.kg.mentions.tags import Span
from weft.kg.mentions.training import gold_spans, train_mentions
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.redocred import read_redocred
from weft.kg.represent.passages import TextDataset, load_text_dataset, windows
from weft.train import TrainConfig


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("towns") / "towns.json", 48)


@pytest.fixture(scope="module")
def dataset(corpus: Path) -> TextDataset:
    build_redocred(
        [corpus], corpus.parent / "data", TextBuildConfig(vocab_size=400, valid_percent=20, test_percent=20)
    )
    return load_text_dataset(corpus.parent / "data")


def fresh(dataset: TextDataset) -> EntityGraphModel:
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "layers": 2, "heads": 2, "pair_size": 16}
    return from_scratch(dataset, **sizes, shared_layers=1, mention_layers=1)


@pytest.fixture(scope="module")
def trained(dataset: TextDataset) -> EntityGraphModel:
    model = fresh(dataset)
    train = TrainConfig(steps=100, batch_size=8, learning_rate=1e-2, restore_best=False)
    course(model, dataset, replace(train, steps=40)).run()
    train_mentions(model, dataset.passages_of("train"), train, quiet=True)
    return model.eval()


def test_it_learns_to_find_what_it_never_saw(dataset: TextDataset, trained: EntityGraphModel) -> None:
    held_out = dataset.passages_of("test")
    score = score_mentions(find_spans(trained, held_out), held_out, dataset.types[1:])
    before = score_mentions(find_spans(fresh(dataset), held_out), held_out, dataset.types[1:])
    assert score.f1 > 0.8 > before.f1
    assert score.f1 >= score.typed_f1 > 0.6


def test_finding_looks_at_no_given_mention(dataset: TextDataset, trained: EntityGraphModel) -> None:
    passages = dataset.passages_of("test")
    none = torch.zeros(0, dtype=torch.int64)
    bare = [
        replace(item, mention_entity=none, mention_start=none, mention_end=none, types=none, entity=none,
                facts=torch.zeros(0, 3, dtype=torch.int64))
        for item in passages
    ]  # fmt: skip
    assert find_spans(trained, bare) == find_spans(trained, passages)
    together, alone = find_spans(trained, passages), find_spans(trained, passages, batch_size=1)
    assert [[span[:3] for span in spans] for spans in alone] == [
        [span[:3] for span in spans] for spans in together
    ]
    for one, other in zip(chain(*alone), chain(*together), strict=True):
        assert one.probability == pytest.approx(other.probability, rel=1e-4)


def test_training_mentions_changes_nothing_else(dataset: TextDataset) -> None:
    model, before = fresh(dataset), fresh(dataset).state_dict()
    train = TrainConfig(steps=2, batch_size=4, restore_best=False)
    train_mentions(model, dataset.passages_of("train"), train, quiet=True)
    changed = {name for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])}
    assert changed
    assert all(name.startswith("mentions.") for name in changed)
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_raw_text_to_facts(
    corpus: Path, dataset: TextDataset, trained: EntityGraphModel, tmp_path: Path
) -> None:
    trained.save(tmp_path / "model", dataset.tokenizer.tokenizer, bits=8)
    dataset.schema.save(tmp_path / "model" / "schema.json")
    extractor = EntityExtractor.load(tmp_path / "model")
    test = set(dataset.documents_of("test"))
    documents = [item for number, item in enumerate(read_redocred(corpus, Funnel())) if number in test]
    score = score_raw(judge(extractor, documents), documents)
    assert 0.3 < score.f1 <= 1
    assert b_cubed(extractor, documents) > 0.6
    for document in documents:
        for item in mentions_in(extractor.model, extractor.tokenizer, document):
            assert document.text[item.start : item.end].strip() == document.text[item.start : item.end]


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_other_products_move_answers_a_little(
    corpus: Path, dataset: TextDataset, trained: EntityGraphModel, precision: Precision, tmp_path: Path
) -> None:
    if precision == "int8" and not cpu_multiplies_int8():
        pytest.skip("this processor has no products of 8 bits")
    trained.save(tmp_path / "model", dataset.tokenizer.tokenizer, bits=8)
    dataset.schema.save(tmp_path / "model" / "schema.json")
    extractors = [EntityExtractor.load(tmp_path / "model", precision=name) for name in ("fp32", precision)]
    documents = [replace(item, mentions=(), facts=()) for item in read_redocred(corpus, Funnel())][:12]
    plain, moved = (
        {
            (document.id, fact.head, fact.relation, fact.tail): fact.confidence
            for document in documents
            for fact in extractor.facts_of(extractor.with_found(document))
        }
        for extractor in extractors
    )
    assert len(plain.keys() & moved.keys()) > 0.8 * len(plain.keys() | moved.keys()) > 0
    gaps = [abs(plain[key] - moved[key]) for key in plain.keys() & moved.keys()]
    assert 0 < max(gaps) < 0.3
    assert sum(gaps) / len(gaps) < 0.05
    layers = [type(layer) for layer in extractors[1].model.encoder.layers]
    # Layers below the leaves are whole ones for answers; those above know patterns, and only their products change.
    assert layers == [AnsweringLayer, EncoderLayer]
    assert extractors[1].model.mentions is not None
    assert isinstance(extractors[1].model.mentions.encoder.layers[0], AnsweringLayer)
    # The same text alone and among others: a row's scale is its own.
    found = [extractors[1].facts_of(extractors[1].with_found(documents[0])) for _ in range(2)]
    assert found[0] == found[1]


def test_eight_bits_only_on_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert arithmetic_of("fp32", torch.device("cpu")) is None
    assert arithmetic_of("auto", torch.device("meta")) == "bf16"
    with pytest.raises(ConfigError, match="products of eight bits: not on meta"):
        arithmetic_of("int8", torch.device("meta"))
    monkeypatch.setattr(precisions, "fastest_on_cpu", lambda: None)
    assert arithmetic_of("auto", torch.device("cpu")) is None


def test_passages_for_mentions_share_a_chunk() -> None:
    lengths = [128] * 9
    assert windows(lengths, 510) == [(0, 3), (2, 5), (4, 7), (6, 9)]
    assert windows(lengths, 510, 1) == [(0, 3), (2, 5), (4, 7), (6, 9)]
    assert windows(lengths, 512) == [(0, 4), (2, 6), (4, 8), (6, 9)]
    assert windows(lengths, 512, 1) == [(0, 4), (3, 7), (6, 9)]
    assert windows([600, 128], 510, 1) == [(0, 1), (1, 2)]


def test_given_names_come_first(dataset: TextDataset, trained: EntityGraphModel, corpus: Path) -> None:
    document = next(read_redocred(corpus, Funnel()))
    bare = replace(document, mentions=())
    found = with_mentions(trained, dataset.tokenizer, bare).mentions
    assert len({item.entity for item in found}) > 1
    first = found[0]
    given = Mention(first.start, first.end, 7, "the seed's name", "")
    named = replace(bare, mentions=(given,))
    mixed = with_mentions(trained, dataset.tokenizer, named, typed=False).mentions
    assert given in mixed
    # A name of no type has the one that is found there.
    assert given._replace(type=first.type) in with_mentions(trained, dataset.tokenizer, named).mentions
    other = replace(bare, mentions=(given._replace(type="river"),))
    assert other.mentions[0] in with_mentions(trained, dataset.tokenizer, other).mentions
    surface = document.text[first.start : first.end]
    again = [item for item in mixed if document.text[item.start : item.end] == surface]
    assert {(item.entity, item.name) for item in again} == {(7, "the seed's name")}
    assert all(item.entity > 7 for item in mixed if item not in again)


def test_empty_and_odd_texts(dataset: TextDataset, trained: EntityGraphModel) -> None:
    for text in ("", " ", "?", "\n\n", "a" * 3000, "Lund " * 700, "👍 Lund"):
        document = TextDocument("odd", text)
        for item in with_mentions(trained, dataset.tokenizer, document).mentions:
            assert 0 <= item.start < item.end <= len(text)


def test_what_cannot_be_is_refused(dataset: TextDataset) -> None:
    plain = from_scratch(dataset, hidden_size=32, layers=2, heads=2, pair_size=16)
    with pytest.raises(ConfigError, match="finds no mentions"):
        find_spans(plain, dataset.passages_of("test"))
    with pytest.raises(ConfigError, match="finds no mentions"):
        train_mentions(plain, dataset.passages_of("train"), TrainConfig(steps=1))
    with pytest.raises(ConfigError, match="mention_layers is -1"):
        from_scratch(dataset, hidden_size=32, layers=2, heads=2, pair_size=16, mention_layers=-1)
    without = [replace(item, cases=None) for item in dataset.passages_of("test")]
    with pytest.raises(InputError, match="letter cases"):
        find_spans(fresh(dataset), without)
    with pytest.raises(InputError, match="no passage with a mention"):
        train_mentions(fresh(dataset), [], TrainConfig(steps=1))


def test_mentions_of_unknown_types_are_no_tags(dataset: TextDataset) -> None:
    item = dataset.passages_of("test")[0]
    assert len(gold_spans(item)) == len(item.mention_entity)
    assert gold_spans(replace(item, types=torch.zeros_like(item.types))) == []


def test_a_mention_of_the_marks_around_a_text_is_none(
    dataset: TextDataset, trained: EntityGraphModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = TextDocument("a", "Lund lies far from Oslo.")
    count = len(dataset.tokenizer.encode(document.text))
    monkeypatch.setattr("weft.kg.mentions.document.sentence_edges", lambda _: (3, 4))
    everything = [Span(0, 2, 0), Span(1, 2, 0), Span(count - 1, count, 0), Span(count + 1, count + 2, 0)]
    monkeypatch.setattr("weft.kg.mentions.document.find_spans", lambda *_, **__: [everything])
    found = mentions_in(trained, dataset.tokenizer, document)
    assert [(item.start, item.end) for item in found] == [(0, 4), (19, 23)]


def test_a_name_does_not_run_on_from_a_heading_or_into_an_item(
    dataset: TextDataset, trained: EntityGraphModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "About Ida\n\nIda Holm lives here:\n- Jo Lund\n- Al Berg"
    # One mark stands before a passage's tokens.
    starts = [-1, *dataset.tokenizer.encode(text).starts.tolist()]
    given: list[Sequence[Sequence[int]]] = []

    def find(*_: object, breaks: Sequence[Sequence[int]]) -> list[list[Span]]:
        given.append(breaks)
        return [[]]

    monkeypatch.setattr("weft.kg.mentions.document.find_spans", find)
    monkeypatch.setattr("weft.kg.mentions.document.sentence_edges", lambda tokenizer: (0, 0))
    assert mentions_in(trained, dataset.tokenizer, TextDocument("one", text)) == []
    ((breaks,),) = given
    assert {starts.index(text.index(name)) for name in ("Ida Holm", "Jo", "Al")} <= set(breaks)
    assert starts.index(text.index("Holm")) not in breaks


def test_no_name_goes_on_over_a_break(dataset: TextDataset, trained: EntityGraphModel) -> None:
    passages = dataset.passages_of("test")
    found = find_spans(trained, passages)
    number, span = next(
        (number, span) for number, spans in enumerate(found) for span in spans if span[1] - span[0] > 1
    )
    place = span[0] + 1
    breaks = [[place] if at == number else [] for at in range(len(passages))]
    parted = find_spans(trained, passages, breaks=breaks)
    assert not any(first < place < stop for first, stop, *_ in parted[number])
    assert [spans for at, spans in enumerate(parted) if at != number] == [
        spans for at, spans in enumerate(found) if at != number
    ]


@pytest.mark.parametrize(
    ("surface", "kind", "name"),
    [
        ("Dear Martin", "PER", "Martin"),
        ("Dear Leader", "MISC", "Dear Leader"),
        ("the Pope", "PER", "Pope"),
        ("the 1990s", "TIME", "the 1990s"),
    ],
)
def test_where_a_name_begins(surface: str, kind: str, name: str) -> None:
    assert surface[_beginning(surface, kind) :] == name
