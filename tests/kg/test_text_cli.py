"""From Re-DocRED's form to scored and extracted facts, by the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.kg.text_corpus import write_corpus

from weft.cli.main import main
from weft.kg.dataset.text import TextBuildConfig, build_redocred
from weft.kg.evaluate.pair_baselines import pair_baselines
from weft.kg.evaluate.triples import Guess, best_threshold, score_facts
from weft.kg.extraction.entities import EntityExtractor
from weft.kg.learn.text import course, from_pretrained
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.read.funnel import Funnel
from weft.kg.read.redocred import read_redocred
from weft.kg.represent.entities import entity_batch
from weft.kg.represent.passages import TextDataset, load_text_dataset
from weft.train import TrainConfig

SETTINGS = """\
model: {kind: entities, hidden_size: 32, layers: 2, heads: 2}
train: {steps: 60, batch_size: 4, learning_rate: 0.004, betas: [0.9, 0.98], save_every: 200, eval_every: 200}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("texts")
    config = TextBuildConfig(vocab_size=400, valid_percent=20, test_percent=20)
    build_redocred([write_corpus(place / "corpus.json", 48)], place / "data", config)
    return place


@pytest.fixture(scope="module")
def trained(folder: Path) -> Path:
    model = folder / "model"
    path = folder / "train.yaml"
    path.write_text(f"data: {folder / 'data'}\nout: {folder / 'out'}\n{SETTINGS}", encoding="utf-8")
    assert main(["kg", "train", str(path), "-o", str(model), "--quiet"]) == 0
    return model


def test_train_eval_and_calibrate(folder: Path, trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate = ["kg", "eval", str(folder / "data"), "--model", str(trained)]
    assert main([*evaluate, "--calibrate", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert set(table) == {"type pair", "nearest entity", "model"}
    assert table["model"]["best"]["f1"] > 2 * table["type pair"]["best"]["f1"]
    assert 0 <= table["model"]["calibration_error"] <= 1
    assert main(evaluate) == 0
    assert "best threshold on validation" in capsys.readouterr().out


def test_facts_point_at_their_words(folder: Path, trained: Path) -> None:
    extractor = EntityExtractor.load(trained)
    found = 0
    for document in list(read_redocred(folder / "corpus.json", Funnel()))[:12]:
        facts = extractor.facts_of(document, least=0.3)
        assert facts == extractor.facts_of(document, least=0.3)
        for fact in facts:
            head, tail = (document.text[slice(*place)] for place in (fact.place, fact.tail_place))
            assert (head, tail) == (fact.head, fact.tail)
            assert fact.span[0] <= min(fact.place[0], fact.tail_place[0])
            assert fact.confidence >= 0.3
        found += len(facts)
    assert found


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["train", "SETTINGS", "--model.decay", "scores"], 2, "model.decay is for the kind weft-kg"),
        (["train", "SETTINGS", "--start", "NOWHERE"], 4, "no such model"),
        (["train", "SETTINGS", "--model.tuned", "true"], 2, "model.tuned is for a training that has a start"),
        (
            ["train", "SETTINGS", "--model.kind", "weft-kg", "--model.tuned", "true"],
            2,
            "model.tuned is for the kind entities",
        ),
        (["eval", "DATA", "--by-relation"], 2, "of code; this is one of text"),
        (
            ["extract", "CORPUS", "--model", "MODEL", "-o", "OUT", "--llm", "http://127.0.0.1:9/v1"],
            2,
            "a model of text spells none",
        ),
    ],
)
def test_what_text_cannot_do(
    folder: Path,
    trained: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    says: str,
) -> None:
    names = {name: str(folder / name.lower()) for name in ("DATA", "OUT", "NOWHERE")}
    names |= {"CORPUS": str(folder / "corpus.json"), "MODEL": str(trained)}
    names["SETTINGS"] = str(folder / "train.yaml")
    assert main(["kg", *(names.get(item, item) for item in arguments)]) == code
    assert says in capsys.readouterr().err
    assert not (folder / "out").exists()


