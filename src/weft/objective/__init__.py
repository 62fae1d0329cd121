"""Objectives as plain functions: masking, losses and metrics.

:mod:`~weft.objective.masking` and :mod:`~weft.objective.losses` work on tensors;
:mod:`~weft.objective.metrics` on NumPy arrays, without torch.
"""
