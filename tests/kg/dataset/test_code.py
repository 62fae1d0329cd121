"""Data sets: the funnel, the split, what is left out and why."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.kg.conftest import MODULE, write_tree

from weft.errors import ConfigError, InputError
from weft.kg.dataset.chunks import cut
from weft.kg.dataset.code import BuildConfig, build_code, split_of
from weft.kg.dataset.split import TEST, TRAIN, VALID
from weft.kg.dataset.tables import TableWriter, read_table
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.read.funnel import Funnel
from weft.kg.represent.dataset import Dataset, load_dataset

SMALL = BuildConfig(vocab_size=400, valid_percent=0, test_percent=40, overlap=0.5, stubs=False)


def test_what_is_built(built: tuple[Path, Funnel], dataset: Dataset) -> None:
    folder, funnel = built
    names = {path.name for path in folder.iterdir()}
    assert names == {
        f"{n}.{e}"
        for n, e in [
            ("chunks", "parquet"),
            ("triples", "parquet"),
            ("documents", "parquet"),
            ("schema", "json"),
            ("tokenizer", "json"),
            ("build", "json"),
        ]
    }
    assert json.loads((folder / "build.json").read_text())["counts"] == dict(sorted(funnel.counts.items()))
    corpus = dataset.corpus
    assert funnel.counts["chunks"] == len(corpus.ids) > 50
    assert funnel.counts["triples"] == len(corpus.relation)
    assert {0, 1, 2} == set(corpus.split.tolist())


def test_triples_point_at_their_words(dataset: Dataset) -> None:
    corpus, text = dataset.corpus, dataset.tokenizer.text
    stated = set()
    for t in range(len(corpus.relation)):
        ids = corpus.ids[corpus.chunk[t]]
        start, length = int(corpus.head_start[t]), int(corpus.head_length[t])
        head = text(ids[start : start + length].tolist())
        assert head.isidentifier()
        tail = text(corpus.tail_ids[t, : corpus.tail_length[t]].tolist())
        if corpus.tail_word[t] != 255:
            places = corpus.words[corpus.chunk[t]] == corpus.tail_word[t]
            assert text(ids[places].tolist()).startswith(tail)
        stated.add((head, dataset.schema.names[corpus.relation[t]], tail))
    assert ("load_3", "calls", "Shape3") in stated
    assert ("grow", "raises", "ValueError") in stated
    assert ("width", "has_type", "int") in stated
    assert ("count", "instance_of", "int") in stated


def test_types_never_stand_in_the_header(dataset: Dataset) -> None:
    """Annotations are cut: `float` and `dict` occur in no text."""
    words = {dataset.tokenizer.text([token]) for token in dataset.corpus.ids.unique().tolist()}
    texts = {dataset.tokenizer.text(ids.tolist()) for ids in dataset.corpus.ids}
    assert words
    assert not any("->" in text or "width: int" in text or "width:int" in text for text in texts)


def test_split_is_by_top_level_module() -> None:
    splits = {split_of(f"package_{number}", 20, 30) for number in range(200)}
    assert splits == {TRAIN, VALID, TEST}
    for number in range(50):
        assert (
            split_of(f"p{number}.a.b", 20, 30)
            == split_of(f"p{number}", 20, 30)
            == split_of(f"p{number}.c", 20, 30)
        )
    shares = [split_of(f"package_{number}", 20, 30) for number in range(2000)]
    assert 0.26 < shares.count(TEST) / 2000 < 0.34


def test_two_builds_are_equal_byte_for_byte(tree: Path, built: tuple[Path, Funnel], tmp_path: Path) -> None:
    config = BuildConfig(vocab_size=420, valid_percent=15, test_percent=25, overlap=1.0, stubs=False)
    build_code([tree], tmp_path, config)
    for path in built[0].iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_build_that_ends_early_leaves_the_data_set_as_it_was(
    tree: Path, built: tuple[Path, Funnel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "set"
    shutil.copytree(built[0], folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TableWriter, "add", stop)
    with pytest.raises(KeyboardInterrupt):
        build_code([tree], folder, replace(SMALL, vocab_size=300))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_is_built_over_a_data_set_of_text_is_one_of_code(tree: Path, tmp_path: Path) -> None:
    for name in ("chunks.parquet", "mentions.parquet", "facts.parquet", "entities.json"):
        (tmp_path / name).write_bytes(b"old")
    odd = tmp_path / "code"
    shutil.copytree(tree, odd)
    (odd / os.fsdecode(b"caf\xe9.py")).write_text("def brew(cup):\n    return cup\n" * 3)
    build_code([odd], tmp_path, SMALL)
    assert not {"mentions.parquet", "facts.parquet", "entities.json"} & {p.name for p in tmp_path.iterdir()}
    assert "caf\\xe9.py" in read_table(tmp_path, "documents")["path"].to_pylist()


def test_broken_files_are_counted_and_listed(tmp_path: Path) -> None:
    folder = write_tree(tmp_path / "tree", ["good"])
    (folder / "broken.py").write_text("def f(:\n")
    (folder / "latin.py").write_bytes(b"x = '\xe9'\n")
    (folder / "declared.py").write_bytes(b"# coding: latin-1\nx = '\xe9'\n")
    (folder / "unknown.py").write_bytes(b"# coding: klingon\nx = 1\n")
    (folder / "empty.py").write_text("\n")
    (folder / "tests").mkdir()
    (folder / "tests" / "more.py").write_text("x = 1\n")
    funnel = build_code([folder], tmp_path / "out", SMALL)
    assert funnel.counts["files"] == 6
    assert funnel.counts["empty files"] == 1
    assert funnel.counts["tests and packages skipped"] == 1
    listed = funnel.listed["files that cannot be read"]
    assert sorted(line.split(":")[0] for line in listed) == ["broken.py", "latin.py", "unknown.py"]
    assert len(read_table(tmp_path / "out", "documents")) == 3


def test_a_folder_that_may_not_be_opened_is_listed(tmp_path: Path, close: Callable[[Path], None]) -> None:
    tree = write_tree(tmp_path / "tree", ["good"])
    for name in ("shut", "tests"):
        (tree / name).mkdir()
        (tree / name / "more.py").write_text("x = 1\n")
        close(tree / name)
    funnel = build_code([tree], tmp_path / "out", SMALL)
    assert funnel.counts["files"] == 1
    assert funnel.listed == {"folders that cannot be opened": ["shut: cannot be read: Permission denied"]}
    assert funnel.failures == 1


def test_copies_of_held_out_code_stay_out_of_training(tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(40)]
    held_out = next(name for name in names if split_of(name, 0, 40) == TEST)
    kept = next(name for name in names if split_of(name, 0, 40) == TRAIN)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / f"{held_out}.py").write_text(MODULE.format(n=1))
    (tree / f"{kept}.py").write_text("def other(a, b):\n    return a.join(b)\n")
    extra = tmp_path / "extra" / "vendored"
    extra.mkdir(parents=True)
    # A near copy, an exact copy, and something of its own.
    (extra / "near.py").write_text(MODULE.format(n=1).replace("lines", "rows").replace("deque", "Counter"))
    (extra / "exact.py").write_text(MODULE.format(n=1))
    (extra / "own.py").write_text(
        "def unlike(alpha, beta):\n    gamma = alpha.merge(beta)\n    return gamma\n"
    )
    funnel = build_code(
        [tree], tmp_path / "out", replace(SMALL, extra_chunks=100), extra=[tmp_path / "extra"]
    )
    assert funnel.counts["units that repeat another"] >= 5
    assert funnel.counts["units that copy held-out ones"] >= 1
    dataset = load_dataset(tmp_path / "out")
    training = {dataset.tokenizer.text(ids.tolist()) for ids in dataset.corpus.ids[dataset.corpus.split == 0]}
    assert any("unlike" in text for text in training)
    assert not any("Shape1(Base)" in text or "defgrow" in text for text in training)


def test_long_tails_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "a.py").write_text("def f():\n    zyxwvutsrqponmlkjihgfedcba987654321()\n    g()\n")
    funnel = build_code([folder], tmp_path / "out", BuildConfig(vocab_size=300, longest_tail=3, stubs=False))
    assert funnel.counts["tail too long"] == 1
    assert funnel.counts["triples"] == 2


def test_long_functions_are_cut_at_statements_and_keep_their_name(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    body = "".join(f"    name_{number} = call_{number}(other_{number})\n" for number in range(40))
    (folder / "a.py").write_text(f"def long_one(a):\n{body}")
    config = BuildConfig(roots=64, vocab_size=500, valid_percent=0, test_percent=0, stubs=False)
    funnel = build_code([folder], tmp_path / "out", config)
    dataset = load_dataset(tmp_path / "out", roots=64)
    texts = [dataset.tokenizer.text([t for t in ids.tolist() if t]) for ids in dataset.corpus.ids]
    assert len(texts) > 4
    assert all(text.startswith("deflong_one") for text in texts)
    assert funnel.counts["cuts inside a statement"] == 0
    calls = dataset.corpus.relation == dataset.schema.id_of("calls")
    assert int(calls.sum()) == 40
    assert (dataset.corpus.ids != 0).sum(dim=1).max() <= 64


def test_cut_covers_every_token_once() -> None:
    text = "\n".join(f"x{number} = {number}" for number in range(50))
    tokenizer = CodeTokenizer.train([text], 300)
    tokens = tokenizer.encode(text)
    breaks = [place for place, character in enumerate(text) if character == "x"]
    cuts = cut(tokens, breaks, (0, 0), 20)
    covered = [index for start, stop in cuts.bodies for index in range(start, stop)]
    assert covered == list(range(len(tokens)))
    assert all(len(cuts.indices(number)) <= 20 for number in range(len(cuts.bodies)))


@pytest.mark.parametrize(
    "bad",
    [
        {"roots": 4},
        {"roots": 300},
        {"longest_tail": 0},
        {"vocab_size": 10},
        {"test_percent": 95},
        {"valid_percent": -1},
    ],
)
def test_configurations_that_break_a_rule(bad: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        BuildConfig(**bad)


def test_trees_that_hold_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file of python"):
        build_code([tmp_path], tmp_path / "out", SMALL)
    with pytest.raises(InputError, match="no such folder"):
        build_code([tmp_path / "absent"], tmp_path / "out", SMALL)
