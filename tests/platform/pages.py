"""What every page must keep to, and a browser to open it with where one is installed."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

#: Ends elements, attributes and lines; reverses text; is half of a character.
EVIL = "</script></style><script>alert(1)</script><!--<img src=x onerror=alert(2)>\"'`&\x1b[31m\u202e\u2028\udc80{}"
_LOADING = {"src", "href", "srcset", "data", "action", "background", "poster", "formaction", "xlink:href"}
_ELEMENTS = {"link", "img", "iframe", "object", "embed", "form", "base", "image", "use", "video", "audio"}


class Page(HTMLParser):
    """Tags, attributes and the texts of a page, after it was found to keep to the rules of all pages.

    It loads nothing, has no inline handler or style, and its policy allows its own style sheet and scripts alone.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: dict[str, list[str]] = {}
        self._into = ""
        self.feed(text)
        self.close()
        named = [name for _, name, _ in self.attributes]
        assert not _LOADING & set(named)
        assert not _ELEMENTS & set(self.tags)
        assert not [name for name in named if name.startswith("on") or name == "style"]
        assert all(self.tags.count(tag) == 1 for tag in ("html", "head", "body", "style"))
        policy = next(value for _, name, value in self.attributes if name == "content" and "src" in value)
        rules = dict(rule.partition(" ")[::2] for rule in policy.split("; "))
        self.scripts = self.texts.get("script", [])
        assert rules == {
            "default-src": "'none'",
            "style-src": allowed(self.texts["style"][0]),
            "script-src": " ".join(map(allowed, self.scripts)) or "'none'",
            "base-uri": "'none'",
            "form-action": "'none'",
        }
        assert text.index("Content-Security-Policy") < text.index("<title>")
        text.encode()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self._into = "data" if ("type", "application/json") in attrs else tag
        if tag in ("script", "style"):
            self.texts.setdefault(self._into, []).append("")

    def handle_data(self, data: str) -> None:
        if self._into in ("script", "style", "data"):
            self.texts[self._into][-1] += data
        else:
            self.texts.setdefault("", []).append(data)

    def handle_endtag(self, tag: str) -> None:
        self._into = ""


def allowed(text: str) -> str:
    """How the policy names a style sheet or script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def with_script(page: str, script: str) -> str:
    """A page with one script more, which its policy allows."""
    return page.replace("script-src ", f"script-src {allowed(script)} ", 1).replace(
        "</body>", f"<script>{script}</script></body>"
    )


def browse(page: Path, fragment: str, folder: Path, *options: str) -> str:
    """The page as a browser has it after its scripts ran; its policy forbade nothing that the page tried."""
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next((found for name in names if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip("no Chromium here (apt-get install chromium)")
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--enable-logging=stderr",
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=10000",
        "--window-size=1200,800",
        *options,
        "--dump-dom",
        f"{page.as_uri()}{fragment}",
    ]
    environment = {**os.environ, "HOME": str(folder)}
    done = subprocess.run(command, capture_output=True, timeout=250, check=True, env=environment)
    said = done.stderr.decode("utf-8", "replace")
    forbidden = re.findall(r".*(?:Content Security Policy|Uncaught).*", said)
    assert not forbidden, forbidden
    return done.stdout.decode("utf-8")
