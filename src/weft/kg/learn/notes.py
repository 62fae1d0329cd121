"""What a training says about its data before its first step."""

from __future__ import annotations


def notes_about(held_out: int) -> tuple[str, ...]:
    """That there is nothing to choose the weights by, where it is so.

    Args:
        held_out: Chunks or passages of the validation part.
    """
    if held_out:
        return ()
    return (
        "the validation part of the data set is empty: the best weights are chosen by the loss on what is trained on",
    )
