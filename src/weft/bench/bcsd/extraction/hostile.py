"""Hostile binaries: thousands of damaged files through the whole extraction, none may harm the run.

Every file is made from a real one by a seeded mutation, so that a failure can be made again from its number.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from weft.bcsd.use.extract_files import build_table, find_binaries
from weft.bench.checkout import CHECKOUT
from weft.bench.table import Row
from weft.errors import InputError, WeftError
from weft.platform.processes import Limits, run_bounded

#: Bounds that no file may reach.
LIMITS = Limits(seconds=10.0, mebibytes=1024)
_EXTREMES = (0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)


@dataclass(frozen=True)
class Mutant:
    """One damaged file.

    Args:
        number: Which; with the base it decides everything else.
        base: The file it was made from.
        kind: What was done to it.
        content: Its bytes.
    """

    number: int
    base: str
    kind: str
    content: bytes


def flip_bits(data: bytearray, dice: random.Random) -> None:
    """Turn 1 to 64 bits over, anywhere."""
    for _ in range(dice.choice((1, 4, 16, 64))):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)


def truncate(data: bytearray, dice: random.Random) -> None:
    """Cut the end off."""
    del data[dice.randrange(len(data)) :]


def lie_in_header(data: bytearray, dice: random.Random) -> None:
    """Put extreme numbers into the file header."""
    for _ in range(dice.randint(1, 3)):
        _put(data, 4 * dice.randrange(4, 16), dice.choice((2, 4, 8)), dice)


def lie_in_segments(data: bytearray, dice: random.Random) -> None:
    """Put extreme numbers into the program headers: giant, overlapping, nowhere."""
    start, size, count = _table(data, "segments")
    for _ in range(dice.randint(1, 4)):
        _put(data, start + 4 * dice.randrange(max(1, size * count // 4)), dice.choice((4, 8)), dice)


def lie_in_sections(data: bytearray, dice: random.Random) -> None:
    """Put extreme numbers into the section headers."""
    start, size, count = _table(data, "sections")
    for _ in range(dice.randint(1, 6)):
        _put(data, start + 4 * dice.randrange(max(1, size * count // 4)), dice.choice((4, 8)), dice)


def make_cycles(data: bytearray, dice: random.Random) -> None:
    """Let every section lie on the section table itself, and link to itself."""
    start, size, count = _table(data, "sections")
    for number in range(count):
        header = start + number * size
        if size == 64 and header + 64 <= len(data):
            struct.pack_into("<Q", data, header + 24, start)
            struct.pack_into("<I", data, header + 40, number)
            if dice.random() < 0.5:
                struct.pack_into("<Q", data, header + 32, len(data) - start)


def grow_symbols(data: bytearray, dice: random.Random) -> None:
    """Overwrite runs of eight bytes all over the second half, where symbol and string tables lie."""
    for _ in range(dice.randint(4, 64)):
        _put(data, len(data) // 2 + dice.randrange(max(1, len(data) // 2)) & ~7, 8, dice)


def shuffle_chunks(data: bytearray, dice: random.Random) -> None:
    """Exchange stretches of the file."""
    for _ in range(dice.randint(1, 4)):
        length = dice.choice((16, 256, 4096))
        one, two = dice.randrange(len(data)), dice.randrange(len(data))
        data[one : one + length], data[two : two + length] = (
            data[two : two + length],
            data[one : one + length],
        )


def fill_with_noise(data: bytearray, dice: random.Random) -> None:
    """Replace a stretch by random bytes, code and tables alike."""
    start = dice.randrange(64, max(65, len(data)))
    length = dice.choice((64, 1024, 16384))
    data[start : start + length] = dice.randbytes(min(length, len(data) - start))


MUTATIONS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flip_bits,
    truncate,
    lie_in_header,
    lie_in_segments,
    lie_in_sections,
    make_cycles,
    grow_symbols,
    shuffle_chunks,
    fill_with_noise,
)


def _put(data: bytearray, offset: int, width: int, dice: random.Random) -> None:
    value = dice.choice((*_EXTREMES, len(data), len(data) - 1, dice.getrandbits(64))) & ((1 << 8 * width) - 1)
    if offset >= 0 and offset + width <= len(data):
        data[offset : offset + width] = value.to_bytes(width, "little")


def _table(data: bytearray, which: str) -> tuple[int, int, int]:
    """Offset, entry size and number of entries of an ELF header table, kept inside the file."""
    if len(data) < 64 or data[:4] != b"\x7fELF":
        return 64, 8, 8
    if data[4] == 2:
        where, sizes = (0x20, 0x36) if which == "segments" else (0x28, 0x3A)
        (start,) = struct.unpack_from("<Q", data, where)
    else:
        where, sizes = (0x1C, 0x2A) if which == "segments" else (0x20, 0x2E)
        (start,) = struct.unpack_from("<I", data, where)
    size, count = struct.unpack_from("<HH", data, sizes)
    return min(start, len(data) - 1), max(1, size), max(1, min(count, 256))


def mutants(bases: list[Path], count: int, seed: int = 0) -> Iterator[Mutant]:
    """``count`` damaged files, the same ones for the same seed and bases."""
    originals = [(base.name, base.read_bytes()) for base in bases]
    for number in range(count):
        dice = random.Random(f"{seed}:{number}")
        name, content = originals[number % len(originals)]
        data = bytearray(content)
        mutation = MUTATIONS[number // len(originals) % len(MUTATIONS)]
        mutation(data, dice)
        if dice.random() < 0.2 and data:
            flip_bits(data, dice)
        yield Mutant(number, name, mutation.__name__, bytes(data))


def extract_mutant(path: str) -> int:
    """What a worker does with one file: the whole extraction of it, or of its members, lifting and tables included."""
    rows = 0
    failed: list[WeftError] = []
    members = find_binaries([path])
    for member in members:
        try:
            builder, _ = build_table(member)
        except WeftError as error:
            failed.append(error)
            continue
        rows += sum(table.num_rows for table in builder.tables())
    if failed and len(failed) == len(members):
        raise failed[0]
    return rows


@dataclass(frozen=True)
class Campaign:
    """What became of all files.

    Args:
        files: How many.
        read: How many gave functions.
        reasons: Failure message, its numbers taken out → how many.
        over: Files over the bounds on time or memory, by number.
        crashed: Files whose worker died, by number.
        unclear: Failures whose message is not one non-empty line.
        slowest: Seconds of the slowest file.
    """

    files: int
    read: int
    reasons: Counter[str]
    over: list[int]
    crashed: list[int]
    unclear: list[int]
    slowest: float


def run_campaign(bases: list[Path], count: int, *, workers: int = 1, seed: int = 0) -> Campaign:
    """Put ``count`` mutants of ``bases`` through extraction, each within :data:`LIMITS`."""
    folder = Path(tempfile.mkdtemp(prefix="weft-hostile-"))
    try:
        places: list[str] = []
        for mutant in mutants(bases, count, seed):
            place = folder / f"{mutant.number:05d}-{mutant.kind}"
            place.write_bytes(mutant.content)
            places.append(str(place))
        read, slowest = 0, 0.0
        reasons: Counter[str] = Counter()
        over: list[int] = []
        crashed: list[int] = []
        unclear: list[int] = []
        for number, outcome in enumerate(run_bounded(extract_mutant, places, workers=workers, limits=LIMITS)):
            slowest = max(slowest, outcome.seconds)
            if outcome.error is None:
                read += 1
                continue
            message = str(outcome.error)
            reason = outcome.error.what
            reasons["".join("#" if c.isdigit() else c for c in reason)[:80]] += 1
            if "died" in reason:
                crashed.append(number)
            elif outcome.error.exit_code == 7 and ("took more" in reason or "MiB" in reason):
                over.append(number)
            if not message.strip() or "\n" in message:
                unclear.append(number)
        return Campaign(len(places), read, reasons, over, crashed, unclear, slowest)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sample_files() -> list[Path]:
    """Real files to damage: small ones of this machine.

    Raises:
        InputError: There are none.
    """
    candidates = [Path("/bin") / name for name in ("true", "echo", "cat", "ls", "gzip")]
    cross = Path("/usr/aarch64-linux-gnu/lib")
    candidates += [
        cross / name for name in ("libdl.so.2", "libutil.so.1", "libBrokenLocale.so.1", "libanl.so.1")
    ]
    found = [path.resolve() for path in candidates if path.is_file()]
    if not found:
        raise InputError("no small binary on this machine to damage")
    return sorted(dict.fromkeys(found))


#: Compilers' runtime folders of the processors beside x86-64 and AArch64, and what of them is small.
_CROSS = (
    *("arm-linux-gnueabihf", "mips-linux-gnu", "mipsel-linux-gnu", "mips64el-linux-gnuabi64"),
    *("powerpc64le-linux-gnu", "riscv64-linux-gnu", "i686-linux-gnu"),
)
_SMALL = ("libBrokenLocale.so.1", "libutil.so.1", "Scrt1.o", "libBrokenLocale.a")
_MADE = CHECKOUT / "tests/bcsd/files"


def other_files(folder: Path) -> list[Path]:
    """The same of every other processor and format: programs, objects, archives, PE, Mach-O, fat Mach-O.

    Args:
        folder: Where files are made that this machine has none of.

    Raises:
        InputError: There are none.
    """
    names = (
        *("clang-O2-arm", "clang-O2-thumb", "clang-O2-mips", "clang-O2-mipsel", "clang-O2-i386"),
        *("gcc-O2-aarch64.o", "gcc-O2-x86_64.o", "clang-O2-x86_64.dll", "clang-O2-x86_64.dylib"),
    )
    found = [_MADE / name for name in names]
    found += [Path("/usr") / triple / "lib" / name for triple in _CROSS for name in _SMALL]
    found = [path.resolve() for path in found if path.is_file() and path.stat().st_size < 1 << 17]
    objects = [path for path in found if path.suffix == ".o"]
    thin = [path for path in found if path.suffix == ".dylib"]
    if objects:
        found.append(folder / "made.a")
        found[-1].write_bytes(archive_of(objects))
    if thin:
        found.append(folder / "made.fat")
        found[-1].write_bytes(fat_of(thin[0].read_bytes()))
    if not found:
        raise InputError("no small binary of another processor on this machine to damage")
    return sorted(dict.fromkeys(found))


def archive_of(members: list[Path]) -> bytes:
    """A System V archive."""
    out = b"!<arch>\n"
    for number, member in enumerate(members):
        content = member.read_bytes()
        head = f"{f'm{number}.o/':<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n"
        out += head.encode() + content + b"\n" * (len(content) % 2)
    return out


def fat_of(thin: bytes) -> bytes:
    """A fat Mach-O file of one slice, twice: as x86-64 and as what it is not."""
    start = 4096
    head = b"\xca\xfe\xba\xbe" + struct.pack(">I", 2)
    for cpu in (0x01000007, 0x0100000C):
        head += struct.pack(">5I", cpu, 3, start, len(thin), 12)
        start += len(thin) + -len(thin) % 4096
    padded = thin + bytes(-len(thin) % 4096)
    return head + bytes(4096 - len(head)) + padded + thin


def rows(quick: bool) -> list[Row]:
    """The campaigns: 5,000 files of this machine and 2,000 of every other processor, 300 each in a quick look."""
    workers = len(os.sched_getaffinity(0))
    found = _rows("", run_campaign(sample_files(), 300 if quick else 5000, workers=workers))
    return found + other_rows(300 if quick else 2000, workers)


def other_rows(count: int, workers: int = 1) -> list[Row]:
    """The campaign over the other processors and formats."""
    with tempfile.TemporaryDirectory(prefix="weft-hostile-") as folder:
        campaign = run_campaign(other_files(Path(folder)), count, workers=workers)
    return _rows(", other processors and formats", campaign)


def _rows(what: str, campaign: Campaign) -> list[Row]:
    for reason, times in campaign.reasons.most_common(12):
        # The classes of failures belong to the measurement, and are no row of it.
        print(f"{times:6}  {reason}", file=sys.stderr)  # noqa: T201
    variant = f"{campaign.files} mutants, {campaign.read} read{what}"
    files = float(campaign.files)
    return [
        Row("hostile: worker died", variant, "-", "files", len(campaign.crashed), files, target=0.002),
        Row("hostile: over 10 s or 1 GiB", variant, "-", "files", len(campaign.over), files, target=0.0),
        Row("hostile: unclear message", variant, "-", "files", len(campaign.unclear), files, target=0.0),
        Row("hostile: slowest file", variant, "-", "s", campaign.slowest, LIMITS.seconds, target=1.0),
    ]
