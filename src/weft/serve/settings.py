"""What a service is started with."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from ipaddress import ip_address
from math import inf
from pathlib import Path

from weft.errors import ConfigError
from weft.platform.ranges import at_least


@dataclass(frozen=True)
class Bounds:
    """How much one may ask for.

    Args:
        upload_bytes: Of one uploaded file.
        kept_bytes: Of all uploads of one owner together.
        body_bytes: Of any other request.
        rate: Requests a second of one client, on average; 0 is without bound.
        burst: Requests of one client at once, before ``rate`` counts.
        connections: At a time; more are told to come later.
        waiting_jobs: Of one owner, not begun or under way.
        job_seconds: Of one job.
        mebibytes: Of a worker process.
        keep_seconds: How long uploads and results stay.
        quick_seconds: Of a question that is answered at once, which takes a second: what takes so long hangs.
        query_seconds: Of a query in SPARQL, which is answered at once however much it asks for.
        patience: Seconds in which a client must send the head of a request, and between two pieces of its body.

    Raises:
        ConfigError: A bound that is not above 0, or has no end.
    """

    upload_bytes: int = 256 << 20
    kept_bytes: int = 4 << 30
    body_bytes: int = 1 << 20
    rate: float = 50.0
    burst: int = 200
    connections: int = 256
    waiting_jobs: int = 100
    job_seconds: float = 3600.0
    mebibytes: int = 8192
    keep_seconds: float = 24 * 3600.0
    quick_seconds: float = 60.0
    query_seconds: float = 10.0
    patience: float = 20.0

    def __post_init__(self) -> None:
        for name in ("upload_bytes", "kept_bytes", "body_bytes", "burst", "connections", "waiting_jobs"):
            at_least(1, **{name: getattr(self, name)})
        for name in ("job_seconds", "keep_seconds", "quick_seconds", "query_seconds", "patience"):
            if not 0 < getattr(self, name) < inf:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be above 0, and have an end")
        if not 0 <= self.rate < inf:
            raise ConfigError(f"rate is {self.rate}; it must be at least 0, and have an end")


@dataclass(frozen=True)
class Settings:
    """What is served, where, and to whom.

    Args:
        data: Where uploads, jobs and results are kept.
        index: An index of functions; searching is refused where None.
        store: A store of facts; asking it is refused where None.
        absa: The model that answers about texts.
        host: The address to listen at.
        port: The port; 0 takes a free one.
        token_file: Who may; everyone on this machine where None.
        names: Further names that a proxy calls the service by.
        workers: Processes for questions to the index, and as many for jobs.
        bounds: How much one may ask for.

    Raises:
        ConfigError: An address that others reach, and no tokens; a port that is none.
    """

    data: Path
    index: Path | None = None
    store: Path | None = None
    absa: str = "absa-any"
    host: str = "127.0.0.1"
    port: int = 8000
    token_file: Path | None = None
    names: tuple[str, ...] = ()
    workers: int = 1
    bounds: Bounds = field(default_factory=Bounds)

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ConfigError(f"port is {self.port}; it must be in 0..65535")
        at_least(1, workers=self.workers)
        if self.token_file is None and not is_loopback(self.host):
            raise ConfigError(
                f"{self.host} can be reached from other machines, and no token file says who may ask",
                hint="--token-file FILE (weft serve --new-token NAME makes one), or --host 127.0.0.1",
            )
        if self.token_file is None and self.names:
            raise ConfigError(
                "a proxy lets others in, and no token file says who may ask", hint="--token-file FILE"
            )


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def data_folder() -> Path:
    """Where a service keeps its state unless told otherwise."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "weft" / "serve"
