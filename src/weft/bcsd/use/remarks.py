"""What a person should know who relies on the functions found in a file: how much of it they are, for example."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from weft.bcsd.read.image import Image
from weft.errors import InputError

#: Share of the code below which too little of it belongs to functions for their absence to mean anything.
ENOUGH = 0.8
NOT_LIFTED = (
    "what functions compute is not compared: the index was made without the lifter that is here, if one is"
)
#: Of what is left out, and the versions.
OTHER_VERSION = (
    "{} is not compared: the index was made by another version of weft (version {}; make it anew to have it)"
)
#: Of the versions.
OTHER_EXTRACTOR = (
    "functions of the index were found by another version of weft (version {} for {}): "
    "some may begin or end elsewhere than here (make it anew to cure that)"
)

NOT_FITTED = (
    "how sure hits are was not fitted for this model: the numbers order hits, but are no probabilities "
    "(`weft bcsd calibrate --search` fits them)"
)


def coverage(image: Image, spans: Iterable[tuple[int, int]]) -> float:
    """The share of executable bytes, import stubs left out, that lie in functions.

    Args:
        image: The file.
        spans: First address and size of each function.
    """
    stubs = [(start, end - start) for start, end in image.stub_ranges]
    total = image.code_size - _bytes_within(image, stubs)
    return _bytes_within(image, spans) / total if total > 0 else 1.0


def _bytes_within(image: Image, spans: Iterable[tuple[int, int]]) -> int:
    covered, reached = 0, 0
    for start, size in sorted(spans):
        region = image.code_map.at(start)
        end = min(start + size, region.start + len(region.data)) if region is not None else start
        covered += max(0, end - max(start, reached))
        reached = max(reached, end)
    return covered


def file_remarks(image: Image, spans: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """Remarks on a file whose functions were looked for.

    Args:
        image: The file.
        spans: First address and size of every function found, those that are left out later included.
    """
    share = coverage(image, spans)
    if share >= ENOUGH:
        return tuple(image.remarks)
    said = f"only {share:.0%} of its code belongs to functions that were found: others are missing"
    return (*image.remarks, said)


def nothing_found(image: Image, what: str = "no function found") -> InputError:
    """The error of a file without functions: what is known of the file (that it is cut short) says why."""
    return InputError("; ".join([what, *image.remarks]), where=image.path)


def processor_remarks(architecture: str, trained: Collection[str]) -> tuple[str, ...]:
    """A remark on a processor that a model was not trained on."""
    if not trained or architecture in trained:
        return ()
    known = ", ".join(trained)
    return (f"the model was not trained on {architecture} (but on {known}): its scores are less sure",)
