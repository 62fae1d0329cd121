"""What is no binary is called by its name, with the way out."""

import gzip
import io
import lzma
import struct
import tarfile
import zipfile

import lief
import pytest

from weft.bcsd.read import open_image
from weft.bcsd.read.foreign import kernel_hint
from weft.errors import InputError


def said(tmp_path, content: bytes) -> str:
    path = tmp_path / "thing"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        open_image(path)
    return str(caught.value)


def tar() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a"), io.BytesIO())
    return made.getvalue()


def zipped() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a", "a")
    return made.getvalue()


@pytest.mark.parametrize(
    ("content", "what", "hint"),
    [
        (gzip.compress(b"a", mtime=0), "packed by gzip", "gunzip"),
        (lzma.compress(b"a"), "packed by xz", "unxz"),
        (tar(), "a tar archive", "tar xf"),
        (zipped(), "a ZIP archive", "unzip"),
        (b"hsqs" + bytes(92), "a SquashFS file system", "unsquashfs"),
        (bytes.fromhex("27051956") + bytes(60), "a U-Boot image (uImage)", "dumpimage"),
        (b":10010000214601360121470136007EFE09D2190140\r\n:00000001FF\r\n", "Intel HEX", "-I ihex"),
        (b"S00F000068656C6C6F202020202000003C\n", "Motorola S-records", "-I srec"),
        (b"BC\xc0\xde" + bytes(60), "bitcode of LLVM", "clang -c"),
        (b"\x64\x86\7\0" + bytes(60), "an object of Windows", "link it first"),
        (b"\xca\xfe\xba\xbe\0\0\0\x41" + bytes(50), "a class file of Java", ""),
        (b"#!/bin/sh\n", "a script", ""),
        (b"/* GNU ld script\n*/ GROUP ( /lib/libm.so.6 )\n", "a linker script", "GROUP and INPUT list them"),
        (b"no code\n" * 100 + "ä".encode(), "text", ""),
        # So cut that its last letter is half there, where the head that is looked at ends.
        (b"a" * 511 + "ä".encode(), "text", ""),
        (b"\x90\xff" * 400, "not an ELF, PE or Mach-O file (if it is firmware", "Raw images"),
        (
            b"!<arch>\n" + b"debian-binary   0           0     0     100644  4         `\n2.0\n",
            "a Debian package",
            "dpkg-deb",
        ),
    ],
)
def test_each_kind_has_its_name_and_its_way_out(tmp_path, content, what, hint):
    message = said(tmp_path, content)
    assert what in message
    assert hint in message
    assert "\n" not in message


def test_a_packed_kernel_that_looks_like_a_program_of_windows_is_named():
    assert kernel_hint(memoryview(bytes(514) + b"HdrS")) is not None
    assert kernel_hint(memoryview(bytes(600))) is None
    assert kernel_hint(memoryview(b"MZ")) is None


def test_an_assembly_of_dotnet_has_no_machine_code(files, tmp_path):
    content = bytearray((files / "clang-O2-x86_64.dll").read_bytes())
    binary = lief.PE.parse(list(content))
    assert binary is not None
    section = next(s for s in binary.sections if s.name == ".rdata")
    directory = binary.dos_header.addressof_new_exeheader + 24 + 112 + 14 * 8
    content[directory : directory + 8] = struct.pack("<II", section.virtual_address, 72)
    for flags in (0, 1):
        content[section.offset + 16 : section.offset + 20] = struct.pack("<I", flags)
        path = tmp_path / "some.dll"
        path.write_bytes(content)
        if flags:
            with pytest.raises(InputError, match=r"an assembly of \.NET"):
                open_image(path)
        else:
            # Code of both kinds: that of the machine is read.
            assert open_image(path).code_size > 0
