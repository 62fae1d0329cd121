"""The `weft kg` commands, from a source tree to facts, and what they refuse."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from tests.kg.conftest import MODULE, write_tree

from weft.cli.main import main
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.extraction.facts import Extractor

NAMES = [f"module_{letter}" for letter in "abcdefghijklmnop"]
SETTINGS = """\
model: {hidden_size: 16, layers: 1, heads: 2}
train: {steps: 4, batch_size: 8, learning_rate: 1e-3, betas: [0.9, 0.98], save_every: 2, eval_every: 2, device: cpu}
"""


def train(dataset: Path, model: Path, *flags: str) -> int:
    """The command, on the settings above."""
    path = dataset.parent / "train.yaml"
    path.write_text(f"data: {dataset}\nout: {model}\n{SETTINGS}", encoding="utf-8")
    return main(["kg", "train", str(path), *flags, "--quiet"])


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kg")
    tree = write_tree(folder / "tree", NAMES)
    arguments = [
        "--vocab-size",
        "420",
        "--valid-percent",
        "15",
        "--test-percent",
        "25",
        "--no-stubs",
        "--quiet",
    ]
    assert (
        main(["kg", "build", str(tree), "-o", str(folder / "data"), "--language", "python", *arguments]) == 0
    )
    return folder / "data"


@pytest.fixture(scope="module")
def trained(dataset: Path) -> Path:
    model = dataset.parent / "model"
    assert train(dataset, model, "--train.eval_every", "4") == 0
    return model


def test_the_funnel_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = write_tree(tmp_path / "tree", ["a"])
    (tree / "broken.py").write_text("def f(:\n")
    out = str(tmp_path / "out")
    # Exit code 9: the run went through, some items failed and were listed.
    assert main(["kg", "build", str(tree), "-o", out, "--vocab-size", "400", "--no-stubs"]) == 9
    printed = capsys.readouterr()
    assert "files that cannot be read" in printed.out
    assert "left out: broken.py: not Python" in printed.err
    assert (
        main(["kg", "build", str(tree), "-o", out, "--vocab-size", "400", "--no-stubs", "--json", "--quiet"])
        == 9
    )
    assert json.loads(capsys.readouterr().out)["counts"]["files"] == 2


def test_train_eval_facts(
    trained: Path, dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    evaluate = ["kg", "eval", str(dataset), "--limit", "6", "--device", "cpu"]
    assert main([*evaluate, "--model", str(trained), "--calibrate", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert set(table) == {"prior", "prior in the text", "nearest word", "model"}
    assert set(table["model"]) == {"visible", "hidden", "absent", "natural"}
    assert (trained / "calibration.json").is_file()
    assert main([*evaluate, "--model", str(trained), "--asked", "--json"]) == 0
    asked = json.loads(capsys.readouterr().out)
    assert asked["all"]["questions"] >= 6
    assert set(asked) == {"all", "stated"}
    assert main([*evaluate, "--model", str(trained), "--asked"]) == 0
    assert "calibration error" in capsys.readouterr().out
    assert main([*evaluate, "--by-relation", "--model", str(trained)]) == 0
    assert "prior in the text" in capsys.readouterr().out
    source = tmp_path / "unseen.py"
    source.write_text(MODULE.format(n=77), encoding="utf-8")
    facts = ["kg", "facts", str(source), "--model", str(trained), "--device", "cpu"]
    assert main([*facts, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"head", "relation", "tail", "confidence", "line", "span", "stated", "agrees"} <= found[0].keys()
    types = [fact for fact in found if fact["head"] == "path" and fact["relation"] == "has_type"]
    assert len(types) == 1
    assert types[0]["agrees"] is None
    lines = source.read_text().splitlines()
    assert all(fact["head"] in lines[fact["line"] - 1] for fact in found)
    assert main([*facts, "--json", "--target-precision", "0.9"]) == 0
    sure = [fact["confidence"] for fact in json.loads(capsys.readouterr().out)]
    assert len(sure) < len(found)
    assert sum(sure) >= 0.9 * len(sure)
    assert main([*facts, "--relation", "raises", "--limit", "1"]) == 0
    printed = capsys.readouterr().out
    assert "grow  raises" in printed
    assert "the syntax tree judges 1" in printed
    assert main([*facts, "--relation", "raises", "--limit", "1", "--quiet"]) == 0
    assert capsys.readouterr().out == printed[: printed.index("1 fact;")]
    read = Extractor.load(str(trained)).facts(str(source))
    assert [(fact.head, fact.tail) for fact in read] == [(fact["head"], fact["tail"]) for fact in found]


@pytest.mark.parametrize("kind", ["graphmert", "graphmert-official"])
def test_the_documents_own_models_answer_every_command(
    kind: str, dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, tree = tmp_path / "model", write_tree(tmp_path / "tree", ["unseen"])
    assert train(dataset, model, "--model.kind", kind) == 0
    use = ["--model", str(model), "--device", "cpu"]
    evaluate = ["kg", "eval", str(dataset), "--limit", "4", *use, "--json"]
    capsys.readouterr()
    assert main([*evaluate, "--calibrate"]) == 0
    assert set(json.loads(capsys.readouterr().out)["model"]) == {"visible", "hidden", "absent", "natural"}
    assert main([*evaluate, "--asked"]) == 0
    assert json.loads(capsys.readouterr().out)["all"]["questions"] >= 4
    assert main(["kg", "facts", str(tree / "unseen.py"), "--json", *use]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {fact["head"] for fact in found} >= {"Shape1", "grow", "path"}
    store = [
        "kg",
        "extract",
        str(tree),
        "-o",
        str(tmp_path / "store"),
        "--least-confidence",
        "0",
        "--workers",
        "1",
    ]
    assert main([*store, "--quiet", *use]) == 0
    assert main(["kg", "show", str(tmp_path / "store"), "grow.factor", "--only", "inferred", "--json"]) == 0
    capsys.readouterr()
    assert main([*store, "--llm", "http://127.0.0.1:9/v1", "--llm-model", "m", *use]) == 2
    assert "an endpoint needs a model that spells" in capsys.readouterr().err


def test_a_run_goes_on_where_it_stopped(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert train(dataset, whole) == 0
    assert train(dataset, parts) == 0
    # As if killed after step 2: what came later is gone.
    newest = sorted((parts / "run" / "checkpoints").iterdir())[-1]
    shutil.rmtree(newest)
    assert train(dataset, parts) == 0
    assert (whole / "model.safetensors").read_bytes() == (parts / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["kg", "frob"], 2, "no command 'frob'"),
        (["kg", "build", "/no/such/folder", "-o", "OUT"], 3, "no such folder"),
        (["kg", "build", "TREE", "-o", "OUT", "--roots", "3"], 2, "roots is 3"),
        (["kg", "train", "SETTINGS", "--data", "/no/such/data"], 3, "no table can be read"),
        (
            ["kg", "train", "SETTINGS", "--model.kind", "magic"],
            2,
            "model.kind is 'magic'; it must be weft-kg |",
        ),
        (["kg", "train", "SETTINGS", "--model.kind", "entities"], 2, "model.kind entities reads text"),
        (["kg", "train", "SETTINGS", "--start", "x"], 2, "start is for data sets of text"),
        (["kg", "train", "SETTINGS", "--sampling.batch_size", "3"], 2, "say it as train.batch_size"),
        (["kg", "train", "SETTINGS", "--threads", "0"], 2, "TrainConfig.threads is 0"),
        (["kg", "train", "SETTINGS", "--steps", "3"], 2, "did you mean --train.steps?"),
        (["kg", "train", "/no/settings.yaml"], 3, "is not there"),
        (["kg", "train"], 2, "which settings?"),
        (["kg", "eval", "DATA", "--limit", "0"], 2, "at least 1"),
        (["kg", "eval", "DATA", "--calibrate"], 2, "needs --model"),
        (["kg", "eval", "DATA", "--asked"], 2, "needs --model"),
        (["kg", "eval", "DATA", "--model", "/no/model"], 4, "no such model"),
        (["kg", "facts", "/no/file.py", "--model", "MODEL"], 3, "is not there"),
        (["kg", "facts", "BROKEN", "--model", "MODEL"], 3, "not Python"),
        (["kg", "facts", "EMPTY", "--model", "MODEL"], 3, "no functions, classes or statements"),
        (["kg", "facts", "BROKEN", "--model", "no-such-model"], 4, "'no-such-model': no such model"),
        (["kg", "facts", "BROKEN", "--model", "MODEL", "--relation", "likes"], 3, "no relation 'likes'"),
        (["kg", "facts", "BROKEN", "--model", "MODEL", "--device", "abacus"], 2, "no such device"),
        (
            ["kg", "build", "TEXT", "--language", "text", "-o", "OUT", "--extra", "TREE"],
            2,
            "--extra is for source code",
        ),
        (
            ["kg", "build", "TEXT", "--language", "redocred", "-o", "OUT", "--exact"],
            2,
            "--exact is for a seed",
        ),
        (["kg", "build", "TREE", "-o", "OUT", "--exact"], 2, "--exact is for text"),
        (
            ["kg", "extract", "TEXT", "-o", "OUT", "--least-confidence", "0.9"],
            2,
            "--target-precision 0.9 keeps",
        ),
        (["kg", "extract", "TEXT", "-o", "OUT", "--beams", "2"], 2, "--beams is for a model of code"),
        (
            ["kg", "extract", "TREE", "--model", "MODEL", "-o", "OUT", "--exact"],
            2,
            "--exact is for a model of text",
        ),
        (["kg", "facts", "TEXT", "--beams", "2"], 2, "--beams is for a model of code"),
    ],
)
def test_what_is_refused(
    arguments: list[str],
    code: int,
    message: str,
    dataset: Path,
    trained: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "empty.py").write_text("\n")
    (tmp_path / "text.txt").write_text("Ada was born in Rome.\n")
    (tmp_path / "train.yaml").write_text(f"data: {dataset}\nout: {tmp_path / 'out'}\n{SETTINGS}")
    places = {
        "TREE": dataset.parent / "tree",
        "DATA": dataset,
        "SETTINGS": tmp_path / "train.yaml",
        "MODEL": trained,
        "OUT": tmp_path / "out",
        "BROKEN": tmp_path / "broken.py",
        "EMPTY": tmp_path / "empty.py",
        "TEXT": tmp_path / "text.txt",
    }
    capsys.readouterr()
    assert main([str(places.get(part, part)) for part in arguments]) == code
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_vocabulary_that_does_not_fit_the_checkpoint(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = write_tree(tmp_path / "tree", NAMES)
    other = tmp_path / "data"
    build = ["--vocab-size", "350", "--valid-percent", "15", "--test-percent", "25", "--no-stubs", "--quiet"]
    assert main(["kg", "build", str(tree), "-o", str(other), *build]) == 0
    capsys.readouterr()
    assert main(["kg", "eval", str(other), "--model", str(trained), "--device", "cpu"]) == 4
    assert "another vocabulary than the data set's" in capsys.readouterr().err


def test_a_vocabulary_of_equal_size_is_told_apart_and_a_models_own_may_be_taken(
    trained: Path, dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # As large as the model's, learnt from less text: the same number of ids, other tokens.
    tree = write_tree(tmp_path / "tree", NAMES[: len(NAMES) // 2])
    build = ["--vocab-size", "420", "--valid-percent", "15", "--test-percent", "25", "--no-stubs", "--quiet"]
    other, same = tmp_path / "other", tmp_path / "same"
    assert main(["kg", "build", str(tree), "-o", str(other), *build]) == 0
    assert CodeTokenizer.load(other / "tokenizer.json").vocab_size == 420
    assert main(["kg", "build", str(tree), "-o", str(same), "--vocabulary", str(trained), *build]) == 0
    ours, models = (CodeTokenizer.load(folder / "tokenizer.json").digest for folder in (same, trained))
    assert ours == models
    capsys.readouterr()
    ask = ["--model", str(trained), "--device", "cpu", "--limit", "20", "--role", "test", "--beams", "1"]
    assert main(["kg", "eval", str(other), *ask]) == 4
    assert f"weft kg build … --vocabulary {trained}" in capsys.readouterr().err
    assert main(["kg", "eval", str(same), *ask]) == 0


def test_the_shipped_model_reads_a_module_that_it_never_saw(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kg", "facts", csv.__file__, "--json", "--device", "cpu"]) == 0
    found = json.loads(capsys.readouterr().out)
    judged = [fact for fact in found if fact["agrees"] is not None]
    assert len(judged) >= 15
    assert sum(fact["agrees"] for fact in judged) >= 0.6 * len(judged)
    sure = [fact["agrees"] for fact in judged if fact["confidence"] >= 0.9]
    assert sum(sure) >= 0.8 * len(sure)
