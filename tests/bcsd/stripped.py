"""A small library, stripped, and the debug file that its link names."""

import subprocess
from pathlib import Path

CODE = """
static __attribute__((noinline)) int hidden(int *v, int n) {
  int most = v[0];
  for (int i = 1; i < n; i++) if (v[i] > most) most = v[i] + NUMBER;
  return most;
}
int shown(int *v, int n) { return hidden(v, n) + hidden(v + 1, n - 1); }
"""


def run(folder: Path, *command: str) -> None:
    """A command in a folder."""
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def compile_apart(folder: Path, *options: str, number: int = 1) -> None:
    """``whole.so`` in a new folder, and the same as ``lib.so``, stripped, with its ``lib.debug``.

    Args:
        folder: Is made.
        options: Of the linker.
        number: Another one gives another build.
    """
    folder.mkdir()
    (folder / "code.c").write_text(CODE)
    made = ("-O2", "-shared", "-fPIC", "-nostdlib", f"-DNUMBER={number}", *options)
    run(folder, "gcc", *made, "-o", "whole.so", "code.c")
    run(folder, "objcopy", "--only-keep-debug", "whole.so", "lib.debug")
    run(folder, "strip", "whole.so", "-o", "lib.so")
    run(folder, "objcopy", "--add-gnu-debuglink=lib.debug", "lib.so")
