"""How long a command takes, by the clock and of a processor: ``python -m weft.bench.bcsd.counted COMMAND…``.

Processes that outlive who made them (a server of forks does) become children of this one, which waits for them: their
time is counted as well.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import time

#: Of ``prctl``: orphans among the descendants of this process become its children. Source: prctl(2), Linux.
_ADOPT = 36


def main(command: list[str]) -> int:
    """Run it, and print ``{"wall", "busy"}``, seconds."""
    if ctypes.CDLL(None).prctl(_ADOPT, 1, 0, 0, 0) != 0:
        raise OSError("orphans cannot be adopted")
    begun = time.perf_counter()
    code = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    ).returncode
    wall = time.perf_counter() - begun
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({"wall": wall, "busy": used.ru_utime + used.ru_stime}))  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
