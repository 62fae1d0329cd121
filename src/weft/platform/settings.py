"""Settings: frozen dataclasses, read from plain values, from a YAML file, and from flags beside it.

A key that is no field is an error that names the nearest one, wherever the values come from. What values a field
takes is the dataclass's own business: it checks itself when it is made.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from weft.errors import ConfigError, InputError
from weft.platform.files import write_text
from weft.platform.reading import SETTINGS_BYTES, read_json, read_yaml

_Kind = TypeVar("_Kind")
_SHOWN = 60


@dataclass(frozen=True)
class Settings:
    """What a frozen dataclass inherits to be read from, and written as, plain values."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build the settings from a mapping of field names; mappings become dataclasses, and lists tuples.

        Raises:
            ConfigError: A key that is no field (with the nearest one), or a field that breaks its rule.
        """
        return _build(cls, values, cls.__name__)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, in order."""
        return asdict(self)

    @classmethod
    def from_json(cls, path: str | Path) -> Self:
        """Read the settings from a JSON file.

        Raises:
            ConfigError: The file cannot be read, is not a JSON object, or breaks a rule.
        """
        try:
            values = read_json(path, SETTINGS_BYTES)
        except InputError as error:
            raise ConfigError(error.what, where=error.where, hint=error.hint) from error
        return cls.from_dict(_mapping(values, str(path)))

    def to_json(self, path: str | Path) -> None:
        """Write the settings as a JSON object.

        Raises:
            OutputError: The file cannot be written.
        """
        write_text(path, json.dumps(self.to_dict(), indent=2) + "\n")


def read_settings(kind: type[_Kind], path: str | Path, flags: Sequence[str] = ()) -> _Kind:
    """Read a dataclass from a YAML file, changed by flags such as ``--train.steps 2000``.

    Args:
        kind: The dataclass.
        path: The file.
        flags: ``--FIELD VALUE`` or ``--FIELD=VALUE``, the fields of nested dataclasses behind a dot.

    Raises:
        ConfigError: A key or a flag that is no field (with the nearest one), a field that is missing, or one that
            breaks its rule.
        InputError: The file cannot be read, or is not YAML.
    """
    # The flags first: where one is no field, what follows it may have been taken for the file.
    flagged = list(_flagged(flags, dict(leaves(kind))))
    values = _mapping(read_yaml(path), str(path))
    check_keys(kind, values, str(path))
    for name, value in flagged:
        values = _with(values, name.split("."), value)
    return _parse(kind, values, str(path))


def _parse(kind: Any, values: Mapping[str, Any], where: str) -> Any:
    from jsonargparse import ArgumentParser

    hints = _hints(kind)
    # Entries of a list one by one, so that an error names the entry and its field.
    listed = {
        name: tuple(
            _parse(part, entry, f"{where}: {name}, entry {n}") for n, entry in enumerate(values[name], 1)
        )
        for name, hint in hints.items()
        if (part := _entries(hint)) and isinstance(values.get(name), list)
    }
    # jsonargparse leaves its own signatures partly untyped.
    parser: Any = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(kind, skip=set(listed))
    try:
        plain = {name: value for name, value in values.items() if name not in listed}
        made: Any = parser.instantiate(parser.parse_object(plain, defaults=True))
        return kind(**{name: getattr(made, name) for name in hints if name not in listed}, **listed)
    except ConfigError as error:
        raise ConfigError(error.what, where=error.where or where, hint=error.hint) from error
    except (argparse.ArgumentError, TypeError, ValueError) as error:
        raise ConfigError(_reason(str(error), dict(leaves(kind))), where=where) from error


