"""Programming languages whose sources weft reads: a folder each, and a line in this table."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from weft.errors import ConfigError

if TYPE_CHECKING:
    from weft.kg.languages.language import Language

LANGUAGES = {
    "python": "weft.kg.languages.python",
}
"""Name to the package whose ``LANGUAGE`` is the language."""


def find_language(name: str) -> Language:
    """The language of a name.

    Raises:
        ConfigError: There is none.
    """
    if name not in LANGUAGES:
        raise ConfigError(f"no language {name!r}", hint=f"one of: {', '.join(LANGUAGES)}")
    return import_module(LANGUAGES[name]).LANGUAGE
