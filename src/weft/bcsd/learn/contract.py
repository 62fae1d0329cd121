"""The contract's ``BCSModel`` on real functions: batches from a table, its two losses, a checkpoint in the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from weft.bcsd.learn.sampling import GroupPlan, SamplingConfig
from weft.bcsd.learn.training import Learning, Validation
from weft.bcsd.model.batch import NUM_EDGE_TYPES, collate
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.vocabulary import JUMP_POSITIONS, load_vocabulary
from weft.documents.bcs_model import BCSModel
from weft.documents.epochs import CONTRASTIVE_WEIGHT
from weft.encoder.checkpoint.storage import load_model, save_model
from weft.graph.graph import GraphBatch
from weft.objective.losses import masked_language_modeling_loss, nt_xent_loss
from weft.objective.masking import MaskVocabulary, mask_tokens
from weft.train import Batches, Course, History, TrainConfig
from weft.train.batching import to_device
from weft.train.distributed import World

KIND = "bcsd-contract"


def build(config: ModelConfig) -> BCSModel:
    """The contract's model of these sizes, over our vocabulary: its embedding is as wide as its hidden states."""
    width = config.hidden_size
    gnn = {"input_dim": width, "hidden_dim": width, "output_dim": width, "num_layers": config.graph_layers}
    return BCSModel(
        {**gnn, "heads": config.heads, "dropout": config.dropout, "num_edge_types": NUM_EDGE_TYPES},
        {"bert_model_name": config.encoder, "num_prefix_tokens": config.prefix_tokens},
    )


def contract_batch(arrays: FunctionArrays, chosen: NDArray[np.int64], config: ModelConfig) -> dict[str, Any]:
    """A batch as the contract has it, of real functions.

    Args:
        arrays: All functions, of a table of ``weft bcsd extract``.
        chosen: ``(functions,)``, in the order of the batch.
        config: The budgets.

    Returns:
        ``input_ids (functions, seq)``: ``[CLS]`` and the tokens of the first instructions, as many as there are
        positions; ``attention_mask``; ``graph``, without features; ``block_tokens`` and ``block_first``, of which
        :func:`with_features` makes them.
    """
    ids = load_vocabulary().ids
    functions = collate(arrays, chosen, config)
    sequences = functions.sequences[0]
    tokens = functions.tokens[sequences.index].flatten(1)
    real = sequences.attention_mask.repeat_interleave(functions.tokens.shape[1], dim=1)
    real &= (tokens != ids["[PAD]"]) & (tokens != ids["none"])
    # To the left what is real, in its order.
    order = (~real).long().argsort(dim=1, stable=True)[:, : JUMP_POSITIONS - 1]
    kept = real.gather(1, order)
    length = int(kept.sum(dim=1).max())
    flat = tokens.gather(1, order).masked_fill(~kept, ids["[PAD]"])[:, :length]
    first = torch.full((len(chosen), 1), ids["[CLS]"])
    return {
        "input_ids": torch.cat([first, flat], dim=1),
        "attention_mask": torch.cat([torch.ones_like(first, dtype=torch.bool), kept[:, :length]], dim=1),
        "graph": GraphBatch(functions.edge_index, functions.graph, len(chosen), functions.edge_type),
        "block_tokens": functions.tokens.flatten(),
        "block_first": functions.block_first * functions.tokens.shape[1],
    }


def with_features(model: BCSModel, batch: Mapping[str, Any]) -> dict[str, Any]:
    """The batch, each basic block's features the mean embedding of its tokens, by the model's own embeddings."""
    words = model.bert.word_embeddings.weight
    none = load_vocabulary().ids["none"]
    features = F.embedding_bag(
        batch["block_tokens"], words, batch["block_first"], mode="mean", padding_idx=none
    )
    return {**batch, "graph": replace(batch["graph"], x=features)}


