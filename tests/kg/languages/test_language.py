"""A language is one folder and one line: data set, model's questions and store take it from there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
import torch

from weft.errors import ConfigError, InputError
from weft.kg import languages
from weft.kg.dataset.code import BuildConfig, build_code
from weft.kg.extraction.code import CodeCorpus, CodeLoader
from weft.kg.extraction.corpus import extract_corpus
from weft.kg.extraction.model import model_language
from weft.kg.languages import find_language
from weft.kg.languages.language import Language, ParsedFile
from weft.kg.languages.python import LANGUAGE as PYTHON
from weft.kg.languages.unit import Fact, Unit
from weft.kg.learn.code import named_config
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.dataset import load_dataset
from weft.kg.schema import Relation, Schema


class Assignments:
    """A file of lines such as ``a = b``."""

    def __init__(self, text: str) -> None:
        self.text = text

    def units(self) -> Iterator[Unit]:
        breaks = tuple(found.start() for found in re.finditer(r"^", self.text, re.MULTILINE))
        yield Unit("module", "", self.text, ((0, len(self.text)),), None, (0, 0), breaks[1:])


class Toy(Language):
    """A language of assignments."""

    name = "toy"
    suffixes = (".toy",)
    schema = Schema((Relation("gets", "the head is assigned the tail"), Relation("kind", "what the head is")))
    silent: ClassVar = {"gets": (("head", "kind"),)}

    def parse(self, text: str, where: str) -> Assignments:
        if "?" in text:
            raise InputError("not toy", where=where)
        return Assignments(text)

    def facts(self, file: ParsedFile, unit: Unit) -> list[Fact]:
        return [
            Fact(found[1], "gets", found[2], found.start())
            for found in re.finditer(r"(\w+) = (\w+)", unit.text)
        ]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Toy:
    language = Toy()
    monkeypatch.setitem(sys.modules, "toy_language", SimpleNamespace(LANGUAGE=language))
    monkeypatch.setitem(languages.LANGUAGES, "toy", "toy_language")
    return language


def test_a_new_language_goes_all_the_way(toy: Toy, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(6):
        lines = [f"name_{number}_{line} = value_{line}" for line in range(12)]
        (tree / f"file_{number}.toy").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tree / "broken.toy").write_text("what?\n", encoding="utf-8")
    (tree / "other.py").write_text("x = 1\n", encoding="utf-8")
    config = BuildConfig(
        roots=64, vocab_size=300, valid_percent=0, test_percent=0, overlap=1.0, stubs=False, language="toy"
    )
    funnel = build_code([tree], tmp_path / "data", config)
    assert funnel.counts["files"] == 7
    assert funnel.counts["triples"] == 6 * 12
    assert funnel.listed["files that cannot be read"] == ["broken.toy: not toy"]
    dataset = load_dataset(tmp_path / "data")
    assert dataset.language == "toy"
    assert dataset.schema.names == ("none", "gets", "kind")
    torch.manual_seed(0)
    model = LeafyChainModel(named_config("weft-kg", dataset, hidden_size=16, layers=1, heads=2)).eval()
    model.save(tmp_path / "model", dataset.tokenizer)
    assert model_language(tmp_path / "model") is toy
    report = extract_corpus(
        CodeCorpus(tree, "tree", toy),
        tmp_path / "store",
        CodeLoader(tmp_path / "model", beams=1, floor=0.0),
        corpus="tree",
        model="toy",
    )
    assert [name for name, _ in report.failed] == ["tree/broken.toy"]
    assert report.read == 6


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no language .cobol.*python"):
        find_language("cobol")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [" + "1," * 2_000_000 + "]\n", "4,000,007 characters"),
        ("a" * 2_000_000 + " = 1\n", "2,000,005 characters"),
        ("a" * 200_000 + " = 1\n", "a word of more than 100,000 characters"),
    ],
    ids=["a long list", "a long name", "a shorter one"],
)
def test_sources_without_bound_are_refused_at_once(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        PYTHON.parse(text, "large.py")
