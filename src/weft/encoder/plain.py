"""Configurations as plain values: dictionaries with checked keys, and JSON files."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from weft.errors import ConfigError


@dataclass(frozen=True)
class PlainConfig:
    """What a frozen dataclass inherits to be read from, and written as, plain values."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build the configuration from a mapping of field names.

        Raises:
            ConfigError: A key that is no field (with the nearest one), or a field that breaks its rule.
        """
        known = [field.name for field in fields(cls)]
        for key in values:
            if key not in known:
                near = difflib.get_close_matches(str(key), known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(known)}"
                raise ConfigError(f"{cls.__name__} has no key {key!r}", hint=hint)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, in order."""
        return asdict(self)

    @classmethod
    def from_json(cls, path: str | Path) -> Self:
        """Read the configuration from a JSON file.

        Raises:
            ConfigError: The file cannot be read, is not a JSON object, or breaks a rule.
        """
        try:
            values = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror}", where=str(path)) from error
        except ValueError as error:
            raise ConfigError(f"is not JSON: {error}", where=str(path)) from error
        if not isinstance(values, dict):
            raise ConfigError(f"holds a {type(values).__name__}; a JSON object is needed", where=str(path))
        return cls.from_dict(values)

    def to_json(self, path: str | Path) -> None:
        """Write the configuration as a JSON object."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")
