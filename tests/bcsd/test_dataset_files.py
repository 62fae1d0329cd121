"""The data sets that the repository names: which packages they hold, and how those in C++ are compiled."""

import shutil
from pathlib import Path

import pytest

from weft.bcsd.dataset.compile import compile_build, driver
from weft.bcsd.dataset.config import DatasetConfig, Package, Variant
from weft.bcsd.read import open_image
from weft.platform.settings import read_settings

EXAMPLE = Path(__file__).parents[2] / "examples" / "bcsd" / "dataset.yaml"


def test_the_wide_data_set_keeps_to_the_split():
    folder = EXAMPLE.parents[2]
    wide, *others = (
        read_settings(DatasetConfig, folder / path)
        for path in (
            "examples/bcsd/wide.yaml",
            "examples/bcsd/dataset.yaml",
            "benchmarks/bcsd_large.yaml",
            "benchmarks/bcsd_cpp.yaml",
        )
    )
    config = wide.beside(others)
    assert not config.operations
    assert {variant.target for variant in config.variants} >= {"i386", "arm", "mips", "riscv64", "ppc64"}
    plus = [package for package in wide.packages if package.role == "train"]
    assert len(plus) >= 8
    assert {package.role for package in wide.packages} == {"train", "valid"}
    assert all("gcc-O2-arm" in map(str, config.variants_of(package)) for package in plus)


def test_the_large_packages_are_test_packages_of_their_own():
    example = read_settings(DatasetConfig, EXAMPLE)
    large = read_settings(DatasetConfig, EXAMPLE.parents[2] / "benchmarks" / "bcsd_large.yaml")
    assert {package.role for package in large.packages} == {"test"}
    assert len(large.packages) >= 2
    assert len(example.beside([large]).packages) == len(example.packages) + len(large.packages)


def test_cpp_has_the_compilers_of_its_own():
    arm = Variant("gcc", "O2", "aarch64")
    assert driver(arm) == ("aarch64-linux-gnu-gcc",)
    assert driver(arm, plus=True) == ("aarch64-linux-gnu-g++",)
    assert driver(Variant("clang", "O2", "x86_64"), plus=True) == ("clang++",)
    assert driver(Variant("clang", "O2", "aarch64"), plus=True) == ("clang++", "--target=aarch64-linux-gnu")


def test_the_cpp_packages_are_test_packages():
    config = read_settings(DatasetConfig, EXAMPLE.parents[2] / "benchmarks" / "bcsd_cpp.yaml")
    assert {package.role for package in config.packages} == {"test"}
    assert len(config.packages) >= 3
    assert [str(variant) for variant in config.variants] == [
        "gcc-O0-x86_64", "gcc-O2-x86_64", "gcc-O3-x86_64", "clang-O2-x86_64",
    ]  # fmt: skip


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_a_cpp_file_is_compiled_beside_a_c_file(tmp_path):
    (tmp_path / "a.c").write_text("int one(int x) { return x ? x * 3 : 1; }\n")
    (tmp_path / "b.cpp").write_text(
        "#include <vector>\nint many(int n) { std::vector<int> v; v.push_back(n); return v.at(0); }\n"
    )
    package = Package("mixed", "test", files=("*.c", "*.cpp"))
    compile_build(package, Variant("gcc", "O2", "x86_64"), tmp_path, tmp_path, tmp_path / "out", jobs=1)
    named = {symbol.name for symbol in open_image(tmp_path / "out" / "library.so").symbols}
    assert {"one", "_Z4manyi"} <= named
