"""What a file is that is no binary: packed, a file system, a raw image of firmware; and the way from there.

Source: the formats' own descriptions, as ``file(1)`` knows them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_UNPACK = "unpack it first"
_RAW = 'it says neither processor nor address: "Raw images" in docs/bcsd.md makes an ELF file of it'
_KERNEL = "extract-vmlinux, of the scripts in Linux' source, takes the kernel out"


class Kind(NamedTuple):
    """A kind of file.

    Args:
        at: Where its mark stands.
        mark: The mark.
        what: What it is.
        hint: The way out.
    """

    at: int
    mark: bytes
    what: str
    hint: str


_KINDS = (
    Kind(0, b"\x1f\x8b", "packed by gzip", "gunzip -k"),
    Kind(0, b"\xfd7zXZ\0", "packed by xz", "unxz -k"),
    Kind(0, b"\x5d\0\0", "packed by LZMA, by its first bytes", "unlzma -k"),
    Kind(0, b"BZh", "packed by bzip2", "bunzip2 -k"),
    Kind(0, b"\x28\xb5\x2f\xfd", "packed by Zstandard", "unzstd -k"),
    Kind(0, b"\x04\x22\x4d\x18", "packed by LZ4", "unlz4 -k"),
    Kind(0, b"\x02\x21\x4c\x18", "packed by LZ4", "unlz4 -k"),
    Kind(0, b"\x89LZO\0", "packed by lzop", "lzop -d"),
    Kind(0, b"LZIP", "packed by lzip", "lzip -dk"),
    Kind(0, b"PK\3\4", "a ZIP archive (or JAR, APK, wheel)", "unzip it and name the folder"),
    Kind(0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "7z x, and name the folder"),
    Kind(0, b"Rar!", "a RAR archive", _UNPACK),
    Kind(0, b"MSCF", "a cabinet file", "cabextract, and name the folder"),
    Kind(257, b"ustar", "a tar archive", "tar xf, and name the folder"),
    Kind(0, b"0707", "a cpio archive (an initrd)", "cpio -id, and name the folder"),
    Kind(0, b"\xed\xab\xee\xdb", "an RPM package", "rpm2cpio | cpio -id, and name the folder"),
    Kind(0, b"hsqs", "a SquashFS file system", "unsquashfs, and name the folder"),
    Kind(0, b"sqsh", "a SquashFS file system", "unsquashfs, and name the folder"),
    Kind(0, b"\x45\x3d\xcd\x28", "a CramFS file system", _UNPACK),
    Kind(0, b"\x28\xcd\x3d\x45", "a CramFS file system", _UNPACK),
    Kind(0, b"-rom1fs-", "a ROMFS file system", _UNPACK),
    Kind(0, b"UBI#", "a UBI image of flash", "ubireader_extract_files, and name the folder"),
    Kind(0, b"\x31\x18\x10\x06", "a UBIFS file system", "ubireader_extract_files, and name the folder"),
    Kind(1080, b"\x53\xef", "an ext file system", "mount it, and name the folder"),
    Kind(32769, b"CD001", "an ISO 9660 file system", "mount it, and name the folder"),
    Kind(
        0,
        b"\x27\x05\x19\x56",
        "a U-Boot image (uImage)",
        "dumpimage takes its parts out; a kernel there is packed or raw",
    ),
    Kind(0, b"\xd0\x0d\xfe\xed", "a device tree or a FIT image of U-Boot", "dumpimage takes its parts out"),
    Kind(0, b"HDR0", "a TRX image of firmware", "binwalk -e takes its parts out"),
    Kind(0, b"ANDROID!", "a boot image of Android", "unpack_bootimg takes its parts out"),
    Kind(514, b"HdrS", "a Linux kernel for x86, packed", _KERNEL),
    Kind(36, b"\x18\x28\x6f\x01", "a Linux kernel for ARM, packed (zImage)", "vmlinux-to-elf"),
    Kind(56, b"ARM\x64", "a Linux kernel for AArch64, without headers of sections", "vmlinux-to-elf"),
    Kind(0, b"BC\xc0\xde", "bitcode of LLVM", "link it first, or compile it: clang -c"),
    Kind(0, b"\xde\xc0\x17\x0b", "bitcode of LLVM", "link it first, or compile it: clang -c"),
    Kind(
        0,
        b"\xca\xfe\xba\xbe",
        "a class file of Java, whose code is no machine's",
        "name what holds machine code",
    ),
    Kind(0, b"dex\n", "code of Android's virtual machine (DEX)", "name the libraries: lib/*/*.so of the APK"),
    Kind(0, b"\0asm", "WebAssembly, whose code is no machine's", "name what holds machine code"),
    Kind(0, b"\x64\x86", "an object of Windows (COFF)", "link it first"),
    Kind(0, b"\x4c\x01", "an object of Windows (COFF)", "link it first"),
    Kind(0, b"\x64\xaa", "an object of Windows (COFF)", "link it first"),
    Kind(0, b"\0\0\xff\xff", "an object of Windows (COFF)", "link it first"),
    Kind(
        0, b"Microsoft C/C++ MSF", "debug information of Windows (PDB)", "name the program that it belongs to"
    ),
    Kind(0, b"MDMP", "a dump of memory (minidump)", "name the program"),
    Kind(
        0,
        b"/* GNU ld script",
        "a linker script, which names other files",
        "name those: GROUP and INPUT list them",
    ),
    Kind(0, b"#!", "a script", "name what holds machine code"),
)
_HEX = re.compile(rb"\s*:[0-9A-Fa-f]{10,}\s*[\r\n]")
_RECORDS = re.compile(rb"\s*S[0-9][0-9A-Fa-f]{8,}\s*[\r\n]")
#: Bytes in which text would stand.
_HEAD = 512


def what_it_is(content: memoryview) -> tuple[str | None, str | None]:
    """What a file without a binary's mark is, as far as its bytes tell, and the way out."""
    for at, mark, what, hint in _KINDS:
        if content[at : at + len(mark)] == mark:
            return what, hint
    head = bytes(content[:_HEAD])
    for pattern, what, form in ((_HEX, "Intel HEX", "ihex"), (_RECORDS, "Motorola S-records", "srec")):
        if pattern.match(head):
            return what, f"objcopy -I {form} -O binary; {_RAW}"
    if b"\0" not in head and _is_text(head):
        return "text", None
    return None, f"if it is firmware: {_RAW}"


def kernel_hint(content: memoryview) -> str | None:
    """The way out of a packed kernel, which is a program of Windows' format where firmware starts it (EFI)."""
    return _KERNEL if content[514:518] == b"HdrS" else None


def _is_text(head: bytes) -> bool:
    try:
        # The last letter may be cut.
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3
    return True
