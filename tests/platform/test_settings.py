"""Settings from plain values, YAML files and flags: what is taken, and how each fault is told."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import pytest

from weft.errors import ConfigError, InputError
from weft.platform.settings import Settings, listing, read_settings


@dataclass(frozen=True)
class Engine(Settings):
    """An engine.

    Args:
        power: In watts. More is faster.
        fuel: What it burns.
        gears: From low to high,
            each above the one before.
    """

    power: float = 1.0
    fuel: Literal["gas", "none"] = "none"
    gears: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.power <= 0:
            raise ConfigError(f"Engine.power is {self.power!r}; it must be above 0")


@dataclass(frozen=True)
class Seat(Settings):
    """A seat."""

    name: str
    width: int = 40


@dataclass(frozen=True)
class Car(Settings):
    """A car.

    Args:
        out: Where it stands.
        engine: What drives it.
        seats: In order.
        owner: Whose it is.
        old: Whether it is.
    """

    out: Path
    engine: Engine = field(default_factory=Engine)
    seats: tuple[Seat, ...] = ()
    owner: str | None = None
    old: bool = False


def write(folder: Path, text: str) -> Path:
    path = folder / "car.yaml"
    path.write_text(text)
    return path


def test_a_file_and_flags_make_a_dataclass(tmp_path: Path):
    path = write(
        tmp_path,
        "out: garage\nengine: {power: 3, gears: [1, 2.5]}\nseats: [{name: left}, {name: b, width: 3}]\n",
    )
    flags = ["--engine.fuel", "gas", "--engine.power=4e2", "--old", "true"]
    car = read_settings(Car, path, flags)
    assert car == Car(
        Path("garage"), Engine(400.0, "gas", (1.0, 2.5)), (Seat("left"), Seat("b", 3)), None, True
    )
    # A flag may give what the file lacks.
    assert read_settings(Car, write(tmp_path, "old: true\n"), ["--out", "x"]).out == Path("x")


@pytest.mark.parametrize(
    ("text", "flags", "message"),
    [
        ("out: x\nengien: {}\n", [], "car.yaml: no key 'engien' (did you mean engine?)"),
        ("out: x\nengine: {pwoer: 1}\n", [], "car.yaml: engine: no key 'pwoer' (did you mean power?)"),
        ("out: x\nseats: [{name: a}, {nmae: b}]\n", [], "seats, entry 2: no key 'nmae' (did you mean name?)"),
        ("out: x\nseats: [{width: 2}]\n", [], "seats, entry 1: lacks name"),
        ("out: x\nseats: [{name: a, width: b}]\n", [], "seats, entry 1: width is 'b'; it must be integer"),
        ("out: x\nengine: 3\n", [], "engine: is '3' where a mapping of fields is needed"),
        ("[1]\n", [], "is '[1]' where a mapping of fields is needed"),
        ("old: true\n", [], "car.yaml: lacks out"),
        ("out: x\nengine: {power: a}\n", [], "engine.power is 'a'; it must be number"),
        ("out: x\nengine: {fuel: oil}\n", [], "engine.fuel is 'oil'; it must be gas | none"),
        ("out: x\nengine: {power: -1}\n", [], "Engine.power is -1.0; it must be above 0"),
        ("out: x\n", ["--engine.powr", "1"], "no field --engine.powr (did you mean --engine.power?)"),
        ("out: x\n", ["--power", "1"], "no field --power (did you mean --engine.power?)"),
        ("out: x\n", ["--engine.power"], "--engine.power has no value (it is number)"),
        ("out: x\n", ["engine"], "'engine' follows no field"),
        ("out: x\n", ["--old", "perhaps"], "old is 'perhaps'; it must be true | false"),
        ("out: x\n" + "k" * 900 + ": 1\n", [], "no key 'kkkk"),
    ],
)
def test_every_fault_is_one_line_that_names_it(tmp_path: Path, text: str, flags: list[str], message: str):
    with pytest.raises(ConfigError) as caught:
        read_settings(Car, write(tmp_path, text), flags)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_a_file_that_cannot_be_read_or_never_ends(tmp_path: Path):
    with pytest.raises(InputError, match="is not there"):
        read_settings(Car, tmp_path / "none.yaml")
    with pytest.raises(InputError, match="device"):
        read_settings(Car, "/dev/zero")
    bomb = "a0: &a0 [1, 1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    with pytest.raises(InputError, match="holds more than"):
        read_settings(Car, write(tmp_path, bomb))


def test_plain_values_go_in_and_out(tmp_path: Path):
    engine = Engine(2.0, "gas", (1.0, 2.0))
    engine.to_json(tmp_path / "engine.json")
    assert Engine.from_json(tmp_path / "engine.json") == engine
    assert Car.from_dict({"out": "x", "engine": engine.to_dict()}).engine == engine
    with pytest.raises(ConfigError, match=r"Car\.engine has no key 'pwr' \(did you mean power\?\)"):
        Car.from_dict({"out": "x", "engine": {"pwr": 1}})
    with pytest.raises(ConfigError, match="out"):
        Car.from_dict({})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"engine": {"power": "two"}}, "Car.engine.power is 'two'; it must be number"),
        ({"engine": {"power": True}}, "Car.engine.power is 'True'; it must be number"),
        ({"engine": {"fuel": "oil"}}, "Car.engine.fuel is 'oil'; it must be gas | none"),
        ({"engine": {"gears": [1, "top"]}}, "Car.engine.gears is .* it must be .number, …."),
        ({"engine": {"gears": 3}}, "Car.engine.gears is '3'; it must be"),
        ({"owner": 3}, "Car.owner is '3'; it must be text | null"),
        ({"old": 1}, "Car.old is '1'; it must be true | false"),
        ({"old": None}, "Car.old is 'None'; it must be true | false"),
    ],
)
def test_a_plain_value_of_another_type_is_named(values, message: str):
    with pytest.raises(ConfigError, match=message.replace("|", r"\|")):
        Car.from_dict({"out": "x", **values})
    taken = Car.from_dict({"out": "x", "owner": None, "old": True, "engine": {"power": 2, "gears": [1, 2.5]}})
    assert (taken.owner, taken.old, taken.engine.gears) == (None, True, (1, 2.5))
    with pytest.raises(ConfigError, match=r"Seat\.width is '40\.5'; it must be integer"):
        Seat.from_dict({"name": "left", "width": 40.5})


def test_the_fields_are_listed_with_what_they_mean():
    assert list(listing(Car))[:4] == [
        ("out", "path", "Where it stands."),
        ("engine.power", "number = 1.0", "In watts"),
        ("engine.fuel", "gas | none = none", "What it burns."),
        ("engine.gears", "[number, …] = []", "From low to high, each above the one before."),
    ]


@dataclass(frozen=True)
class Bus(Settings):
    """A bus: its engine is not the usual one."""

    engine: Engine = field(default_factory=lambda: Engine(power=90.0, gears=(1.0, 2.5)))
    seat: Seat = field(default_factory=lambda: Seat("all"))
    spare: Car | None = None
    old: bool = True


def test_the_defaults_listed_are_those_that_are_taken(tmp_path: Path):
    listed = {name: what.partition(" = ")[2] for name, what, _ in listing(Bus)}
    assert listed == {
        "engine.power": "90.0",
        "engine.fuel": "none",
        "engine.gears": "[1.0, 2.5]",
        "seat.name": "all",
        "seat.width": "40",
        "spare": "null",
        "old": "true",
    }
    path = tmp_path / "bus.yaml"
    path.write_text("engine: {fuel: gas}\n", encoding="utf-8")
    assert read_settings(Bus, path) == Bus(Engine(90.0, "gas", (1.0, 2.5)))


@pytest.mark.parametrize("tool", ["absa", "bcsd", "kg"])
def test_the_defaults_listed_of_a_training_are_its_own(tool: str):
    kind = import_module(f"weft.{tool}.learn.setup").Setup
    given: Any = next(each for each in fields(kind) if each.name == "train")
    train = given.default_factory()
    listed = {name: what.partition(" = ")[2] for name, what, _ in listing(kind)}
    assert listed["train.learning_rate"] == str(train.learning_rate)
    assert listed["train.metric"] == train.metric
    assert listed["train.patience"] == ("null" if train.patience is None else str(train.patience))
