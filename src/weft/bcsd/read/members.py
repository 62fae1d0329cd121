"""Files within a file: the members of an archive, the slices of a fat Mach-O file.

A member is named as binutils do, ``libz.a(adler32.o)``; of several of one name the later ones are
``libz.a(adler32.o:2)`` and so on. A slice is named by its architecture, ``tool(aarch64)``.

Source: System V archives as binutils writes them; ``mach-o/fat.h``.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from weft.bcsd.architectures import FAMILIES, for_machine
from weft.errors import InputError

_ARCHIVE, _THIN = b"!<arch>\n", b"!<thin>\n"
_HEADER = 60
_FOLDERS = "name a file in it; `weft bcsd extract` and `weft bcsd index add` take folders"
#: What code that comes with linking is known by: the first bytes of LLVM's, a section's name of GCC's.
_BITCODE, _LTO = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b"), b".gnu.lto_"
_INDEXES = ("/", "//", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED", "__.SYMDEF_64")
_FAT = {b"\xca\xfe\xba\xbe": (">5I", 20), b"\xca\xfe\xba\xbf": (">2I3Q", 32)}
#: CPU types of ``mach/machine.h``.
_CPUS = {0x01000007: "X86_64", 0x0100000C: "ARM64"}
#: Slices of a fat file: more are no Mach-O file but a Java class, which has the same magic.
_MOST_SLICES = 30


_MEMBER = re.compile(r"(.+?\.(?:a|lib|rlib)(?:\.[0-9]+)*)\(.+\)", re.IGNORECASE)
_AGAIN = re.compile(":[0-9]+$")
_SLICE_NAMES = frozenset(name for names in FAMILIES.values() for name in names)


class Member(NamedTuple):
    """One file within another: its name there, and its bytes."""

    name: str
    start: int
    size: int


def split_member(path: str) -> tuple[str, str | None]:
    """A path's file, and the member within it if it names one."""
    if not path.endswith(")") or os.path.lexists(path):
        return path, None
    for position in (i for i, letter in enumerate(path) if letter == "("):
        if os.path.isfile(path[:position]):
            return path[:position], path[position + 1 : -1]
    return path, None


def file_of(name: str) -> str:
    """The archive or fat file of a member's name in an index, the name itself of another file.

    It goes by the spelling alone: an index is asked on machines on which its files are not.
    """
    archive = _MEMBER.fullmatch(name)
    if archive:
        return archive[1]
    place, _, slice_name = name.removesuffix(")").rpartition("(")
    return place if name.endswith(")") and _AGAIN.sub("", slice_name) in _SLICE_NAMES else name


def members_of(path: str) -> list[str]:
    """The paths of a file's members, in its order; none where it is no file of members.

    Raises:
        InputError: The archive is damaged, or a thin one.
        OSError: It cannot be read.
    """
    content = map_file(path)
    return [f"{path}({member.name})" for member in list_members(content, path)]


def binaries_of(
    content: memoryview, path: str, known: Callable[[bytes], bool], *, unlinked: bool = False
) -> list[str]:
    """The members that are binaries with code, as ``path(name)``: objects without any are common in archives.

    An archive among them is one of these, so that what reads it can say that it is not read.

    Args:
        content: Of the file.
        path: The file.
        known: Whether a file that begins so is a binary.
        unlinked: Whether members whose code comes with linking are told of in the same way, where others have code.

    Raises:
        InputError: The archive is damaged, or a thin one.
    """
    found: dict[str, bool] = {}
    for member in list_members(content, path):
        inside = content[member.start :][: member.size]
        head = bytes(inside[:8])
        code = (known(head) or _is_archive(head)) and holds_code(inside)
        if code or (unlinked and awaits_linking(inside)):
            found[f"{path}({member.name})"] = code
    return list(found) if any(found.values()) else []


def awaits_linking(content: memoryview) -> bool:
    """Whether a member without code is of link-time optimisation, by GCC or by LLVM."""
    head = bytes(content[:4])
    return head in _BITCODE or (head == b"\x7fELF" and _LTO in bytes(content))


def holds_members(head: bytes) -> bool:
    """Whether a file that begins so is made of members."""
    return _is_archive(head) or _slices(head) > 1


def _is_archive(head: bytes) -> bool:
    return head[:8] in (_ARCHIVE, _THIN)


def holds_code(content: memoryview) -> bool:
    """Whether an ELF object has a section of code that is not empty; true of anything else."""
    head = bytes(content[:64])
    wide = head[4:5] == b"\2"
    if head[:4] != b"\x7fELF" or len(head) < (64 if wide else 52):
        return True
    order = ">" if head[5] == 2 else "<"
    table = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", head, 40 if wide else 32)[0]
    size, count = struct.unpack_from(f"{order}HH", head, 58 if wide else 46)
    if size < (64 if wide else 40):
        return True  # a damaged header: what reads it says so
    if table and not count:
        # More sections than the header counts: the first one's size says how many.
        first = bytes(content[table:][: 64 if wide else 40])
        if len(first) < (64 if wide else 40):
            return True
        count = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", first, 32 if wide else 20)[0]
    for number in range(count):
        entry = bytes(content[table + number * size :][: 64 if wide else 40])
        if len(entry) < (64 if wide else 40):
            return True
        flags = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", entry, 8)[0]
        length = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", entry, 32 if wide else 20)[0]
        if flags & 4 and length:
            return True
    return False


