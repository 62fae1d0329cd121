"""A browser that really clicks: what its console said, and what it asked of whom, is looked at after each test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.serve.conftest import Service

BROWSER = os.environ.get("WEFT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 240_000


@pytest.fixture(scope="package")
def browser() -> Iterator[object]:
    """Chromium, for these tests alone: while it is open, an event loop runs in this thread."""
    playwright = pytest.importorskip("playwright.sync_api")
    if BROWSER is None:
        pytest.skip("no Chromium here")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield opened
        opened.close()


class Look:
    """A page, what its console said, and what it asked of whom."""

    def __init__(self, browser, service: Service, width: int = 1440, scheme: str = "light") -> None:
        self.url, self.width, self.scheme = service.url, width, scheme
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
        """One of the pages."""
        self.page.goto(f"{self.url}/#/{place}")
        return self.page

    def again(self) -> None:
        """The same address anew."""
        self.page.reload()

    def taken(self, way: str) -> str:
        """What the button of an export hands out."""
        with self.page.expect_download() as taken:
            self.page.get_by_role("button", name=way, exact=True).first.click()
        with open(taken.value.path(), encoding="utf-8", newline="") as file:
            return file.read()

    def accessible(self) -> None:
        """Axe finds nothing in what is shown now: names, roles, contrast, order, what keys reach."""
        from axe_playwright_python.sync_playwright import Axe

        # A link that is followed may still be fading from one colour to another.
        self.page.wait_for_function("document.getAnimations().length === 0")
        told = Axe().run(self.page)
        found = [
            f"{one['impact']} {one['id']}: {one['help']}\n    "
            + "\n    ".join(node["html"][:160] for node in one["nodes"][:4])
            for one in told.response["violations"]
        ]
        assert not found, "\n".join(found)

    def done(self) -> None:
        """Axe finds nothing, nothing was said, nobody else was asked, nothing is wider than the window."""
        self.accessible()
        assert self.said == []
        assert self.outside == []
        wide = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        self.context.close()


@pytest.fixture(params=[(1440, "light"), (360, "dark")], ids=["wide", "narrow"])
def look(request, browser, service: Service) -> Look:
    """A wide light window, and a narrow dark one."""
    return Look(browser, service, *request.param)