@pytest.fixture(scope="module")
def dataset(folder: Path) -> TextDataset:
    return load_text_dataset(folder / "data")


def test_facts_are_scored_as_by_hand(dataset: TextDataset) -> None:
    documents = dataset.documents_of("test")
    known = [(number, fact) for number in documents for fact in sorted(dataset.facts[number])]
    right = [Guess(number, fact, 3.0 - place) for place, (number, fact) in enumerate(known[:3])]
    wrong = [Guess(documents[0], (0, 5, 3), 2.5), Guess(documents[0], (3, 5, 0), -4.0)]
    threshold = best_threshold(dataset, [*right, *wrong], documents)
    assert threshold == 1.0
    score = score_facts(dataset, [*right, *wrong], documents, threshold)
    assert (score.guesses, score.precision) == (4, 0.75)
    assert score.recall == pytest.approx(3 / len(known))
    assert score.f1 == pytest.approx(2 * 3 / (4 + len(known)))
    assert score.seen is not None
    assert score.unseen is not None
    assert score.seen.guesses + score.unseen.guesses == 4
    assert score.ignoring_f1 <= score.f1


def test_baselines_know_types_and_neighbours(dataset: TextDataset) -> None:
    documents = dataset.documents_of("test")
    found = pair_baselines(dataset, documents)
    nearest, pairs = found["nearest entity"], found["type pair"]
    assert set(nearest) <= set(pairs)
    for number in documents:
        heads = [item.fact[0] for item in nearest if item.document == number]
        assert len(heads) == len(set(heads))
    born = dataset.schema.names.index("place of birth") if "place of birth" in dataset.schema.names else None
    types = {(dataset.entities[item.document][item.fact[0]].type, item.fact[1]) for item in pairs}
    assert born is None or ("PER", born) in types


@pytest.mark.parametrize("tuned", [False, True])
def test_what_a_training_from_a_start_changes(
    dataset: TextDataset, trained: Path, tuned: bool, tmp_path: Path
) -> None:
    """The lower layers learn where that is asked for; what finds mentions stands on the embeddings, which stay."""
    model = from_pretrained(dataset, trained, shared_layers=1, tuned=tuned, pair_size=16, mention_layers=1)
    before = {name: value.clone() for name, value in model.encoder.state_dict().items()}
    course(model, dataset, TrainConfig(steps=2, batch_size=4, learning_rate=1e-2, restore_best=False)).run()
    after = model.encoder.state_dict()
    changed = {name for name, value in before.items() if not value.equal(after[name])}
    assert not any(name.startswith("embeddings.") for name in changed)
    assert any(name.startswith("layers.0.") for name in changed) == tuned
    assert any(name.startswith("layers.1.") for name in changed)
    model.save(tmp_path, dataset.tokenizer.tokenizer, bits=6)
    read = EntityGraphModel.load(tmp_path).eval()
    assert read.config.frozen != tuned
    batch = entity_batch(dataset.passages_of("test")[:2])
    stored = load_file(tmp_path / "model.safetensors").values()
    assert {tensor.dtype for tensor in stored if tensor.dim() > 1 and tensor.shape[-1] > 1} == {torch.int8}
    # Six bits: near, not the same.
    with torch.no_grad():
        assert read(batch).allclose(model.eval()(batch), atol=0.5)


def test_a_first_name_of_several_documents_may_be_several_persons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "one.txt").write_text("Employer: Galp\nSpouse: Mira Holt\nName: Jack\n")
    (texts / "two.txt").write_text("Employer: Shell\nSpouse: Ann Lee\nName: Jack\n")
    assert (
        main(["kg", "extract", str(texts), "-o", str(tmp_path / "store"), "--workers", "1", "--quiet"]) == 0
    )
    capsys.readouterr()
    assert main(["kg", "show", str(tmp_path / "store"), "Jack"]) == 0
    assert "a name of one word in 2 documents: it may be several persons" in capsys.readouterr().out
    assert main(["kg", "show", str(tmp_path / "store"), "Mira Holt"]) == 0
    assert "of one word" not in capsys.readouterr().out
