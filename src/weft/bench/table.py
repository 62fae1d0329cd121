"""Rows of a benchmark: ours against a named baseline, as a ratio measured in one run."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Literal


@dataclass(frozen=True)
class Row:
    """One measurement.

    Args:
        name: What was measured.
        variant: Which form of it, with its sizes.
        dtype: ``"fp32"``, ``"bf16"`` or ``"fp64"``.
        unit: Unit of ``ours`` and ``baseline``: ``"ms"``, ``"MiB"``, ``"max abs"``, …
        ours: Our figure.
        baseline: The baseline's figure.
        better: Whether a lower or a higher ``ratio`` is better.
        target: The bound on ``ratio``, where one is set.
    """

    name: str
    variant: str
    dtype: str
    unit: str
    ours: float
    baseline: float
    better: Literal["lower", "higher"] = "lower"
    target: float | None = None

    @property
    def ratio(self) -> float:
        """``ours / baseline``."""
        return self.ours / self.baseline if self.baseline else float("nan")

    @property
    def ok(self) -> bool | None:
        """Whether the target is met; None where none is set, or nothing was measured to hold against it."""
        if self.target is None or not math.isfinite(self.ratio):
            return None
        return self.ratio <= self.target if self.better == "lower" else self.ratio >= self.target

    def record(self) -> dict[str, object]:
        """The row as a JSON object; what is no number, or without end, is None, for JSON has no word for it."""
        record = {**asdict(self), "ratio": self.ratio, "ok": self.ok}
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in record.items()
        }
