"""Where the names and bounds of two versions come from: that it is not the same place for both is told."""

from __future__ import annotations

from weft.bcsd.difference.version import Version
from weft.bcsd.read.names import spelled

#: Share of functions without a name from which on a version has not its names: files with all of them have few such.
_NAMELESS = 0.1


def one_sided_names(old: Version, new: Version) -> list[str]:
    """A remark where a debug file names the functions of one version, and no table those of the other.

    Args:
        old: The old version.
        new: The new version.
    """
    for named, other in ((old, new), (new, old)):
        nameless = sum(not code.named for code in other.codes)
        if not named.side.debug_file or other.side.debug_file or nameless < _NAMELESS * len(other):
            continue
        path = spelled(named.side.path)
        return [
            f"functions in {path} have names and bounds from its debug file {named.side.debug_file}; in "
            f"{spelled(other.side.path)} {nameless} of {len(other)} have no name, and their bounds are found from its "
            "code and the tables that it kept: some may differ by that alone"
        ]
    return []
