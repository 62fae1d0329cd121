"""Text and a seed to a data set, with everything that can be wrong with either in the funnel."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from weft.cli.main import main
from weft.errors import CheckpointError, ConfigError, InputError
from weft.kg.dataset.tables import read_table
from weft.kg.dataset.text import TextBuildConfig, build_text
from weft.kg.dataset.vocabulary import bert_vocabulary, learn_vocabulary
from weft.kg.represent.dataset import load_dataset
from weft.kg.schema import Relation, Schema

EXAMPLES = Path(__file__).parents[3] / "examples" / "kg"
SCHEMA = Schema((Relation("flows_into", "…"), Relation("sibling", "…", both_ways=True)))
SMALL = TextBuildConfig(roots=64, vocab_size=400, valid_percent=10, test_percent=10)


def test_everything_wrong_is_in_the_funnel(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "good.txt").write_text(
        "The Aare flows into the Rhine. It is the River Aare Falls. The Rhines is long."
    )
    (corpus / "bad.txt").write_bytes(b"\xff\xff")
    (corpus / "empty.txt").write_text("")
    (corpus / "more.jsonl").write_text(
        json.dumps({"id": "good.txt", "text": "Once more."}) + "\n{broken\n"
        + json.dumps({"id": "b", "text": "The Rhine flows into the sea."}) + "\n"
    )  # fmt: skip
    seed = tmp_path / "seed.csv"
    seed.write_text(
        "Aare,flows_into,Rhine\n"
        "Rhine,flows_into,sea\n"
        "River Aare,sibling,Rhine\n"
        "Aare Falls,sibling,Rhine\n"
        "Volga,flows_into,Caspian Sea\n"
        "Aare,likes,Rhine\n"
        "Aare,flows_into,abcdefghijklmnopqrstuvwxyz 0123456789\n"
        "Aare,flows_into\n"
    )
    config = replace(SMALL, longest_tail=15)
    funnel = build_text([corpus], tmp_path / "out", SCHEMA, [seed], config)
    listed = funnel.listed
    assert listed["files that cannot be read"][0].startswith("bad.txt: not UTF-8")
    assert listed["empty documents"] == ["empty.txt"]
    assert listed["documents with an id that another has"] == ["good.txt"]
    assert listed["lines that cannot be read"][0].startswith("more.jsonl:2: is not JSON")
    assert listed["seed triples whose head never occurs"] == [
        "Aare Falls sibling Rhine",
        "Volga flows into Caspian Sea",
    ]
    assert listed["seed triples whose relation is not in the schema"] == ["seed.csv:6: Aare likes Rhine"]
    assert len(listed["seed triples whose tail is too long"]) == 1
    assert listed["seed lines that cannot be read"][0].startswith("seed.csv:8")
    # "River Aare" lies across "Aare Falls": the first of the longest is the mention.
    assert funnel.noted["names over another name"] == {"Aare Falls in River Aare": 1}
    assert funnel.noted["near names"] == {"Rhines → Rhine": 1}
    assert funnel.failures == 3
    kept = json.loads((tmp_path / "out" / "build.json").read_text())
    assert kept["counts"] == dict(funnel.counts)
    assert kept["left out"] == listed
    assert kept["noted"]["near names"] == {"Rhines → Rhine": 1}
    assert kept["config"]["alpha"] == 0.55
    dataset = load_dataset(tmp_path / "out")
    assert funnel.counts["triples"] == len(dataset.corpus.relation) > 0
    entities = json.loads((tmp_path / "out" / "entities.json").read_text())
    assert [entity["name"] for entity in entities][:2] == ["Aare", "Rhine"]


def test_what_documents_are_known_to_state(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Aare and Rhine.")
    (tmp_path / "b.txt").write_text("Aare only.")
    seed = tmp_path / "seed.tsv"
    seed.write_text("Aare\tflows_into\tRhine\n")
    build_text([tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "out", SCHEMA, [seed], SMALL)
    facts = read_table(tmp_path / "out", "facts").to_pylist()
    assert facts == [{"document": 0, "head": 0, "relation": 1, "tail": 1, "chunks": 1}]


def test_nothing_to_build_from(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Aare")
    (tmp_path / "empty.txt").write_text(" ")
    (tmp_path / "bad.csv").write_text("Aare,likes,Rhine\n")
    (tmp_path / "good.csv").write_text("Aare,flows_into,Rhine\n")
    with pytest.raises(InputError, match=r"no seed triple that can be used: bad\.csv:1: "):
        build_text([tmp_path / "a.txt"], tmp_path / "out", SCHEMA, [tmp_path / "bad.csv"], SMALL)
    with pytest.raises(InputError, match="no document"):
        build_text([tmp_path / "empty.txt"], tmp_path / "out", SCHEMA, [tmp_path / "good.csv"], SMALL)


def test_the_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["kg", "build", str(EXAMPLES / "rivers"), "--schema", str(EXAMPLES / "rivers_schema.yaml")]
    arguments += [
        "--seed",
        str(EXAMPLES / "rivers_seed.csv"),
        "-o",
        str(tmp_path / "d"),
        "--vocab-size",
        "1500",
        "--leaves",
        "12",
    ]
    assert main([*arguments, "--per-head", "4", "--json", "--quiet"]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert counts["documents"] == 28
    assert counts["mentions"] == 293
    # Every seed triple can be used.
    assert counts["seed triples"] == 178
    assert not [name for name in counts if name.startswith("seed triples whose")]
    assert counts["triples"] == 90
    # Without near names there are fewer mentions; the 0-quantile keeps all.
    assert main([*arguments, "--exact", "--alpha", "0", "--json", "--quiet"]) == 0
    exact = json.loads(capsys.readouterr().out)["counts"]
    assert exact["mentions"] == 291
    assert (
        exact["injection 2: with a score above alpha"]
        == exact["injection 1: triples in a chunk with their head"]
    )


def test_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("Aare")
    (tmp_path / "s.csv").write_text("Aare,flows_into,Rhine\n")
    text, seed = str(tmp_path / "a.txt"), ["--seed", str(tmp_path / "s.csv")]
    out = ["-o", str(tmp_path / "out")]
    assert main(["kg", "build", text, *seed, *out]) == 2
    assert "--schema and --seed" in capsys.readouterr().err
    assert main(["kg", "build", text, *seed, "--schema", str(tmp_path / "no.json"), *out]) == 3
    assert "no.json: is not there" in capsys.readouterr().err


def test_schema_files(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "flows_into:\n  definition: where it ends\n  head: river\n  tail: [river, sea]\n  also: [P403]\n"
        "near: {direction: both ways}\nplain: a line\n"
    )
    schema = Schema.load(path)
    assert schema.relations == (
        Relation("flows_into", "where it ends", False, ("river",), ("river", "sea"), ("P403",)),
        Relation("near", "", both_ways=True),
        Relation("plain", "a line"),
    )
    assert schema.ids() == {"flows_into": 1, "P403": 1, "near": 2, "plain": 3}
    assert schema.relations[0].allows("river", None)
    assert not schema.relations[0].allows("city", "sea")
    schema.save(tmp_path / "s.json")
    assert Schema.load(tmp_path / "s.json") == schema
    for text, message in [
        ("- a", "JSON object"),
        ("a: [1]", "neither a definition nor"),
        ("a: {definitions: b}", "no key 'definitions'"),
        ("a: {direction: up}", "direction 'up'"),
        ("a: {head: [1]}", "no list of strings"),
        ("a: {", "is not YAML"),
        (
            "a: {definition: }",
            r"s.yaml: the definition of relation 'a' is None, no text \(write one line, or",
        ),
        ("a: {definition: [x, y]}", "the definition of relation 'a' is .*, no text"),
        ("no: b", r"s.yaml: the relation name False is no text \(YAML reads words such as no"),
        ("1: b", "the relation name 1 is no text"),
    ]:
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            Schema.load(path)
    path = tmp_path / "twice.json"
    path.write_text('{"a": "one", "a": "another"}')
    with pytest.raises(InputError, match=r"twice.json: the key 'a' stands twice"):
        Schema.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: {also: [z]}\nb: {also: [y, z]}", r"s.yaml: 'a' and 'b' are both also called 'z' \(leave it"),
        ('"": x', "s.yaml: a relation without a name"),
        ('" ": x', "s.yaml: a relation without a name"),
        (
            "a: {direction: both ways, inverse: b}\nb: x",
            "s.yaml: 'a' holds both ways, and has the inverse 'b'",
        ),
    ],
)
def test_relations_that_do_not_go_together(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        Schema.load(path)


def test_what_is_said_twice_alike_is_no_contradiction(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("a: {direction: both ways, inverse: a, also: [z, z]}")
    assert Schema.load(path).inverses() == {1: 1}


def test_a_learnt_vocabulary_spells_names_back() -> None:
    tokenizer = learn_vocabulary(["Jean-Luc said: O'Brien (the St. Louis man) owes $5, e.g. 3.50"] * 2, 300)
    for name in ("New York", "O'Brien", "St. Louis", "Jean-Luc", "(the man)", "Łódź", "東京", "a, b"):
        assert tokenizer.text(tokenizer.tail(name)) == name
    # A name has the same tokens wherever it stands.
    inside = tokenizer.encode("(Paris), Paris\nParis").ids.tolist()
    one = list(tokenizer.tail("Paris"))
    assert inside[1 : 1 + len(one)] == inside[-len(one) :] == one


def test_a_bert_vocabulary(tmp_path: Path) -> None:
    words = [
        "[PAD]",
        *(f"[unused{n}]" for n in range(4)),
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "bern",
        "##e",
        "the",
    ]
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 100, "vocab": {word: n for n, word in enumerate(words)}}  # fmt: skip
    added = [
        {"id": n, "content": words[n], "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": True} for n in (0, 5, 6, 7, 8)
    ]  # fmt: skip
    data = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                           "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": None,
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True}, "model": model}  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    tokenizer = bert_vocabulary(tmp_path)
    again = tmp_path / "again"
    again.mkdir()
    tokenizer.save(again / "tokenizer.json")
    assert bert_vocabulary(again).digest == tokenizer.digest
    assert tokenizer.tail("Berne") == (9, 10)
    assert tokenizer.text((9, 10)) == "berne"
    assert tokenizer.tail("Zürich") == (1,)
    # What is called like a special token is text in a text: here of three pieces that nobody learnt.
    assert tokenizer.tail("[MASK]") == (1, 1, 1)
    assert tokenizer.vocab_size == len(words)
    model["vocab"] = {word: n for n, word in enumerate(["[PAD]", "the", *words[2:]])}
    for broken in (json.dumps(data), "{}", "no"):
        (tmp_path / "tokenizer.json").write_text(broken)
        with pytest.raises(CheckpointError):
            bert_vocabulary(tmp_path)
