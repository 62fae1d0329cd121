"""The demonstration where a terminal is narrow or has no colours."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest


def shown(name: str, **environment: str) -> str:
    """What ``weft demo NAME`` shows in a terminal, without its escapes."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "weft", "demo", name],
        stdout=theirs,
        env={**os.environ, "TERM": "xterm-256color", **environment},
    )
    os.close(theirs)
    told = b""
    try:
        while piece := os.read(ours, 65536):
            told += piece
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait() == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", told.decode())


@pytest.mark.parametrize("colours", [True, False])
def test_numbers_are_whole_and_what_colours_tell_is_told_without(colours: bool) -> None:
    said = shown("absa", COLUMNS="40", **({} if colours else {"NO_COLOR": "1"}))
    assert " 0.97 │" in said
    assert "0…" not in said
    assert ("green speaks for it, red against" in said) == colours
    assert ("+ speaks for it, - against" in said) != colours
    if not colours:
        assert "-Lovely screen, +but the +battery is +empty +by +noon" in said