def _flagged(flags: Sequence[str], known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The fields that flags name, with what they say."""
    rest = iter(flags)
    for flag in rest:
        name, equals, value = flag[2:].partition("=")
        if not flag.startswith("--"):
            raise ConfigError(f"{_short(flag)!r} follows no field", hint="--FIELD VALUE")
        if name not in known:
            raise ConfigError(f"no field --{_short(name)}", hint=_near(name, known, "--"))
        given = value if equals else next(rest, None)
        if given is None:
            raise ConfigError(f"--{name} has no value", hint=f"it is {type_name(known[name])}")
        yield name, given


def _with(values: Mapping[str, Any], path: Sequence[str], value: str) -> dict[str, Any]:
    """Values, and the one at this path another."""
    first, *rest = path
    return {**values, first: _with(values.get(first, {}), rest, value) if rest else value}


def check_keys(kind: Any, values: Mapping[str, Any], where: str) -> None:
    """Check that every key names a field, in nested dataclasses too.

    Raises:
        ConfigError: One does not: it is named with the nearest field, or a mapping is needed and none is given.
    """
    hints = _hints(kind)
    for key, value in values.items():
        if key not in hints:
            raise ConfigError(f"no key {_short(key)!r}", where=where, hint=_near(str(key), hints))
        if is_dataclass(hints[key]):
            check_keys(hints[key], _mapping(value, f"{where}: {key}"), f"{where}: {key}")
        elif (part := _entries(hints[key])) and isinstance(value, list):
            for number, entry in enumerate(value, 1):
                place = f"{where}: {key}, entry {number}"
                check_keys(part, _mapping(entry, place), place)


def leaves(kind: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of a dataclass and of those nested in it, as flags call them, with their types."""
    for name, hint in _hints(kind).items():
        if is_dataclass(hint):
            yield from leaves(hint, f"{before}{name}.")
        else:
            yield before + name, hint


def listing(kind: Any, before: str = "", given: object = MISSING) -> Iterator[tuple[str, str, str]]:
    """For each field what flags call it, its type with the default, and the first sentence about it.

    Args:
        kind: The dataclass.
        before: What stands before the names.
        given: One of ``kind``, with the values that its fields have if nothing is said; else they have their own.
    """
    meanings = dict(re.findall(r"^ {8}(\w+): (.+(?:\n {12}.+)*)", kind.__doc__ or "", re.MULTILINE))
    for field in fields(kind):
        hint = _hints(kind)[field.name]
        value = field.default if given is MISSING else getattr(given, field.name)
        if value is MISSING and field.default_factory is not MISSING:
            value = field.default_factory()
        if is_dataclass(hint):
            yield from listing(hint, f"{before}{field.name}.", value)
            continue
        default = "" if value is MISSING else f" = {_written(value)}"
        meaning = " ".join(re.sub(r":\w+:`|`", "", meanings.get(field.name, "")).split())
        yield before + field.name, type_name(hint) + default, meaning.split("; ")[0].split(". ")[0]


def _written(value: object) -> str:
    """A value as a file of settings has it."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_written, value))}]"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def type_name(hint: Any) -> str:
    """A type as a person reads it."""
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return " | ".join(map(str, parts))
    if get_origin(hint) in (Union, UnionType):
        return " | ".join(type_name(part) for part in parts)
    if get_origin(hint) is tuple:
        return f"[{', '.join('…' if part is ... else type_name(part) for part in parts)}]"
    if hint is NoneType:
        return "null"
    return {"str": "text", "bool": "true | false", "float": "number", "int": "integer", "Path": "path"}.get(
        getattr(hint, "__name__", ""), str(getattr(hint, "__name__", hint))
    )


def _build(kind: Any, values: Any, where: str) -> Any:
    hints = _hints(kind)
    for key in _mapping(values, where):
        if key not in hints:
            raise ConfigError(f"{where} has no key {_short(key)!r}", hint=_near(str(key), hints))
    try:
        return kind(**{name: _value(hints[name], value, f"{where}.{name}") for name, value in values.items()})
    except TypeError as error:
        raise ConfigError(str(error).replace("__init__()", ""), where=where) from error


def _value(hint: Any, value: Any, where: str) -> Any:
    if is_dataclass(hint):
        return value if is_dataclass(value) else _build(hint, value, where)
    found = _tuples(value)
    if not _fits(hint, found):
        raise ConfigError(f"{where} is {_short(value)!r}; it must be {type_name(hint)}")
    return found


def _fits(hint: Any, value: Any) -> bool:
    """Whether a plain value is of a plain type; what is no plain type is left to the class."""
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return any(value == part and type(value) is type(part) for part in parts)
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(part, value) for part in parts)
    if get_origin(hint) is tuple and isinstance(value, tuple):
        many = parts[1:] == (...,)
        kinds = (parts[0],) * len(value) if many else parts
        return len(kinds) == len(value) and all(map(_fits, kinds, value))
    if hint in (int, float):
        return isinstance(value, (int, float) if hint is float else int) and not isinstance(value, bool)
    plain = hint in (str, bool, NoneType)
    return isinstance(value, hint) if plain else get_origin(hint) is not tuple


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list | tuple) else value


def _entries(hint: Any) -> Any:
    """The dataclass that a field holds a tuple of; None where it holds none."""
    parts = get_args(hint)
    return parts[0] if get_origin(hint) is tuple and is_dataclass(parts[0]) else None


@cache
def _hints(kind: Any) -> dict[str, Any]:
    found = get_type_hints(kind)
    return {field.name: found[field.name] for field in fields(kind)}


def _mapping(values: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise ConfigError(f"is {_short(values)!r} where a mapping of fields is needed", where=where)
    return values


def _near(name: str, known: Iterable[str], before: str = "") -> str:
    names = list(known)
    # A flag without its group: --steps for --train.steps.
    near = [known for known in names if known.rpartition(".")[2] == name]
    near = near or difflib.get_close_matches(name[:_SHOWN], names, n=1)
    if near:
        return f"did you mean {before}{near[0]}?"
    return f"there are {', '.join(before + name for name in names[:30])}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _reason(message: str, known: Mapping[str, Any]) -> str:
    """What jsonargparse says, in one line: the field, the value, and what it must be."""
    key = re.search(r'[Kk]ey "([\w.]+)"', message)
    value = re.search(r"(?:Given value|Got value): (.*)", message)
    if key and value and key[1] in known:
        return f"{key[1]} is {_short(value[1])!r}; it must be {type_name(known[key[1]])}"
    line = " ".join(message.split()).replace("the following arguments are required:", "lacks")
    return f"{line[:500]}…" if len(line) > 500 else line
