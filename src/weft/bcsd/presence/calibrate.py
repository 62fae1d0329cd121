"""Making how sure a model's searches are from a joined data set."""

from __future__ import annotations

from pathlib import Path

from weft.bcsd.presence.fit import Measured, fit, judged, measure
from weft.bcsd.presence.model import Presence, save_presence
from weft.bcsd.presence.trial import embedded_rows, rounds
from weft.bcsd.table import read_table
from weft.bcsd.use.embedder import Embedder

#: How sure a hit is whose worth is told.
SURE = 0.8


def calibrate_search(data: Path, embedder: Embedder, output: Path) -> Measured:
    """Fit it to the validation packages, the training packages beside them, and write it.

    Args:
        data: A joined data set: see :mod:`weft.bcsd.dataset`.
        embedder: The model.
        output: The file to write.

    Returns:
        What hits at least :data:`SURE` sure are worth on what it was fitted to.

    Raises:
        InputError: No such table, or no validation package in it.
        OutputError: The file cannot be written.
    """
    rows = embedded_rows(read_table(data), embedder, ("valid", "train"))
    lifted, tokens = (list(rounds(rows, "valid", embedder.weights, lifted=known)) for known in (True, False))
    presence = Presence(fit(lifted), fit(tokens), embedder.version)
    save_presence(presence, output)
    return measure(lifted, *judged(lifted, presence.lifted), SURE)
