"""The pages in a browser that really clicks: every task done, by mouse and by keyboard, nothing asked of others."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.conftest import FILES, Service

BROWSER = os.environ.get("WEFT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
A, B = FILES / "gcc-O2-x86_64.so", FILES / "clang-O2-x86_64.so"
PATIENCE = 120_000


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


class Look:
    """A page, what its console said, and what it asked of whom."""

    def __init__(self, browser, service: Service, width: int = 1440, scheme: str = "light") -> None:
        self.url = service.url
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.said: list[str] = []
        self.outside: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", self._asked)

    def _asked(self, request) -> None:
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.outside.append(request.url)

    def open(self, place: str):
        self.page.goto(f"{self.url}/#/{place}")
        return self.page

    def done(self) -> None:
        """Nothing was said, nobody else was asked, nothing is wider than the window."""
        assert self.said == []
        assert self.outside == []
        wide = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        self.context.close()


@pytest.fixture(params=[(1440, "light"), (360, "dark")], ids=["wide", "narrow"])
def look(request, browser, service: Service) -> Look:
    return Look(browser, service, *request.param)


def test_two_files_are_matched_and_a_pair_opens(look: Look, tmp_path: Path):
    page = look.open("binaries")
    page.set_input_files("#file-a", A)
    page.set_input_files("#file-b", B)
    page.get_by_role("button", name="Match the two files").click()
    rows = page.locator("tbody tr")
    page.wait_for_selector("tbody tr")
    count = rows.count()
    assert count > 10
    page.fill("#q", "checked")
    assert rows.count() < count
    assert "q=checked" in page.url
    page.reload()
    page.wait_for_selector("tbody tr")
    assert rows.count() < count, "the address keeps the filter and the job"
    page.get_by_role("button", name="Score").click()
    assert page.locator("th[aria-sort]").inner_text().startswith("Score")
    page.locator("tbody button").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".code .head")
    assert page.locator(".flow").count() == 2
    with page.expect_download() as taken:
        page.get_by_role("button", name="CSV", exact=True).click()
    taken.value.save_as(tmp_path / "m.csv")
    assert len((tmp_path / "m.csv").read_text().splitlines()) == count + 1
    look.done()


def test_one_file_is_searched_for_in_the_index(look: Look):
    page = look.open("binaries")
    page.set_input_files("#file-a", FILES / "gcc-O1-x86_64.so")
    page.get_by_role("button", name="Search the index for its functions").click()
    page.wait_for_selector("tbody tr")
    assert page.locator("main li").first.inner_text().startswith("gcc-O1-x86_64.so: ")
    look.done()


def test_an_entity_is_found_walked_from_and_read_about_by_keyboard(look: Look):
    page = look.open("graph")
    page.fill("#entity", "Ad")
    page.wait_for_selector(".options button")
    page.keyboard.press("Tab")
    page.locator(".options button").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".facts li")
    assert page.locator("body").get_attribute("data-drawn") == "3 2"
    page.get_by_role("button", name="the sentences of knows").first.press("Enter")
    assert page.locator("blockquote").first.inner_text() == "Ada knows Bo."
    page.get_by_role("button", name="Facts of Bo").press("Enter")
    page.wait_for_selector("body[data-drawn='4 3']")
    assert "entity=Bo" in page.url
    look.done()


def test_sparql_is_completed_and_asked(look: Look, tmp_path: Path):
    page, held = look.page, []
    page.route("**/v1/kg/sparql?*", lambda route: held.append(route))
    with page.expect_request("**/v1/kg/sparql?*"):
        look.open("graph")
    page.wait_for_selector(".CodeMirror")
    page.locator(".CodeMirror").click()
    page.keyboard.press("Control+A")
    page.keyboard.type("SELECT ?who WHERE { ?who r:kno")
    page.keyboard.press("Control+Space")
    held.pop().continue_()  # the names of the store come late: the completion waits for them
    page.wait_for_selector(".CodeMirror-hint")
    page.keyboard.press("Enter")
    page.keyboard.type(" ?whom } ORDER BY ?who")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("section td")
    assert page.locator("section td").all_inner_texts() == ["Ada", "Bo"]
    with page.expect_download() as taken:
        page.locator("section").get_by_role("button", name="CSV", exact=True).click()
    taken.value.save_as(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines()[0] == "who"
    look.done()


def test_texts_are_asked_and_an_answer_explained(look: Look, tmp_path: Path):
    page = look.open("texts")
    page.fill("#texts", "The food was great, the service slow.\nGood food.")
    page.fill("#aspects", "food, service")
    page.press("#aspects", "Enter")
    page.wait_for_selector(".opinion")
    assert page.locator(".opinion").count() == 4
    assert page.locator(".bars svg").count() == 2
    page.locator(".opinion").first.press("Enter")
    page.wait_for_selector(".words span")
    with page.expect_download() as taken:
        page.get_by_role("button", name="CSV", exact=True).click()
    taken.value.save_as(tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text().startswith("text,target,aspect,polarity,none,positive")
    look.done()


def test_a_table_is_asked(look: Look, tmp_path: Path):
    table = tmp_path / "t.csv"
    table.write_text("text\nThe food was great.\n")
    page = look.open("texts")
    page.set_input_files("#table", table)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_selector(".opinion")
    assert page.locator(".opinion").count() == 3
    look.done()
