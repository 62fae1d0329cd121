"""One build: every file of a package to an object, all objects to one shared object, and a stripped copy.

Symbols are hidden: exported functions of position-independent code cannot be inlined, which would make
pairs across optimisation levels easier than they are in the wild.
"""

from __future__ import annotations

import fnmatch
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from weft.bcsd.dataset.config import Package, Variant
from weft.bcsd.dataset.source import run
from weft.errors import InputError

#: With symbols, and without.
LIBRARY, STRIPPED = "library.so", "stripped.so"
#: What cross compilers are called after.
_TRIPLES: dict[str, str] = {
    "aarch64": "aarch64-linux-gnu",
    "i386": "i686-linux-gnu",
    "arm": "arm-linux-gnueabihf",
    "mips": "mipsel-linux-gnu",
    "riscv64": "riscv64-linux-gnu",
    "ppc64": "powerpc64le-linux-gnu",
}
_COMMON = ("-g0", "-w", "-fPIC", "-fvisibility=hidden")
#: Endings of C++ files; all others are C.
_PLUS = frozenset({".cc", ".cpp", ".cxx"})
_DRIVERS = {
    ("gcc", False): "gcc",
    ("gcc", True): "g++",
    ("clang", False): "clang",
    ("clang", True): "clang++",
}


def driver(variant: Variant, plus: bool = False) -> tuple[str, ...]:
    """The compiler's command, for C or for C++."""
    name = _DRIVERS[variant.compiler, plus]
    triple = _TRIPLES.get(variant.target)
    if variant.compiler == "clang":
        return (name,) if triple is None else (name, f"--target={triple}")
    return (gnu_tool(name, variant),)


def gnu_tool(name: str, variant: Variant) -> str:
    """A tool of GNU for the variant's target."""
    triple = _TRIPLES.get(variant.target)
    return name if triple is None else f"{triple}-{name}"


@lru_cache
def compiler_version(command: tuple[str, ...]) -> str:
    """The first line of what the compiler says about itself.

    Raises:
        InputError: It is not installed.
    """
    return run([*command, "--version"], Path.cwd(), command[0]).splitlines()[0]


def compile_flags(package: Package, variant: Variant) -> tuple[str, ...]:
    """The flags of one build, the include folders left out: the same on every machine."""
    return (f"-{variant.level}", *_COMMON, *package.flags)


def source_files(package: Package, tree: Path) -> list[Path]:
    """The package's C and C++ files, relative to the tree, sorted.

    Raises:
        InputError: A glob matches nothing: a renamed file must not go unnoticed.
    """
    found: set[Path] = set()
    for glob in package.files:
        matches = {path.relative_to(tree) for path in tree.glob(glob) if path.is_file()}
        if not matches:
            raise InputError(f"no file matches {glob!r}", where=package.name)
        found |= matches
    kept = [path for path in found if not any(fnmatch.fnmatch(str(path), glob) for glob in package.exclude)]
    if not kept:
        raise InputError("every file is excluded", where=package.name)
    return sorted(kept)


def compile_build(
    package: Package, variant: Variant, tree: Path, trees: Path, folder: Path, *, jobs: int
) -> None:
    """Compile, link and strip, to :data:`LIBRARY` and :data:`STRIPPED` in ``folder``.

    Args:
        package: What.
        variant: How.
        tree: The package's prepared source tree.
        trees: Where all packages' trees live, for ``@other`` includes.
        folder: Where the results go.
        jobs: Compilations at a time.

    Raises:
        InputError: A file does not compile, uses a header of the machine that is neither libc's nor the C++
            library's, or the link fails. One failed file fails the build.
    """
    folder.mkdir(parents=True, exist_ok=True)
    include = [f"-I{_include(entry, tree, trees)}" for entry in package.include]
    flags = [*compile_flags(package, variant), *include]
    files = source_files(package, tree)
    objects = [folder / (str(path).replace("/", "__") + ".o") for path in files]

    def one(pair: tuple[Path, Path]) -> None:
        path, target = pair
        depends = target.with_suffix(".d")
        command = driver(variant, path.suffix in _PLUS)
        run(
            [*command, *flags, "-MD", "-MF", str(depends), "-c", str(path), "-o", str(target)],
            tree,
            f"{package.name}/{path}",
        )
        _check_headers(depends, f"{package.name}/{path}")

    library, stripped = folder / LIBRARY, folder / STRIPPED
    try:
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(one, zip(files, objects, strict=True)))
        names = [f"./{target.name}" for target in objects]
        run([gnu_tool("gcc", variant), "-shared", "-o", str(library), *names], folder, f"{package.name} link")
        run([gnu_tool("strip", variant), "-o", str(stripped), str(library)], folder, f"{package.name} strip")
    finally:
        for target in objects:
            target.unlink(missing_ok=True)
            target.with_suffix(".d").unlink(missing_ok=True)


def _include(entry: str, tree: Path, trees: Path) -> Path:
    if not entry.startswith("@"):
        return tree / entry
    other, _, inside = entry[1:].partition("/")
    place = trees / other / "tree" / inside
    if not place.is_dir():
        raise InputError(f"include {entry!r}: {other} is not fetched yet", hint="list that package first")
    return place


@lru_cache
def _libc_headers() -> frozenset[str]:
    """Headers that every build may use: those of the C library and the kernel."""
    done = subprocess.run(
        ["dpkg", "-L", "libc6-dev", "linux-libc-dev"], capture_output=True, text=True, check=False
    )
    return frozenset(line for line in done.stdout.splitlines() if line.startswith("/usr/include/"))


def _check_headers(depends: Path, what: str) -> None:
    """A package that finds another library's header on this machine would build differently on the next one."""
    allowed = _libc_headers()
    if not allowed:
        return
    text = depends.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
    for word in text.split():
        if word.startswith("/usr/include/") and "/c++/" not in word and word not in allowed:
            raise InputError(f"uses the machine's own {word}", where=what)
