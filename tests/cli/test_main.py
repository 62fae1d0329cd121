"""The command line's frame: help without torch, exit codes, one clear line for every failure."""

from __future__ import annotations

import copy
import json
import resource
import subprocess
import sys

import pytest

from weft import __version__, errors
from weft.cli import commands
from weft.cli import main as cli


def weft(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "weft", *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_help_names_every_command_and_imports_no_torch():
    code = "import sys; from weft.cli.main import main; main(['--help']); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    for name in commands.ROOT.commands:
        assert f"\n  {name} " in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["kg", "extract", ".", "-o", "store", "--target-precision", "2"],
        ["kg", "moves", "dataset"],
        ["demo", "nothing"],
        ["bcsd", "match", "a"],
        ["absa", "predict", "text", "--no-such-flag"],
    ],
    ids=" ".join,
)
def test_usage_errors_import_no_torch(arguments: list[str]):
    code = "import sys; from weft.cli.main import main; print(main(sys.argv[1:]), 'torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stdout == "2 False\n"
    assert done.stderr.count("\n") == 1
    assert "[]" not in done.stderr


def test_help_answers_quickly():
    times = []
    for _ in range(3):
        start = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert weft("--help").returncode == 0
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        # Processor time, for the clock tells what else the machine does.
        times.append(end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime)
    assert min(times) < 0.3


def test_version():
    assert weft("--version").stdout == f"weft {__version__}\n"


def test_an_unknown_command_is_named_with_the_known_ones():
    done = weft("fly")
    assert done.returncode == 2
    assert done.stderr.startswith("weft: no command 'fly' (one of: ")
    assert "Traceback" not in done.stderr


def test_no_command_prints_the_usage():
    done = weft()
    assert done.returncode == 2
    assert done.stdout.startswith("usage: weft")


@pytest.mark.parametrize(
    "error",
    [
        errors.WeftError("a"),
        errors.ConfigError("a"),
        errors.InputError("a"),
        errors.CheckpointError("a"),
        errors.MissingExtraError("lief", "bcsd"),
        errors.StoreError("a"),
        errors.LimitError("a"),
        errors.OutputError("a"),
        errors.PartialFailure("a"),
        errors.Interrupted("a"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_error_ends_in_one_line_and_its_own_exit_code(error, monkeypatch, capsys):
    class Module:
        @staticmethod
        def run(argv):
            raise error

    monkeypatch.setattr(commands, "import_module", lambda name: Module)
    assert cli.main(["models"]) == error.exit_code
    assert capsys.readouterr().err == f"weft models: {error}\n"
    assert f"``{type(error).__name__}``" in (errors.__doc__ or "")


@pytest.mark.parametrize("debug", [False, True])
def test_what_nobody_foresaw_is_one_line_and_70(debug, monkeypatch, capsys):
    class PanicException(BaseException):
        """As a library written in Rust raises it."""

    monkeypatch.setenv("WEFT_DEBUG", "1" if debug else "")
    for error in (KeyError("a\nb"), RecursionError("deep"), OSError("odd"), PanicException("index")):

        class Module:
            @staticmethod
            def run(argv, error=error):
                raise error

        monkeypatch.setattr(commands, "import_module", lambda name, module=Module: module)
        assert cli.main(["models"]) == 70
        said = capsys.readouterr().err
        assert said.splitlines()[-1].startswith(
            f"weft models: a fault of weft's own: {type(error).__name__}: "
        )
        assert ("Traceback" in said) is debug
        assert debug or said.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OSError(28, "No space left on device"), 8, "the output: cannot be written: No space left on device"),
        (OSError(13, "Permission denied", "x.so"), 3, "x.so: cannot be read: Permission denied"),
        (FileNotFoundError(2, "No such file", "x.so"), 3, "x.so: is not there"),
    ],
)
def test_an_error_of_the_system_is_told_by_its_file(error, code, message, monkeypatch, capsys):
    class Module:
        @staticmethod
        def run(argv):
            raise error

    monkeypatch.setattr(commands, "import_module", lambda name: Module)
    monkeypatch.setattr(cli, "_drop_output", lambda: None)
    assert cli.main(["models"]) == code
    assert capsys.readouterr().err.startswith(f"weft models: {message}")


