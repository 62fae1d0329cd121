"""Data sets: configuration, labels, the matrix run without a compiler, the split, the counts."""

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import yaml

from weft.bcsd.dataset import build as build_module
from weft.bcsd.dataset.assemble import assemble, dataset_schema
from weft.bcsd.dataset.build import build_all, known_builds, part_path
from weft.bcsd.dataset.compile import compile_flags, driver, source_files
from weft.bcsd.dataset.config import DatasetConfig, Package, Variant
from weft.bcsd.dataset.label import label_build
from weft.bcsd.dataset.source import Tree
from weft.bcsd.dataset.stats import dataset_stats
from weft.bcsd.table import read_table
from weft.cli.main import main
from weft.errors import ConfigError, InputError
from weft.platform.settings import read_settings

EXAMPLE = Path(__file__).parents[2] / "examples" / "bcsd" / "dataset.yaml"


def test_the_shipped_configuration_keeps_the_split():
    config = read_settings(DatasetConfig, EXAMPLE)
    sides = {role: [p.name for p in config.packages if p.role == role] for role in ("train", "valid", "test")}
    assert sides["test"] == ["zlib", "lz4", "bzip2", "libpng"]
    assert len(sides["train"]) >= 24
    assert sides["valid"]
    assert len(config.variants) == 20
    # What comes first is what later groups are checked against.
    roles = [package.role for package in config.packages]
    assert roles == sorted(roles, key=["test", "valid", "train"].index)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"packages": []}, "packages is [];"),
        ({"packages": [{"name": "a", "role": "test"}], "jbos": 2}, "no key 'jbos' (did you mean jobs?)"),
        (
            {"packages": [{"name": "a", "role": "holdout"}]},
            "entry 1: role is 'holdout'; it must be train | valid | test",
        ),
        ({"packages": [{"name": "a"}]}, "entry 1: lacks role"),
        ({"packages": [{"name": "a", "role": "test"}], "levels": ["O9"]}, "levels is 'O9'; it must be [O0 |"),
        ({"packages": [{"name": "a", "role": "test"}, {"name": "a", "role": "train"}]}, "distinct names"),
        ({"packages": ["zlib"]}, "'zlib' where a mapping of fields is needed"),
        ([1], "is '[1]' where a mapping of fields is needed"),
    ],
)
def test_configurations_that_break_a_rule(tmp_path, document, message):
    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(ConfigError) as caught:
        read_settings(DatasetConfig, path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_source_files_are_what_the_globs_say(tmp_path):
    for name in ("a.c", "b.c", "test.c", "lib/c.c", "lib/h.h"):
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text("")
    package = Package("p", "train", files=("*.c", "lib/*.c"), exclude=("test.c",))
    assert [str(path) for path in source_files(package, tmp_path)] == ["a.c", "b.c", "lib/c.c"]
    with pytest.raises(InputError, match=r"no file matches 'src/\*.c'"):
        source_files(Package("p", "train", files=("src/*.c",)), tmp_path)


def test_labels_are_the_symbols_of_the_unstripped_file(files):
    package = Package("sample", "train", min_functions=5)
    variant = Variant("gcc", "O2", "x86_64")
    found = label_build(package, variant, files / "gcc-O2-x86_64.so", files / "gcc-O2-x86_64-stripped.so")
    names = found.table.column("name").to_pylist()
    assert len(names) == 17
    assert not [name for name in names if name.endswith(".cold") or name.startswith("sub_")]
    assert found.derived == 1
    assert found.missed == 0
    assert set(found.table.column("group").to_pylist()) == {f"sample/{name}" for name in names}
    with pytest.raises(InputError, match="17 functions, fewer than 50"):
        label_build(
            Package("sample", "train", min_functions=50),
            variant,
            files / "gcc-O2-x86_64.so",
            files / "gcc-O2-x86_64-stripped.so",
        )


CONFIG = DatasetConfig(
    packages=(
        Package("tested", "test", min_functions=5),
        Package("trained", "train", min_functions=5),
        Package("broken", "train", min_functions=5),
    ),
    compilers=("gcc", "clang"),
    levels=("O0", "O2"),
    targets=("x86_64", "aarch64"),
)


@pytest.fixture
def without_compiler(monkeypatch, files):
    """The matrix on committed files: fetching and compiling are replaced, everything after is real."""
    made = []

    def fetch(package, folder):
        if package.name == "broken":
            raise InputError("exit code 100: not there", where="apt-get source broken")
        return Tree(folder, "1.0", "abc")

    def compile_build(package, variant, tree, trees, folder, *, jobs):
        made.append((package.name, str(variant)))
        folder.mkdir(parents=True, exist_ok=True)
        if variant.level == "O0" and package.name == "trained" and variant.compiler == "clang":
            raise InputError("exit code 1: error: no", where="trained/a.c")
        source = files / f"{variant}.so"
        shutil.copy(source, folder / "library.so")
        shutil.copy(source, folder / "stripped.so")

    monkeypatch.setattr(build_module, "fetch", fetch)
    monkeypatch.setattr(build_module, "compile_build", compile_build)
    monkeypatch.setattr(build_module, "compiler_version", lambda command: f"{command[0]} 1")
    return made


def test_the_matrix_is_resumable_and_failures_have_a_reason(without_compiler, tmp_path, monkeypatch):
    reports = build_all(CONFIG, tmp_path)
    assert len(reports) == 24
    failed = {(r.package, r.build): r.error for r in reports if r.error}
    assert failed["trained", "clang-O0-x86_64"] == "trained/a.c: exit code 1: error: no"
    assert failed["broken", "gcc-O0-x86_64"].startswith("apt-get source broken: exit code 100")
    assert len(failed) == 10
    first = list(without_compiler)
    without_compiler.clear()
    again = build_all(CONFIG, tmp_path)
    # Only what failed is tried again.
    assert sorted(without_compiler) == [("trained", "clang-O0-aarch64"), ("trained", "clang-O0-x86_64")]
    assert [r for r in again if not r.error] == [r for r in reports if not r.error]
    assert len(first) == 16
    # A new extraction makes the rows anew and compiles nothing.
    without_compiler.clear()
    monkeypatch.setattr(build_module, "EXTRACTOR_VERSION", 999)
    part = part_path(tmp_path, "tested", "gcc-O2-x86_64")
    part.write_bytes(b"old")
    build_all(CONFIG, tmp_path)
    assert sorted(without_compiler) == [("trained", "clang-O0-aarch64"), ("trained", "clang-O0-x86_64")]
    assert part.stat().st_size > 1000


def test_a_relative_work_folder_is_made_absolute(without_compiler, tmp_path, monkeypatch):
    # Compilers run inside the source tree: a relative output would be looked for there.
    told = []
    compile_build = build_module.compile_build

    def watched(package, variant, tree, trees, folder, *, jobs):
        told.extend([tree, trees, folder])
        compile_build(package, variant, tree, trees, folder, jobs=jobs)

    monkeypatch.setattr(build_module, "compile_build", watched)
    monkeypatch.chdir(tmp_path)
    reports = build_all(CONFIG, Path("work"))
    assert told
    assert all(place.is_absolute() for place in told)
    assert known_builds(CONFIG, Path("work")) == [report for report in reports if not report.error]


def test_two_runs_in_one_folder_wait_for_each_other(without_compiler, tmp_path, monkeypatch):
    compile_build, inside, most = build_module.compile_build, [0], [0]

    def slowly(package, variant, tree, trees, folder, *, jobs):
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.2)
        compile_build(package, variant, tree, trees, folder, jobs=jobs)
        inside[0] -= 1

    monkeypatch.setattr(build_module, "compile_build", slowly)
    config = replace(CONFIG, packages=CONFIG.packages[:1], compilers=("gcc",), targets=("x86_64",))
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(lambda _: build_all(config, tmp_path), range(2))
    assert one == two
    assert most == [1]
    assert len(without_compiler) == 2