def content_of(path: str) -> memoryview:
    """The bytes of a file or of a member.

    Raises:
        InputError: It is missing, empty or not a regular file, or there is no such member.
    """
    place, wanted = split_member(path)
    try:
        content = map_file(place)
        if wanted is None:
            return content
        stamp = os.stat(place)
        found = _members_by_name(place, stamp.st_ino, stamp.st_mtime_ns, len(content)).get(wanted)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=path) from error
    if found is None:
        raise InputError(f"no member {wanted!r}", where=place)
    return content[found.start : found.start + found.size]


def lacks(path: str) -> bool:
    """Whether a path names a member that its file, which can be read, does not hold."""
    place, wanted = split_member(path)
    if wanted is None:
        return False
    try:
        stamp = os.stat(place)
        return wanted not in _members_by_name(place, stamp.st_ino, stamp.st_mtime_ns, stamp.st_size)
    except (OSError, InputError):
        return False


@lru_cache(maxsize=4)
def _members_by_name(place: str, inode: int, changed: int, size: int) -> dict[str, Member]:
    """The members of a file as it was then: an archive of a thousand is asked for each of them."""
    members = list_members(map_file(place), place)
    return {member.name: member for member in members}


def map_file(place: str) -> memoryview:
    """A file's bytes, mapped.

    Raises:
        InputError: It is missing, empty or not a regular file.
        OSError: It cannot be read.
    """
    if os.path.isdir(place):
        os.listdir(place)  # says why, where it cannot be listed
        raise InputError("a folder, no binary", where=place, hint=_FOLDERS)
    if not Path(place).is_file():
        missing = not Path(place).exists()
        raise InputError("no such file" if missing else "not a regular file", where=place)
    with open(place, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise InputError("an empty file", where=place)
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def list_members(content: memoryview, place: str) -> list[Member]:
    """The members of an archive, or the slices of a fat file that this program knows.

    Raises:
        InputError: The archive is damaged, or a thin one.
    """
    head = bytes(content[:8])
    if head == _THIN:
        raise InputError(
            "a thin archive, which holds no members of its own", where=place, hint="name the objects"
        )
    return _numbered(_fat_slices(content) if _slices(head) > 1 else _archive(content, place))


def list_slices(content: memoryview) -> list[Member]:
    """The slices of a fat file that this program knows, be it a single one; none of another file."""
    return _numbered(_fat_slices(content))


def _numbered(members: Iterable[Member]) -> list[Member]:
    """The members, with a number behind a name that an earlier one has."""
    seen: Counter[str] = Counter()
    found: list[Member] = []
    for member in members:
        seen[member.name] += 1
        again = f":{seen[member.name]}" if seen[member.name] > 1 else ""
        found.append(member._replace(name=member.name + again))
    return found


def _slices(head: bytes) -> int:
    count = int.from_bytes(head[4:8], "big") if head[:4] in _FAT else 0
    return count if count <= _MOST_SLICES else 0


def _fat_slices(content: memoryview) -> Iterator[Member]:
    if bytes(content[:4]) not in _FAT:
        return
    layout, size = _FAT[bytes(content[:4])]
    for number in range(_slices(bytes(content[:8]))):
        entry = bytes(content[8 + number * size : 8 + (number + 1) * size])
        if len(entry) < struct.calcsize(layout):
            return
        cpu, _, start, length, *_ = struct.unpack_from(layout, entry)
        architecture = for_machine("macho", _CPUS.get(cpu, ""))
        if architecture is not None:
            yield Member(architecture.name, start, length)


def _archive(content: memoryview, place: str) -> Iterator[Member]:
    if bytes(content[:8]) != _ARCHIVE:
        return
    long_names = b""
    position = len(_ARCHIVE)
    while position + _HEADER <= len(content):
        header = bytes(content[position : position + _HEADER])
        if header[58:] != b"`\n" or not header[48:58].strip().isdigit():
            raise InputError(f"a damaged archive: no member at byte {position}", where=place)
        size = int(header[48:58])
        start = position + _HEADER
        if start + size > len(content):
            raise InputError(
                f"cut short: its last member ends at byte {start + size}, the file at {len(content)}",
                where=place,
            )
        name = header[:16].decode("utf-8", "backslashreplace").rstrip()
        position = start + size + (size & 1)
        if name == "//":
            long_names = bytes(content[start : start + size])
        if name in _INDEXES:
            continue
        if name.startswith("#1/") and name[3:].isdigit():
            # BSD: the name stands in front of the bytes.
            length = min(int(name[3:]), size)
            name = bytes(content[start : start + length]).rstrip(b"\0").decode("utf-8", "backslashreplace")
            start, size = start + length, size - length
            if name in _INDEXES:
                continue
        elif name.startswith("/") and name[1:].isdigit():
            end = long_names.find(b"\n", int(name[1:]))
            raw = long_names[int(name[1:]) : end if end >= 0 else None]
            name = raw.decode("utf-8", "backslashreplace")
        yield Member(name.rstrip("/") or f"member {position}", start, size)
