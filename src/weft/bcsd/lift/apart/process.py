"""The lifting process seen from outside: one for each process that lifts, kept for the next file."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

from weft.bcsd.lift.apart.wire import READY
from weft.errors import LimitError

#: Seconds that a process may take to begin.
_BEGIN = 120.0
#: How much longer than its processor time a function may take by the clock.
_PATIENCE = 30.0
_ROOT = Path(__file__).parents[4]


class LiftProcess:
    """A running process of :mod:`weft.bcsd.lift.apart.child`.

    Args:
        mebibytes: Its address space.

    Attributes:
        owner: Whose file it was last told of.
        alive: Whether it can be asked.

    Raises:
        LimitError: It does not begin.
    """

    def __init__(self, mebibytes: int) -> None:
        ours, theirs = socket.socketpair()
        # -P: nothing is imported from the folder that the run was started in, which may hold what is looked at.
        command = [sys.executable, "-P", "-m", "weft.bcsd.lift.apart.child"]
        paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
        self._process = subprocess.Popen(
            [*command, str(theirs.fileno()), str(mebibytes)],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )
        theirs.close()
        self._connection = Connection(ours.detach())
        self._parent = os.getpid()
        self._mebibytes = mebibytes
        self.owner: object = None
        self.alive = True
        try:
            ready = self._connection.poll(_BEGIN) and self._connection.recv_bytes() == READY
        except (EOFError, OSError):
            ready = False
        if not ready:
            self.stop()
            raise LimitError("the lifting process does not begin", hint="more memory, or --lifter none")

    def tell(self, message: bytes) -> None:
        """Send what has no answer; a process that died tells so when it is asked."""
        try:
            self._connection.send_bytes(message)
        except OSError:
            self.stop()

    def ask(self, message: bytes, seconds: float) -> bytes | None:
        """The answer to a message; None where the process died of it or took too long, and is gone.

        Args:
            message: What is asked.
            seconds: Of the processor: what is lifted must not depend on what else the machine does.
        """
        begun, left = self._busy(), seconds
        latest = time.monotonic() + _PATIENCE * seconds
        try:
            self._connection.send_bytes(message)
            while left > 0 and time.monotonic() < latest:
                # It cannot use up what is left in less time than that.
                if self._connection.poll(left):
                    return self._connection.recv_bytes()
                left = seconds - (self._busy() - begun)
        except (EOFError, OSError):
            pass  # It died: what it was asked is what killed it.
        self.stop()
        return None

    def _busy(self) -> float:
        """Seconds of the processor that the process has used; of the clock where the system does not tell."""
        try:
            with open(f"/proc/{self._process.pid}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            return time.monotonic()

    def fits(self, mebibytes: int) -> bool:
        """Whether it can go on being used here."""
        return self.alive and self._parent == os.getpid() and self._mebibytes == mebibytes

    def stop(self) -> None:
        """End it."""
        if self.alive and self._parent == os.getpid():
            self._connection.close()
            self._process.kill()
            self._process.wait()
        self.alive = False


_running: LiftProcess | None = None


def lift_process(mebibytes: int) -> LiftProcess:
    """The process of this process, started where there is none.

    Raises:
        LimitError: It does not begin.
    """
    global _running
    if _running is None or not _running.fits(mebibytes):
        if _running is not None:
            _running.stop()
        _running = LiftProcess(mebibytes)
    return _running


@atexit.register
def _stop() -> None:
    if _running is not None:
        _running.stop()
