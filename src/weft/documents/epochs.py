"""One epoch of training and of validation as the contract writes them, over MLM and contrastive loss.

:func:`weft.train.loop.fit` is what the applications use; these two are the plain form of the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from weft.errors import ConfigError, InputError
from weft.train.batching import map_tensors

CONTRASTIVE_WEIGHT = 0.5

LossFunctions = Mapping[str, Callable[..., Tensor]]


def train_epoch(
    model: nn.Module,
    dataloader: Iterable[Mapping[str, Any]],
    optimizer: torch.optim.Optimizer,
    loss_fn: LossFunctions,
    device: str | torch.device,
) -> dict[str, float]:
    """Train for one epoch.

        loss = mlm(mlm_logits, labels, mlm_mask) + 0.5 · contrastive(embeddings, pair_labels)

    Args:
        model: ``model(batch) -> {"mlm_logits": …, "embeddings": …}``; moved to ``device``.
        dataloader: Batches with ``labels``, ``pair_labels`` and, optionally, ``mlm_mask``.
        optimizer: Of the model's parameters.
        loss_fn: ``{"mlm": f(logits, labels, mask), "contrastive": f(embeddings, labels)}``.
        device: ``"cuda"`` or ``"cpu"``.

    Returns:
        Means over the batches: ``train_loss``, ``mlm_loss``, ``contrastive_loss``.

    Raises:
        ConfigError: A loss function is missing.
        InputError: No batches, or a batch or an output without an entry that is needed.

    Source: the contract's "Training Loop Interface" and "Example Usage".
    """
    model.to(device).train()

    def update(loss: Tensor) -> None:
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return _epoch(model, dataloader, loss_fn, device, update)


def validate(
    model: nn.Module,
    dataloader: Iterable[Mapping[str, Any]],
    loss_fn: LossFunctions,
    device: str | torch.device,
) -> dict[str, float]:
    """Compute the losses of a validation set; the model is left as it was.

    Args:
        model: As in :func:`train_epoch`.
        dataloader: As in :func:`train_epoch`.
        loss_fn: As in :func:`train_epoch`.
        device: As in :func:`train_epoch`.

    Returns:
        What :func:`train_epoch` returns, under the same names, as the contract asks.

    Raises:
        ConfigError: As in :func:`train_epoch`.
        InputError: As in :func:`train_epoch`.

    Source: the contract's "Training Loop Interface".
    """
    modes = {module: module.training for module in model.modules()}
    model.to(device).eval()
    try:
        with torch.no_grad():
            return _epoch(model, dataloader, loss_fn, device, lambda _: None)
    finally:
        for module, training in modes.items():
            module.training = training


def _epoch(
    model: nn.Module,
    dataloader: Iterable[Mapping[str, Any]],
    loss_fn: LossFunctions,
    device: str | torch.device,
    update: Callable[[Tensor], None],
) -> dict[str, float]:
    for name in ("mlm", "contrastive"):
        if name not in loss_fn:
            raise ConfigError(
                f"loss_fn has {', '.join(loss_fn) or 'nothing'}; it needs 'mlm' and 'contrastive'"
            )
    losses: list[Tensor] = []
    for number, batch in enumerate(dataloader):
        on_device = map_tensors(batch, lambda tensor: tensor.to(device))
        outputs = model(on_device)
        where = f"batch {number}"
        mlm = loss_fn["mlm"](
            _entry(outputs, "mlm_logits", f"outputs of {where}"),
            _entry(on_device, "labels", where),
            on_device.get("mlm_mask"),
        )
        contrastive = loss_fn["contrastive"](
            _entry(outputs, "embeddings", f"outputs of {where}"), _entry(on_device, "pair_labels", where)
        )
        loss = mlm + CONTRASTIVE_WEIGHT * contrastive
        update(loss)
        # Kept on the device: reading them here would wait for it in every batch.
        losses.append(torch.stack([loss.detach(), mlm.detach(), contrastive.detach()]))
    if not losses:
        raise InputError("no batches", where="dataloader")
    total, mlm_mean, contrastive_mean = torch.stack(losses).mean(dim=0).tolist()
    return {"train_loss": total, "mlm_loss": mlm_mean, "contrastive_loss": contrastive_mean}


def _entry(mapping: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in mapping:
        raise InputError(f"no entry {name!r}; there are {', '.join(mapping)}", where=where)
    return mapping[name]
