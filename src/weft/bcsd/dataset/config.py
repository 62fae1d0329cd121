"""What a data set consists of: packages, compilers, levels, architectures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal, get_args

from weft.errors import ConfigError

Role = Literal["train", "valid", "test"]
Compiler = Literal["gcc", "clang"]
Level = Literal["O0", "O1", "O2", "O3", "Os"]
Target = Literal["x86_64", "aarch64", "i386", "arm", "mips", "riscv64", "ppc64"]


#: The names of all builds that there can be.
_EVERY = frozenset("-".join(parts) for parts in product(*map(get_args, (Compiler, Level, Target))))


@dataclass(frozen=True)
class Package:
    """One Debian source package and how to compile it directly, without its own build system.

    Args:
        name: What the data set calls it.
        role: Which side of the split it is on, whole.
        source: The Debian source package; ``name`` by default.
        files: Globs of C and C++ files, relative to the source tree.
        exclude: Globs of files to leave out: programs, tests, vendored copies of other packages.
        include: Header folders, relative to the tree; ``@other/folder`` lies in another package's tree.
        flags: Further compiler flags.
        prepare: Commands run once in the fresh tree, to generate headers.
        write: Files to write into the tree: path → text.
        min_functions: A build with fewer functions is an error.
        builds: Only these of the builds that are wanted, by their names; none for all.
    """

    name: str
    role: Role
    source: str = ""
    files: tuple[str, ...] = ("*.c",)
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = (".",)
    flags: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()
    write: dict[str, str] = field(default_factory=dict)
    min_functions: int = 10
    builds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check each field."""
        _check(
            self.name.isidentifier() or self.name.replace("-", "").isalnum(),
            "name",
            self.name,
            "a plain word",
        )
        _check(self.role in get_args(Role), "role", self.role, f"one of {', '.join(get_args(Role))}")
        _check(bool(self.files), "files", self.files, "at least one glob")
        for glob in self.files:
            plain = not glob.startswith("/") and all("**" not in p or p == "**" for p in glob.split("/"))
            _check(
                bool(glob) and plain,
                "files",
                glob,
                "a glob relative to the source tree, ** a folder by itself",
            )
        _check(self.min_functions > 0, "min_functions", self.min_functions, "above 0")
        _check(set(self.builds) <= _EVERY, "builds", self.builds, "names such as gcc-O2-x86_64")

    @property
    def debian(self) -> str:
        """The name of the source package."""
        return self.source or self.name


@dataclass(frozen=True)
class Variant:
    """One way to build."""

    compiler: Compiler
    level: Level
    target: Target

    def __str__(self) -> str:
        return f"{self.compiler}-{self.level}-{self.target}"


@dataclass(frozen=True)
class DatasetConfig:
    """The whole data set.

    Args:
        packages: What to build.
        compilers: In the matrix.
        levels: In the matrix.
        targets: In the matrix.
        jobs: Compilations at a time.
        min_blocks: Functions with fewer blocks are counted but not kept.
        min_builds: Groups with fewer builds are not kept.
        builds: Only these of the matrix, by their names (``gcc-O2-x86_64``); none for all.
        symbols: Look for functions where the symbols say they are, not in the stripped file: for processors whose
            stripped files do not tell enough.
        operations: Lift the functions. The learned half of the score does without, and a table without costs a
            fraction; a build that has its functions lifted already is taken as it is.
    """

    packages: tuple[Package, ...]
    compilers: tuple[Compiler, ...] = ("gcc", "clang")
    levels: tuple[Level, ...] = ("O0", "O1", "O2", "O3", "Os")
    targets: tuple[Target, ...] = ("x86_64", "aarch64")
    jobs: int = 2
    min_blocks: int = 1
    min_builds: int = 2
    builds: tuple[str, ...] = ()
    symbols: bool = False
    operations: bool = True

    def __post_init__(self) -> None:
        """Check each field."""
        names = [package.name for package in self.packages]
        _check(bool(names), "packages", names, "at least one")
        _check(len(set(names)) == len(names), "packages", names, "distinct names")
        for key, allowed in (("compilers", Compiler), ("levels", Level), ("targets", Target)):
            values = getattr(self, key)
            _check(
                bool(values) and set(values) <= set(get_args(allowed)),
                key,
                values,
                f"among {get_args(allowed)}",
            )
        _check(self.jobs > 0, "jobs", self.jobs, "above 0")
        there = {str(variant) for variant in self._matrix}
        _check(set(self.builds) <= there, "builds", self.builds, "of the matrix, such as gcc-O2-x86_64")

    def only(self, builds: Sequence[str]) -> DatasetConfig:
        """The same packages in other builds, whichever compilers, levels and targets these need.

        Raises:
            ConfigError: There is no such build.
        """
        return replace(
            self,
            compilers=get_args(Compiler),
            levels=get_args(Level),
            targets=get_args(Target),
            builds=tuple(builds),
        )

    def beside(self, others: Sequence[DatasetConfig]) -> DatasetConfig:
        """The packages of several configurations, by the settings of this one.

        Raises:
            ConfigError: Two packages have one name.
        """
        packages = (*self.packages, *(package for other in others for package in other.packages))
        return replace(self, packages=packages)

    @property
    def variants(self) -> list[Variant]:
        """The matrix, or what is wanted of it, in a fixed order."""
        return [variant for variant in self._matrix if not self.builds or str(variant) in self.builds]

    def variants_of(self, package: Package) -> list[Variant]:
        """The builds of one package."""
        return [variant for variant in self.variants if not package.builds or str(variant) in package.builds]

    @property
    def _matrix(self) -> list[Variant]:
        return [Variant(c, lv, t) for t in self.targets for c in self.compilers for lv in self.levels]


def _check(holds: bool, name: str, value: object, rule: str) -> None:
    if not holds:
        raise ConfigError(f"{name} is {value!r}; it must be {rule}")
