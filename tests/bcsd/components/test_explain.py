"""From hits to libraries and versions."""

import math

import pytest

from weft.bcsd.components.explain import (
    AHEAD,
    CHANCE,
    LEAST,
    RATE,
    Claim,
    claims,
    doubts,
    explain,
    version_shares,
)
from weft.bcsd.use.search.answers import Answer, Hit
from weft.bcsd.use.search.doubts import doubts as of_hits


def hit(library, version, confidence, score=0.5, flags=(), package=None):
    package = package or (f"{library}-dev" if library else None)
    return Hit(1, score, confidence, "f", 0, 9, 9, "/x", "x86_64", list(flags), library, version, package)


def answer(*hits):
    return Answer("sub_1", 16, 99, 9, [], 0.1, list(hits))


def test_copies_of_the_first_hit_speak_and_others_do_not():
    found = claims(
        [
            answer(hit("z", "1", 0.9, 0.4), hit("z", "2", 0.9, 0.3, ["same_tokens"]), hit("p", "1", 0.2)),
            answer(hit("p", "1", LEAST - 0.01)),
            answer(),
            answer(hit(None, None, 0.9)),
        ]
    )
    assert found == {"z": [Claim(0, 0.9, {"1": 0.4, "2": 1.0}, {"1": "z-dev", "2": "z-dev"})]}


def test_the_package_is_that_of_the_hits_of_the_likeliest_version():
    answers = [
        answer(hit("z", "1", 0.9, 0.9, package="z-tools"), hit("z", "2", 0.9, 0.2, package="z-old")),
        *[answer(hit("z", "1", 0.9, 0.9, package="zlib")) for _ in range(20)],
        answer(hit("z", "2", 0.9, 0.5, package="z-old")),
    ]
    (library,) = explain(claims(answers), {})
    assert library.versions[0][0] == "1"
    assert library.packages == ("zlib", "z-tools")


@pytest.mark.parametrize(
    ("name", "speaks"),
    [
        (
            "_ZNSt6vectorIiSaIiEE17_M_realloc_insertIJRKiEEEvN9__gnu_cxx17__normal_iteratorIPiS1_EEDpOT_",
            False,
        ),
        ("_ZNKSs4findEPKcmm", False),
        ("_ZSt4copyIPiS0_ET0_T_S2_S1_", False),
        ("_ZN9__gnu_cxx13new_allocatorIcED2Ev", False),
        ("_ZN7testing11ExpectationD1Ev", True),
        ("_ZN5gpiod9line_bulkC1ERKSt6vectorINS_4lineESaIS2_EE", True),
        ("_Z3addSt6vectorIiSaIiEE", True),
        ("Standard", True),
    ],
)
def test_what_the_standard_library_left_in_a_library_does_not_speak_for_it(name, speaks):
    found = claims([answer(hit("z", "1", 0.9)._replace(name=name))])
    assert bool(found) == speaks


def claim(function, sure, package="z-dev", **versions):
    found = {name[1:]: value for name, value in versions.items()}
    return Claim(function, sure, found, dict.fromkeys(found, package))


def test_a_library_must_say_more_than_chance():
    found = {"z": [claim(n, 0.9, v1=1.0) for n in range(9)], "p": [claim(20, 0.9, "p-dev", v1=1.0)]}
    (only,) = explain(found, {("z", "1"): 40})
    assert (only.name, only.functions, only.of, only.packages) == ("z", tuple(range(9)), 40, ("z-dev",))
    assert only.sure == pytest.approx(1 - math.exp(-RATE * (9 * 0.9 - CHANCE)))
    assert only.versions == (("1", 1.0),)
    assert (only.held, only.share) == (1, None)
    (more,) = explain({"z": found["z"]}, {("z", "1"): 40, ("z", "2"): 41, ("p", "3"): 9})
    assert (more.held, more.share) == (2, 1.0)


def test_what_one_library_explains_does_not_speak_for_its_copy_in_another():
    copied = [claim(n, 0.9, "p-dev", v1=1.0) for n in range(5)]
    own = [claim(n, 0.9, v1=1.0) for n in range(9)]
    assert [one.name for one in explain({"p": copied, "z": own}, {})] == ["z"]
    more = copied + [claim(n, 0.9, "p-dev", v1=1.0) for n in range(30, 39)]
    both = explain({"p": more, "z": own}, {})
    assert {one.name: one.functions for one in both} == {
        "p": (*range(5), *range(30, 39)),
        "z": tuple(range(5, 9)),
    }


def test_versions_are_as_likely_as_their_code_is_near():
    equal = version_shares([claim(0, 0.9, v1=1.0, v2=1.0)])
    assert equal == (("1", 0.5), ("2", 0.5))
    (first, share), (second, rest) = version_shares([claim(0, 1.0, v1=1.0, v2=1.0 - AHEAD)])
    assert (first, second) == ("1", "2")
    assert share / rest == pytest.approx(math.e)
    # A version that lacks the function is one step behind.
    (first, _), (second, rest) = version_shares([claim(0, 1.0, v1=0.7), claim(1, 1.0, v1=0.7, v2=0.7)])
    assert (first, rest) == ("1", pytest.approx(1 / (1 + math.e)))


def test_a_library_that_few_of_the_functions_near_to_it_speak_for_is_doubted():
    far, near = answer(hit("z", "1", 0.2)), answer(hit("z", "1", 0.9))
    thin = [*[far] * 70, *[near] * 5, *[answer(hit("p", "1", 0.9))] * 30, *[answer()] * 9]
    libraries = explain(claims(thin), {})
    assert {library.name for library in libraries} == {"z", "p"}
    (said,) = doubts(thin, libraries)
    assert said.startswith("z may be chance: of 75 functions that are nearest to it 5 are")
    assert doubts([*[far] * 40, *[near] * 5], libraries) == ()
    assert doubts([*[far] * 70, *[near] * 9], libraries) == ()


def test_hits_of_a_search_are_doubted_by_the_same_rule():
    far, near = answer(hit("z", "1", 0.2)), answer(hit("z", "1", 0.9))
    (said,) = of_hits([*[far] * 70, *[near] * 5, *[answer(hit("p", "1", 0.2))] * 90, answer()])
    assert said.startswith("what is found of z may be chance: of 75 functions that are nearest to it 5 are")
    assert of_hits([*[far] * 70, *[near] * 9]) == ()
    # Members of an archive are one library, where the index names none.
    members = [
        answer(hit(None, None, 0.9 if n < 2 else 0.1)._replace(binary=f"/l.a({n}.o)")) for n in range(60)
    ]
    (said,) = of_hits(members)
    assert said.startswith("what is found of /l.a may be chance: of 60 functions")
