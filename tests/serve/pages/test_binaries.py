"""The page of binaries: two files matched or compared, one searched for or taken apart; by clicks and by keyboard."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.serve.conftest import FILES, Service
from tests.serve.pages.conftest import Look

A, B = FILES / "gcc-O2-x86_64.so", FILES / "clang-O2-x86_64.so"


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of an export."""
    return list(csv.DictReader(io.StringIO(text)))


def test_two_files_are_matched_and_a_pair_opens(look: Look):
    page = look.open("binaries")
    page.wait_for_selector("#task-match:enabled, #task-search:enabled")
    look.accessible()
    page.set_input_files("#file-a", A)
    page.set_input_files("#file-b", B)
    page.get_by_role("button", name="Match the two files").click()
    page.wait_for_selector("[data-ready] tbody tr")
    rows = page.locator("tbody tr")
    count = rows.count()
    assert count > 10
    look.accessible()
    page.fill("#q", "checked")
    assert rows.count() < count
    assert "q=checked" in page.url
    look.again()
    page.wait_for_selector("[data-ready] tbody tr")
    assert rows.count() < count, "the address keeps the filter and the job"
    page.get_by_role("button", name="Score").click()
    assert page.locator("th[aria-sort]").inner_text().startswith("Score")
    page.locator("tbody button").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".code .head")
    assert page.locator(".flow").count() == 2
    assert len(rows_of(look.taken("CSV"))) == count
    look.done()


def test_two_versions_are_compared_and_a_change_opens_side_by_side(look: Look):
    page = look.open("binaries")
    page.set_input_files("#file-a", FILES / "gcc-O1-x86_64.so")
    page.set_input_files("#file-b", A)
    page.get_by_label("What changed from the first to the second").check()
    page.get_by_role("button", name="Show what changed").press("Enter")
    page.wait_for_selector("[data-ready] tbody tr")
    told = json.loads(look.taken("JSON"))
    changed = [row for row in told["functions"] if row["status"] == "changed"]
    assert told["functions"][: len(changed)] == changed, "changed ones come first"
    rows = page.locator(".grid tbody tr")
    assert rows.count() == len(changed)
    page.locator("#became").select_option("all")
    assert rows.count() == min(200, len(told["functions"]))
    assert "status=all" in page.url
    kind = next(iter(changed[0]["kinds"]))
    page.locator("#became").select_option("changed")
    page.locator("#kind").select_option(kind)
    assert rows.count() == sum(kind in row["kinds"] for row in changed)
    rows.first.get_by_role("button").press("Enter")
    page.wait_for_selector("section[data-shown] .versions tbody tr")
    lines = page.locator(".versions tbody tr")
    assert lines.count() == sum(1 + len(block["rows"]) for block in changed[0]["blocks"])
    heads = page.locator(".versions .head")
    assert heads.count() == len(changed[0]["blocks"])
    page.get_by_label("Only what differs").press("Space")
    assert "only=1" in page.url
    page.wait_for_function(
        "before => document.querySelectorAll('.versions tbody tr').length <= before", arg=lines.count()
    )
    few = lines.count()
    look.again()
    page.wait_for_selector("section[data-shown] .versions tbody tr")
    assert (lines.count(), page.locator("#kind").input_value()) == (few, kind), "the address keeps all of it"
    exported = rows_of(look.taken("CSV"))
    assert [row["status"] for row in exported] == [row["status"] for row in told["functions"]]
    page.get_by_role("button", name="Next change").press("Enter")
    assert f"pair={hex(changed[1]['old']['address'])}" in page.url
    look.done()


def test_one_file_is_searched_for_in_the_index(look: Look):
    page = look.open("binaries")
    page.set_input_files("#file-a", FILES / "gcc-O1-x86_64.so")
    page.get_by_role("button", name="Search the index for its functions").click()
    page.wait_for_selector("[data-ready] tbody tr")
    assert page.locator("[data-ready] li").first.inner_text().startswith("gcc-O1-x86_64.so: ")
    assert page.get_by_label("Which libraries are in it").is_disabled()
    assert rows_of(look.taken("CSV"))[0]["rank"] == "1"
    look.done()


@pytest.fixture(params=[(1440, "light"), (360, "dark")], ids=["wide", "narrow"])
def shelf(request, browser, libraries: Service) -> Look:
    """The pages of a service whose index names libraries."""
    return Look(browser, libraries, *request.param)


def test_one_file_is_taken_apart(shelf: Look):
    page = shelf.open("binaries")
    page.set_input_files("#file-a", A)
    page.get_by_role("button", name="Find its libraries").press("Enter")
    page.wait_for_selector("[data-ready] tbody tr")
    told = json.loads(shelf.taken("JSON"))
    assert [row["name"] for row in told["libraries"]] == ["inspect"]
    page.get_by_role("button", name="the functions of inspect").press("Enter")
    page.wait_for_selector("section[data-shown='inspect'] tbody tr")
    behind = page.locator("section[data-shown] tbody tr")
    assert behind.count() == len(told["libraries"][0]["functions"])
    page.fill("#lq", told["libraries"][0]["functions"][0]["name"])
    shelf.again()
    page.wait_for_selector("section[data-shown='inspect'] tbody tr")
    assert 0 < behind.count() < len(told["libraries"][0]["functions"]), "the address keeps it"
    exported = rows_of(shelf.taken("CSV"))
    assert len(exported) == told["functions"]
    page.get_by_role("button", name="What none explains").click()
    page.wait_for_selector("section[data-shown='-']")
    shelf.done()
