"""Debian packages made here: an archive of a compiled object, wrapped as deb(5) says."""

import gzip
import io
import lzma
import shutil
import subprocess
import tarfile

import pytest

SOURCE = """
int sum(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) { if (a[i] > 3) s += a[i]; else s -= i; }
  return s; }
int find(const char *s, char c) { int at = 0; while (*s) { if (*s == c) return at; at++; s++; } return -1; }
int order(int *a, int n) { int swaps = 0; for (int i = 1; i < n; i++) for (int j = i; j > 0 && a[j] < a[j - 1]; j--)
  { int t = a[j]; a[j] = a[j - 1]; a[j - 1] = t; swaps++; } return swaps; }
"""


def ar(members):
    """An archive as binutils writes it."""
    out = b"!<arch>\n"
    for name, content in members:
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) & 1)
    return out


def tar(files):
    """A tar file; a value of None is a link to nowhere."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            if content is None:
                entry.type, entry.linkname = tarfile.SYMTYPE, "/nowhere"
            else:
                entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content or b""))
    return out.getvalue()


@pytest.fixture(scope="session")
def objects(tmp_path_factory):
    """Two levels of one object."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no compiler here")
    folder = tmp_path_factory.mktemp("objects")
    (folder / "a.c").write_text(SOURCE)
    made = {}
    for level in ("-O1", "-O2"):
        subprocess.run([compiler, "-c", level, "a.c", "-o", "a.o"], cwd=folder, check=True)
        made[level] = (folder / "a.o").read_bytes()
    return made


@pytest.fixture
def deb(tmp_path):
    """Writes a package."""

    def write(name, version, files, *, source="", architecture="amd64", ending="xz", said=None):
        control = said or f"Package: {name}\nVersion: {version}\nArchitecture: {architecture}\n"
        control += f"Source: {source}\n" if source else ""
        pack = {"xz": lzma.compress, "gz": gzip.compress, "": bytes}[ending]
        dot = f".{ending}" if ending else ""
        members = [
            ("debian-binary", b"2.0\n"),
            (f"control.tar{dot}", pack(tar({"./control": (control + "Description: a\n b\n").encode()}))),
            (f"data.tar{dot}", pack(tar(files))),
        ]
        path = tmp_path / f"{name}_{version}_{architecture}.deb"
        path.write_bytes(ar(members))
        return path

    return write


@pytest.fixture
def library(objects):
    """Files of a package with one static library."""

    def files(level="-O2", name="libtiny.a"):
        return {
            f"./usr/lib/{name}": ar([("a.o/", objects[level])]),
            "./usr/lib/liblink.a": None,
            "./usr/include/tiny.h": b"int sum(const int *, int);",
        }

    return files
