"""Workers that stay: answers, news, limits, deaths, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from weft.errors import InputError, Interrupted, LimitError, WeftError
from weft.platform.processes import Limits
from weft.platform.processes.crew import Crew, Tell

ROOM = 4096


def work(item: Any, tell: Tell) -> Any:
    """What the tests have done."""
    kind, value = item
    if kind == "sleep":
        time.sleep(value)
    elif kind == "count":
        for number in range(value):
            tell(number)
    elif kind == "fail":
        raise InputError("bad", where=value)
    elif kind == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "child":
        child = subprocess.Popen(["sleep", "60"])
        tell(child.pid)
        time.sleep(60)
    elif kind == "memory":
        return len(bytearray(value))
    return os.getpid()


def echo(item: Any, tell: Tell) -> Any:
    """Tells an item, and gives it back."""
    tell(item)
    return item


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_one_worker_answers_again_and_again_and_tells_how_far_it_is():
    crew = Crew(work, 1, Limits(60, ROOM))
    news: list[int] = []
    first = crew.run(("count", 3), news.append)
    assert news == [0, 1, 2]
    with pytest.raises(InputError, match="here: bad"):
        crew.run(("fail", "here"))
    assert crew.run(("count", 0)) == first
    crew.close()
    assert not alive(first)
    with pytest.raises(Interrupted):
        crew.run(("count", 0))


def test_one_item_may_take_longer_than_others():
    crew = Crew(work, 1, Limits(0.001, ROOM))
    assert crew.run(("sleep", 0.2), seconds=240)
    with pytest.raises(LimitError, match=r"took more than 0\.001 s"):
        crew.run(("sleep", 0.2))
    crew.close()


def test_an_item_that_was_left_is_not_the_answer_of_the_next_one():
    crew = Crew(echo, 1, Limits(60, ROOM))

    def fall_over(news: Any) -> None:
        raise RuntimeError("the news cannot be kept")

    with pytest.raises(RuntimeError):
        crew.run("first", fall_over)
    assert crew.run("second") == "second"
    crew.close()


def test_workers_take_what_the_system_gives_where_it_is_less_than_the_limit():
    script = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n"
        "from tests.platform.test_crew import Crew, Limits, echo\n"
        "if __name__ == '__main__':\n"
        "    for mebibytes in (8192, None):\n"
        "        crew = Crew(echo, 1, Limits(60, mebibytes))\n"
        "        print(crew.run('here'))\n"
        "        crew.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["here", "here"], done.stderr


def test_a_worker_that_dies_or_breaks_a_limit_is_replaced():
    crew = Crew(work, 1, Limits(120, ROOM))
    first = crew.run(("count", 0))
    with pytest.raises(InputError, match=r"died \(SIGKILL\)"):
        crew.run(("die", 0))
    with pytest.raises(LimitError, match="needs more than 4096 MiB"):
        crew.run(("memory", 8 << 30))
    assert crew.run(("count", 0)) != first
    crew.close()
    short = Crew(work, 1, Limits(1, ROOM))
    with pytest.raises(LimitError, match="took more than 1 s"):
        short.run(("sleep", 60))
    short.close()


def test_what_is_not_wanted_any_more_ends_with_all_that_it_started():
    crew = Crew(work, 1, Limits(60, ROOM))
    children: list[int] = []
    with pytest.raises(Interrupted):
        crew.run(("child", 0), children.append, lambda: not children)
    for _ in range(100):
        if not alive(children[0]):
            break
        time.sleep(0.05)
    assert not alive(children[0])
    crew.close()


def test_two_workers_work_side_by_side():
    crew = Crew(work, 2, Limits(60, ROOM))
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(crew.run(("sleep", 0.3)))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 2
    crew.close()


def test_who_waits_when_a_crew_closes_is_told_that_it_was_stopped():
    crew = Crew(work, 2, Limits(240, ROOM))
    begun = threading.Barrier(3)
    told: list[WeftError] = []

    def wait_for(item: Any) -> None:
        try:
            crew.run(item, lambda news: begun.wait(240))
        except WeftError as error:
            told.append(error)

    threads = [threading.Thread(target=wait_for, args=(("child", 0),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    begun.wait(240)
    members = list(crew._members)
    crew.close()
    for thread in threads:
        thread.join(240)
    assert [type(error) for error in told] == [Interrupted] * 2, told
    assert [member.connection.closed for member in members] == [True] * 2
    with pytest.raises(Interrupted):
        crew.run(("count", 0))


def test_a_worker_that_nobody_waits_for_is_ended_with_its_pipes():
    crew = Crew(work, 2, Limits(240, ROOM))
    pid = crew.run(("count", 0))
    (member,) = crew._members
    crew.close()
    assert not alive(pid)
    assert (member.connection.closed, member._lifeline.closed) == (True, True)
    assert crew._members == set()
