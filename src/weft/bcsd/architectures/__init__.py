"""Everything that differs from one processor family to the next, a folder for each.

A new family is a folder beside the others and a line in :data:`FAMILIES`. The folder's ``ARCHITECTURES`` holds
one :class:`~weft.bcsd.architectures.architecture.Architecture` for each name.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from weft.bcsd.architectures.architecture import Architecture

#: Folder → the names that tables, models and messages use.
FAMILIES: dict[str, tuple[str, ...]] = {
    "x86": ("x86_64", "i386"),
    "arm64": ("aarch64",),
    "arm": ("arm",),
    "mips": ("mips", "mips64"),
    "ppc64": ("ppc64",),
    "riscv64": ("riscv64",),
}


@cache
def all_architectures() -> tuple[Architecture, ...]:
    """Every architecture, in the order of the table."""
    folders = [import_module(f"{__name__}.{folder}") for folder in FAMILIES]
    return tuple(architecture for folder in folders for architecture in folder.ARCHITECTURES)


@cache
def architecture_named(name: str) -> Architecture:
    """The architecture of a name in :data:`FAMILIES`; only its folder is imported.

    Raises:
        KeyError: There is none of that name.
    """
    for folder, names in FAMILIES.items():
        if name in names:
            found: tuple[Architecture, ...] = import_module(f"{__name__}.{folder}").ARCHITECTURES
            return found[names.index(name)]
    raise KeyError(name)


def for_machine(container: str, machine: str, bits: int = 0) -> Architecture | None:
    """The architecture that a file's header names.

    Args:
        container: ``"elf"``, ``"pe"`` or ``"macho"``.
        machine: The machine's name, as lief spells it.
        bits: 32 or 64, where one name stands for both; otherwise the only one of that name is taken.
    """
    found = [each for each in all_architectures() if each.machines.get(container) == machine]
    exact = [each for each in found if 8 * each.pointer_size == bits]
    return next(iter(exact or found), None)


def machines_known(container: str) -> str:
    """Names for messages: what files of that kind can be read for."""
    return ", ".join(sorted(each.name for each in all_architectures() if container in each.machines))
