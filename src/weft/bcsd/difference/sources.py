"""What two versions differ by that is no edit: names and bounds from one side's debug file alone, another compiler.

    w = Σ_f amount_f · n_f / Σ_f n_f       over the paired functions f beside start-up code

says how far the code was made otherwise, with n the instructions of both versions of a function, and amount the share
of these that differ, 0 of unchanged ones.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.bcsd.difference.version import Version
from weft.bcsd.read.names import spelled

#: Share of functions without a name from which on a version has not its names: files with all of them have few such.
_NAMELESS = 0.1
#: The least w of what is said to be made otherwise: three years of edits give .42, other compilers .74 and more.
_OTHERWISE = 0.5
#: Paired functions from which on w tells anything: of few, one edit may be most.
_FEWEST = 10


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


def otherwise_made(old: Version, new: Version, amounts: Mapping[tuple[int, int], float]) -> list[str]:
    """A remark where most of the code differs, as between compilers, so that kinds of change tell of no edits.

    Args:
        old: The old version.
        new: The new version.
        amounts: Paired rows → the share of their instructions that differ.
    """
    own = {
        pair: amount
        for pair, amount in amounts.items()
        if pair[0] not in old.side.runtime and pair[1] not in new.side.runtime
    }
    if len(own) < _FEWEST:
        return []
    lengths = {(a, b): len(old.codes[a].lines) + len(new.codes[b].lines) for a, b in own}
    share = sum(amount * lengths[pair] for pair, amount in own.items()) / max(sum(lengths.values()), 1)
    if share < _OTHERWISE:
        return []
    changed = sum(amount > 0 for amount in own.values())
    return [
        f"{changed} of {len(own)} functions that both have are changed, and {100 * share:.0f} % of all their "
        "instructions: so it is where different compilers, or other options of one, made the two. Kinds of change, "
        "'bound check added' too, then speak for no edits: compare versions that were made in the same way"
    ]
