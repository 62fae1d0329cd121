"""What a person should know who relies on the functions found in a file: how much of it they are, for example."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence

from weft.bcsd.architectures import architecture_named
from weft.bcsd.disassemble.bounds import Bounds, Frontier
from weft.bcsd.disassemble.gaps import decoded
from weft.bcsd.read.image import Image
from weft.errors import InputError

#: Share of the code below which too little of it belongs to functions for their absence to mean anything.
ENOUGH = 0.8
#: Share of the bytes of functions from which on it is told that they do not decode; compiled code has hardly any such.
NOISE = 0.25
#: Bytes of the longest stretch outside of functions in which padding is looked for: none between functions is longer.
_LONGEST = 1 << 16
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


def coverage(image: Image, spans: Sequence[tuple[int, int]]) -> float:
    """The share of executable bytes, import stubs and padding between functions left out, that lie in functions.

    Args:
        image: The file.
        spans: First address and size of each function.
    """
    stubs = [(start, end - start) for start, end in image.stub_ranges]
    total = image.code_size - _bytes_within(image, stubs)
    covered = _bytes_within(image, spans)
    if covered < total:
        total -= _padding(image, spans)
    return covered / total if total > 0 else 1.0


def _padding(image: Image, spans: Sequence[tuple[int, int]]) -> int:
    """Bytes outside of functions that only fill space: zeros, and what the processor does nothing at."""
    architecture = architecture_named(image.architecture)
    frontier = Frontier(image, [Bounds(start, start + size) for start, size in spans])
    starts = sorted(start for start, _ in spans)
    found = 0
    for start, end in frontier.gaps():
        if end - start > _LONGEST:
            continue
        code = image.code_at(start, end)
        if not any(code):
            found += len(code)
            continue
        before = bisect_left(starts, start)
        # What fills the space behind a function is in its mode.
        mode = before > 0 and starts[before - 1] in image.thumb
        found += sum(
            size
            for address, size, mnemonic, operands in decoded(image, architecture, start, end, mode)
            if architecture.is_padding(mnemonic, operands)
            or not any(code[address - start : address - start + size])
        )
    return found


def _bytes_within(image: Image, spans: Sequence[tuple[int, int]]) -> int:
    covered, reached = 0, 0
    for start, size in sorted(spans):
        region = image.code_map.at(start)
        end = min(start + size, region.start + len(region.data)) if region is not None else start
        covered += max(0, end - max(start, reached))
        reached = max(reached, end)
    return covered


def file_remarks(
    image: Image, spans: Sequence[tuple[int, int]], undecoded: Collection[tuple[int, int]] = ()
) -> tuple[str, ...]:
    """Remarks on a file whose functions were looked for.

    Args:
        image: The file.
        spans: First address and size of every function found, those that are left out later included.
        undecoded: Those of the functions that hold bytes which are no instructions.
    """
    said = list(image.remarks)
    share = coverage(image, spans)
    if share < ENOUGH:
        said.append(f"only {share:.0%} of its code belongs to functions that were found: others are missing")
    noise = _noise(image, spans, undecoded)
    if noise >= NOISE:
        said.append(
            f"{noise:.0%} of what was taken for functions is no code as it stands in the file: "
            "packed, encrypted, written when it runs, data, or instructions that are not known"
        )
    return tuple(said)


def _noise(image: Image, spans: Sequence[tuple[int, int]], undecoded: Collection[tuple[int, int]]) -> float:
    """The share of the functions' bytes that lie in functions which do not decode, or are zeros alone."""
    empty = {span for span in spans if not any(image.code_at(span[0], sum(span)))}
    total = _bytes_within(image, spans)
    return _bytes_within(image, [*{*undecoded, *empty}]) / total if total else 0.0


def nothing_found(image: Image, what: str = "no function found") -> InputError:
    """The error of a file without functions: what is known of the file (that it is cut short) says why."""
    return InputError("; ".join([what, *image.remarks]), where=image.path)


def processor_remarks(architecture: str, trained: Collection[str]) -> tuple[str, ...]:
    """A remark on a processor that a model was not trained on."""
    if not trained or architecture in trained:
        return ()
    known = ", ".join(trained)
    return (f"the model was not trained on {architecture} (but on {known}): its scores are less sure",)