def test_no_copy_of_a_test_function_is_trained_on(without_compiler, tmp_path):
    build_all(CONFIG, tmp_path)
    reports = known_builds(CONFIG, tmp_path)
    output = tmp_path / "functions.parquet"
    assembly = assemble(CONFIG, reports, tmp_path, output)
    # Both packages are the same source here: everything that tells is left out of training.
    table = read_table(output)
    assert table.schema.equals(dataset_schema(), check_metadata=False)
    rows = table.to_pylist()
    trained = {row["name"] for row in rows if row["role"] == "train"}
    tested = {row["name"] for row in rows if row["role"] == "test" and row["num_blocks"] >= 3}
    assert not trained & tested
    assert assembly.leaked > 8
    assert assembly.groups["test"] == 17
    manifest = json.loads((tmp_path / "functions.parquet.manifest.json").read_text())
    assert len(manifest["builds"]) == len(reports)
    assert manifest["builds"][0]["flags"] == list(compile_flags(CONFIG.packages[0], CONFIG.variants[0]))
    assert len(manifest["builds"][0]["library_sha256"]) == 64
    assert manifest["vocabulary"] == table.schema.metadata[b"weft.vocabulary"].decode()


def test_equal_code_under_two_names_is_marked(without_compiler, tmp_path):
    config = DatasetConfig(
        packages=CONFIG.packages[:1], compilers=("gcc",), levels=("O2",), targets=("x86_64",), min_builds=1
    )
    build_all(config, tmp_path)
    output = tmp_path / "functions.parquet"
    assemble(config, known_builds(config, tmp_path), tmp_path, output)
    rows = read_table(output).to_pylist()
    digests = [row["token_digest"] for row in rows]
    for row in rows:
        if row["duplicate"]:
            assert digests.count(row["token_digest"]) > 1
    assert len({row["token_digest"] for row in rows if not row["duplicate"]}) == len(set(digests))


