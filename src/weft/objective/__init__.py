"""Objectives as plain functions: masking, losses and metrics.

:mod:`~weft.objective.masking` and :mod:`~weft.objective.losses` work on tensors;
:mod:`~weft.objective.metrics` on NumPy arrays, without torch.
"""

from typing import TYPE_CHECKING

from weft.platform.lazy import lazily

if TYPE_CHECKING:
    from weft.objective.intervals import Bucket, Interval, bootstrap_interval, by_size
    from weft.objective.losses import (
        IGNORED,
        masked_language_modeling_loss,
        nt_xent_loss,
        nt_xent_pairs,
        span_boundary_loss,
    )
    from weft.objective.masking import (
        BERT_SPLIT,
        Masked,
        MaskVocabulary,
        SpanBoundaries,
        Split,
        mask_spans,
        mask_tokens,
        span_boundaries,
    )
    from weft.objective.metrics import (
        Ranks,
        ThresholdCurve,
        average_precision,
        expected_calibration_error,
        hit_at_k,
        mean_average_precision,
        mean_reciprocal_rank,
        precision_recall_f1,
        ranks,
        recall_at_k,
        roc_auc,
        threshold_curve,
    )

__all__ = [
    "BERT_SPLIT",
    "IGNORED",
    "Bucket",
    "Interval",
    "MaskVocabulary",
    "Masked",
    "Ranks",
    "SpanBoundaries",
    "Split",
    "ThresholdCurve",
    "average_precision",
    "bootstrap_interval",
    "by_size",
    "expected_calibration_error",
    "hit_at_k",
    "mask_spans",
    "mask_tokens",
    "masked_language_modeling_loss",
    "mean_average_precision",
    "mean_reciprocal_rank",
    "nt_xent_loss",
    "nt_xent_pairs",
    "precision_recall_f1",
    "ranks",
    "recall_at_k",
    "roc_auc",
    "span_boundaries",
    "span_boundary_loss",
    "threshold_curve",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        **dict.fromkeys(("Bucket", "Interval", "bootstrap_interval", "by_size"), "intervals"),
        **dict.fromkeys(
            (
                "IGNORED",
                "masked_language_modeling_loss",
                "nt_xent_loss",
                "nt_xent_pairs",
                "span_boundary_loss",
            ),
            "losses",
        ),
        **dict.fromkeys(
            (
                "BERT_SPLIT",
                "Masked",
                "MaskVocabulary",
                "SpanBoundaries",
                "Split",
                "mask_spans",
                "mask_tokens",
                "span_boundaries",
            ),
            "masking",
        ),
        **dict.fromkeys(
            (
                "Ranks",
                "ThresholdCurve",
                "average_precision",
                "expected_calibration_error",
                "hit_at_k",
                "mean_average_precision",
                "mean_reciprocal_rank",
                "precision_recall_f1",
                "ranks",
                "recall_at_k",
                "roc_auc",
                "threshold_curve",
            ),
            "metrics",
        ),
    },
)
