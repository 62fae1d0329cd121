"""How far the questions about a table are answered: with a total where the table is a file."""

import functools
import io
import os
import re
import threading

import pytest
import rich.console

from weft.cli.main import main


@pytest.fixture
def terminal(monkeypatch):
    """The error stream as a terminal that keeps what it shows."""
    shown = io.StringIO()
    console = functools.partial(rich.console.Console, file=shown, force_terminal=True, width=200)
    monkeypatch.setattr("rich.console.Console", lambda **_: console())
    return shown


def questions(shown):
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue())
    return re.findall(r"[\d,]+(?: of [\d,]+)? questions", text)


def command(path, trained, *more):
    asked = ["--aspect", "price", "--aspect", "safety", "--target", "LOCATION1", "--model", str(trained)]
    return main(["absa", "predict", str(path), *asked, "--device", "cpu", "--input-format", "csv", *more])


TABLE = "text\n" + "".join(f"LOCATION1 is cheap {number}\n" for number in range(5))


def test_a_file_has_a_total(trained, tmp_path, terminal, capfd):
    path = tmp_path / "table.csv"
    path.write_text(TABLE, encoding="utf-8")
    assert command(path, trained) == 0
    assert questions(terminal)[0] == "0 of 10 questions"
    assert questions(terminal)[-1] == "10 of 10 questions"
    # They are in the file that they were sent to, and not on the terminal.
    assert capfd.readouterr().out.count("\n") == 10
    assert "cheap" not in terminal.getvalue()
    terminal.truncate(0)
    assert command(path, trained, "--quiet") == 0
    assert questions(terminal) == []


def test_the_fields_of_a_form_are_counted_each(trained, tmp_path, terminal):
    path = tmp_path / "table.csv"
    path.write_text("liked,not\ncheap,dear\nquiet,\n", encoding="utf-8")
    assert command(path, trained, "--pros", "liked", "--cons", "not") == 0
    assert questions(terminal)[-1] == "6 of 6 questions"


def test_a_pipe_is_read_once(trained, tmp_path, terminal):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    writer = threading.Thread(
        target=path.write_text, args=(TABLE,), kwargs={"encoding": "utf-8"}, daemon=True
    )
    writer.start()
    assert command(path, trained) == 0
    assert questions(terminal)[-1] == "10 questions"
