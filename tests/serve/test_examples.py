"""What the documents print is what works: the program in Python, the lines of curl, the image and the unit."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.serve.conftest import FILES, SOURCE, Service
from weft.cli.serve import parser

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "examples" / "serve"


def blocks(language: str, heading: str) -> list[str]:
    """The blocks of a language below a heading of the page, down to the next heading."""
    found: list[str] = []
    below = fenced = False
    for line in PAGE.splitlines(keepends=True):
        if line.startswith("```"):
            fenced = not fenced
            if fenced and below and line[3:].strip() == language:
                found.append("")
        elif not fenced and line.startswith("#"):
            below = line.strip() == heading
        elif fenced and below and found:
            found[-1] += line
    return found


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with the files that the examples name."""
    shutil.copy(FILES / "gcc-O1-x86_64.so", tmp_path / "old.so")
    shutil.copy(FILES / "gcc-O2-x86_64.so", tmp_path / "new.so")
    (tmp_path / "shape.py").write_text(SOURCE)
    (tmp_path / "reviews.csv").write_text("text\nThe food was great.\nThe waiter was rude.\n")
    return tmp_path


def test_the_program_in_python_runs_as_printed(libraries: Service, here: Path):
    printed = blocks("python", "### From Python")
    assert len(printed) == 1
    address = "http://127.0.0.1:8000"
    assert printed[0].count(address) == 1
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", printed[0].replace(address, libraries.url)],
        capture_output=True,
        text=True,
        cwd=here,
        check=False,
        timeout=500,
    )
    assert (done.returncode, done.stderr) == (0, "")
    told = done.stdout.splitlines()
    assert any(line.startswith("inspect ") for line in told), "the libraries of a file"
    assert any("changed" in line for line in told), "what changed"
    assert any(line.startswith("width has_type int ") for line in told), "facts of a file"
    assert any("waiter" in line for line in told), "what texts judge"


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="no curl or jq here")
def test_the_lines_of_curl_run_as_printed(service: Service, here: Path):
    printed = [
        line[2:] for line in blocks("console", "## Asking it")[0].splitlines() if line.startswith("$ ")
    ]
    assert len(printed) >= 6
    place = urlsplit(service.url).netloc
    script = "set -eo pipefail\ncurl() { command curl --noproxy '*' -f \"$@\"; }\n" + "\n".join(
        f"{line}\necho; echo ==" for line in printed
    )
    done = subprocess.run(
        # The store of the tests knows Ada, who knows Bo.
        [
            "bash",
            "-c",
            script.replace("localhost:8000", place).replace("=Desk", "=Ada").replace("r:calls", "r:knows"),
        ],
        capture_output=True,
        text=True,
        cwd=here,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    answers = done.stdout.split("==\n")
    assert len(answers) == len(printed) + 1
    assert all(
        answer.strip() for line, answer in zip(printed, answers, strict=False) if line.startswith("curl")
    )


def test_the_image_is_built_by_lines_that_can_work():
    """Nothing here builds an image: what its lines name is looked up."""
    lines = [
        line.split(None, 1)
        for line in (EXAMPLES / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
        if line and not line.startswith("#")
    ]
    said = {}
    for name, value in lines:
        said.setdefault(name, []).append(value)
    assert set(said) == {
        "FROM",
        "RUN",
        "COPY",
        "USER",
        "VOLUME",
        "EXPOSE",
        "HEALTHCHECK",
        "ENTRYPOINT",
        "CMD",
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    python = re.fullmatch(r"python:(\d+)\.(\d+)-slim", said["FROM"][0])
    assert python is not None
    least = re.search(r">=\s*3\.(\d+)", project["requires-python"])
    assert least is not None
    assert int(python[2]) >= int(least[1])
    install = next(line for line in said["RUN"] if "pip install" in line)
    wanted = re.search(r'"/src\[(\w+)\]"', install)
    assert wanted is not None
    assert wanted[1] in project["optional-dependencies"]
    entry = [*json.loads(said["ENTRYPOINT"][0]), *json.loads(said["CMD"][0])]
    assert entry[:2] == ["weft", "serve"]
    arguments = parser().parse_args(entry[2:])
    assert (str(arguments.data), arguments.host, arguments.port) == ("/data/state", "0.0.0.0", 8000)
    assert said["EXPOSE"] == ["8000"]
    health = said["HEALTHCHECK"][0].split("CMD ", 1)[1]
    compile(json.loads(health)[2], "HEALTHCHECK", "exec")


def test_the_health_of_the_image_is_what_it_says(service: Service):
    health = re.search(r"CMD \[(.*)\]", (EXAMPLES / "Dockerfile").read_text().split("HEALTHCHECK")[1])
    assert health is not None
    name, option, code = json.loads(f"[{health[1]}]")
    assert (name, option) == ("python", "-c")
    told = {**os.environ, "no_proxy": "*"}
    for address, expected in ((service.url, 0), ("http://127.0.0.1:9", 1)):
        done = subprocess.run(
            [sys.executable, "-c", code.replace("http://127.0.0.1:8000", address)],
            env=told,
            capture_output=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == expected


def test_the_unit_starts_what_there_is(tmp_path: Path):
    text = (EXAMPLES / "weft.service").read_text()
    (line,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    program, *given = shlex.split(line)
    assert (Path(program).name, given[0]) == ("weft", "serve")
    arguments = parser().parse_args(given[1:])
    assert str(arguments.data).startswith("/var/lib/weft")
    if (verify := shutil.which("systemd-analyze")) is None:
        pytest.skip("no systemd here")
    unit = tmp_path / "weft.service"
    unit.write_text(text.replace(program, sys.executable))
    done = subprocess.run(
        [verify, "verify", str(unit)], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr.strip()) == (0, "")
