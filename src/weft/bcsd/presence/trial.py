"""Searches whose answers are known: nine of ten functions that are asked for are not in the index.

Functions of the packages of one role are asked for, a build at a time. The index holds their gcc -O2 functions in part,
and functions of other roles' packages beside them. It is thinned in three ways:

| way | what is left of the packages that are asked for |
|---|---|
| ``scattered`` | a tenth of their functions, each in one of ten rounds |
| ``halved`` | half of them |
| ``gone`` | nothing: the library is not there |
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from weft.bcsd.presence.features import Asked, Lead, Pool, Terms, agreeing, crowd, crowded, lead
from weft.bcsd.represent.calls import Calls, calls_of, with_calls
from weft.bcsd.represent.operations import COLUMN, operation_rows
from weft.bcsd.represent.rows import Rows
from weft.bcsd.represent.sketch import sketches
from weft.bcsd.use.embedded import embed_table, embeddings_of, lexical_of
from weft.bcsd.use.score import ScoreWeights, combined, with_operations
from weft.bcsd.use.search.agreement import CANDIDATES
from weft.bcsd.use.search.candidates import judged
from weft.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weft.bcsd.use.embedder import Embedder

INDEXED = "gcc-O2-x86_64"
#: What is asked for, of these as many as there are.
ASKED = (
    "gcc-O0-x86_64",
    "gcc-O1-x86_64",
    "gcc-O3-x86_64",
    "clang-O2-x86_64",
    "gcc-O2-aarch64",
    "clang-O3-aarch64",
    "gcc-O2-i386",
    "gcc-O2-arm",
    "gcc-O2-mips",
)
#: Rounds of each way, and the share of the other packages' functions that stands beside, round by round.
ROUNDS = {"scattered": 10, "halved": 3, "gone": 5}
BESIDE = (1.0, 0.6, 0.3, 0.15, 0.05)
LABELS = ("package", "role", "group", "build")
_REFERENCE, _BLOCKS = 512, 5


class Known(NamedTuple):
    """Leads of one file, and the truth about them.

    Args:
        way: How the index was thinned.
        package: The file's.
        build: The file's.
        leads: Of its functions.
        here: Whether each function is in the index.
        right: Whether its best hit is that function.
    """

    way: str
    package: str
    build: str
    leads: list[Lead]
    here: NDArray[np.bool_]
    right: NDArray[np.bool_]


def embedded_rows(data: pa.Table, embedder: Embedder, roles: Sequence[str]) -> pa.Table:
    """The rows that trials need, embedded.

    Args:
        data: A joined data set: see :mod:`weft.bcsd.dataset`.
        embedder: The model.
        roles: Whose packages are asked for (all builds) and whose stand beside (the indexed build).

    Raises:
        InputError: A column is missing.
    """
    missing = [name for name in (*LABELS, "duplicate") if name not in data.column_names]
    if missing:
        raise InputError(f"no column {missing[0]!r}", hint="is it a table that `weft bcsd dataset` made?")
    build, role = (np.array(data[name].to_pylist(), dtype=object) for name in ("build", "role"))
    first = (role == roles[0]) & np.isin(build, (INDEXED, *ASKED))
    kept = first | (np.isin(role, roles[1:]) & (build == INDEXED))
    kept &= (np.asarray(data["num_blocks"]) >= _BLOCKS) & ~np.asarray(
        data["duplicate"].to_pylist(), dtype=bool
    )
    rows = with_calls(data).filter(pa.array(kept)).combine_chunks()
    parts = [
        embed_table(rows.slice(at, 2000).combine_chunks(), embedder) for at in range(0, rows.num_rows, 2000)
    ]
    table = pa.concat_tables(parts)
    for name in LABELS:
        table = table.append_column(name, rows[name])
    return table


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows as arrays."""

    vectors: NDArray[np.float32]
    tokens: Rows
    operations: Rows
    pool: Pool
    groups: NDArray[Any]
    packages: NDArray[Any]
    calls: Calls
    sketches: NDArray[np.float32]

    @staticmethod
    def of(table: pa.Table, lifted: bool) -> _Rows:
        texts = ("token_digest", "group", "architecture", "package")
        digests, groups, processors, packages = (
            np.array(table[name].to_pylist(), dtype=object) for name in texts
        )
        instructions, blocks = (table[name].to_numpy() for name in ("num_instructions", "num_blocks"))
        bare = table if lifted or COLUMN not in table.column_names else table.drop_columns([COLUMN])
        # A function's name in an index of libraries is its symbol.
        pool = Pool(digests, groups, instructions, blocks, processors)
        calls = calls_of(table)
        if calls is None:
            raise InputError(
                "it does not say what functions call", hint="`weft bcsd dataset` makes a table that does"
            )
        operations = operation_rows(bare)
        near = sketches(operations.own)
        return _Rows(embeddings_of(table), lexical_of(table), operations, pool, groups, packages, calls, near)