def test_an_argument_that_is_no_text():
    done = subprocess.run(
        [sys.executable, "-m", "weft", "models", b"\xff\xfe"], capture_output=True, timeout=120, check=False
    )
    assert done.returncode in (2, 3, 4)
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


def test_an_error_says_where_what_and_the_way_out():
    error = errors.InputError("no column 'text'", where="reviews.csv", hint="name it with --text-column")
    assert str(error) == "reviews.csv: no column 'text' (name it with --text-column)"
    assert (
        str(errors.MissingExtraError("lief", "bcsd"))
        == "lief is not installed (pip install '.[bcsd]' in the checkout)"
    )
    other = errors.MissingExtraError("`dot`", hint="apt install graphviz")
    assert str(other) == str(copy.copy(other)) == "`dot` is not installed (apt install graphviz)"


def test_ctrl_c_is_said(monkeypatch, capsys):
    class Module:
        @staticmethod
        def run(argv):
            raise KeyboardInterrupt

    monkeypatch.setattr(commands, "import_module", lambda name: Module)
    assert cli.main(["models"]) == 130
    assert capsys.readouterr().err == "weft models: stopped\n"


def test_models_as_json():
    done = weft("models", "--json")
    assert done.returncode == 0
    assert isinstance(json.loads(done.stdout), list)


def test_a_card_as_json(capsys):
    assert cli.main(["models", "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert cli.main(["models", "bcsd-small", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    card = found.pop("card")
    assert found in records
    assert cli.main(["models", "bcsd-small"]) == 0
    assert capsys.readouterr().out == card + "\n"


@pytest.mark.parametrize("tool", ["absa", "bcsd", "kg"])
def test_fields_as_json(tool, capsys):
    assert cli.main([tool, "train", "--fields"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert cli.main([tool, "train", "--fields", "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert [line.split()[0] for line in lines] == [field["name"] for field in fields]
    assert all(field.keys() == {"name", "type", "meaning"} for field in fields)


@pytest.mark.parametrize("before", [True, False])
def test_fields_may_stand_before_the_settings(before, tmp_path, capsys):
    settings = tmp_path / "train.yaml"
    settings.write_text("data: nowhere\nout: model\n")
    fields = ["--train.steps", "0", "--train.seed=3"]
    assert cli.main(["kg", "train", *([*fields, str(settings)] if before else [str(settings), *fields])]) == 2
    assert "steps is 0; it must be an integer of at least 1" in capsys.readouterr().err


def test_a_flag_that_is_no_field_is_told_wherever_it_stands(tmp_path, capsys):
    assert cli.main(["kg", "train", "--train.stepz", "5"]) == 2
    assert "no field --train.stepz (did you mean --train.steps?)" in capsys.readouterr().err


def test_a_model_of_text_takes_no_threads(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("The Inn rises in Switzerland.")
    command = ["kg", "extract", str(tmp_path / "a.txt"), "-o", str(tmp_path / "store"), "--workers", "1"]
    assert cli.main([*command, "--threads", "2"]) == 2
    assert "--threads 2 is for a model of code" in capsys.readouterr().err
    assert not (tmp_path / "store").exists()
    assert cli.main([*command, "--threads", "1"]) == 0


def test_models_of_an_unknown_name():
    done = weft("models", "bert-enormous")
    assert done.returncode == 4
    assert "no shipped model 'bert-enormous'" in done.stderr


def test_texts_need_no_model_and_code_models_say_that_they_read_none(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("The Inn rises in Switzerland.")
    command = ["kg", "extract", str(tmp_path), "-o", str(tmp_path / "store"), "--workers", "1"]
    assert cli.main([*command, "--model", "kg-python-small"]) == 3
    assert "no file of python (texts are read by kg-text-small" in capsys.readouterr().err
    assert cli.main(command) == 0
    assert "documents: 1 read" in capsys.readouterr().out
