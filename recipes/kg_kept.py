"""What a training on a data set of `weft kg build` is taken up with: the same options, data set and models."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from kept import identity

from weft.platform.models import find_model
from weft.train.identity import digests

_MODELS = ("mentions_of", "mentions_on", "relations_of", "begin")
"""Options that name a model of kg, shipped or a folder."""


def identity_on(arguments: argparse.Namespace, without: Sequence[str] = (), **own: Any) -> dict[str, str]:
    """For :meth:`weft.train.course.Course.run`; the data set ``--data`` counts by the record of its build.

    Args:
        arguments: Of the recipe.
        without: Options that this training does not depend on.
        own: What it has beside the options: its row, its control, what was drawn for it.
    """
    named = {name: getattr(arguments, name, None) for name in _MODELS if name not in without}
    models = {name: find_model("kg", value) for name, value in named.items() if value is not None}
    known = {"data": arguments.data / "build.json", **models, **own}
    return identity(arguments, without=("data", *without)) | digests(known, arguments.out)