def rounds(
    table: pa.Table, role: str, weights: ScoreWeights, *, lifted: bool = True, quick: bool = False
) -> Iterator[Known]:
    """Every file in every round.

    Args:
        table: Of :func:`embedded_rows`.
        role: Whose packages are asked for.
        weights: Of the hybrid score.
        lifted: Whether it is known what functions compute.
        quick: One round of each way.

    Raises:
        InputError: There is no package of that role in the indexed build and another one.
    """
    build, roles = (np.array(table[name].to_pylist(), dtype=object) for name in ("build", "role"))
    own, beside = (build == INDEXED) & (roles == role), (build == INDEXED) & (roles != role)
    asked = [name for name in ASKED if ((build == name) & (roles == role)).any()]
    if not own.any() or not asked:
        raise InputError(f"no functions of role {role!r} in {INDEXED} and another build")
    order = np.concatenate([np.flatnonzero(own), np.flatnonzero(beside)])
    base = _Rows.of(table.take(pa.array(order)), lifted)
    mine = np.arange(len(order)) < own.sum()
    scores = _terms(base, base, weights)[3]
    draw = np.random.default_rng(0)
    marks = np.array([zlib.crc32(group.encode()) % 10 for group in base.groups])
    known = np.isin(np.array(table["group"].to_pylist(), dtype=object), base.groups[mine])
    for name in asked:
        rows = _Rows.of(table.filter(pa.array((build == name) & (roles == role) & known)), lifted)
        terms = _terms(rows, base, weights)
        for way, count in ROUNDS.items():
            for number in range(1 if quick else count):
                left = _left(way, number, marks) & mine
                left |= ~mine & (draw.random(len(mine)) < BESIDE[number % len(BESIDE)])
                chosen = np.flatnonzero(left)
                reference = draw.permutation(len(chosen))[:_REFERENCE]
                index = _Index(
                    Pool(*(field[chosen] for field in base.pool)),
                    base.packages[chosen],
                    base.groups[chosen],
                    scores[np.ix_(chosen[reference], chosen)],
                    reference,
                    base.calls.among(chosen),
                )
                yield from _round(way, name, rows, index, [term[:, chosen] for term in terms], weights)


class _Index(NamedTuple):
    """A thinned index.

    Args:
        pool: Its functions.
        packages: Of each.
        groups: Of each.
        references: Plain scores of some of them with all, ``(references, functions)``.
        chosen: Which they are.
        calls: Among its functions.
    """

    pool: Pool
    packages: NDArray[Any]
    groups: NDArray[Any]
    references: NDArray[Any]
    chosen: NDArray[np.int64]
    calls: Calls


def _left(way: str, number: int, marks: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which functions of the packages that are asked for are left in one round of a way."""
    if way == "scattered":
        return marks == number
    return (marks + number) % 10 < 5 if way == "halved" else np.zeros(len(marks), bool)


def _terms(rows: _Rows, base: _Rows, weights: ScoreWeights) -> tuple[NDArray[Any], ...]:
    """The three cosines, the plain score and what candidates are chosen by, each ``(rows, base)``."""
    learned = rows.vectors @ base.vectors.T
    tokens, operations = rows.tokens.products(base.tokens), rows.operations.products(base.operations)
    plain = combined(rows.vectors, base.vectors, rows.tokens, base.tokens, weights.lexical)
    plain = with_operations(plain, rows.operations, base.operations, weights)
    near = learned + weights.operations * (rows.sketches @ base.sketches.T)
    return learned, tokens, operations, plain, near


def _round(
    way: str, build: str, rows: _Rows, index: _Index, terms: Sequence[NDArray[Any]], weights: ScoreWeights
) -> Iterator[Known]:
    pool, scores = index.pool, index.references
    crowds = crowd(scores, pool.digests[index.chosen], pool.digests)
    count = min(CANDIDATES, len(pool.digests))
    nearest = np.argpartition(-terms[-1], count - 1, axis=1)[:, :count]
    here = np.isin(rows.groups, index.groups)
    for package in dict.fromkeys(rows.packages.tolist()):
        inside = np.flatnonzero(rows.packages == package)
        candidates = nearest[inside]
        plain = np.take_along_axis(terms[3][inside], candidates, axis=1)
        ends = np.arange(0, candidates.size + 1, count)
        table = sparse.csr_matrix(
            (plain.ravel(), candidates.ravel(), ends), shape=(len(inside), len(pool.digests))
        )
        found, agreed = judged(table, rows.calls.among(inside), index.calls, weights)
        agreed = agreed.reshape(plain.shape)
        best = np.argmax(found.reshape(plain.shape), axis=1)
        leads = [
            _lead(rows, number, index, candidates[at], [term[number, candidates[at]] for term in terms[:4]], crowds,
                  agreed[at], int(best[at]))
            for at, number in enumerate(inside.tolist())
        ]  # fmt: skip
        right = index.groups[[one.row for one in leads]] == rows.groups[inside]
        yield Known(way, package, build, leads, here[inside], right)


def _lead(
    rows: _Rows,
    number: int,
    index: _Index,
    candidates: NDArray[np.int64],
    terms: Sequence[NDArray[Any]],
    crowds: NDArray[np.float64],
    agreed: NDArray[np.float32],
    best: int,
) -> Lead:
    """The best candidate of one query."""
    some = Pool(*(field[candidates] for field in index.pool))
    learned, tokens, operations, plain = terms
    found = Terms(learned, tokens, operations, plain)
    facts = (rows.pool.instructions[number], rows.pool.blocks[number], rows.pool.processors[number])
    row = int(candidates[best])
    one = Lead(
        lead(Asked(*facts), some, found, best),
        row,
        float(plain[best]),
        rows.pool.digests[number],
        index.packages[row],
        candidates,
        plain,
        agreeing(some, agreed, best),
    )
    return crowded(one, float(crowds[row]))
