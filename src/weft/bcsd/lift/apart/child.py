"""The lifting process: takes functions on a socket, answers with their features. Whatever kills it kills only it.

    python -m weft.bcsd.lift.apart.child DESCRIPTOR MEBIBYTES

A message begins with one letter: ``F`` the facts of a file, ``C`` a function of it whose features are
wanted, ``O`` one whose graph of operations is, ``G`` one of which all is wanted that it computes. An answer is ``+``
and that, or ``-`` and why there is none.
"""

from __future__ import annotations

import gc
import resource
import signal
import sys
from multiprocessing.connection import Connection

from weft.bcsd.lift.apart.wire import (
    READY,
    pack_computation,
    pack_features,
    pack_graph,
    unpack_code,
    unpack_surroundings,
)
from weft.bcsd.lift.code import Surroundings
from weft.bcsd.lift.pcode import PcodeLifter
from weft.errors import WeftError


def serve(connection: Connection) -> None:
    """Answer until the other side is gone."""
    lifter = PcodeLifter()
    around: Surroundings | None = None
    connection.send_bytes(READY)
    while True:
        try:
            message = connection.recv_bytes()
        except (EOFError, OSError):
            return
        if message[:1] == b"F":
            around = unpack_surroundings(message[1:])
            continue
        if around is None:
            return
        try:
            code = unpack_code(message[1:])
            if message[:1] == b"G":
                answer = b"+" + pack_computation(lifter.compute(code, around))
            elif message[:1] == b"O":
                answer = b"+" + pack_graph(lifter.lift(code, around, graph=True))
            else:
                answer = b"+" + pack_features(lifter.lift(code, around).features)
        except (WeftError, RecursionError, MemoryError) as error:
            answer = b"-" + (str(error) or type(error).__name__).encode()
        try:
            connection.send_bytes(answer)
        except BrokenPipeError:
            return


def main(arguments: list[str]) -> None:
    """Set the limits, then serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    asked = int(arguments[1]) << 20
    space = asked if most == resource.RLIM_INFINITY else min(asked, most)
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Lifting makes many small tuples and hardly any cycles.
    gc.set_threshold(200_000, 50, 100)
    serve(Connection(int(arguments[0])))


if __name__ == "__main__":
    main(sys.argv[1:])
