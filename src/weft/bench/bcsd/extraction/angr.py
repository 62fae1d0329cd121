"""Extraction against angr: agreement of blocks and edges, every disagreement classed, and speed.

Runs where angr is installed, which needs an environment of its own (its pins differ from ours):
``PYTHONPATH=src python -m weft.bench.bcsd.extraction.angr FILE…``. The same files go through both in one process;
with ``--native`` before them through ours alone, anywhere: as the comparison times it, and to rows without operations.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, field

from weft.bcsd.disassemble.angr import AngrDisassembler
from weft.bcsd.disassemble.interface import EdgeKind, Function
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image
from weft.bcsd.represent import Normaliser
from weft.bcsd.use.extract_files import build_table

SAMPLE = 200
_SMALLEST = 3


@dataclass
class Agreement:
    """What two disassemblers say about the same functions.

    ``shared`` counts blocks by function: a block of ours is theirs too if angr gives it to the function of the
    same address. ``bytes_theirs`` and ``bytes_shared`` count by bytes: angr's blocks within the function's
    bounds, whichever function angr gives them to.
    """

    functions: int = 0
    equal_functions: int = 0
    ours: int = 0
    theirs: int = 0
    shared: int = 0
    edges_ours: int = 0
    edges_theirs: int = 0
    edges_shared: int = 0
    settled_ours: int = 0
    settled_shared: int = 0
    bytes_theirs: int = 0
    bytes_shared: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: {"native": 0.0, "angr": 0.0})
    found: dict[str, int] = field(default_factory=lambda: {"native": 0, "angr": 0})


def starts(function: Function) -> dict[int, int]:
    """Block start → address of its last instruction."""
    return {function.instructions[b.start][0]: function.instructions[b.end - 1][0] for b in function.blocks}


def arrows(function: Function) -> set[tuple[int, int]]:
    """Edges as pairs of block starts."""
    place = [function.instructions[b.start][0] for b in function.blocks]
    return {(place[e.source], place[e.target]) for e in function.edges}


def compare(
    ours: Function, theirs: Function, angr_starts: Set[int], angr_blocks: list[int], total: Agreement
) -> None:
    """Add one function; each block that only one of the two has falls into one class.

    Args:
        ours: The function as we see it.
        theirs: As angr sees it.
        angr_starts: Addresses of all functions of angr's.
        angr_blocks: Addresses of all its blocks, sorted.
        total: What to add to.
    """
    mine, other = starts(ours), starts(theirs)
    shared = mine.keys() & other.keys()
    total.functions += 1
    total.ours += len(mine)
    total.theirs += len(other)
    total.shared += len(shared)
    first, last = (bisect_left(angr_blocks, a) for a in (ours.address, ours.address + ours.size))
    inside = set(angr_blocks[first:last])
    total.bytes_theirs += len(inside)
    total.bytes_shared += len(inside & mine.keys())
    my_edges, other_edges = arrows(ours), arrows(theirs)
    total.edges_ours += len(my_edges)
    total.edges_theirs += len(other_edges)
    total.edges_shared += len(my_edges & other_edges)
    total.equal_functions += mine.keys() == other.keys() and my_edges == other_edges
    lines = {line[0]: line for line in ours.instructions}
    split = any(address in angr_starts for address in mine if address != ours.address)
    switched = any(e.kind in (EdgeKind.SWITCH, EdgeKind.INDIRECT) for e in ours.edges)
    unresolved = switched and len(my_edges - other_edges) > 2
    if not split and not unresolved:
        total.settled_ours += len(mine)
        total.settled_shared += len(shared)
    reason = "only native: other"
    if split:
        reason = "only native: angr made several functions of one"
    elif unresolved:
        reason = "only native: behind a jump table that angr left unresolved"
    total.classes[reason] += len(mine.keys() - shared)
    if not total.classes[reason]:
        del total.classes[reason]
    for address in other.keys() - shared:
        line = lines.get(address)
        before = next((raw for raw in ours.instructions if raw[0] + raw[1] == address), None)
        if line is None and not ours.address <= address < ours.address + ours.size:
            total.classes["only angr: outside of the function's bounds"] += 1
        elif line is None:
            total.classes["only angr: padding that nothing reaches"] += 1
        elif line[2].startswith("rep") or (before is not None and before[2].startswith("rep")):
            total.classes["only angr: a repeated string instruction as a loop"] += 1
        elif (before is not None and before[2] == "call") or (before is not None and before[2] == "bl"):
            total.classes["only angr: after a call"] += 1
        else:
            total.classes["only angr: other"] += 1


def measure(path: str, total: Agreement, dice: random.Random, most: int) -> None:
    """Both disassemblers on one file: time, and a sample of functions compared."""
    begun = time.process_time()
    image = open_image(path)
    normaliser = Normaliser(image.architecture)
    ours: dict[int, Function] = {}
    for function in NativeDisassembler().functions(image):
        normaliser.tokens(function)
        ours[function.address] = function
    total.seconds["native"] += time.process_time() - begun
    begun = time.process_time()
    project, graph = AngrDisassembler().analyse(image)
    total.seconds["angr"] += time.process_time() - begun
    theirs = {f.address: f for f in AngrDisassembler().translate(image, graph)}
    del project
    total.found["native"] += len(ours)
    total.found["angr"] += len(theirs)
    blocks = sorted({start for function in theirs.values() for start in starts(function)})
    both = [a for a in sorted(ours.keys() & theirs.keys()) if len(ours[a].blocks) >= _SMALLEST]
    for address in dice.sample(both, min(most, len(both))):
        compare(ours[address], theirs[address], theirs.keys(), blocks, total)


def native(files: list[str]) -> dict[str, float]:
    """Functions a second of ours alone: blocks, edges and tokens, and whole rows with what callees add, not lifted."""
    found, seconds, whole = 0, 0.0, 0.0
    for path in files:
        begun = time.process_time()
        image = open_image(path)
        normaliser = Normaliser(image.architecture)
        for function in NativeDisassembler().functions(image):
            normaliser.tokens(function)
            found += 1
        seconds += time.process_time() - begun
        begun = time.process_time()
        for _ in build_table(path, lifter="none")[0].tables():
            pass
        whole += time.process_time() - begun
    return {"functions": found, "native": round(found / seconds, 1), "rows": round(found / whole, 1)}


def main(paths: list[str]) -> int:
    """Compare the files of each architecture; print one JSON object per architecture."""
    alone, paths = paths[:1] == ["--native"], [path for path in paths if path != "--native"]
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(open_image(path).architecture, []).append(path)
    # As the workers of extraction do; angr, whose objects the collector goes through in vain, gains more from it.
    gc.set_threshold(200_000, 50, 100)
    # Both import much the first time they run: not part of their speed.
    if alone:
        native(paths[:1])
        for architecture, files in groups.items():
            print(json.dumps({"architecture": architecture, "files": len(files), **native(files)}))  # noqa: T201
        return 0
    measure(paths[0], Agreement(), random.Random(0), 0)
    for architecture, files in groups.items():
        total = Agreement()
        dice = random.Random(0)
        for path in files:
            measure(path, total, dice, -(-SAMPLE // len(files)))
        rate = {name: total.found[name] / total.seconds[name] for name in total.seconds}
        print(  # noqa: T201 - a script's output
            json.dumps(
                {
                    "architecture": architecture,
                    "files": len(files),
                    "functions": total.functions,
                    "equal_functions": total.equal_functions,
                    "blocks": {"native": total.ours, "angr": total.theirs, "equal": total.shared},
                    "blocks_where_angr_settled": {
                        "native": total.settled_ours,
                        "equal": total.settled_shared,
                    },
                    "blocks_by_bytes": {
                        "native": total.ours,
                        "angr": total.bytes_theirs,
                        "equal": total.bytes_shared,
                    },
                    "edges": {
                        "native": total.edges_ours,
                        "angr": total.edges_theirs,
                        "equal": total.edges_shared,
                    },
                    "classes": dict(total.classes.most_common()),
                    "functions_per_second": {name: round(value, 1) for name, value in rate.items()},
                    "ratio": round(rate["native"] / rate["angr"], 2),
                },
                indent=1,
            )
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
