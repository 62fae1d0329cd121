"""Places that a command writes to, looked at before its work begins."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from weft.errors import ConfigError


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[str | Path] = ()) -> None:
    """Refuse outputs that cannot be written, or of which one would overwrite another or an input.

    Args:
        outputs: Where the command writes; None where it does not.
        inputs: The files that it reads.

    Raises:
        ConfigError: Two are one file, by a link as well.
        OutputError: One cannot be written.
    """
    from weft.platform.files import check_output
    from weft.platform.same_file import is_same

    read = [Path(path) for path in inputs]
    taken = set[str]()
    for path in outputs:
        if path is None:
            continue
        check_output(path)
        place = os.path.realpath(path)
        if any(is_same(path, other) for other in read):
            raise ConfigError("the output is the input", hint="give another file")
        # A pipe or a device takes both.
        if place in taken and (os.path.isfile(place) or not os.path.exists(place)):
            raise ConfigError(f"two outputs are one file: {path}", hint="give another one")
        taken.add(place)
