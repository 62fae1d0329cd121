"""One thing that a text judges."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that a text judges.

    Args:
        term: The words that name it; None where it is judged without being named.
        span: Where they stand, at first where a sentence says the same of them twice; None without a term.
        category: What it belongs to; None where nothing fits.
        polarity: One of the model's opinions.
        confidence: Its probability among the opinions for a term, among all answers for what is not named.
        words: The words that judge it, where they were found.
        places: Where these stand.
        meant: The term as it is read, where words of it have a slip of the keyboard.
        faint: Less sure than what is reported: it counts where groups of texts are compared.
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
