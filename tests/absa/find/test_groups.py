"""Groups of texts compared: counts, chances beside scipy, what is told and what is not."""

import math

import numpy as np
import pytest
from scipy import stats

from weft.absa.find.groups import MOST, Difference, Groups, _adjusted, _chance
from weft.absa.read.fields import Fields
from weft.absa.read.separated import TableRow
from weft.errors import ConfigError, InputError


def groups_of(**texts):
    """Of each group, how many texts judge "wait" in each way."""
    groups = Groups("branch")
    for name, counts in texts.items():
        for polarity, count in counts.items():
            for _ in range(count):
                groups.add(name, [] if polarity == "none" else [("wait", polarity)])
    return groups


def test_chances_are_fisher_s():
    random = np.random.default_rng(0)
    for _ in range(200):
        of, others = (int(n) for n in random.integers(1, 60, 2))
        own, other = int(random.integers(0, of + 1)), int(random.integers(0, others + 1))
        logs = np.array([math.lgamma(n + 1) for n in range(of + others + 1)])
        expected = stats.fisher_exact([[own, of - own], [other, others - other]]).pvalue
        assert _chance(logs, (own, of), (other, others)) == pytest.approx(expected, rel=1e-6)


def test_chances_are_adjusted_after_benjamini_and_hochberg():
    chances = np.random.default_rng(1).random(50) ** 3
    assert _adjusted(list(chances)) == pytest.approx(list(stats.false_discovery_control(chances)))
    assert _adjusted([]) == []


def test_a_group_that_is_blamed_more_stands_out():
    groups = groups_of(
        Leeds={"negative": 20, "none": 30},
        York={"negative": 4, "none": 46},
        Hull={"positive": 1, "negative": 2, "none": 47},
    )
    (one,) = groups.differences()
    assert (one.aspect, one.group, one.measure, one.more) == ("wait", "Leeds", "blamed", True)
    assert (one.here, one.elsewhere) == ((20, 50), (6, 100))
    assert one.p < 0.001
    assert one.cells() == ["wait", "Leeds", "blamed more", "20 of 50 (0.40)", "6 of 100 (0.06)", "<.001"]


def test_what_differs_from_one_group_alone_is_told_of_that_group():
    groups = groups_of(
        Leeds={"negative": 45, "none": 5}, York={"negative": 5, "none": 45}, Hull={"negative": 4, "none": 46}
    )
    assert [(one.group, one.more) for one in groups.differences()] == [("Leeds", True)]
    groups = groups_of(
        Leeds={"negative": 45, "none": 5}, York={"negative": 25, "none": 25}, Hull={"negative": 2, "none": 48}
    )
    assert {one.group for one in groups.differences()} == {"Leeds", "Hull"}


def test_few_texts_and_equal_groups_say_nothing():
    assert groups_of(Leeds={"negative": 4}, York={"none": 40}).differences() == []
    same = {"negative": 20, "positive": 5, "none": 25}
    assert groups_of(Leeds=same, York=same, Hull=same).differences() == []
    assert Groups("branch").differences() == []
    assert groups_of(Leeds={"negative": 20}).differences() == []


def test_of_two_groups_one_is_told():
    groups = groups_of(b={"negative": 20, "none": 10}, a={"positive": 20, "none": 10})
    assert [(one.group, one.measure, one.more) for one in groups.differences()] == [
        ("a", "blamed", False),
        ("a", "praised", True),
    ]


def test_a_text_is_one_voice_and_both_praises_and_blames():
    groups = Groups("branch")
    groups.add(
        "Leeds", [("wait", "negative"), ("wait", "negative"), ("wait", "positive"), ("tea", "conflict")]
    )
    groups.add(None, [("wait", "negative")])
    wait, tea = groups.of("wait")["Leeds"], groups.of("tea")["Leeds"]
    assert (wait.judging, wait.praised, wait.blamed, wait.polarities.total()) == (1, 1, 1, 3)
    assert (tea.judging, tea.praised, tea.blamed) == (1, 1, 1)
    assert (groups.without, groups.texts.total()) == (1, 1)
    assert groups.of("soup") == {}
    told = groups.as_json()
    assert told["texts_without"] == 1
    assert told["groups"][0]["aspects"] == {"tea": {"conflict": 1}, "wait": {"negative": 2, "positive": 1}}


def test_differences_see_what_was_added_since():
    groups = groups_of(a={"negative": 3, "none": 3}, b={"none": 6})
    assert groups.differences() == []
    for _ in range(30):
        groups.add("a", [("wait", "negative")])
        groups.add("b", [])
    assert groups.differences()


def test_groups_are_in_order():
    names = ("10", "9", "2025-01", "nan", "b", "-1.5")
    assert groups_of(**{name: {"none": 1} for name in names}).names == [
        "-1.5",
        "9",
        "10",
        "2025-01",
        "b",
        "nan",
    ]


def test_a_column_with_too_many_values_is_refused():
    groups = Groups("id")
    for number in range(MOST):
        groups.add(str(number), [])
    groups.add("7", [])
    with pytest.raises(InputError, match=f"'id' has more than {MOST} different values"):
        groups.add("new", [])


def test_what_a_cell_says_of_its_group():
    fields = Fields(by="stars")
    cells = [5, 5.0, 4.5, " two \n stars ", "", None, float("nan"), True]
    rows = [TableRow(n, {"text": "x", "stars": cell}) for n, cell in enumerate(cells, 1)]
    assert [row.group for row in fields.of(rows)] == ["5", "5", "4.5", "two stars", "", "", "", "True"]
    assert fields.columns == ["text", "stars"]
    assert [row.group for row in Fields().of(rows[:1])] == [None]
    both = Fields(None, pros=("good",), by="stars")
    told = both.of([TableRow(1, {"good": "lift", "stars": 2})])
    assert [(row.column, row.side, row.group) for row in told] == [("good", "pros", "2")]
    with pytest.raises(ConfigError, match="'good' holds texts"):
        Fields(None, pros=("good",), by="good")


def test_shares_of_nothing():
    one = Difference("a", "b", "praised", (0, 5), (3, 50), 0.04)
    assert not one.more
    assert one.as_json() == {
        "aspect": "a",
        "group": "b",
        "measure": "praised",
        "here": [0, 5],
        "elsewhere": [3, 50],
        "p": 0.04,
    }
