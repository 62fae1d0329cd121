"""``weft serve``: the three tools and their pages at one address."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from weft.cli.options import Parser, at_least
from weft.errors import ConfigError, MissingExtraError

_MIB = 1 << 20


def parser() -> Parser:
    """The arguments of ``weft serve``."""
    result = Parser(
        "serve",
        "Serve the three tools and their pages over HTTP, with the answers of the commands; see docs/serve.md.",
    )
    result.add_argument("--index", type=Path, metavar="DIR", help="an index of functions to search (none)")
    result.add_argument("--store", type=Path, metavar="DIR", help="a store of facts to ask (none)")
    result.add_argument(
        "--absa", default="absa-any", metavar="NAME|DIR", help="the model of texts (absa-any)"
    )
    result.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (127.0.0.1)")
    result.add_argument("--port", type=int, default=8000, metavar="N", help="0 takes a free one (8000)")
    result.add_argument(
        "--token-file", type=Path, metavar="FILE", help="who may ask (programs of this machine)"
    )
    result.add_argument(
        "--new-token", metavar="NAME", help="add a token to the token file, print it, and end"
    )
    result.add_argument(
        "--scope", default="read", metavar="SCOPE,…", help="of the new token: read, write (read)"
    )
    result.add_argument(
        "--called",
        action="append",
        default=[],
        metavar="HOST",
        help="a name that a proxy calls it by; repeatable",
    )
    result.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="where uploads, jobs and results stay (~/.local/state/weft/serve)",
    )
    result.add_argument("--keep", type=float, default=24.0, metavar="H", help="hours that they stay (24)")
    result.add_argument("--processes", type=int, default=1, metavar="N", help="processes of each kind (1)")
    result.add_argument("--upload-limit", type=int, default=256, metavar="MIB", help="of one file (256)")
    result.add_argument(
        "--rate", type=float, default=50.0, metavar="N", help="requests a second of a client (50)"
    )
    result.add_argument(
        "--patience", type=float, default=20.0, metavar="S", help="seconds for a slow client (20)"
    )
    result.add_argument("--timeout", type=float, default=3600.0, metavar="S", help="seconds of a job (3600)")
    result.add_argument(
        "--query-timeout", type=float, default=10.0, metavar="S", help="seconds of a query in SPARQL (10)"
    )
    result.add_argument("--memory", type=int, default=8192, metavar="MIB", help="of a worker process (8192)")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft serve``."""
    arguments = parser().parse_args(argv)
    at_least(1, processes=arguments.processes, upload_limit=arguments.upload_limit)
    at_least(1024, memory=arguments.memory)
    for package in ("fastapi", "httptools", "prometheus_client", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "serve")
    from weft.serve.guard.tokens import new_token
    from weft.serve.settings import Bounds, Settings, data_folder

    if arguments.new_token is not None:
        if arguments.token_file is None:
            raise ConfigError("--new-token without --token-file", hint="--token-file FILE")
        print(new_token(arguments.token_file, arguments.new_token, tuple(arguments.scope.split(","))))
        return 0
    bounds = Bounds(
        upload_bytes=arguments.upload_limit * _MIB,
        kept_bytes=16 * arguments.upload_limit * _MIB,
        rate=arguments.rate,
        job_seconds=arguments.timeout,
        mebibytes=arguments.memory,
        keep_seconds=arguments.keep * 3600,
        patience=arguments.patience,
        query_seconds=arguments.query_timeout,
    )
    settings = Settings(
        data=arguments.data or data_folder(),
        index=arguments.index,
        store=arguments.store,
        absa=arguments.absa,
        host=arguments.host,
        port=arguments.port,
        token_file=arguments.token_file,
        names=tuple(arguments.called),
        workers=arguments.processes,
        bounds=bounds,
    )
    from weft.serve.main import serve

    serve(settings)
    return 0
