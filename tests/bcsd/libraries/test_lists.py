"""The packages that the benchmark of `identify` names: what the index holds, and what stays out of it."""

from pathlib import Path

from weft.bcsd.libraries.apt import parse_request

LISTS = Path(__file__).parents[3] / "benchmarks" / "bcsd_identify"


def test_held_and_absent_packages_are_named_with_their_versions_and_apart():
    held, absent = (
        [parse_request(line) for line in (LISTS / name).read_text().splitlines()]
        for name in ("held.txt", "absent.txt")
    )
    assert all(request.version for request in (*held, *absent))
    assert len({request.text for request in held}) == len(held)
    names = {request.name for request in held}
    assert len(names) >= 150
    assert len(held) > len(names), "several versions of some"
    assert not names & {request.name for request in absent}
    assert len(absent) >= 50
