"""The losses that weights are chosen by: all chunks of the validation part count, and alike."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from weft.kg.learn.code import validation_losses
from weft.kg.model.leafy_chain import LossWeights


@pytest.mark.parametrize("chunks", [1, 3, 4, 5, 7, 9])
def test_the_last_batch_counts_by_its_chunks(chunks: int) -> None:
    sampler = SimpleNamespace(
        order=torch.arange(chunks),
        config=SimpleNamespace(batch_size=4),
        device="cpu",
        make=lambda these, generator: these,
    )
    model = SimpleNamespace(losses=lambda batch, weights: {"loss": cast(Tensor, batch).double().mean()})
    values = validation_losses(cast(Any, model), cast(Any, sampler), LossWeights())
    assert values["loss"] == pytest.approx((chunks - 1) / 2)
