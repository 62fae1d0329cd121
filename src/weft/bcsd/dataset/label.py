"""Naming the functions of a stripped build by the symbols of the unstripped one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from weft.bcsd.dataset.config import Package, Variant
from weft.bcsd.read import open_image
from weft.bcsd.read.runtime import is_runtime
from weft.bcsd.use.extract_files import build_table
from weft.errors import InputError

#: What compilers add to the name of a function that they split, cloned or specialised.
_DERIVED = re.compile(r"\.(cold|part|isra|constprop|lto_priv|llvm)(\.|$)")


@dataclass(frozen=True)
class Labelled:
    """The rows of one build.

    Args:
        table: Extracted rows, ``name`` holding the symbol.
        symbols: Functions with a symbol.
        derived: Split or cloned ones, dropped.
        ambiguous: Ones whose name several functions have, dropped.
        missed: Ones that extraction from the stripped file did not find.
    """

    table: pa.Table
    symbols: int
    derived: int
    ambiguous: int
    missed: int


def label_build(
    package: Package, variant: Variant, library: Path, stripped: Path, lifter: str = "auto"
) -> Labelled:
    """Extract the stripped file and name what the unstripped one has names for; ``lifter`` as extraction has it.

    Raises:
        InputError: A file cannot be read, or fewer functions than the package's minimum came out.
    """
    image = open_image(library)
    names: dict[int, set[str]] = {}
    for symbol in image.symbols:
        if not image.in_stubs(symbol.address) and not is_runtime(symbol.name):
            names.setdefault(symbol.address, set()).add(symbol.name)
    plain = {address: min(found) for address, found in names.items() if not any(map(_DERIVED.search, found))}
    times = Counter(plain.values())
    unique = {address: name for address, name in plain.items() if times[name] == 1}
    builder, _ = build_table(str(stripped), lifter=lifter)
    tables = list(builder.tables())
    table = pa.concat_tables(tables) if tables else None
    if table is None:
        raise InputError("no function found", where=f"{package.name} {variant}")
    addresses = table.column("address").to_pylist()
    kept = [row for row, address in enumerate(addresses) if address in unique]
    if len(kept) < package.min_functions:
        raise InputError(
            f"{len(kept)} functions, fewer than {package.min_functions}", where=f"{package.name} {variant}"
        )
    table = table.take(pa.array(kept))
    count = len(kept)
    labels = [unique[addresses[row]] for row in kept]
    columns = {
        "binary": pa.array([f"{package.name}/{variant}"] * count),
        "name": pa.array(labels),
    }
    for name, values in columns.items():
        table = table.set_column(table.schema.get_field_index(name), table.schema.field(name), values)
    extra = {
        "package": [package.name] * count,
        "role": [package.role] * count,
        "group": [f"{package.name}/{label}" for label in labels],
        "build": [str(variant)] * count,
        "compiler": [variant.compiler] * count,
        "level": [variant.level] * count,
    }
    for name, values in extra.items():
        table = table.append_column(pa.field(name, pa.string()), pa.array(values))
    return Labelled(
        table=table,
        symbols=len(names),
        derived=len(names) - len(plain),
        ambiguous=len(plain) - len(unique),
        missed=len(unique) - count,
    )
