"""The funnel of a build: what went in, what came out, and what was left out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from weft.platform.files import write_json


@dataclass
class Funnel:
    """What went in, what came out, and what was left out and why.

    Args:
        counts: How many of each kind.
        listed: Items that were left out, by reason.
        failures: How many of them could not be read at all.
        reasons: Of the items that bring a reason of their own, the place and that reason.
        noted: What was decided and may be wrong, with how often: which places were linked by a near name.
    """

    counts: Counter[str] = field(default_factory=Counter)
    listed: dict[str, list[str]] = field(default_factory=dict)
    failures: int = 0
    reasons: dict[str, tuple[str, str]] = field(default_factory=dict)
    noted: dict[str, Counter[str]] = field(default_factory=dict)

    def leave_out(self, reason: str, what: str) -> None:
        """Count an item that was left out and list it."""
        self.counts[reason] += 1
        self.listed.setdefault(reason, []).append(what)

    def note(self, kind: str, what: str) -> None:
        """Keep a decision that a reader may want to check."""
        self.noted.setdefault(kind, Counter())[what] += 1

    def fail(self, reason: str, what: str, why: str = "") -> None:
        """Count and list an item that could not be read; ``why`` is what is wrong there, and is listed behind it."""
        item = f"{what}: {why}" if why else what
        if why:
            self.reasons[item] = (what, why)
        self.leave_out(reason, item)
        self.failures += 1

    def record(self) -> dict[str, object]:
        """As JSON."""
        record: dict[str, object] = {"counts": dict(sorted(self.counts.items())), "left out": self.listed}
        if self.noted:
            record["noted"] = {name: dict(found.most_common()) for name, found in self.noted.items()}
        return record

    def save(self, path: Path, config: Mapping[str, object]) -> None:
        """Write with the configuration of the build."""
        write_json(path, {"config": config, **self.record()}, ensure_ascii=False)