class Collator:
    """Turns the rows of a plan into batches of the contract, some of their tokens hidden.

    Args:
        arrays: The functions.
        config: Of the model.
        learning: What share is hidden.
    """

    def __init__(self, arrays: FunctionArrays, config: ModelConfig, learning: Learning) -> None:
        self.arrays, self.config, self.rate = arrays, config, learning.mask
        vocabulary = load_vocabulary()
        special = tuple(vocabulary.ids[name] for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]"))
        self.vocabulary = MaskVocabulary(len(vocabulary), vocabulary.ids["[MASK]"], special)

    def __call__(self, rows: list[int], generator: torch.Generator) -> dict[str, Any]:
        """Rows 2i and 2i + 1 are one group."""
        batch = contract_batch(self.arrays, np.asarray(rows), self.config)
        masked = mask_tokens(batch["input_ids"], self.vocabulary, generator, rate=self.rate)
        pairs = torch.arange(len(rows)) // 2
        return {
            **batch,
            "input_ids": masked.input_ids,
            "labels": masked.labels,
            "mlm_mask": masked.units >= 0,
            "pair_labels": pairs,
        }


def loss_step(
    learning: Learning, world: World | None = None
) -> Callable[[BCSModel, Mapping[str, Any]], Mapping[str, Tensor]]:
    """Loss = MLM + 0.5 · NT-Xent, as the contract weighs them; NT-Xent over the batch of all processes."""
    world = world or World()

    def step(model: BCSModel, batch: Mapping[str, Any]) -> dict[str, Tensor]:
        outputs = model(with_features(model, batch))
        mlm = masked_language_modeling_loss(outputs["mlm_logits"], batch["labels"])
        pairs = world.rows(batch["pair_labels"] + world.rank * len(batch["pair_labels"]))
        contrastive = nt_xent_loss(world.rows(outputs["embeddings"]), pairs, learning.temperature)
        return {"loss": mlm + CONTRASTIVE_WEIGHT * contrastive, "mlm": mlm, "contrastive": contrastive}

    return step


def embed(
    config: ModelConfig, model: BCSModel, arrays: FunctionArrays, batch_size: int = 64
) -> NDArray[np.float32]:
    """The functions' embeddings ``(functions, hidden)``, L2-normalised."""
    device = next(model.parameters()).device
    out: list[NDArray[np.float32]] = []
    with torch.no_grad():
        for first in range(0, len(arrays), batch_size):
            chosen = np.arange(first, min(first + batch_size, len(arrays)))
            batch = to_device(contract_batch(arrays, chosen, config), device)
            # No logits are wanted.
            batch["mlm_mask"] = torch.zeros_like(batch["attention_mask"])
            found = model(with_features(model, batch))["embeddings"]
            out.append(F.normalize(found.float(), dim=-1).cpu().numpy())
    return np.concatenate(out)


def course(
    config: ModelConfig,
    functions: pa.Table,
    sampling: SamplingConfig,
    learning: Learning,
    train: TrainConfig,
    out: Path,
    *,
    validation: pa.Table | None = None,
) -> Course[BCSModel, dict[str, Any]]:
    """The training of a model, which is saved in the end.

    Raises:
        InputError: Too few groups.
    """
    model = build(config)
    arrays = FunctionArrays.from_table(functions)
    world = World.launched()
    plan = GroupPlan(functions, sampling, seed=train.seed, rank=world.rank, world_size=world.size)
    collator = Collator(arrays, config, learning)
    batches = Batches(plan, collator, seed=train.seed, rank=world.rank, prefetch=2)
    evaluate = None if validation is None else Validation(validation, partial(embed, config))

    def finish(_history: History) -> dict[str, float]:
        values = {"model": config.to_dict(), "vocabulary": load_vocabulary().digest}
        save_model(out, model, values, kind=KIND)
        return {} if evaluate is None else {"recall": evaluate(model.eval())["recall"]}

    measures = () if evaluate is None else evaluate.measures
    step = loss_step(learning, world)
    return Course(model, batches, step, train, evaluate, finish, measures=measures, better="max")


def load(directory: str | Path) -> BCSModel:
    """Read what a training saved.

    Raises:
        CheckpointError: It is damaged or of another kind.
    """
    return load_model(directory, lambda values: build(ModelConfig.from_dict(values["model"])), KIND)
