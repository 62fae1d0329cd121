"""How sure hits are: fitted on validation packages of which nine of ten functions are not in the index."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.bcsd.presence.features import AGREEING, ALONE, COMPANY, CONTEST, Lead, company, contest
from weft.errors import CheckpointError, ConfigError, InputError
from weft.platform.confidence import Logistic
from weft.platform.files import write_json
from weft.platform.models import shipped_models
from weft.platform.reading import read_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE_NAME = "search.json"
#: Counts up where features say something else: 2 since ``company`` is a share and no number.
_SCHEMA = 2
#: From so many functions of a file on, each is also seen among the others.
TOGETHER = 10
_ANEW = "`weft bcsd calibrate --search` makes it anew"
_SHIPPED = "bcsd-small"


@dataclass(frozen=True)
class Fitted:
    """Logistic models of whether the best hit is right, and of whether the function is in the index at all.

        p_right = σ(c_0 + Σ_f c_f · x_f)        p_here = max(p_right, σ(c'_0 + Σ_f c'_f · x_f))

    Args:
        alone_right: Over :data:`weft.bcsd.presence.features.ALONE`, for a function that is asked for by itself.
        alone_here: The same.
        contested: Over these, :data:`~weft.bcsd.presence.features.CONTEST` and
            :data:`~weft.bcsd.presence.features.AGREEING`: what the company is counted by.
        together_right: Over these and :data:`~weft.bcsd.presence.features.COMPANY`, for the functions of a file.
        together_here: The same.

    Raises:
        ConfigError: A number of coefficients that does not fit.
    """

    alone_right: Logistic
    alone_here: Logistic
    contested: Logistic
    together_right: Logistic
    together_here: Logistic

    def __post_init__(self) -> None:
        widths = {
            "alone": len(ALONE),
            "contested": len(ALONE + CONTEST + AGREEING),
            "together": len(ALONE + CONTEST + AGREEING + COMPANY),
        }
        for name, fitted in asdict(self).items():
            expected = widths[name.split("_")[0]]
            found = len(fitted["coefficients"])
            if found != expected:
                raise ConfigError(f"{name} has {found} coefficients; it must have {expected}")

    def __call__(self, leads: list[Lead]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of each lead of one file: how sure the hit is right, and how sure the function is there at all."""
        alone = stacked(leads)
        if len(leads) < TOGETHER:
            right, here = self.alone_right(alone), self.alone_here(alone)
        else:
            contested = among(leads)
            together = np.hstack([contested, company(leads, self.contested(contested))])
            right, here = self.together_right(together), self.together_here(together)
        return right, np.maximum(right, here)


@dataclass(frozen=True)
class Presence:
    """How sure searches with one model are.

    Args:
        lifted: Where it is known what functions compute.
        tokens: Where it is not: an index that was made without a lifter.
        model: Version of the model that it was fitted with.
    """

    lifted: Fitted
    tokens: Fitted
    model: str = ""


def stacked(leads: list[Lead]) -> NDArray[np.float64]:
    """Their features, ``(leads, len(ALONE))``."""
    return np.stack([one.features for one in leads]) if leads else np.zeros((0, len(ALONE)))


def among(leads: list[Lead]) -> NDArray[np.float64]:
    """The features of the leads of one file, seen among each other, without their company."""
    agreed = np.stack([one.agreeing for one in leads]) if leads else np.zeros((0, len(AGREEING)))
    return np.hstack([stacked(leads), contest(leads), agreed])


def save_presence(presence: Presence, path: str | Path) -> None:
    """Write it as JSON.

    Raises:
        OutputError: The file cannot be written.
    """
    parts = {
        name: {field: Logistic(**values).to_json() for field, values in asdict(part).items()}
        for name, part in (("lifted", presence.lifted), ("tokens", presence.tokens))
    }
    write_json(path, {"schema": _SCHEMA, "model": presence.model, **parts})


def load_presence(path: str | Path) -> Presence:
    """Read it.

    Raises:
        CheckpointError: The file is missing or holds something else.
    """
    try:
        record: Any = read_json(path)
        if record["schema"] != _SCHEMA:
            raise InputError(
                f"fitted by another version of weft: its schema is {record['schema']!r}, not {_SCHEMA}"
            )
        parts = {
            name: Fitted(
                **{field: Logistic.from_json(value, str(path)) for field, value in record[name].items()}
            )
            for name in ("lifted", "tokens")
        }
        return Presence(**parts, model=str(record["model"]))
    except InputError as error:
        raise CheckpointError(error.what, where=str(path), hint=_ANEW) from error
    except (LookupError, TypeError, AttributeError, ConfigError) as error:
        raise CheckpointError(f"no confidences of searches: {error}", where=str(path), hint=_ANEW) from error


def presence_of(directory: Path, version: str) -> tuple[Presence, bool]:
    """The confidences stored beside a model, and whether they were fitted with that very model.

    Without any, those of a shipped model order hits but are no probabilities.

    Args:
        directory: Of the model.
        version: Of the model.

    Raises:
        CheckpointError: There is a file, and it holds something else.
    """
    place = directory / FILE_NAME
    if not place.exists():
        return shipped_presence(), False
    presence = load_presence(place)
    return presence, presence.model == version


@lru_cache(maxsize=1)
def shipped_presence() -> Presence:
    """What was fitted with the model that comes with the package."""
    return load_presence(shipped_models("bcsd")[_SHIPPED] / FILE_NAME)
