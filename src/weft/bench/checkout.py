"""Where a benchmark finds what belongs to weft's sources and is not installed: examples, files of the tests."""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
"""The folder of the sources, whatever folder the command is called in."""
