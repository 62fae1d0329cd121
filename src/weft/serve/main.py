"""The service as a process: one event loop, until it is told to stop."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
import sys

import uvicorn

from weft.bcsd.index.description import read_description
from weft.errors import OutputError
from weft.kg.storage.manifest import read_manifest
from weft.platform.models import find_model
from weft.serve.app import create_app
from weft.serve.guard.gate import App
from weft.serve.guard.protocol import patient_protocol
from weft.serve.settings import Bounds, Settings

#: Loaded once into the process that workers are forked from: each of them starts with it.
_SHARED = [f"weft.serve.tasks.{name}" for name in ("binaries", "graphs", "texts")]


def serve(settings: Settings) -> None:
    """Serve until a signal says stop.

    Raises:
        WeftError: It cannot start.
    """
    _check(settings)
    multiprocessing.set_forkserver_preload(_SHARED)
    desk, app = create_app(settings)
    listening = _listen(settings.host, settings.port)
    # What uvicorn would say beside the log, the log says.
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())
    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn stops at them, and then sends itself what it got: by then there is nothing left to stop.
        signal.signal(number, lambda *_: None)
    desk.start()
    try:
        _Server(configured(app, settings.bounds)).run(sockets=[listening])
    finally:
        desk.stop()


def configured(app: App, bounds: Bounds) -> uvicorn.Config:
    """How the service is spoken to."""
    return uvicorn.Config(
        app,
        http=patient_protocol(bounds.patience, bounds.connections),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=int(max(1, bounds.patience)),
        timeout_graceful_shutdown=5,
        proxy_headers=False,
    )


def _check(settings: Settings) -> None:
    """Whether what is to be served is there: who starts the service hears it, and not who asks."""
    if settings.index is not None:
        read_description(settings.index)
    if settings.store is not None:
        read_manifest(settings.store)
    find_model("absa", settings.absa)


class _Server(uvicorn.Server):
    """Says where it is once it can be asked."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            host, port = listening.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            print(f"weft serve: http://{shown}:{port}/", file=sys.stderr, flush=True)  # noqa: T201 - where it is


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        reason = error.strerror or str(error)
        raise OutputError(
            f"cannot listen: {reason}", where=f"{host}:{port}", hint="name another --port"
        ) from error
    return listening
