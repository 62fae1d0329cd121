"""The table of a model: every setting, size filter and pool, beside the baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch

from weft.bcsd.evaluate.baselines import MnemonicNgrams, TokenTfidf
from weft.bcsd.evaluate.retrieval import Retrieval, retrieve
from weft.bcsd.evaluate.tasks import COLUMNS, HEADLINE, SETTINGS, Labels, Task
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.calls import calls_of, with_calls
from weft.bcsd.represent.lexical import Lexical
from weft.bcsd.represent.operations import operation_rows
from weft.bcsd.represent.rows import Rows
from weft.bcsd.table import read_table
from weft.bcsd.use.embedder import Embedder, Precision
from weft.bcsd.use.score import ScoreWeights, combined, with_operations, without_hubs
from weft.bcsd.use.search.agreement import with_agreement
from weft.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

POOLS: tuple[int | None, ...] = (32, 100, 1000, None)
#: Roles that fill up a pool, one after another.
_FILLED = ((), ("valid",), ("valid", "train"))
_TRAINING_ROWS = 20_000
#: Of the operations by themselves, where there is no model.
_ALONE = ScoreWeights(hubness=1.5, neighbours=3)


@dataclass(frozen=True)
class Cell:
    """One figure of the table.

    Args:
        system: What was measured.
        setting: See :data:`weft.bcsd.evaluate.tasks.SETTINGS`.
        min_blocks: Functions of fewer blocks were left out, on both sides.
        pool: Size of the pool; None is the whole base build of the packages.
        result: The figures.
    """

    system: str
    setting: str
    min_blocks: int
    pool: int | None
    result: Retrieval

    def record(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "system": self.system,
            "setting": self.setting,
            "min_blocks": self.min_blocks,
            "asked_pool": self.pool,
            **self.result.record(),
        }


class Vectors:
    """Embeddings and TF-IDF rows of the rows of a table that tasks need, each made once.

    Args:
        functions: The data set.
        tasks: What will be asked.
        embedder: The model; None for baselines alone.
        lexical: The unigram TF-IDF.
        baselines: Others, by name.
    """

    def __init__(
        self,
        functions: pa.Table,
        tasks: Sequence[Task],
        embedder: Embedder | None,
        lexical: Lexical,
        baselines: Mapping[str, MnemonicNgrams | TokenTfidf] | None = None,
    ) -> None:
        self.rows = np.unique(np.concatenate([rows for task in tasks for rows in (task.queries, task.base)]))
        taken = functions.take(pa.array(self.rows))
        arrays = FunctionArrays.from_table(taken)
        self.operations = operation_rows(taken)
        self.calls = calls_of(taken)
        self.embeddings = None if embedder is None else embedder.embed(arrays)
        self.lexical = lexical.rows(taken, arrays)
        self.baselines = {name: rows.vectors(arrays) for name, rows in (baselines or {}).items()}

    def learned(self, task: Task) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Embeddings of a task's queries and base.

        Raises:
            InputError: There is no model.
        """
        if self.embeddings is None:
            raise InputError("no model was given")
        return self.embeddings[self._at(task.queries)], self.embeddings[self._at(task.base)]

    def hybrid(self, task: Task, weights: ScoreWeights, *, callees: bool = True) -> NDArray[np.float32]:
        """The score that ``search`` ships, for functions that are asked for together where calls have a weight."""
        scores = without_hubs(self.combined(task, weights, callees=callees), weights)
        if not weights.calls or self.calls is None:
            return scores
        asked, there = self._at(task.queries), self._at(task.base)
        return with_agreement(scores, self.calls.among(asked), self.calls.among(there), weights)

    def combined(self, task: Task, weights: ScoreWeights, *, callees: bool = True) -> NDArray[np.float32]:
        """The hybrid score before the correction for hubs; functions alone where not with their callees."""
        queries, base = self.learned(task)
        asked, there = self._at(task.queries), self._at(task.base)
        held = self.lexical, self.operations
        lexical, operations = held if callees else (Rows.alone(rows.own) for rows in held)
        scores = combined(queries, base, lexical[asked], lexical[there], weights.lexical)
        return with_operations(scores, operations[asked], operations[there], weights)

    def tfidf(self, task: Task, rows: sparse.csr_matrix) -> NDArray[np.float32]:
        """Cosine of sparse rows."""
        shared: Any = rows[self._at(task.queries)] @ rows[self._at(task.base)].T
        return shared.toarray()

    def _at(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted(self.rows, rows)


def evaluate(
    functions: pa.Table,
    embedder: Embedder | None,
    *,
    role: str = "test",
    min_blocks: Sequence[int] = (5, 1),
    pools: Sequence[int | None] = POOLS,
    settings: Sequence[str] | None = None,
    packages: Sequence[str] = (),
) -> list[Cell]:
    """Score the model, the hybrid and the baselines.

    The idf of the baselines comes from the training packages of the table; where it has none, a model is measured
    without them. A pool that is larger than the packages that are asked for is filled up with other packages of the
    role and the validation packages, which no model was trained on, then with the training packages; a pool that is
    still too large is left out.

    Args:
        functions: A data set, all roles.
        embedder: The model; None for baselines alone.
        role: Whose packages are asked for.
        min_blocks: Size filters.
        pools: Sizes of pools; None is all.
        settings: Names of settings; None is all that there are functions for, in both builds.
        packages: Only their functions are asked for; none for all of the role.

    Raises:
        InputError: A package is not there, no function is in both builds of a setting or fills a pool, or there is
            neither a model nor a training package.
    """
    labels = Labels(functions)
    missing = sorted(set(packages) - set(labels.package[labels.role == role]))
    if missing:
        raise InputError(f"no package {missing[0]!r} of role {role!r}")
    counted = functions.take(pa.array(_sample(np.flatnonzero(labels.role == "train"))))
    if embedder is None and not counted.num_rows:
        raise InputError(
            "no function of a training package, in which the baselines count tokens",
            hint="name a model, which is measured without them",
        )
    lexical = Lexical.fit(counted) if embedder is None else embedder.lexical
    baselines = _baselines(counted) if counted.num_rows else {}
    cells: list[Cell] = []
    there = False
    for least in min_blocks:
        asked: list[tuple[str, int | None, Task | None]] = []
        for name in SETTINGS if settings is None else settings:
            try:
                asked += [(name, pool, _task(labels, name, role, least, pool, packages)) for pool in pools]
            except InputError:
                # Nobody named it.
                if settings is not None:
                    raise
        there = there or bool(asked)
        tasks = [task for _, _, task in asked if task is not None]
        if not tasks:
            continue
        vectors = Vectors(functions, tasks, embedder, lexical, baselines)
        for name, pool, task in asked:
            if task is not None:
                sizes = labels.instructions[task.queries]
                for system, scores in _systems(vectors, task, embedder):
                    result = retrieve(scores(), task.right, pool, sizes)
                    cells.append(Cell(system, name, least, pool, result))
    if not cells:
        raise InputError(_nothing(labels, role, min(min_blocks), there))
    return cells


def _baselines(training: pa.Table) -> dict[str, MnemonicNgrams | TokenTfidf]:
    """Those that count tokens in training packages, by name."""
    arrays = FunctionArrays.from_table(training)
    found: dict[str, MnemonicNgrams | TokenTfidf] = {
        f"tf-idf, mnemonic {length}-grams": MnemonicNgrams(length, arrays) for length in (1, 2, 3)
    }
    return {**found, "tf-idf, all tokens, counted": TokenTfidf(arrays)}


def _nothing(labels: Labels, role: str, least: int, there: bool) -> str:
    """Why no figure came out; ``there`` where there were functions to ask for, and no pool that they fill."""
    if there:
        return "no pool that was asked for can be made of the table's functions"
    builds = ", ".join(sorted(set(labels.build[labels.role == role]))) or "none"
    first = " and ".join(SETTINGS[HEADLINE[0]])
    size = f" of at least {least} blocks" if least > 1 else ""
    return f"no function of role {role!r}{size} is in both builds of a setting, as {first}; its builds are {builds}"


def _task(
    labels: Labels, setting: str, role: str, least: int, pool: int | None, packages: Sequence[str]
) -> Task | None:
    """The task with the nearest packages that suffice for a pool; None where all do not, or hold one function."""
    for extra in _FILLED:
        task = labels.task(setting, role, least, {role, *extra} if extra else (), packages)
        if pool is None:
            # Among one function there is nothing to find.
            return task if len(task.base) > 1 else None
        if pool <= len(task.base):
            return task
    return None


def evaluate_file(
    data: Path,
    model: str | None,
    *,
    device: torch.device | str = "cpu",
    precision: Precision = "fp32",
    role: str = "test",
    min_blocks: Sequence[int] = (5, 1),
    pools: Sequence[int | None] = POOLS,
    settings: Sequence[str] | None = None,
    packages: Sequence[str] = (),
) -> list[Cell]:
    """:func:`evaluate` for a data set's file and a model by name or folder.

    Raises:
        InputError: The file cannot be read, or is no data set.
        CheckpointError: The model cannot be loaded.
    """
    functions = with_calls(read_table(data, list(COLUMNS)))
    embedder = None if model is None else Embedder.load(model, device=device, precision=precision)
    return evaluate(
        functions,
        embedder,
        role=role,
        min_blocks=min_blocks,
        pools=pools,
        settings=settings,
        packages=packages,
    )


def _systems(
    vectors: Vectors, task: Task, embedder: Embedder | None
) -> list[tuple[str, Callable[[], NDArray[Any]]]]:
    systems: list[tuple[str, Callable[[], NDArray[Any]]]] = [
        (name, lambda rows=rows: vectors.tfidf(task, rows)) for name, rows in vectors.baselines.items()
    ]
    systems.append(("tf-idf, all tokens, by presence", lambda: vectors.tfidf(task, vectors.lexical.own)))
    if embedder is not None:
        plain = ScoreWeights(0.0, 0.0, 1)
        systems.append(("model, cosine", lambda: vectors.hybrid(task, plain)))
        if vectors.operations.nnz:
            without = replace(embedder.weights, operations=0.0, calls=0.0)
            systems.append(("model, hybrid without operations", lambda: vectors.hybrid(task, without)))
        alone = replace(embedder.weights, calls=0.0)
        if vectors.lexical.known.any():
            systems.append(
                (
                    "model, hybrid without callees",
                    lambda: vectors.hybrid(task, alone, callees=False),
                )
            )
        if embedder.weights.calls and vectors.calls is not None:
            systems.append(("model, hybrid without calls", lambda: vectors.hybrid(task, alone)))
        systems.append(("model, hybrid", lambda: vectors.hybrid(task, embedder.weights)))
    if vectors.operations.nnz:
        weights = _ALONE if embedder is None else embedder.weights
        rows = vectors.operations.own
        systems.append(("operations", lambda: without_hubs(vectors.tfidf(task, rows), weights)))
    return systems


def _sample(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """At most so many of them, evenly spread: an idf needs no more."""
    return rows if len(rows) <= _TRAINING_ROWS else rows[:: -(-len(rows) // _TRAINING_ROWS)]
