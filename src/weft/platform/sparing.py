"""Imported by the process that makes others, before what they need: see :func:`weft.platform.memory.collect_seldom`."""

from weft.platform.memory import collect_seldom

collect_seldom()
