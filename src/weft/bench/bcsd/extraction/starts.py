"""Functions found in stripped files, processor by processor: the same libraries, each by its cross compiler.

The truth is the symbol table of the file before ``strip``. Sources are fetched once into the folder that
``WEFT_BCSD_WORK`` names; processors whose compiler is not installed are left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from weft.bcsd.dataset.config import DatasetConfig
from weft.bcsd.dataset.source import fetch
from weft.bench.bcsd.extraction.known import TEST_PACKAGES, Coverage, coverage
from weft.bench.table import Row
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
_CONFIG = Path("examples/bcsd/dataset.yaml")


def rows(quick: bool) -> list[Row]:
    """One row of functions found and one of extras for each processor; ``quick``: of zlib alone."""
    packages = TEST_PACKAGES[:1] if quick else TEST_PACKAGES
    work = Path(os.environ.get("WEFT_BCSD_WORK", "bcsd-data")).resolve()
    chosen = [
        package for package in read_settings(DatasetConfig, _CONFIG).packages if package.name in packages
    ]
    found: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="weft-starts-") as scratch:
        for processor, (prefix, flags) in PROCESSORS.items():
            if shutil.which(f"{prefix}gcc") is None:
                continue
            total = Coverage()
            for package in chosen:
                tree = fetch(package, work / "source")
                whole, bare = Path(scratch) / "whole.so", Path(scratch) / "bare.so"
                files = sorted({str(path) for glob in package.files for path in tree.path.glob(glob)})
                kept = [name for name in files if Path(name).name not in map(_name, package.exclude)]
                include = [f"-I{tree.path / entry}" for entry in package.include if not entry.startswith("@")]
                include += [
                    f"-I{work / 'source' / other / 'tree' / inside}"
                    for other, _, inside in (e[1:].partition("/") for e in package.include if e[0] == "@")
                ]
                command = [f"{prefix}gcc", "-O2", "-g0", "-w", "-fPIC", "-shared", "-fvisibility=hidden"]
                subprocess.run(
                    [*command, *flags, *package.flags, *include, *kept, "-o", str(whole)],
                    check=True,
                    cwd=tree.path,
                )
                subprocess.run([f"{prefix}strip", "-o", str(bare), str(whole)], check=True)
                total.add(coverage(whole, bare))
            variant = f"{processor}, {total.files} stripped libraries, gcc -O2"
            found.append(
                Row(
                    "functions found",
                    variant,
                    "-",
                    "functions",
                    total.found,
                    total.named,
                    better="higher",
                    target=0.97,
                )
            )
            everything = max(total.found + total.extra, 1)
            found.append(Row("functions found: extra", variant, "-", "functions", total.extra, everything))
    return found


def _name(glob: str) -> str:
    return glob.rpartition("/")[2]
