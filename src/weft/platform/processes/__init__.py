"""Work in processes: ``bounded`` for a list of files, ``crew`` for a service, ``cluster`` on Ray's nodes."""

from weft.platform.processes.bounded import (
    Limits,
    Outcome,
    answered,
    get_ready,
    run_bounded,
    run_here,
    run_loaded,
    told,
)

__all__ = ["Limits", "Outcome", "answered", "get_ready", "run_bounded", "run_here", "run_loaded", "told"]
