"""What the confidence of a search is computed from, each against a loop that reads like its definition."""

import numpy as np
import pytest

from weft.bcsd.presence.features import (
    AGREEING,
    ALONE,
    LEAST,
    MOST,
    PRESENT,
    Asked,
    Lead,
    Pool,
    Terms,
    agreeing,
    company,
    contest,
    crowd,
    crowded,
    lead,
)


def pool(digests, names=None):
    names = names or [f"sub_{number}" for number in range(len(digests))]
    columns = (list(digests), list(names), [16] * len(digests), [8] * len(digests), ["arm"] * len(digests))
    return Pool(*(np.array(column, dtype=object) for column in columns))


def found(pool_, terms, best=0):
    values = lead(Asked(64, 4, "arm"), pool_, Terms(*map(np.array, terms)), best)
    return dict(zip(ALONE, values.tolist(), strict=True))


TERMS = (
    [0.9, 0.8, 0.95, 0.1],
    [0.7, 0.6, 0.5, 0.1],
    [0.9, 0.2, 0.1, 0.1],
    [0.8, 0.75, 0.6, 0.1],
)


def test_margins_are_to_other_code():
    values = found(pool("abcd"), TERMS)
    assert values["likeness"] == pytest.approx(0.8)
    assert values["lead"] == pytest.approx(0.05)
    assert values["above"] == pytest.approx(0.8)
    assert values["lead_learned"] == pytest.approx(-0.05)
    assert values["lead_tokens"] == pytest.approx(0.1)
    assert values["lead_operations"] == MOST
    assert (values["size"], values["blocks"], values["disagreement"], values["processor"]) == (4, 1, 1, 1)
    assert found(pool("aacd"), TERMS)["lead"] == pytest.approx(0.2)


def test_a_symbol_of_two_versions_is_no_rival_of_itself():
    assert found(pool("abcd", ["inflate", "inflate", "x", "y"]), TERMS)["lead"] == pytest.approx(0.2)
    # Names that a disassembler gave say nothing.
    assert found(pool("abcd", ["sub_1", "sub_1", "x", "y"]), TERMS)["lead"] == pytest.approx(0.05)
    assert found(pool("aaaa"), TERMS)["lead"] == MOST


def test_the_crowd_leaves_out_the_same_code():
    scores = np.array([[1.0, 0.2], [0.5, 0.3], [0.4, 0.9], [0.3, 0.1]])
    references, digests = np.array(list("abcd"), object), np.array(list("ac"), object)
    np.testing.assert_allclose(
        crowd(scores, references, digests), [(0.5 + 0.4 + 0.3) / 3, (0.2 + 0.3 + 0.1) / 3]
    )
    assert crowd(scores[:2], references[:2], digests).tolist() == [0, 0]


def test_a_place_is_told_afterwards():
    features = np.arange(len(ALONE), dtype=float)
    one = Lead(features, 7, 0.8, "code", "lib", np.arange(3), np.ones(3), np.zeros(2))
    told = crowded(one, 0.5)
    assert dict(zip(ALONE, (features - told.features).tolist(), strict=True)) == {
        name: 0.5 if name == "above" else 0.0 for name in ALONE
    }
    assert told.row == 7


def test_agreement_is_beside_that_of_other_code():
    agreement = np.array([0.5, 0.9, 0.7, 0.1], np.float32)
    assert agreeing(pool("abcd"), agreement, 0).tolist() == pytest.approx([0.5, -0.4])
    assert agreeing(pool("aacd"), agreement, 0).tolist() == pytest.approx([0.5, -0.2])
    assert agreeing(pool("aaaa"), agreement, 0).tolist() == [0.5, 0.5]


def leads(rows, scores, codes, libraries=None):
    """Leads whose candidates are `rows`; the first is the best."""
    none = np.zeros(len(AGREEING))
    return [
        Lead(np.zeros(len(ALONE)), row[0], score[0], code, library, np.array(row), np.array(score), none)
        for row, score, code, library in zip(rows, scores, codes, libraries or codes, strict=True)
    ]


def test_contest_equals_a_loop():
    random = np.random.default_rng(3)
    rows = [random.permutation(9)[:5] for _ in range(12)]
    scores = [np.sort(random.random(5))[::-1] for _ in range(12)]
    codes = [str(random.integers(6)) for _ in range(12)]
    some = leads(rows, scores, codes)
    for one, (lost, won) in zip(some, contest(some).tolist(), strict=True):
        rivals = [
            other.scores[place]
            for other in some
            for place, row in enumerate(other.rows)
            if row == one.row and other.code != one.code
        ]
        margin = min(max(one.plain - max(rivals), LEAST), MOST) if rivals else MOST
        assert (lost, won) == (min(margin, 0), max(margin, 0))


def test_two_functions_that_want_one_hit():
    near, far = contest(leads([[7, 1], [7, 2]], [[0.9, 0.1], [0.7, 0.1]], "ab")).tolist()
    assert near == pytest.approx([0, 0.2])
    assert far == pytest.approx([-0.2, 0])


def test_company_is_the_share_of_the_others_of_the_library():
    some = leads([[0], [1], [2], [3]], [[1.0]] * 4, "abcd", ["z", "z", "z", "y"])
    right = np.array([0.9, 0.5, 0.1, 0.7])
    shares = np.array([1.1 / 7, 1.5 / 7, 1.9 / 7, PRESENT])
    np.testing.assert_allclose(company(some, right)[:, 0], np.log(shares / (1 - shares)))
    # Ten times as many functions, of which the same share is right, say the same.
    many = leads([[n] for n in range(400)], [[1.0]] * 400, "a" * 400, ["z"] * 400)
    few = company(many[:40], np.tile([1.0, 0.0, 0.0, 0.0], 10))
    assert company(many, np.tile([1.0, 0.0, 0.0, 0.0], 100))[:, 0] == pytest.approx(few[0, 0], abs=0.3)
    # Three alone lift one another little, be they ever so sure.
    assert company(some[:3], np.array([0.9, 0.9, 0.9]))[:, 0].max() < 0
    assert company([], np.zeros(0)).shape == (0, 1)
    assert contest([]).shape == (0, 2)
