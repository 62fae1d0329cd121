"""`weft bench bcsd-open`: how sure searches are where nine of ten functions that are asked for are not in the index.

Reads ``functions.parquet`` in the folder that ``WEFT_BCSD_WORK`` names (`weft bcsd dataset build … --work`); without it
there are no rows. The functions of the test packages are asked for, a build at a time, in an index of a part of their
gcc -O2 functions and of functions of the other packages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from weft.bcsd.presence.fit import judged, measure
from weft.bcsd.presence.model import presence_of, stacked
from weft.bcsd.presence.trial import Known, embedded_rows, rounds
from weft.bcsd.table import read_table
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.store import find
from weft.bench.bcsd.extraction.known import dataset_work
from weft.bench.table import Row

MODEL = "bcsd-small"
_WAYS = {
    "a tenth of each library there": ("scattered",),
    "one of five libraries there by half": ("halved", "gone"),
}
#: How sure, the precision that is wanted of hits at least so sure, and the share of what is there that is wanted.
_WANTED = ((0.8, 0.85, 0.7), (0.9, 0.95, None))
_CROSS = ("i386", "arm", "mips")


def rows(quick: bool = False) -> Iterator[Row]:
    """Every row of the table; ``quick`` takes one round of each way."""
    work = dataset_work()
    if work is None:
        return
    folder = find(MODEL)
    embedder = Embedder.load(folder, precision="auto")
    presence, _ = presence_of(folder, embedder.version)
    data = read_table(work / "functions.parquet")
    table = embedded_rows(data, embedder, ("test", "valid", "train"))
    for lifted in (True, False):
        known = list(rounds(table, "test", embedder.weights, lifted=lifted, quick=quick))
        fitted = presence.lifted if lifted else presence.tokens
        what = "" if lifted else ", not lifted"
        for name, ways in _WAYS.items():
            some = [one for one in known if one.way in ways]
            yield from _measured(some, judged(some, fitted), f"{name}{what}", lifted)
        if not lifted:
            continue
        scattered = [one for one in known if one.way == "scattered"]
        for cross, asked in ((False, "x86-64, AArch64"), (True, "i386, ARM32, MIPS32")):
            some = [one for one in scattered if (one.build.rpartition("-")[2] in _CROSS) == cross]
            if some:
                name = f"a tenth there, {asked} asked for"
                yield from _measured(some, judged(some, fitted), name, not cross)
        features = [stacked(one.leads) for one in scattered]
        alone = (
            np.concatenate([fitted.alone_right(part) for part in features]),
            np.concatenate(
                [np.maximum(fitted.alone_right(part), fitted.alone_here(part)) for part in features]
            ),
        )
        yield from _measured(scattered, alone, "a tenth there, each asked for by itself", False)


def _measured(
    known: Sequence[Known], sure: tuple[np.ndarray, np.ndarray], name: str, wanted: bool
) -> Iterator[Row]:
    count = sum(len(one.leads) for one in known)
    for least, precision, recall in _WANTED:
        found = measure(known, *sure, least)
        variant = f"{name}; {count:,} searches"
        goal = precision if wanted else None
        yield Row(
            f"hits at least {least} sure: right", variant, "–", "share", found.precision, 1.0, "higher", goal
        )
        goal = recall if wanted else None
        yield Row(
            f"what is there: found, at least {least} sure",
            variant,
            "–",
            "share",
            found.recall,
            1.0,
            "higher",
            goal,
        )
    found = measure(known, *sure, 0.5)
    yield Row("search: calibration error", f"{name}; {count:,} searches", "–", "share", found.error, 1.0)
    yield Row(
        "'not here' at least .5 sure: right",
        f"{name}; {count:,} searches",
        "–",
        "share",
        found.absent,
        1.0,
        "higher",
    )
