"""Training a function model: masked instructions and NT-Xent over groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn

from weft.bcsd.evaluate.tasks import Labels, Task
from weft.bcsd.learn.sampling import GroupPlan, SamplingConfig
from weft.bcsd.model.batch import FunctionBatch, collate
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.graphs import OperationGraphs
from weft.bcsd.represent.lexical import LEVELS, Lexical
from weft.bcsd.represent.operations import operation_rows
from weft.bcsd.represent.vocabulary import load_vocabulary
from weft.bcsd.use.embedder import Embedder
from weft.errors import ConfigError, InputError
from weft.objective.losses import IGNORED, masked_language_modeling_loss, nt_xent_loss
from weft.objective.metrics import hit_at_k, ranks
from weft.platform.ranges import require
from weft.train import Batches, Course, TrainConfig
from weft.train.distributed import World

_LARGEST = torch.finfo(torch.float32).max
"""What is above it is infinite where it is computed with."""


@dataclass(frozen=True)
class Learning:
    """What training minimises.

    Args:
        temperature: Of NT-Xent.
        mlm_weight: Share of the language-model loss beside it.
        branch_weight: Share of NT-Xent on the embedding without the sets: alone, they would answer
            most questions before the other branches have learnt to.
        mask: Share of the instructions that are hidden, whole.
        drop_tokens: Share of the entries of the sets that are left out.
        mlm_positions: Hidden instructions per batch whose mnemonic is predicted, at most.
        length_groups: Into how many groups of similar length the sequences of a batch are cut.
        shuffle_graphs: Every function gets the graph of another one of its batch: a control.
        beside: Weight λ of the fixed cosine of what functions compute (their bags of operations) beside the learned
            one, (e · e' + λ · o · o') / (1 + λ): what is learnt is then what the bag does not tell.
        alone: Share of the batches without it.

    Raises:
        ConfigError: A field breaks its rule.
    """

    temperature: float = 0.07
    mlm_weight: float = 0.1
    branch_weight: float = 0.5
    mask: float = 0.11
    drop_tokens: float = 0.1
    mlm_positions: int = 384
    length_groups: int = 6
    shuffle_graphs: bool = False
    beside: float = 0.0
    alone: float = 0.5

    def __post_init__(self) -> None:
        require(self, "temperature", 0 < self.temperature <= _LARGEST, "above 0 and finite")
        for name in ("mlm_weight", "branch_weight", "beside"):
            require(self, name, 0 <= getattr(self, name) <= _LARGEST, "at least 0 and finite")
        require(self, "alone", 0 <= self.alone <= 1, "in [0, 1]")
        for name in ("mask", "drop_tokens"):
            require(self, name, 0 <= getattr(self, name) < 1, "in [0, 1)")
        for name in ("mlm_positions", "length_groups"):
            whole = type(getattr(self, name)) is int and getattr(self, name) >= 1
            require(self, name, whole, "an integer of at least 1")


@dataclass(frozen=True, eq=False)
class Lesson:
    """A training batch.

    Args:
        batch: The functions, some of their instructions hidden.
        groups: ``(functions,)`` int64: the same number means the same source function.
        labels: ``(instructions,)`` int64: the mnemonic of hidden instructions, −100 elsewhere.
        bags: ``(functions, features)``, their bags of operations as unit rows, of the features that any has; None where
            the loss does not see them.
    """

    batch: FunctionBatch
    groups: Tensor
    labels: Tensor
    bags: Tensor | None = None


class Collator:
    """Turns the rows of a plan into lessons.

    Args:
        arrays: The functions.
        config: Of the model.
        learning: What is hidden.
        bags: The functions' bags of operations, ``(functions, features)``; asked for with ``Learning.beside``.
    """

    def __init__(
        self,
        arrays: FunctionArrays,
        config: ModelConfig,
        learning: Learning,
        bags: sparse.csr_matrix | None = None,
    ) -> None:
        self.arrays = arrays
        self.bags = bags
        self.config = config
        self.learning = learning
        self.mask_id = load_vocabulary().ids["[MASK]"]

    def __call__(self, rows: list[int], generator: torch.Generator) -> Lesson:
        """Rows 2i and 2i + 1 are one group."""
        chosen = np.asarray(rows)
        order = np.argsort(self.arrays.num_instructions[chosen], kind="stable")
        batch = collate(self.arrays, chosen[order], self.config, self.learning.length_groups)
        hidden = torch.rand(len(batch.tokens), generator=generator) < self.learning.mask
        labels = torch.full((len(batch.tokens),), IGNORED)
        asked = hidden.nonzero().squeeze(1)
        asked = asked[torch.randperm(len(asked), generator=generator)[: self.learning.mlm_positions]]
        labels[asked] = batch.tokens[asked, 0]
        batch.tokens[hidden] = self.mask_id
        batch = self._drop(batch, generator)
        if self.learning.shuffle_graphs:
            batch = replace(batch, graph_of=torch.randperm(len(chosen), generator=generator))
        groups = torch.from_numpy(order // 2)
        return Lesson(batch, groups, labels, self._bags(chosen[order], generator))

    def _bags(self, chosen: NDArray[np.int64], generator: torch.Generator) -> Tensor | None:
        """The bags of a batch, but in the share of batches that goes without."""
        if self.bags is None or float(torch.rand(1, generator=generator)) < self.learning.alone:
            return None
        rows: Any = self.bags
        some = rows[chosen].tocsc()
        held = some[:, np.flatnonzero(np.diff(some.indptr))]
        return torch.from_numpy(held.toarray().astype(np.float32))

    def _drop(self, batch: FunctionBatch, generator: torch.Generator) -> FunctionBatch:
        """The batch with some entries of the sets left out."""
        held, held_first = self._some(batch.held, batch.held_first, generator)
        operations = batch.operations
        if operations is not None and self.config.operation_set:
            some, first = self._some(operations.held, operations.held_first, generator)
            operations = replace(operations, held=some, held_first=first)
        return replace(batch, held=held, held_first=held_first, operations=operations)

    def _some(self, held: Tensor, first: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        kept = torch.rand(len(held), generator=generator) >= self.learning.drop_tokens
        before = torch.cat([torch.zeros(1, dtype=torch.int64), kept.cumsum(0)])
        return held[kept], before[first]


def loss_step(
    learning: Learning, world: World | None = None
) -> Callable[[FunctionModel, Lesson], Mapping[str, Tensor]]:
    """The loss of a lesson, and the share of functions whose partner is nearest.

    loss = NT-Xent(e) + branch_weight · NT-Xent(e without the token set) + mlm_weight · MLM

    With ``beside`` NT-Xent sees (e, √λ · o), of which the product is the cosine of both together.

    The negatives of a function are all others of the batch, those of other processes too.

    Args:
        learning: Temperature and weights.
        world: The processes that share a batch; this one alone where None.
    """
    world = world or World()

    def step(model: FunctionModel, lesson: Lesson) -> dict[str, Tensor]:
        batch = lesson.batch
        output = model(batch, lesson.labels if learning.mlm_weight else None)
        groups = world.rows(lesson.groups + world.rank * len(lesson.groups))
        embeddings = world.rows(output.embeddings)
        seen = embeddings
        if lesson.bags is not None:
            beside = math.sqrt(learning.beside) * lesson.bags
            seen = torch.cat([embeddings.float(), beside], dim=1)
        contrastive = nt_xent_loss(seen, groups, learning.temperature)
        with torch.no_grad():
            alike = embeddings @ embeddings.T
            nearest = alike.fill_diagonal_(-2.0).argmax(dim=1)
            right = (groups[nearest] == groups).float().mean()
        values = {"loss": contrastive, "contrastive": contrastive, "nearest": right}
        if learning.branch_weight and output.without_set is not None:
            branches = nt_xent_loss(world.rows(output.without_set), groups, learning.temperature)
            values["branches"] = branches
            values["loss"] = values["loss"] + learning.branch_weight * branches
        if output.mlm_logits is not None and output.mlm_labels is not None:
            mlm = masked_language_modeling_loss(output.mlm_logits, output.mlm_labels)
            values["mlm"] = mlm
            values["loss"] = values["loss"] + learning.mlm_weight * mlm
        return values

    return step


def course(
    model: FunctionModel,
    functions: pa.Table,
    sampling: SamplingConfig,
    learning: Learning,
    config: TrainConfig,
    *,
    validation: pa.Table | None = None,
    graphs: OperationGraphs | None = None,
) -> Course[FunctionModel, Lesson]:
    """The training of a model.

    Args:
        model: Trained in place.
        functions: The training packages' rows.
        sampling: How batches are drawn.
        learning: What is minimised.
        config: How to train; ``metric="recall"`` with ``mode="max"`` chooses by :class:`Validation`.
        validation: Their rows; without them nothing is evaluated.
        graphs: Of the operations of ``functions``, in their order, for a model that reads them: it is not evaluated.

    Raises:
        InputError: Too few groups.
        ConfigError: Several processes that would compare bags of operations.
    """
    world = World.launched()
    if learning.beside and world.size > 1:
        raise ConfigError("Learning.beside is for one process")
    arrays = FunctionArrays.from_table(functions, graphs)
    bags = operation_rows(functions).own if learning.beside else None
    plan = GroupPlan(functions, sampling, seed=config.seed, rank=world.rank, world_size=world.size)
    collator = Collator(arrays, model.config, learning, bags)
    batches = Batches(plan, collator, seed=config.seed, rank=world.rank, prefetch=2)
    evaluate = None if validation is None else Validation(validation)
    measures = () if evaluate is None else evaluate.measures
    return Course(
        model, batches, loss_step(learning, world), config, evaluate, measures=measures, better="max"
    )


class Validation:
    """Mean Recall@1 by plain cosine over the settings of :meth:`Labels.tasks`, on functions of at least 5 blocks.

    Args:
        functions: Rows of the validation packages.
        embed: What makes the embeddings of functions with a model; the embedder where None.

    Raises:
        InputError: There is no setting of which they have both builds.
    """

    def __init__(
        self, functions: pa.Table, embed: Callable[[Any, FunctionArrays], NDArray[np.float32]] | None = None
    ) -> None:
        self.tasks: list[Task] = Labels(functions).tasks("valid")
        if not self.tasks:
            raise InputError("no function of the validation packages is in both builds of a setting")
        self.rows = np.unique(np.concatenate([rows for t in self.tasks for rows in (t.queries, t.base)]))
        self.arrays = FunctionArrays.from_table(functions.take(pa.array(self.rows)))
        self._embed: Callable[[Any, FunctionArrays], NDArray[np.float32]] = embed or _embed

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the figures."""
        return ("recall", *(task.setting for task in self.tasks))

    def __call__(self, model: nn.Module) -> dict[str, float]:
        """``recall``, and each setting's own."""
        vectors = self._embed(model, self.arrays)
        values: dict[str, float] = {}
        for task in self.tasks:
            queries, base = (vectors[np.searchsorted(self.rows, rows)] for rows in (task.queries, task.base))
            rank = ranks(queries @ base.T, task.right).realistic
            values[task.setting] = hit_at_k(rank, 1)
        return {"recall": float(np.mean(list(values.values()))), **values}


def _embed(model: FunctionModel, arrays: FunctionArrays) -> NDArray[np.float32]:
    lexical = Lexical(np.ones(len(LEVELS) * len(load_vocabulary())))
    return Embedder(model, lexical, device=next(model.parameters()).device).embed(arrays)
