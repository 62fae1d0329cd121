"""Names of C++, Rust and Swift as a programmer wrote them.

The mangled name stays what tables, indexes and scripts hold: it is the one that linkers and other tools know. A
short mangled name can stand for a text without end, so demangling belongs into a bounded process:
:func:`demangle` where that is so already, :func:`demangle_safely` elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pydemumble

from weft.bcsd.read.names import letters_of
from weft.platform.processes import Limits, run_bounded

_PREFIXES = ("_Z", "__Z", "_R", "__R", "$s", "_$s", "?")
#: Letters of a name beyond which it stays as it is: deep nesting would overflow the demangler's stack.
_LONGEST = 4096
_LIMITS = Limits(seconds=5, mebibytes=512)
_BATCH = 512


def is_mangled(name: str) -> bool:
    """Whether a name looks like one that can be demangled."""
    return name.startswith(_PREFIXES)


def demangle(name: str) -> str:
    """The readable form of a name, or the name itself. Only in a bounded process: it may take any time."""
    if not is_mangled(name) or len(name) > _LONGEST:
        return name
    # Lengths in a name count its letters, not their escapes.
    readable = pydemumble.demangle(letters_of(name))
    return readable if readable and readable.isprintable() else name


def demangle_safely(names: Iterable[str]) -> dict[str, str]:
    """Mangled name → readable form, of those that have one; a batch that cannot be done has none."""
    wanted = sorted({name for name in names if is_mangled(name)})
    batches = [wanted[at : at + _BATCH] for at in range(0, len(wanted), _BATCH)]
    found: dict[str, str] = {}
    for outcome in run_bounded(_demangle_all, batches, workers=1, limits=_LIMITS):
        if outcome.value is not None:
            found.update((name, text) for name, text in outcome.value if name != text)
    return found


def _demangle_all(names: Sequence[str]) -> list[tuple[str, str]]:
    return [(name, demangle(name)) for name in names]
