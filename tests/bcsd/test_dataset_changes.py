"""A data set whose configuration, sources or compilers are not those of an earlier run."""

import io
import json
import tarfile

import pytest
import yaml

from weft.bcsd.dataset import compile as compile_module
from weft.bcsd.dataset.config import Package
from weft.bcsd.dataset.source import fetch
from weft.cli.main import main
from weft.errors import ConfigError, InputError

_FUNCTION = (
    "int {}{}(int *p, int n) {{ int t = {}; for (int i = 0; i < n; i++) t += p[i] * {}; return t; }}\n"
)


def archive(work, name, text, kind=1):
    home = work / "source" / name
    home.mkdir(parents=True, exist_ok=True)
    content = text.encode()
    with tarfile.open(home / f"{name}_1.orig.tar.gz", "w:gz") as made:
        member = tarfile.TarInfo(f"{name}-1/src dir/{kind} error.c")
        member.size = len(content)
        made.addfile(member, io.BytesIO(content))


def functions(name, first):
    return "".join(_FUNCTION.format(name, n, first + n, first + 3 * n) for n in range(3))


@pytest.fixture
def work(tmp_path):
    for number, name in enumerate(("a", "b"), 1):
        archive(tmp_path / "work", name, functions(name, 20 * number))
    return tmp_path / "work"


@pytest.fixture
def run(work, capsys):
    """Builds or joins with the roles given; the exit code, what was counted, what was said."""

    def run(action, *further, compilers=("gcc",), **roles):
        packages = [
            {"name": name, "files": ["src dir/*.c"], "min_functions": 1}
            | (role if isinstance(role, dict) else {"role": role})
            for name, role in roles.items()
        ]
        document = {"packages": packages, "compilers": list(compilers), "levels": ["O0", "O2"]}
        config = work.parent / "c.yaml"
        config.write_text(yaml.safe_dump({**document, "targets": ["x86_64"], "operations": False}))
        code = main(["bcsd", "dataset", action, str(config), "--work", str(work), "--json", *further])
        said = capsys.readouterr()
        return code, json.loads(said.out) if said.out else {}, said.err

    return run


def test_a_build_of_other_settings_is_not_joined(run):
    code, made, _ = run("build", a="train", b="valid")
    assert (code, made["groups"]) == (0, {"test": 0, "valid": 3, "train": 3})
    # The role is written in the rows: those that are there would stay in training.
    code, joined, said = run("join", a="test", b="valid")
    assert (code, joined["groups"]) == (9, {"test": 0, "valid": 3, "train": 0})
    assert said.count("failed: a gcc-O") == 2
    assert "built by other settings" in said
    code, made, _ = run("build", a="test", b="valid")
    assert (code, made["groups"]) == (0, {"test": 3, "valid": 3, "train": 0})


def test_packages_that_are_named_are_joined_alone(run):
    roles = {"a": "train", "b": "valid"}
    run("build", **roles)
    assert run("join", "--only", "b", **roles)[1]["groups"] == {"test": 0, "valid": 3, "train": 0}
    code, _, said = run("join", "--only", "", **roles)
    assert (code, "no package ''" in said) == (2, True)


def test_a_compiler_that_is_missing_fails_its_builds_alone(run, monkeypatch):
    monkeypatch.setitem(compile_module._DRIVERS, ("clang", False), "no-such-compiler")
    code, made, said = run("build", compilers=("clang", "gcc"), a="train", b="valid")
    assert (code, made["rows"], len(made["failed"])) == (9, 12, 4)
    assert "failed: b clang-O2-x86_64: no-such-compiler: no-such-compiler is not installed" in said


def test_a_package_without_a_build_is_named(run):
    code, made, said = run("build", a="train", b={"role": "valid", "builds": ["gcc-O2-mips"]})
    assert (code, made["rows"]) == (0, 6)
    assert said == "b: left out, none of its builds (gcc-O2-mips) is asked for\n"


def test_another_archive_makes_another_tree(work):
    package = Package("a", "train", files=("src dir/*.c",))
    tree = fetch(package, work / "source")
    place = tree.path / "src dir" / "1 error.c"
    assert "a0" in place.read_text()
    mark = tree.path / "mark"
    mark.touch()
    assert fetch(package, work / "source") == tree
    assert mark.exists()
    archive(work, "a", functions("other", 50))
    again = fetch(package, work / "source")
    assert "other0" in place.read_text()
    assert again.digest != tree.digest


def test_a_folder_of_another_source_package_is_not_taken_for_it(work):
    fetch(Package("a", "train"), work / "source")
    with pytest.raises(InputError, match="it holds the source package 'a', not 'other'"):
        fetch(Package("a", "train", source="other"), work / "source")


def test_a_download_that_was_stopped_goes_on(work, tmp_path, monkeypatch):
    home = work / "source" / "c"
    home.mkdir()
    (home / "c_1.dsc").write_text(
        "Source: c\nFiles:\n 0 9 c_1.orig.tar.gz\n 0 9 c_1.debian.tar.xz\n\n-----BEGIN\n"
    )
    asked = []
    monkeypatch.setattr("weft.bcsd.dataset.source.run", lambda command, *_: asked.append(command[0]) or "")
    for _ in range(2):
        fetch(Package("c", "train"), work / "source")
        (home / "ready").unlink()
        (home / "c_1.orig.tar.gz").touch()
        (home / "c_1.debian.tar.xz").touch()
    assert asked == ["apt-get", "dpkg-source", "dpkg-source"]


def test_where_the_table_goes_is_looked_at_before_anything_is_built(run, tmp_path):
    code, _, said = run("build", "-o", str(tmp_path / "none" / "table"), a="train")
    assert (code, "cannot be written" in said) == (8, True)
    assert not (tmp_path / "work" / "builds").exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("int f(void) { return missing; }\n", "missing"),
        (functions("a", 1), "multiple definition of"),
    ],
)
def test_why_a_build_failed_is_said(run, work, text, reason):
    with tarfile.open(work / "source" / "a" / "a_1.orig.tar.gz", "w:gz") as made:
        for kind, content in enumerate((functions("a", 1), text)):
            member = tarfile.TarInfo(f"a-1/src dir/{kind} error.c")
            member.size = len(content)
            made.addfile(member, io.BytesIO(content.encode()))
    code, made, _ = run("build", a="train", b="valid")
    assert (code, len(made["failed"])) == (9, 2)
    assert all(reason in failed["error"] for failed in made["failed"])


@pytest.mark.parametrize("glob", ["", "/usr/*.c", "**.c"])
def test_a_glob_is_relative_to_the_tree(glob):
    with pytest.raises(ConfigError, match=r"files is .*relative to the source tree"):
        Package("a", "train", files=(glob,))
