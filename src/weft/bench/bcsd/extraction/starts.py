"""Functions found in stripped files, processor by processor: the same packages, each by its cross compiler.

The truth is the symbol table of the file before ``strip``. Each package becomes a library without exports and a program
at a fixed place. Sources are fetched once into the folder that ``WEFT_BCSD_WORK`` names; processors whose compiler
is not installed are left out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from weft.bcsd.dataset.config import DatasetConfig, Package
from weft.bcsd.dataset.source import fetch, run
from weft.bench.bcsd.extraction.known import Coverage, coverage
from weft.bench.checkout import CHECKOUT
from weft.bench.table import Row
from weft.errors import WeftError
from weft.platform.files import make_folder
from weft.platform.settings import read_settings

#: What is measured → compiler prefix and flags.
PROCESSORS: dict[str, tuple[str, tuple[str, ...]]] = {
    "x86-64": ("", ()),
    "i386": ("i686-linux-gnu-", ()),
    "AArch64": ("aarch64-linux-gnu-", ()),
    "ARM, A32": ("arm-linux-gnueabihf-", ("-marm",)),
    "ARM, Thumb-2": ("arm-linux-gnueabihf-", ("-mthumb",)),
    "MIPS32, big-endian": ("mips-linux-gnu-", ()),
    "MIPS32, little-endian": ("mipsel-linux-gnu-", ()),
    "MIPS64, little-endian": ("mips64el-linux-gnuabi64-", ()),
    "PPC64LE": ("powerpc64le-linux-gnu-", ()),
    "RISC-V 64": ("riscv64-linux-gnu-", ()),
}
#: Packages that the search was written with, and packages that nobody looked at: only these are a measure.
LOOKED_AT = ("zlib", "bzip2", "lz4", "lua")
HELD_OUT = ("libyaml", "mujs", "libpng")
_CONFIG = CHECKOUT / "examples/bcsd/dataset.yaml"
_LIBRARY = ("-fPIC", "-shared", "-fvisibility=hidden")
#: What a library lacks of a program (``main``) may stay open.
_PROGRAM = ("-fno-pic", "-no-pie", "-Wl,--unresolved-symbols=ignore-all")
_KINDS = {"library": _LIBRARY, "program": _PROGRAM}


def rows(quick: bool) -> Iterator[Row]:
    """Functions found and extras for each processor, looked at and not; ``quick``: of one package each."""
    sets = (("looked at", LOOKED_AT), ("held out", HELD_OUT))
    for processor, (prefix, _) in PROCESSORS.items():
        if shutil.which(f"{prefix}gcc") is not None:
            for label, names in sets:
                yield from measured(processor, label, names[:1] if quick else names)


def measured(processor: str, label: str, names: Sequence[str]) -> Iterator[Row]:
    """The rows of some packages for one processor."""
    work = Path(os.environ.get("WEFT_BCSD_WORK", "bcsd-data")).resolve()
    packages = _packages()
    total = Coverage()
    for name in names:
        for whole, bare in compiled(packages[name], *PROCESSORS[processor], work):
            total.add(coverage(whole, bare))
    variant = f"{processor}, {label}: {total.files} stripped files, gcc -O2"
    everything = max(total.found + total.extra, 1)
    found, named = float(total.found), float(total.named)
    yield Row("functions found", variant, "-", "functions", found, named, "higher", 0.97)
    yield Row("functions found: extra", variant, "-", "functions", total.extra, everything, target=0.03)


def _packages() -> dict[str, Package]:
    return {package.name: package for package in read_settings(DatasetConfig, _CONFIG).packages}


def compiled(package: Package, prefix: str, flags: Sequence[str], work: Path) -> Iterator[tuple[Path, Path]]:
    """A package as a library and as a program, each with its symbols and without; made once."""
    kept_in = work / "starts" / package.name / "".join((prefix, *flags)).strip("-")
    tree = fetch(package, work / "source")
    files = sorted({str(path) for glob in package.files for path in tree.path.glob(glob)})
    excluded = {path for glob in package.exclude for path in tree.path.glob(glob.removeprefix("*"))}
    names = {glob.rpartition("/")[2] for glob in package.exclude}
    kept = [
        file
        for file in files
        if Path(file) not in excluded and not any(Path(file).match(name) for name in names)
    ]
    include = [f"-I{tree.path / entry}" for entry in package.include if not entry.startswith("@")]
    include += [
        f"-I{work / 'source' / other / 'tree' / inside}"
        for other, _, inside in (e[1:].partition("/") for e in package.include if e[0] == "@")
    ]
    make_folder(kept_in)
    for kind, how in _KINDS.items():
        whole, bare = kept_in / kind, kept_in / f"{kind}-stripped"
        if not bare.is_file():
            command = [f"{prefix}gcc", "-O2", "-g0", "-w", *how, *flags, *package.flags, *include, *kept]
            said = f"{package.name} for {prefix or 'this machine'}"
            run([*command, "-lm", "-o", str(whole)], tree.path, said)
            run([f"{prefix}strip", "-o", str(bare), str(whole)], tree.path, said)
        yield whole, bare


def main(argv: list[str]) -> int:
    """Print the rows of one processor: ``python -m weft.bench.bcsd.extraction.starts "ARM, Thumb-2" libyaml mujs``."""
    parser = argparse.ArgumentParser(
        prog="python -m weft.bench.bcsd.extraction.starts",
        description="Functions found in stripped files of some packages, for one processor.",
    )
    parser.add_argument("processor", metavar="PROCESSOR", choices=PROCESSORS)
    parser.add_argument("packages", metavar="PACKAGE", nargs="+", choices=sorted(_packages()))
    arguments = parser.parse_args(argv)
    compiler = f"{PROCESSORS[arguments.processor][0]}gcc"
    if shutil.which(compiler) is None:
        parser.error(f"{arguments.processor} needs {compiler}, which is not installed")
    try:
        for row in measured(arguments.processor, " ".join(arguments.packages), arguments.packages):
            print(f"{row.name}: {row.variant}: {row.ours:.0f} of {row.baseline:.0f}, {row.ratio:.3f}")  # noqa: T201
    except WeftError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
