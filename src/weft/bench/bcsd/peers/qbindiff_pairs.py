"""QBinDiff on functions that our disassembler found: a program of its own loader's kind, without IDA or Ghidra."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.bcsd.disassemble.interface import Flag, Function
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.matching.facts import text_of
from weft.bcsd.read import open_image
from weft.errors import MissingExtraError

if TYPE_CHECKING:
    from weft.bcsd.read.image import Image

#: Where imported functions stand, which have no code in the file: above all of it.
_IMPORTS = 1 << 52
#: Beside its default: what it offers of a function's graph, its mnemonics and its place among the calls.
_STRUCTURE = ("bnb", "scc", "cc", "mdidx", "meanins", "Gmd", "Gd", "Gnc", "Gt", "cnb", "pnb", "rnb", "M")


class QBinDiffs:
    """QBinDiff by its own settings.

    Args:
        structure: With features of the graph beside those that are its default.

    Raises:
        MissingExtraError: It is not installed.
    """

    def __init__(self, structure: bool = False) -> None:
        try:
            import qbindiff  # pyright: ignore[reportMissingImports]
            from qbindiff.features import DEFAULT_FEATURES, FEATURES  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise MissingExtraError("qbindiff", "peers") from error
        logging.getLogger().setLevel(logging.ERROR)
        self.name = "QBinDiff with structure" if structure else "QBinDiff"
        self._qbindiff: Any = qbindiff
        named = {feature.key: feature for feature in FEATURES}
        # Addresses are no feature: two builds share none.
        kept = [feature for feature in DEFAULT_FEATURES if feature.key != "addr"]
        self._features: list[Any] = kept + [named[key] for key in _STRUCTURE if structure]
        self._read = lru_cache(maxsize=None)(read_program)

    def partners(self, a: Path, b: Path) -> Mapping[int, Mapping[int, float]]:
        """The pairs of its belief propagation."""
        from weft.bench.bcsd.peers.qbindiff_loader import program_of

        one, other = (program_of(self._read(path)) for path in (a, b))
        differ = self._qbindiff.QBinDiff(one, other)
        for feature in self._features:
            differ.register_feature_extractor(feature, 1.0)
        differ.process()
        mapping = differ.compute_matching()
        return {match.primary.addr: {match.secondary.addr: 1.0} for match in mapping}


class Read(NamedTuple):
    """A file as QBinDiff's loader is told about it.

    Args:
        path: Of the file.
        functions: In address order.
        texts: By function, then by instruction: the text that it points to.
        imports: Imported functions, each with an address that stands for it.
    """

    path: Path
    functions: list[Function]
    texts: list[dict[int, str]]
    imports: dict[str, int]


def read_program(path: Path) -> Read:
    """Disassemble a file."""
    image = open_image(path)
    functions = [found for found in NativeDisassembler().functions(image) if Flag.PART not in found.flags]
    names = sorted({name for function in functions for name in function.imports})
    imports = {name: _IMPORTS + number for number, name in enumerate(names)}
    return Read(path, functions, [_texts(function, image) for function in functions], imports)


def _texts(function: Function, image: Image) -> dict[int, str]:
    found = {index: text_of(image, reference) for index, reference in function.references.items()}
    return {index: text for index, text in found.items() if text is not None}
