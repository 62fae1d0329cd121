"""Ctrl-C and the end of a machine's lease as a polite request: the loop finishes its step, saves, stops."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class StopRequest:
    """Whether a signal has asked to stop."""

    asked: bool = False


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Note SIGINT and SIGTERM instead of dying of them; the second one acts as it always does.

    Outside the main thread, where Python allows no handlers, the request is never set.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def give_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(_number: int, _frame: FrameType | None) -> None:
        request.asked = True
        give_back()

    for number in before:
        signal.signal(number, note)
    try:
        yield request
    finally:
        give_back()
