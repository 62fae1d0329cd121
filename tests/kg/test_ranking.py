"""The second look at candidates: features, probabilities, the fit, the file."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from weft.errors import CheckpointError
from weft.kg.languages.python import LANGUAGE
from weft.kg.languages.unit import Clue, End, Open
from weft.kg.model.ranking import FILE, Ranking, candidates, features, fit
from weft.platform.models import find_model

ASKED = Open(
    End("m.f.origin", "parameter"),
    "has_type",
    "origin",
    0,
    6,
    clues=(Clue("given", "Origin", 0.75), Clue("given", "str", 0.25), Clue("fits", "Proxy", 1.0)),
    used=("host",),
    fitting=("Origin", "Proxy"),
)
NAMES = features(LANGUAGE)


def rows() -> dict[str, dict[str, float]]:
    found, values = candidates(ASKED, [("str", 0.5), ("Origin", 0.2)], frozenset(["Origin"]), LANGUAGE, len)
    return {name: dict(zip(NAMES, row, strict=True)) for name, row in zip(found, values, strict=True)}


def test_features_of_what_was_spelled_and_of_what_clues_name() -> None:
    found = rows()
    assert list(found) == ["str", "Origin", "Proxy"]
    text, origin, proxy = found.values()
    assert text["log-probability"] == pytest.approx(math.log(0.5))
    assert origin["behind the first"] == pytest.approx(math.log(0.2 / 0.5))
    assert [item["first"] for item in found.values()] == [1, 0, 0]
    assert [item["not spelled"] for item in found.values()] == [0, 0, 1]
    assert proxy["log-probability"] == pytest.approx(math.log(0.2) - 1)
    assert (origin["given names it"], text["given names it"], proxy["given names it"]) == (0.75, 0.25, 0)
    assert (proxy["given names another"], origin["given names another"]) == (1, 0)
    assert (proxy["fits names it"], origin["fits names another"], origin["documented names another"]) == (
        1,
        1,
        0,
    )
    # A string has no host; the two classes have all that is read.
    assert (text["builtin that lacks a member"], text["lacks members of others"]) == (1, 1)
    assert (origin["has all members"], proxy["has all members"]) == (1, 1)
    assert (origin["known in the file"], proxy["known in the file"]) == (1, 0)


def test_probabilities_leave_room_for_none_of_them() -> None:
    ranking = Ranking(("a", "b"), {"r": (1.0, -1.0, math.log(2))})
    found = ranking("r", ["x", "y"], [[0.0, 0.0], [math.log(3), 0.0]])
    assert found == [("y", pytest.approx(3 / 6)), ("x", pytest.approx(1 / 6))]


def test_the_fit_finds_what_tells() -> None:
    """Where the second feature is right and the first is noise, the second decides."""
    items = []
    for number in range(60):
        right = number % 2
        table = [[float(number % 3), float(place == right)] for place in range(2)]
        items.append((table, None if number % 10 == 9 else right))
    weights = fit(items, [60] * 60)
    ranking = Ranking(("noise", "sign"), {"r": weights})
    assert weights[1] > 5 * abs(weights[0])
    assert [ranking("r", ["0", "1"], table)[0][0] for table, _ in items] == [str(n % 2) for n in range(60)]
    assert weights == fit(items, [60] * 60)


def test_a_large_package_does_not_outvote_the_others() -> None:
    large = [([[1.0, 0.0], [0.0, 1.0]], 0)] * 90
    small = [([[1.0, 0.0], [0.0, 1.0]], 1)] * 20
    even = fit([*large, *small], [1] * 110, decay=0.1)
    weighed = fit([*large, *small], [90] * 90 + [2] * 20, decay=0.1)
    assert even[0] > even[1]
    assert weighed[0] < weighed[1]


def test_the_file(tmp_path: Path) -> None:
    assert Ranking.load(tmp_path, LANGUAGE) is None
    values = tuple(number / 8 for number in range(len(NAMES) + 1))
    Ranking(NAMES, {"has_type": values}).save(tmp_path)
    assert Ranking.load(tmp_path, LANGUAGE) == Ranking(NAMES, {"has_type": values})
    record = json.loads((tmp_path / FILE).read_text())
    for broken in (
        {**record, "features": ["a"]},
        {**record, "weights": {"has_type": [1.0]}},
        {**record, "weights": {"has_type": [math.inf] * len(values)}},
        {"weights": {}},
        [],
    ):
        (tmp_path / FILE).write_text(json.dumps(broken))
        with pytest.raises(CheckpointError, match=FILE):
            Ranking.load(tmp_path, LANGUAGE)


def test_the_shipped_model_has_one() -> None:
    found = Ranking.load(find_model("kg", "kg-python-small"), LANGUAGE)
    assert found is not None
    assert set(found.weights) == {"has_type", "returns"}
