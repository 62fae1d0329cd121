"""From a path to an image: which format, and whether there is code to work on."""

from __future__ import annotations

import math
import os
import warnings
from collections import Counter
from collections.abc import Callable

from weft.bcsd.read import elf_view
from weft.bcsd.read.debug import coff, dsym
from weft.bcsd.read.foreign import kernel_hint, what_it_is
from weft.bcsd.read.go import add_go_functions
from weft.bcsd.read.image import Image
from weft.bcsd.read.members import (
    binaries_of,
    content_of,
    holds_members,
    list_slices,
    members_of,
    split_member,
)
from weft.errors import InputError

#: Bits per byte above which code is taken for compressed or encrypted; compiled code lies at 5.5 to 6.7.
PACKED_ENTROPY = 7.4
_PACKED_MINIMUM = 8192
_ENTROPY_SAMPLE = 1 << 20
_NO_BINARY = "not an ELF, PE or Mach-O file"

_MACHO_MAGICS = frozenset(
    bytes.fromhex(magic)
    for magic in ("feedface", "feedfacf", "cefaedfe", "cffaedfe", "cafebabe", "bebafeca", "cafebabf")
)


def sniff_format(head: bytes) -> str | None:
    """``"elf"``, ``"pe"``, ``"macho"`` or None, from a file's first bytes."""
    if head[:4] == b"\x7fELF":
        return "elf"
    if head[:2] == b"MZ":
        return "pe"
    # A Java class file shares the fat Mach-O magic; its next four bytes are a version above 40.
    if head[:4] in _MACHO_MAGICS and not (
        head[:4] == b"\xca\xfe\xba\xbe" and head[4:8] > b"\x00\x00\x00\x20"
    ):
        return "macho"
    return None


def holds_debug_alone(kind: str, content: memoryview) -> bool:
    """Whether a file of a format is a debug file, which is no binary of its own."""
    match kind:
        case "elf":
            return elf_view.holds_debug_alone(content)
        case "macho":
            return dsym.holds_dwarf_alone(content)
        case _:
            return coff.holds_debug_alone(content)


def open_image(path: str | os.PathLike[str]) -> Image:
    """Read a binary.

    Args:
        path: An ELF, PE or Mach-O file, or a member of an archive: see :mod:`weft.bcsd.read.members`. Of a fat Mach-O
            file the first known slice is read; a remark says so where there are others.

    Returns:
        The image, with at least one byte of code.

    Raises:
        InputError: The file is missing, not a binary, of an unknown architecture, empty of code, or packed.
    """
    place = os.fspath(path)
    content = content_of(place)
    kind = _kind_of(place, content)
    slices = list_slices(content) if kind == "macho" else []
    if slices:
        content = content[slices[0].start : slices[0].start + slices[0].size]
        if holds_members(bytes(content[:8])):
            raise _archive_inside(place, place)
    with warnings.catch_warnings():
        # lief warns of every number in a damaged header that is no member of its enumeration.
        warnings.simplefilter("ignore", RuntimeWarning)
        source = place if split_member(place)[1] is None and not slices else bytes(content)
        image = _reader(kind)(place, source, content)
    add_go_functions(image)
    if len(slices) > 1:
        another = f"{place}({slices[1].name})"
        image.remarks.append(f"its slice {slices[0].name} was read; another is named as in {another!r}")
    if image.code_size == 0:
        raise InputError("; ".join(["no code in the file", *image.remarks]), where=place)
    _refuse_packed(image, content)
    return image


def check_kind(path: str | os.PathLike[str]) -> None:
    """Look whether a file begins as a binary does: what reads several asks all of them before it works on the first.

    Raises:
        InputError: As of :func:`open_image`, as far as the first bytes tell.
    """
    place = os.fspath(path)
    _kind_of(place, content_of(place))


def _kind_of(place: str, content: memoryview) -> str:
    kind = sniff_format(bytes(content[:8]))
    if kind is not None:
        return kind
    if holds_members(bytes(content[:8])):
        outer, inside = split_member(place)
        if inside is not None:
            raise _archive_inside(place, outer)
        members = members_of(place)
        if not members:
            raise InputError("an archive, no binary: it holds no members", where=place)
        found = binaries_of(content, place, lambda head: sniff_format(head) is not None)
        first = next((one for one in found if not holds_members(bytes(content_of(one)[:8]))), None)
        if found and first is None:
            raise _archive_inside(found[0], place)
        if first is None and members[0].endswith("(debian-binary)"):
            what = "a Debian package, no binary"
            raise InputError(
                what, where=place, hint="dpkg-deb -x, and name the folder; or weft bcsd index build"
            )
        if first is None:
            what = f"an archive without machine code in any of its {len(members)} members"
            raise InputError(what, where=place, hint="code of link-time optimisation comes with linking")
        raise InputError("an archive, no binary", where=place, hint=f"name a member, as in {first!r}")
    what, hint = what_it_is(content)
    raise InputError(f"{_NO_BINARY}: {what}" if what else _NO_BINARY, where=place, hint=hint)


def _archive_inside(place: str, outer: str) -> InputError:
    hint = f"take it out of {outer} (ar x, lipo -thin) and name that"
    return InputError("an archive within another file, which is not read", where=place, hint=hint)


def _reader(kind: str) -> Callable[[str, str | bytes, memoryview], Image]:
    if kind == "elf":
        from weft.bcsd.read.elf import read_elf

        return read_elf
    import lief

    lief.logging.disable()
    if kind == "pe":
        from weft.bcsd.read.pe import read_pe

        return read_pe
    from weft.bcsd.read.macho import read_macho

    return read_macho


def entropy(data: bytes) -> float:
    """Shannon entropy of the byte distribution, in bits per byte: ``−Σ p log₂ p``."""
    total = len(data)
    return -sum(n / total * math.log2(n / total) for n in Counter(data).values()) if total else 0.0


def _refuse_packed(image: Image, content: memoryview) -> None:
    """Packed code decodes to noise: say so instead of indexing it."""
    if any(region.name.startswith("UPX") for region in image.data + image.code) or b"UPX!" in bytes(
        content[:1024]
    ):
        raise InputError("packed with UPX", where=image.path, hint="unpack it first: upx -d")
    largest = max(image.code, key=lambda region: len(region.data))
    if len(largest.data) < _PACKED_MINIMUM:
        return
    bits = entropy(bytes(largest.data[:_ENTROPY_SAMPLE]))
    if bits > PACKED_ENTROPY:
        what = f"code that looks packed or encrypted ({bits:.2f} bits per byte)"
        raise InputError(what, where=image.path, hint=kernel_hint(content))
