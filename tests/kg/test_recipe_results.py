"""Recipes of kg: what is left out of a training, and finished results, kept under their settings alone."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from safetensors.torch import save_file
from tests.kg.text_corpus import write_corpus

from weft.kg.dataset.text import TextBuildConfig, build_redocred
from weft.kg.learn.code import named_config
from weft.kg.represent.dataset import load_dataset
from weft.kg.represent.passages import load_text_dataset
from weft.kg.represent.sampling import Sampler, SamplingConfig
from weft.train import TrainConfig

ROOT = Path(__file__).parents[2]


def test_a_distribution_is_left_out_by_what_it_is_imported_as(
    recipe: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    for name in ("git/index/base.py", "gitmodule.py", "GitPython-3.1.dist-info/METADATA"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert recipe("kg_code_types").import_names(tmp_path) == {"git", "gitmodule"}


@pytest.mark.parametrize("documents", [8, 0])
def test_without_a_seed_no_leaf_hangs_anywhere(
    recipe: Callable[[str], ModuleType], tmp_path: Path, documents: int
) -> None:
    """Neither where a triple had been placed nor where none could be."""
    build_redocred(
        [write_corpus(tmp_path / "towns.json", 8)], tmp_path / "data", TextBuildConfig(vocab_size=400)
    )
    dataset = load_dataset(tmp_path / "data")
    corpus = dataset.corpus
    if not documents:
        none = {name: getattr(corpus, name)[:0] for name in recipe("kg_seed")._OF_TRIPLES}
        corpus = type(corpus)(**{**vars(corpus), **none})
    bare = recipe("kg_seed").bare(corpus)
    assert int(bare.first_triple[-1]) == 0
    config = named_config("graphmert", dataset, 32, 1, 2)
    sampler = Sampler(bare, config, SamplingConfig(mnm_share=0.5))
    batch = sampler.make(torch.arange(2), torch.Generator().manual_seed(0))
    assert not batch.real[:, batch.num_roots :].any()


def test_a_control_is_kept_with_every_manner_of_asking_under_its_settings(
    recipe: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controls, calls = recipe("kg_code_controls"), list[str]()

    def measured(name: str, seed: int, arguments: Namespace) -> list[dict[str, object]]:
        calls.append(name)
        return [{"control": name, "seed": seed}, {"control": f"{name} in training only", "seed": seed}]

    monkeypatch.setattr(controls, "measured", measured)
    command = ["corpus", "--held", "held", "--start", "model", "--out", str(tmp_path), "--seeds", "1"]
    controls.main(command)
    controls.main(command)
    assert calls == list(controls.CONTROLS)
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert len(lines) == 2 * len(calls)
    assert all(json.loads(line)["settings"]["steps"] == 50 for line in lines)
    with pytest.raises(
        SystemExit, match=r"results\.jsonl line 1: measured with steps 50, not 60; name another --out"
    ):
        controls.main([*command, "--steps", "60"])


def test_tags_of_another_teacher_are_refused(recipe: Callable[[str], ModuleType], tmp_path: Path) -> None:
    teacher = recipe("kg_text_teacher")
    config = TextBuildConfig(vocab_size=400, valid_percent=20, test_percent=20)
    build_redocred([write_corpus(tmp_path / "towns.json", 8)], tmp_path / "data", config)
    dataset = load_text_dataset(tmp_path / "data")
    passages = dataset.passages_of("train")
    said = torch.rand(sum(len(item.ids) for item in passages), 3)
    made_of = {"data": "a", "teacher": "b", "sentences": "c"}

    def soft_tags(**others: str) -> list[torch.Tensor]:
        known = {**made_of, "seed": "1", **others}
        return teacher.soft_tags(tmp_path, dataset, [], passages, TrainConfig(steps=1), tmp_path, known)

    save_file({"tags": said}, tmp_path / "tags.safetensors", metadata=made_of)
    assert torch.equal(torch.cat(soft_tags(seed="2")), said)
    with pytest.raises(SystemExit, match="made of another teacher; remove it, or name another --out"):
        soft_tags(teacher="d")
    save_file({"tags": said}, tmp_path / "tags.safetensors")
    with pytest.raises(SystemExit, match="does not say what it was made of"):
        soft_tags()