def test_code_of_a_group_that_is_left_out_is_no_duplicate(without_compiler, tmp_path):
    # All groups of the first package have one build alone.
    packages = (Package("one", "train", min_functions=5, builds=("gcc-O2-x86_64",)), Package("two", "train"))
    config = DatasetConfig(packages, compilers=("gcc",), levels=("O0", "O2"), targets=("x86_64",))
    build_all(config, tmp_path)
    output = tmp_path / "functions.parquet"
    assembly = assemble(config, known_builds(config, tmp_path), tmp_path, output)
    rows = read_table(output).to_pylist()
    assert {row["package"] for row in rows} == {"two"}
    assert assembly.small > 10
    originals = {row["token_digest"] for row in rows if not row["duplicate"]}
    assert originals == {row["token_digest"] for row in rows}


def test_builds_whose_function_is_too_small_do_not_count(without_compiler, tmp_path):
    config = replace(CONFIG, packages=CONFIG.packages[:1], min_blocks=6, min_builds=6)
    build_all(config, tmp_path)
    output = tmp_path / "functions.parquet"
    assemble(config, known_builds(config, tmp_path), tmp_path, output)
    groups = read_table(output).column("group").to_pylist()
    assert groups
    assert min(map(groups.count, groups)) >= 6


def test_stats_count_what_is_there(without_compiler, tmp_path, capsys):
    build_all(CONFIG, tmp_path)
    output = tmp_path / "functions.parquet"
    assemble(CONFIG, known_builds(CONFIG, tmp_path), tmp_path, output)
    stats = dataset_stats(output)
    assert stats["roles"]["test"] == {
        "packages": 1,
        "rows": 17 * 8,
        "groups": 17,
        "groups_4_builds": 17,
        "groups_5_blocks": stats["roles"]["test"]["groups_5_blocks"],
    }
    assert stats["packages"]["tested"]["builds"] == 8
    assert stats["across_split"] == {"names": 0, "codes": 0}
    assert 0 < stats["groups_4_distinct"] <= stats["groups_4_builds"]
    assert set(stats["truncated"]) == {"O0", "O2"}
    assert main(["bcsd", "dataset", "stats", str(output)]) == 0
    shown = capsys.readouterr().out
    assert "tested            test" in shown
    assert main(["bcsd", "dataset", "stats", str(output), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == stats


def test_stats_tell_what_crosses_the_split(without_compiler, tmp_path):
    build_all(CONFIG, tmp_path)
    output = tmp_path / "functions.parquet"
    assemble(CONFIG, known_builds(CONFIG, tmp_path), tmp_path, output)
    table = read_table(output).filter(pc.field("num_blocks") >= 3)
    # The first two groups of the test package, given to training as well: what a broken split would look like.
    names = sorted(set(table.column("name").to_pylist()))[:2]
    copied = table.filter(pc.field("name").isin(names))
    copied = copied.set_column(copied.schema.names.index("role"), "role", pa.array(["train"] * len(copied)))
    pq.write_table(pa.concat_tables([table, copied]), output)
    stats = dataset_stats(output)
    assert stats["across_split"]["names"] == 2
    assert stats["across_split"]["codes"] >= 2


def test_the_command_builds_joins_and_reports(without_compiler, tmp_path, capsys):
    path = tmp_path / "c.yaml"
    document = {
        "packages": [{"name": p.name, "role": p.role, "min_functions": 5} for p in CONFIG.packages],
        "levels": ["O2"],
    }
    path.write_text(yaml.safe_dump(document))
    work = tmp_path / "work"
    assert main(["bcsd", "dataset", "build", str(path), "--work", str(work), "--quiet"]) == 9
    captured = capsys.readouterr()
    assert "17 test" in captured.out
    assert all(line.startswith("failed: broken ") for line in captured.err.strip().splitlines())
    assert main(["bcsd", "dataset", "join", str(path), "--work", str(work), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"]["test"] == 17
    assert main(["bcsd", "dataset", "join", str(path), "--work", str(work), "--only", "x"]) == 2
    assert main(["bcsd", "dataset", "join", str(path), "--work", str(tmp_path / "none")]) == 3
    assert "nothing is built" in capsys.readouterr().err


def test_a_part_of_the_matrix_can_be_named():
    some = replace(CONFIG, builds=("gcc-O2-aarch64", "clang-O0-x86_64"))
    assert [str(variant) for variant in some.variants] == ["clang-O0-x86_64", "gcc-O2-aarch64"]
    assert len(CONFIG.variants) == 8
    with pytest.raises(ConfigError, match=r"builds is .*gcc-O9.*; it must be of the matrix"):
        replace(CONFIG, builds=("gcc-O9-x86_64",))


def test_builds_are_named_beyond_the_matrix_of_the_file():
    assert [str(variant) for variant in CONFIG.only(["gcc-O2-ppc64", "gcc-O0-riscv64"]).variants] == [
        "gcc-O0-riscv64", "gcc-O2-ppc64",
    ]  # fmt: skip
    with pytest.raises(ConfigError, match="gcc-O2-vax"):
        CONFIG.only(["gcc-O2-vax"])
    assert driver(Variant("gcc", "O2", "ppc64")) == ("powerpc64le-linux-gnu-gcc",)


def test_several_files_are_one_data_set(without_compiler, tmp_path, capsys):
    named = (("a.yaml", CONFIG.packages[0], "O0"), ("b.yaml", CONFIG.packages[1], "O2"))
    paths = [tmp_path / name for name, _, _ in named]
    for path, (_, package, level) in zip(paths, named, strict=True):
        package = {"name": package.name, "role": package.role, "min_functions": 5}
        path.write_text(yaml.safe_dump({"packages": [package], "levels": [level]}))
    command = ["bcsd", "dataset", "build", *map(str, paths), "--work", str(tmp_path / "work"), "--quiet"]
    assert main([*command, "--builds", "gcc-O2-x86_64,gcc-O2-aarch64"]) == 0
    assert [build for _, build in without_compiler] == ["gcc-O2-x86_64", "gcc-O2-aarch64"] * 2
    table = read_table(tmp_path / "work" / "functions.parquet")
    assert set(table["package"].to_pylist()) == {"tested", "trained"}
    capsys.readouterr()
    assert main([*command[:4], str(paths[0]), *command[5:]]) == 2
    assert "distinct names" in capsys.readouterr().err


def test_a_package_may_want_some_of_the_builds(without_compiler, tmp_path):
    few = replace(CONFIG.packages[0], builds=("gcc-O2-x86_64", "clang-O0-aarch64"))
    build_all(replace(CONFIG, packages=(few, CONFIG.packages[1])), tmp_path)
    assert [build for name, build in without_compiler if name == "tested"] == [
        "gcc-O2-x86_64",
        "clang-O0-aarch64",
    ]
    # Which builds are wanted says nothing about what one of them is.
    without_compiler.clear()
    config = replace(CONFIG, packages=CONFIG.packages[:1])
    build_all(config, tmp_path)
    assert len(without_compiler) == 6
    assert len(known_builds(config, tmp_path)) == 8
    assert len(known_builds(replace(config, packages=(few,)), tmp_path)) == 2
    with pytest.raises(ConfigError, match="builds"):
        Package("a", "test", builds=("gcc-O9-x86_64",))


def test_operations_can_be_left_out(without_compiler, tmp_path):
    whole = replace(CONFIG, packages=CONFIG.packages[:1], builds=("gcc-O2-x86_64",))
    plain = replace(whole, operations=False)
    part = part_path(tmp_path, "tested", "gcc-O2-x86_64")
    build_all(plain, tmp_path)
    bare = pq.read_table(part)
    assert bare["operations"].null_count == bare.num_rows
    # Asked for, they are made; once there, they stay.
    build_all(whole, tmp_path)
    full = pq.read_table(part)
    assert full["operations"].null_count < full.num_rows
    assert bare.select(["tokens", "calls"]).equals(full.select(["tokens", "calls"]))
    build_all(plain, tmp_path)
    assert pq.read_table(part).equals(full)
    assert len(without_compiler) == 1
