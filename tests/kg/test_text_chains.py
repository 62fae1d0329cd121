"""Leafy chain models of text: a seed's triples in the leaves, tails of masked leaves, and the commands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.kg.text_corpus import PEOPLE, TOWNS

from weft.cli.main import main
from weft.encoder.config import EncoderConfig
from weft.encoder.encoder import Encoder
from weft.errors import ConfigError
from weft.kg.config import ModelConfig, graphmert, weft_kg
from weft.kg.dataset.text import TextBuildConfig, build_text
from weft.kg.dataset.tokens import END, MASK
from weft.kg.evaluate.confidence import Confidence
from weft.kg.extraction.tails import TailExtractor
from weft.kg.inject.injection import InjectionConfig
from weft.kg.learn.code import course, started
from weft.kg.learn.setup import Setup, Shape
from weft.kg.learn.start import Start
from weft.kg.model.choose import Standing, choose_tails, tail_log_probabilities
from weft.kg.model.decode import Queries, filled_log_probability, score_tails
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.represent.dataset import load_dataset
from weft.kg.represent.sampling import SamplingConfig
from weft.kg.schema import Relation, Schema
from weft.train import TrainConfig, run_setup

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
ROOTS = (7, 8, 9, 10, 11, 12)
TAILS = ((8,), (9, 10), (12,))
QUESTIONS = ((1, 0, 1), (2, 0, 1), (1, 2, 2))


def configs() -> dict[str, ModelConfig]:
    sizes = {**SIZES, "max_position_embeddings": 16}
    return {
        "graphmert": graphmert(40, 4, leaves=3, **sizes),
        "graphmert-official": graphmert(40, 4, official=True, leaves=3, **sizes),
        "weft-kg": weft_kg(40, 4, hidden_size=32, layers=2, heads=2, leaves=3, roots=16),
    }


@pytest.mark.parametrize("kind", configs())
def test_tails_are_as_likely_as_their_tokens(kind: str) -> None:
    torch.manual_seed(0)
    model = LeafyChainModel(configs()[kind]).eval()
    found = tail_log_probabilities(model, ROOTS, QUESTIONS, TAILS)
    roots = torch.tensor([ROOTS])
    # In a row stand the questions of one relation: the first and third together, the second alone.
    rows = [(0, 2), (1,)]
    for row in rows:
        relation, start, length = (
            torch.tensor([[QUESTIONS[item][part] for item in row]]) for part in range(3)
        )
        queries = Queries(roots, torch.ones_like(relation, dtype=torch.bool), relation, start, length)
        for tail_number, tail in enumerate(TAILS):
            if kind == "weft-kg":
                ids = torch.tensor([[[*tail, 0, 0][:3]] * len(row)])
                sums = score_tails(model, queries, ids, torch.full_like(relation, len(tail)))[0]
                wanted = sums / min(len(tail) + 1, 3)
            else:
                size = 3 if kind == "graphmert" else len(tail)
                shown = torch.full((1, len(row), size), MASK)
                log_p = filled_log_probability(model, queries, shown)[0]
                said = [*tail, END][:3] if kind == "graphmert" else list(tail)
                wanted = torch.stack([log_p[:, place, token] for place, token in enumerate(said)]).mean(dim=0)
            torch.testing.assert_close(found[list(row), tail_number], wanted, rtol=1e-4, atol=1e-5)


def test_types_and_the_head_itself_are_never_answers() -> None:
    torch.manual_seed(0)
    model = LeafyChainModel(configs()["graphmert"]).eval()
    schema = Schema(
        (
            Relation("born_in", "", head_types=("PER",), tail_types=("LOC",)),
            Relation("near", ""),
            Relation("lies_in", "", head_types=("LOC",), tail_types=("LOC",)),
        )
    )
    standing = [
        Standing(5, 0, 1, "PER", (7,)),
        Standing(6, 1, 1, "LOC", (8,)),
        Standing(7, 2, 1, "", (9,)),
        Standing(8, 3, 1, "MISC", ()),
    ]
    asked = {
        (item.head.entity, schema.names[item.relation], item.tail.entity)
        for item in choose_tails(model, ROOTS, standing, schema)
    }
    # What has no type, or one that the schema never names, may be anything; what is too long is no tail.
    born = {(head, "born_in", tail) for head in (5, 7, 8) for tail in (6, 7) if head != tail}
    near = {(head, "near", tail) for head in (5, 6, 7, 8) for tail in (5, 6, 7) if head != tail}
    lies = {(head, "lies_in", tail) for head in (6, 7, 8) for tail in (6, 7) if head != tail}
    assert asked == born | near | lies


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of sentences that state a birthplace, a schema and a seed that knows most of them."""
    place = tmp_path_factory.mktemp("chains")
    texts = place / "texts"
    texts.mkdir()
    for number in range(24):
        person, town = PEOPLE[number % 8], TOWNS[(number // 2) % 8]
        (texts / f"{number:02}.txt").write_text(
            f"{person} junior {number} was born in {town}. The weather of {1900 + number} was mild.",
            encoding="utf-8",
        )
    (place / "schema.json").write_text(
        json.dumps({"born_in": {"definition": "head was born in tail", "head": ["person"], "tail": ["town"]}})
    )
    rows = [
        f"{PEOPLE[number % 8]} junior {number},born_in,{TOWNS[(number // 2) % 8]},person,town"
        for number in range(24)
    ]
    header = "head,relation,tail,head_type,tail_type"
    (place / "seed.csv").write_text("\n".join([header, *rows]) + "\n")
    (place / "short.csv").write_text("\n".join([header, *rows[:3]]) + "\n")
    return place


def build(folder: Path, name: str) -> Path:
    build_text(
        [folder / "texts"],
        folder / name,
        folder_schema(folder),
        [folder / f"{name}.csv"],
        TextBuildConfig(vocab_size=500, valid_percent=0, test_percent=0, roots=32, longest_tail=4),
        near=None,
    )
    return folder / name


def folder_schema(folder: Path) -> Schema:
    return Schema.load(folder / "schema.json")


def test_the_seed_reaches_the_model(folder: Path) -> None:
    """Models that differ in nothing but the seed's triples are not the same, as they were before leaves held them."""
    states = []
    for name in ("seed", "short"):
        dataset = load_dataset(build(folder, name))
        torch.manual_seed(0)
        model = LeafyChainModel(graphmert(dataset.tokenizer.vocab_size, 2, leaves=4, **SIZES))
        config = TrainConfig(steps=2, batch_size=8, learning_rate=1e-3, seed=0, threads=1, precision="fp32")
        lessons = course(model, dataset.corpus, SamplingConfig(batch_size=8, mnm_share=0.5), config)
        assert list(lessons.run(None).history.final) == list(lessons.measures)
        assert [note.split(":")[0] for note in lessons.notes] == [
            "the validation part of the data set is empty"
        ]
        states.append(model.state_dict())
    assert any(not torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.parametrize("kind", ["graphmert", "graphmert-official", "weft-kg"])
def test_from_a_seed_to_facts(folder: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = build(folder, "seed")
    setup = Setup(
        data,
        folder / kind,
        Shape(kind=kind, hidden_size=48, layers=2, heads=2),  # type: ignore[arg-type]  # one of them
        sampling=SamplingConfig(mlm_share=0.3, hide_share=0.0, mnm_share=0.7),
        train=TrainConfig(
            steps=240, batch_size=12, learning_rate=3e-3, seed=0, threads=1, precision="fp32", save_every=1000,
            eval_every=1000,
        ),
    )  # fmt: skip
    run_setup(setup, quiet=True)
    one = folder / "texts" / "05.txt"
    asked = ["--model", str(folder / kind), "--seed", str(folder / "seed.csv"), "--exact"]
    assert main(["kg", "facts", str(one), *asked, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    best = max(facts, key=lambda fact: fact["confidence"])
    assert (best["head"], best["relation"], best["tail"]) == (f"{PEOPLE[5]} junior 5", "born_in", TOWNS[2])
    assert best["sentence"].startswith(f"{PEOPLE[5]} junior 5 was born in {TOWNS[2]}.")
    store = folder / f"store-{kind}"
    command = ["kg", "extract", str(folder / "texts"), *asked, "-o", str(store), "--workers", "1", "--json"]
    assert main(command) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["read"] + report["empty"] == 24
    assert report["read"] > 12
    assert main(["kg", "facts", str(one), *asked]) == 0
    assert f"{PEOPLE[5]} junior 5  born_in" in capsys.readouterr().out


def test_eval_and_its_confidences(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Types leave one answer here; without them a fact is as sure as pairs that no type chose."""
    sizes = TextBuildConfig(vocab_size=500, valid_percent=30, test_percent=30, roots=32, longest_tail=4)
    data, model = folder / "parts", folder / "evaluated"
    build_text(
        [folder / "texts"], data, folder_schema(folder), [folder / "seed.csv"], sizes,
        injection=InjectionConfig(alpha=0.0), near=None,
    )  # fmt: skip
    config = TrainConfig(steps=2, batch_size=4, learning_rate=1e-3, seed=0, threads=1, precision="fp32")
    run_setup(
        Setup(data, model, Shape(kind="graphmert", hidden_size=32, layers=1, heads=2), train=config),
        quiet=True,
    )
    assert main(["kg", "eval", str(data), "--model", str(model), "--json"]) == 0
    assert "kept" not in json.loads(capsys.readouterr().out)["model"]
    assert main(["kg", "eval", str(data), "--model", str(model), "--calibrate", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["model"]
    assert found["best"]["precision"] == 1.0  # of the two entities of a text, one is a person and one a town
    assert found["best"]["guesses"] > 0
    assert found["kept"]["guesses"] > 0
    text = f"{PEOPLE[5]} junior 5 was born in {TOWNS[2]}."
    ends = [(0, text.index(" was")), (text.index(TOWNS[2]), len(text) - 1)]
    extractor = TailExtractor.load(model)

    def sureness(head: int, *kinds: str) -> float:
        mentions = [
            Mention(start, end, number, text[start:end], kind)
            for number, ((start, end), kind) in enumerate(zip(ends, kinds, strict=True))
        ]
        facts = extractor.facts_of(TextDocument("one", text, tuple(mentions)))
        name = text[slice(*ends[head])]
        return next((fact.confidence for fact in facts if fact.head == name), 0.0)

    assert sureness(0, "person", "town") > 0.9
    assert sureness(1, "person", "town") == 0.0
    fitted = extractor.confidence
    assert fitted is not None
    assert "born_in" in fitted.guessed
    own = Confidence.fit([("born_in", 0.5, True)] * 9, [("born_in", 0.5, number == 0) for number in range(4)])
    extractor = replace(extractor, confidence=own)
    assert sureness(0, "person", "town") == pytest.approx(1.0)
    assert sureness(0, "person", "LOC") == pytest.approx(0.25, abs=0.2) != sureness(0, "person", "town")


@pytest.mark.parametrize("kind", ["graphmert", "graphmert-official", "weft-kg"])
def test_a_start_gives_its_encoder(folder: Path, kind: str) -> None:
    """Words and layers are the start's; positions begin after BERT's first token; slots near its first type."""
    dataset = load_dataset(build(folder, "seed"))
    torch.manual_seed(1)
    sizes = {**SIZES, "vocab_size": dataset.tokenizer.vocab_size, "max_position_embeddings": 64}
    begun = Encoder(EncoderConfig(**sizes))
    model = started(kind, dataset, Start(begun, None, None, Path("start")))
    mine, theirs = model.encoder.state_dict(), begun.state_dict()
    for name, value in theirs.items():
        if "position" not in name and "token_type" not in name:
            assert torch.equal(mine[name], value), name
    position, types = "embeddings.position_embeddings.weight", "embeddings.token_type_embeddings.weight"
    if kind == "graphmert-official":
        assert position not in mine
    else:
        assert torch.equal(mine[position], theirs[position][1:33])
    assert torch.equal(mine[types][0], theirs[types][0])
    assert len(mine[types]) == (2 if kind == "graphmert-official" else 5)
    assert model.config.language == "text"


def test_positions_that_a_start_lacks(folder: Path) -> None:
    dataset = load_dataset(build(folder, "seed"))
    sizes = {**SIZES, "vocab_size": dataset.tokenizer.vocab_size, "max_position_embeddings": 16}
    with pytest.raises(ConfigError, match="32 positions"):
        started("graphmert", dataset, Start(Encoder(EncoderConfig(**sizes)), None, None, Path("start")))
