"""What the encoder refuses to compute on, each refusal with the value, the place and the rule."""

from __future__ import annotations

import torch
from torch import Tensor

from weft.errors import DtypeError, InputError, NonFiniteError, ShapeError


def check_ids(ids: Tensor, size: int, name: str, table: str, shape: tuple[int, ...] | None = None) -> None:
    """Check that ``ids`` are integers ``(batch, seq)``, neither empty nor outside a table.

    Args:
        ids: The tensor to check.
        size: Rows of the table; every id must be in [0, size).
        name: What the ids are called, for the message.
        table: What ``size`` is called, for the message.
        shape: The exact shape needed; a leading 1 in ``ids`` broadcasts. Any ``(batch, seq)`` where None.

    Raises:
        DtypeError: Not int32 or int64.
        ShapeError: Not ``(batch, seq)``, or not ``shape``.
        InputError: No examples or no tokens, or an id outside the table: names the id and where it is.
    """
    if ids.dtype not in (torch.int32, torch.int64):
        raise DtypeError(f"{name} is {ids.dtype}; int64 is needed")
    if ids.dim() != 2:
        raise ShapeError(f"{name} has shape {tuple(ids.shape)}; (batch, seq) is needed")
    if shape is not None and (ids.shape[1] != shape[1] or ids.shape[0] not in (1, shape[0])):
        raise ShapeError(f"{name} has shape {tuple(ids.shape)}; the input has {shape}")
    check_not_empty(ids, name)
    if torch.compiler.is_compiling() or (ids.is_cuda and torch.cuda.is_current_stream_capturing()):
        return
    # Looked for on every device: on a GPU an id outside its table ends the process, not the call.
    low, high = (int(bound) for bound in torch.aminmax(ids))
    if low < 0 or high >= size:
        row, column = (int(index) for index in ((ids < 0) | (ids >= size)).nonzero()[0])
        raise InputError(
            f"{name}[{row}, {column}] is {int(ids[row, column])}; {table} is {size}",
            hint=f"ids are in [0, {size})",
        )


def check_hidden(hidden: Tensor, width: int) -> None:
    """Check that hidden states are finite numbers ``(batch, seq, width)``, and not empty.

    Raises:
        ShapeError: Another shape.
        InputError: No examples or no tokens.
        NonFiniteError: NaN or infinity (looked for on the CPU; a GPU would be waited for): names the first place.
    """
    if hidden.dim() != 3 or hidden.shape[2] != width:
        raise ShapeError(f"hidden states have shape {tuple(hidden.shape)}; (batch, seq, {width}) is needed")
    check_not_empty(hidden, "hidden states")
    if torch.compiler.is_compiling() or hidden.device.type != "cpu":
        return
    # One reduction instead of a boolean of the whole size: a sum is finite exactly when no NaN or infinity
    # entered it, up to overflow, which the second look settles.
    if not bool(torch.isfinite(hidden.detach().sum(dtype=torch.float64))):
        finite = torch.isfinite(hidden)
        if not bool(finite.all()):
            place = [int(index) for index in (~finite).nonzero()[0]]
            raise NonFiniteError(f"hidden states hold {float(hidden[tuple(place)])} at {place}")


def check_not_empty(tensor: Tensor, name: str) -> None:
    """Check that there is at least one example and one token.

    Raises:
        InputError: There is none.
    """
    if 0 in tensor.shape[:2]:
        raise InputError(
            f"{name} is empty: its shape is {tuple(tensor.shape)}", hint="leave empty batches out"
        )


def check_attention_mask(mask: Tensor, batch: int, length: int) -> None:
    """Check that a padding mask is boolean ``(batch, seq)``.

    Raises:
        DtypeError: Not boolean; adding 1 and 0 to the scores would let padding be attended.
        ShapeError: Another shape than the input's.
    """
    if mask.dtype != torch.bool:
        raise DtypeError(
            f"attention_mask is {mask.dtype}; torch.bool is needed", hint="mask.bool(), True = attend"
        )
    if tuple(mask.shape) != (batch, length):
        raise ShapeError(f"attention_mask has shape {tuple(mask.shape)}; the input has {(batch, length)}")


def check_pattern(mask: Tensor, batch: int, heads: int, length: int) -> None:
    """Check that an attention pattern is boolean ``(batch | 1, heads | 1, query, key)``.

    Raises:
        DtypeError: Not boolean.
        ShapeError: It does not broadcast to ``(batch, heads, seq, seq)``.
    """
    if mask.dtype != torch.bool:
        raise DtypeError(f"mask is {mask.dtype}; torch.bool is needed", hint="True = attend")
    needed = (batch, heads, length, length)
    fits = mask.dim() == 4 and all(
        found == size or (found == 1 and axis < 2)
        for axis, (found, size) in enumerate(zip(mask.shape, needed, strict=True))
    )
    if not fits:
        raise ShapeError(f"mask has shape {tuple(mask.shape)}; it must broadcast to {needed}")
