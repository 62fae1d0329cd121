"""From hits to libraries: each function speaks for one library, and a library must explain more than chance would."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from weft.bcsd.components.banner import Banner, agrees
from weft.bcsd.use.search.answers import Answer, Hit
from weft.bcsd.use.search.doubts import nearest

#: A hit that is less sure speaks for nothing.
LEAST = 0.3
#: How fast what hits say of a library adds up, and what is taken off for what chance gives.
RATE, CHANCE = 0.6, 0.6
#: Libraries that are less sure are not named.
SURE = 0.5
#: What one version is ahead of another, in functions' scores, for it to be e times as likely.
AHEAD = 0.15
_EQUAL = ("same_bytes", "same_tokens")
#: Templates and inline functions of C++'s standard library, by their symbols: whoever uses them holds a copy.
#: Source: Itanium C++ ABI, 5.1.2 (nested names) and 5.1.10 (``St``, ``Sa``, ``Sb``, ``Ss``, ``Si``, ``So``, ``Sd``).
_STANDARD = re.compile(r"_Z(T[VITS]|GV)?(N[rVK]*)?(S[tabsiod]|9__gnu_cxx)")


class Claim(NamedTuple):
    """What one function says: how sure its hit is, and how near it is to each version of the library.

    Args:
        function: Which of the file's.
        sure: Of the hit.
        versions: Of each version that holds the function: 1 for equal code, else the score.
        packages: Version → the package of the nearest hit of it.
    """

    function: int
    sure: float
    versions: Mapping[str, float]
    packages: Mapping[str, str]


@dataclass(frozen=True)
class Library:
    """A library that a program holds.

    Args:
        name: Of the source package.
        sure: How sure it is that it is there.
        versions: Each version of the index with its share of the probability, the likeliest first. A share is relative
            to the versions that the index holds: of one alone it tells nothing.
        packages: The packages of the likeliest version that hits came from, the one with most of them first.
        functions: Of the file that it explains, by their place.
        of: Functions of the likeliest version in the index.
        held: How many versions of it the index holds.
        said: What the file itself says of its version.
    """

    name: str
    sure: float
    versions: tuple[tuple[str, float], ...]
    packages: tuple[str, ...]
    functions: tuple[int, ...]
    of: int
    held: int
    said: tuple[Banner, ...] = ()

    @property
    def version(self) -> str:
        """The nearest of the versions held."""
        return self.versions[0][0]

    @property
    def share(self) -> float | None:
        """The share of that version; None where the index holds no other, so that nothing tells it from others."""
        return self.versions[0][1] if self.held > 1 else None

    @property
    def contradicted(self) -> bool:
        """Whether the file itself says other versions than the nearest one held."""
        return bool(self.said) and not any(agrees(one.version, self.version) for one in self.said)


def claims(answers: Iterable[Answer]) -> dict[str, list[Claim]]:
    """What each function of a file says of each library that one of its surest hits is in.

    Hits that are the first again (another version, or a copy in another library) are as sure as the first. A function
    of C++'s standard library that was compiled into a library says nothing: every C++ program may hold it.

    Args:
        answers: Of a search in an index that names libraries.

    Returns:
        Library → its claims.
    """
    found: dict[str, list[Claim]] = defaultdict(list)
    for function, answer in enumerate(answers):
        best = answer.hits[0].confidence if answer.hits else 0.0
        if best < LEAST or _STANDARD.match(answer.hits[0].name):
            continue
        copies: dict[str, list[Hit]] = defaultdict(list)
        for hit in answer.hits:
            if hit.confidence >= best and hit.library is not None:
                copies[hit.library].append(hit)
        for library, hits in copies.items():
            versions: dict[str, float] = {}
            packages: dict[str, str] = {}
            for hit in hits:
                value = 1.0 if any(flag in hit.flags for flag in _EQUAL) else hit.score
                version = str(hit.version)
                if value > versions.get(version, -1.0):
                    versions[version], packages[version] = value, hit.package or library
            found[library].append(Claim(function, best, versions, packages))
    return dict(found)


def explain(found: Mapping[str, Sequence[Claim]], sizes: Mapping[tuple[str, str], int]) -> list[Library]:
    """The libraries that explain a file's functions, the surest first.

    The library with most to say takes its functions; what is left speaks for the others. So a library whose only hits
    are copies of another one's functions is not named.

        sure = 1 − exp(−rate · max(0, Σ p_i − chance))

    Args:
        found: Of :func:`claims`.
        sizes: How many functions each library and version has in the index.
    """
    taken: set[int] = set()
    left = dict(found)
    named: list[Library] = []
    while left:
        weights = {name: _weight(some, taken) for name, some in left.items()}
        name = max(sorted(weights), key=weights.__getitem__)
        sure = 1 - math.exp(-RATE * max(0.0, weights[name] - CHANCE))
        if sure < SURE:
            break
        own = [claim for claim in left.pop(name) if claim.function not in taken]
        taken.update(claim.function for claim in own)
        versions = version_shares(own)
        best = versions[0][0]
        spoken = Counter(claim.packages[best] for claim in own if best in claim.packages)
        packages = sorted(spoken, key=lambda package: (-spoken[package], package))
        functions = tuple(sorted({claim.function for claim in own}))
        of, held = (
            sizes.get((name, best), 0),
            len({v for library, v in sizes if library == name} | dict(versions).keys()),
        )
        named.append(Library(name, sure, versions, tuple(packages), functions, of, held))
    return sorted(named, key=lambda library: (-library.sure, -len(library.functions), library.name))


def doubts(answers: Iterable[Answer], named: Iterable[Library]) -> tuple[str, ...]:
    """Remarks on libraries that few functions of the many near to them speak for.

    Args:
        answers: Of the search.
        named: Of :func:`explain`.
    """
    near = nearest(answers)
    return tuple(
        near[library.name].may_be_chance(library.name)
        for library in named
        if library.name in near and near[library.name].few
    )


def on_versions(named: Iterable[Library]) -> tuple[str, ...]:
    """Remarks on versions that the index cannot tell, and on those that the file itself calls otherwise.

    Args:
        named: Of :func:`explain`, with what the file says.
    """
    remarks: list[str] = []
    for library in named:
        if library.share is None:
            remarks.append(
                f"{library.name}: the index holds version {library.version} alone, so the code does not tell which "
                "version the file has (put other versions into the index)"
            )
        if library.contradicted:
            said = " and ".join(repr(one.text) for one in library.said)
            which = "the version" if library.share is None else "the nearest version"
            remarks.append(
                f"{library.name}: the file says {said}, {which} that the index holds is {library.version}"
            )
    return tuple(remarks)


def version_shares(own: Sequence[Claim]) -> tuple[tuple[str, float], ...]:
    """How probable each version is, given that the library is there.

        share_v ∝ exp(Σ_i p_i · score_iv / ahead)

    A version that lacks a function has the least score that any version has for it, less one step.
    """
    names = sorted({version for claim in own for version in claim.versions})
    totals = dict.fromkeys(names, 0.0)
    for claim in own:
        absent = min(claim.versions.values()) - AHEAD
        for name in names:
            totals[name] += claim.sure * claim.versions.get(name, absent)
    most = max(totals.values())
    powers = {name: math.exp(max((total - most) / AHEAD, -700.0)) for name, total in totals.items()}
    whole = sum(powers.values())
    shares = [(name, power / whole) for name, power in powers.items()]
    return tuple(sorted(shares, key=lambda pair: (-pair[1], pair[0])))


def _weight(some: Sequence[Claim], taken: set[int]) -> float:
    return sum(claim.sure for claim in some if claim.function not in taken)
