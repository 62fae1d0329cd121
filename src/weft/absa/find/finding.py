"""One thing that a text judges."""

from __future__ import annotations

from dataclasses import dataclass, replace

from weft.absa.records import UNSURE


@dataclass(frozen=True)
class Finding:
    """One thing that a text judges.

    Args:
        term: The words that name it; None where it is judged without being named.
        span: Where they stand, at first where a sentence says the same of them twice; None without a term.
        category: What it belongs to; None where nothing fits.
        polarity: One of the model's opinions; ``unsure`` where that is less sure than was asked for.
        confidence: Its probability among the opinions for a term, among all answers for what is not named.
        words: The words that judge it, where they were found.
        places: Where these stand.
        meant: The term as it is read, where words of it have a slip of the keyboard.
        faint: Less sure than what is reported: it counts where groups of texts are compared.
        passage: Of what is not named, in a long text: the sentences that speak of it most clearly.
        likely: What an ``unsure`` polarity most likely is; None where it is told.
    """

    term: str | None
    span: tuple[int, int] | None
    category: str | None
    polarity: str
    confidence: float
    words: tuple[str, ...] = ()
    places: tuple[tuple[int, int], ...] = ()
    meant: str | None = None
    faint: bool = False
    passage: tuple[int, int] | None = None
    likely: str | None = None

    def told_from(self, abstain: float | None) -> Finding:
        """Its polarity ``unsure`` where the confidence is below this; None tells each."""
        if abstain is None or self.confidence >= abstain:
            return self
        return replace(self, polarity=UNSURE, likely=self.polarity)
