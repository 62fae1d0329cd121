"""Training losses as plain functions: masked tokens (MLM, SBO) and NT-Xent over groups.

All of them work on logits and embeddings of any floating dtype, compute in at least float32, and
cost no synchronisation with an accelerator as long as the labels that must be checked on the host
are given on the host.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from weft.errors import ConfigError, DtypeError, InputError, ShapeError

IGNORED = -100
"""The label of a position that no loss looks at."""


def masked_language_modeling_loss(logits: Tensor, labels: Tensor, mask: Tensor | None = None) -> Tensor:
    """Mean cross-entropy over the masked tokens.

        loss = 1/|M| · Σ_{i ∈ M} −log softmax(logits_i)[labels_i]
        M    = {i : labels_i ≠ −100 and mask_i}

    Args:
        logits: ``(batch, seq, vocab)``; or ``(masked, vocab)``, already gathered at the positions of
            M in row-major order, beside labels of shape ``(batch, seq)`` or ``(masked,)``.
        labels: int64, ``(batch, seq)`` or ``(masked,)``; −100 marks positions outside M.
        mask: Which positions are masked, bool or 0/1, the shape of ``labels``; None leaves it to the −100.

    Returns:
        A scalar. An empty M gives 0 with a graph (its gradient is 0), never NaN.

    Raises:
        ShapeError: Shapes that do not fit; both are named.
        DtypeError: Labels that are not int64.
        InputError: A label outside the vocabulary (checked for labels on the host).

    Source: Devlin et al. 2019, BERT, §3.1; the contract's "MLM Loss".

    Differs from the spec: ``mask`` is optional, −100 is accepted, an empty mask gives 0 (the formula
    gives NaN), and logits may be given at the masked positions alone, which is all that is needed.
    """
    return _mean_cross_entropy(logits, labels, mask)


def span_boundary_loss(logits: Tensor, labels: Tensor, mask: Tensor | None = None) -> Tensor:
    """Mean cross-entropy of masked tokens predicted from the two tokens around their span (SBO).

        loss = 1/|M| · Σ_{i ∈ M} −log softmax(f(x_{s−1}, x_{e+1}, p_{i−s+1}))[labels_i]

    s and e are the first and last position of i's span; f is the SBO head, which has made ``logits``;
    :func:`weft.objective.masking.span_boundaries` gives it the positions.

    Args:
        logits: ``(masked, vocab)``, or as in :func:`masked_language_modeling_loss`.
        labels: As in :func:`masked_language_modeling_loss`.
        mask: As in :func:`masked_language_modeling_loss`.

    Returns:
        A scalar; 0 with a graph where nothing is masked.

    Raises:
        InputError: As in :func:`masked_language_modeling_loss`.

    Source: Joshi et al. 2020, SpanBERT, §3.2, equations (3)–(4).
    """
    return _mean_cross_entropy(logits, labels, mask)


def nt_xent_loss(
    embeddings: Tensor,
    labels: Tensor,
    temperature: float = 0.07,
    ignore_ids: Tensor | None = None,
) -> Tensor:
    """NT-Xent over groups: members of one group attract, all others repel.

        z_i  = embeddings_i / ‖embeddings_i‖        s_ij = z_i · z_j / temperature
        P    = {(i, j) : i ≠ j, labels_i = labels_j}
        N_i  = {k : k ≠ i} without k of another group that shares i's ignore id
        loss = 1/|P| · Σ_{(i,j) ∈ P} −log( exp(s_ij) / Σ_{k ∈ N_i} exp(s_ik) )

    Args:
        embeddings: ``(batch, hidden)``; normalised here.
        labels: int64 group ids, ``(batch,)``: the same id means the same source function. On the
            host, the check for a positive costs an accelerator no synchronisation.
        temperature: Positive.
        ignore_ids: int64, ``(batch,)``: members of different groups that share an id ≥ 0 are known
            duplicates and never each other's negatives; −1 means none.

    Returns:
        A scalar.

    Raises:
        ShapeError: Shapes that do not fit; both are named.
        DtypeError: Labels or ignore ids that are not int64.
        ConfigError: A temperature that is not positive.
        InputError: No group has two members: there is nothing to attract.

    Source: Chen et al. 2020, SimCLR, equation (1); several positives as in Khosla et al. 2020,
    Supervised Contrastive Learning, with a mean over pairs instead of over anchors.

    Differs from the spec: ``labels`` are group ids, because a 1 or 0 per *example* cannot name pairs;
    embeddings are L2-normalised and the diagonal is excluded, as NT-Xent is defined; a batch without
    a positive raises instead of giving NaN.
    """
    _check_contrastive(embeddings, labels, temperature, ignore_ids)
    same_group = labels[:, None] == labels[None, :]
    positive = same_group.fill_diagonal_(False)
    if not bool(positive.any()):
        raise InputError(
            f"no two of the {labels.numel()} embeddings share a group",
            where="nt_xent_loss labels",
            hint="draw batches in which groups have at least two members",
        )
    hidden = torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    if ignore_ids is not None:
        ids = ignore_ids.to(labels.device)
        hidden = hidden | ((ids[:, None] == ids[None, :]) & (ids >= 0)[:, None] & ~positive)
    positive, hidden = positive.to(embeddings.device), hidden.to(embeddings.device)

    # Autocast would take the product down to bf16, whose 8 bits cannot separate s/0.07 near its maximum.
    with torch.autocast(embeddings.device.type, enabled=False):
        z = F.normalize(_at_least_float32(embeddings), dim=-1)
        scores = z @ z.T / temperature
        log_p = scores - scores.masked_fill(hidden, -torch.inf).logsumexp(dim=-1, keepdim=True)
        return -torch.where(positive, log_p, 0.0).sum() / positive.sum()


def nt_xent_pairs(
    z1: Tensor, z2: Tensor, temperature: float = 0.07, ignore_ids: Tensor | None = None
) -> Tensor:
    """NT-Xent of two views: ``z1[i]`` and ``z2[i]`` show the same thing.

        nt_xent_pairs(z1, z2) = nt_xent_loss([z1 ; z2], [0 … n−1, 0 … n−1])

    Args:
        z1: ``(pairs, hidden)``.
        z2: ``(pairs, hidden)``.
        temperature: Positive.
        ignore_ids: int64, ``(pairs,)``: pairs that share an id ≥ 0 are never each other's negatives.

    Returns:
        A scalar, the mean over the 2·pairs anchors.

    Raises:
        ShapeError: ``z1`` and ``z2`` differ in shape.
        InputError: As in :func:`nt_xent_loss`; also for zero pairs.

    Source: Chen et al. 2020, SimCLR, equation (1) and Algorithm 1.
    """
    if z1.shape != z2.shape or z1.ndim != 2:
        raise ShapeError(
            f"z1 is {tuple(z1.shape)} and z2 is {tuple(z2.shape)}; both must be (pairs, hidden)",
            where="nt_xent_pairs",
        )
    labels = torch.arange(len(z1), device="cpu").repeat(2)
    ids = None if ignore_ids is None else ignore_ids.repeat(2)
    return nt_xent_loss(torch.cat([z1, z2]), labels, temperature, ids)


def _mean_cross_entropy(logits: Tensor, labels: Tensor, mask: Tensor | None) -> Tensor:
    if labels.dtype != torch.int64:
        raise DtypeError(f"labels are {labels.dtype}; they must be torch.int64")
    if mask is not None:
        if mask.shape != labels.shape:
            raise ShapeError(
                f"mask is {tuple(mask.shape)}, labels are {tuple(labels.shape)}; they must be equal"
            )
        labels = labels.masked_fill(~mask.bool(), IGNORED)
    if logits.ndim == 2 and labels.ndim == 2:
        labels = labels[labels != IGNORED]
    if logits.ndim < 2 or logits.shape[:-1] != labels.shape:
        raise ShapeError(
            f"logits are {tuple(logits.shape)}, labels are {tuple(labels.shape)}",
            hint="logits must be labels' shape and a vocabulary, or (masked, vocab)",
        )
    vocab_size = logits.shape[-1]
    if labels.device.type == "cpu":
        outside = labels[(labels != IGNORED) & ((labels < 0) | (labels >= vocab_size))]
        if len(outside):
            raise InputError(f"label {outside[0]} is outside the vocabulary of {vocab_size}", where="labels")
    labels = labels.to(logits.device)
    total = F.cross_entropy(
        _at_least_float32(logits).reshape(-1, vocab_size),
        labels.reshape(-1),
        ignore_index=IGNORED,
        reduction="sum",
    )
    # A sum over a count that is at least 1: no NaN for an empty mask, and no question asked of the device.
    return total / (labels != IGNORED).sum().clamp(min=1)


def _check_contrastive(
    embeddings: Tensor, labels: Tensor, temperature: float, ignore_ids: Tensor | None
) -> None:
    if temperature <= 0:
        raise ConfigError(f"temperature is {temperature}; it must be positive")
    if embeddings.ndim != 2 or labels.shape != embeddings.shape[:1]:
        raise ShapeError(
            f"embeddings are {tuple(embeddings.shape)}, labels are {tuple(labels.shape)}",
            where="nt_xent_loss",
            hint="embeddings must be (batch, hidden), labels (batch,)",
        )
    if labels.dtype != torch.int64:
        raise DtypeError(f"labels are {labels.dtype}; group ids must be torch.int64", where="nt_xent_loss")
    if ignore_ids is None:
        return
    if ignore_ids.shape != labels.shape:
        raise ShapeError(
            f"ignore_ids are {tuple(ignore_ids.shape)}, labels are {tuple(labels.shape)}; they must be equal",
            where="nt_xent_loss",
        )
    if ignore_ids.dtype != torch.int64:
        raise DtypeError(f"ignore_ids are {ignore_ids.dtype}; they must be torch.int64", where="nt_xent_loss")


def _at_least_float32(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
