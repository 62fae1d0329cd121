"""What `weft serve` shows under load: latency, throughput, memory, kills, the time to the first page, schemathesis.

    python benchmarks/serve.py start search absa memory kills schemathesis [--quick]

Each starts a service of its own on a free port and asks it over HTTP. The index is synthetic: rows of committed
binaries, each again and again with its embedding turned at random, so that a search costs what it costs among as many
real functions. `--quick` asks a hundredth.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx
import numpy as np
import pyarrow as pa

from weft.cli.main import main as weft
from weft.platform.files import write_text

HERE = Path(__file__).resolve().parents[1]
FILES = HERE / "tests" / "bcsd" / "files"
A, B = FILES / "gcc-O2-x86_64.so", FILES / "clang-O2-x86_64.so"
ASPECTS = ["food", "service", "price", "ambience", "location", "drinks", "staff", "menu"]
TEXT = "The {} was great and fairly priced, but the service at table {} was slow and the music far too loud."


@contextmanager
def service(place: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start a service; its address and process."""
    command = [
        sys.executable,
        "-m",
        "weft",
        "serve",
        "--port",
        "0",
        "--rate",
        "0",
        "--data",
        str(place / "data"),
    ]
    with (place / "log").open("a") as log:
        process = subprocess.Popen([*command, *arguments], stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        first = process.stderr.readline()
        if not first.startswith("weft serve: http"):
            raise SystemExit(first + process.stderr.read())
        drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=log)
    try:
        yield first.split()[-1].rstrip("/"), process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(60)
        drain.wait(60)


class Client:
    """A connection with next to nothing on top of the sockets: the service is measured, and not who asks."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, method: str, path: str, body: dict[str, object] | None = None) -> int:
        """The status of the answer, once all of it has come."""
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n"
        self._writer.write(f"{head}Content-Type: application/json\r\n\r\n".encode() + content)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line[15:]) for line in answer.split(b"\r\n") if line.lower().startswith(b"content-length:")
        )
        await self._reader.readexactly(length)
        return int(answer[9:12])


Ask = Callable[[Client, int], Awaitable[int]]


async def load(url: str, clients: int, total: int, ask: Ask) -> tuple[list[float], int, float]:
    """Ask from several clients, each again when it was answered: seconds of each, failures, seconds in all."""
    seconds: list[float] = []
    failures = 0
    numbers = iter(range(total))
    place = urlsplit(url)

    async def client() -> None:
        nonlocal failures
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        opened = Client(reader, writer)
        for number in numbers:
            began = time.perf_counter()
            status = await ask(opened, number)
            seconds.append(time.perf_counter() - began)
            failures += status != 200
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return seconds, failures, time.perf_counter() - began


def told(name: str, value: float, unit: str, bound: str) -> None:
    """A line of the result."""
    print(f"{name:<56} {value:>10.3f} {unit:<10} {bound}", flush=True)


def sent(url: str, path: Path) -> str:
    """Upload a file."""
    answer = httpx.post(
        f"{url}/v1/uploads",
        params={"name": path.name},
        content=path.read_bytes(),
        timeout=300,
        trust_env=False,
    )
    return str(answer.json()["id"])


def done(url: str, path: str, body: dict[str, object]) -> httpx.Response:
    """Ask, and wait for the job if it is one."""
    answer = httpx.post(f"{url}{path}", json=body, timeout=300, trust_env=False)
    while answer.status_code == 202:
        time.sleep(0.5)
        place = answer.json()["id"]
        job = httpx.get(f"{url}/v1/jobs/{place}", timeout=300, trust_env=False).json()
        if job["state"] in ("done", "failed"):
            return httpx.get(f"{url}/v1/jobs/{place}/result", timeout=300, trust_env=False)
    return answer


def synthetic_index(place: Path, rows: int) -> Path:
    """An index of so many made-up functions."""
    from weft.bcsd.index.store import FunctionStore
    from weft.bcsd.use.embed_files import embedder_of

    index = place / "index"
    files = [str(path) for path in sorted(FILES.glob("gcc-O[013s]-x86_64.so"))]
    if weft(["bcsd", "index", "add", *files, "--index", str(index), "--quiet"]):
        raise SystemExit("no index")
    embedder = embedder_of("bcsd-small", "auto")
    store = FunctionStore.open_or_create(index, embedder.dimension, embedder.version)
    base = store.take(store.sample(10_000, 0)).drop_columns(["_rowid", "ordinal", "draw"])
    draw = np.random.default_rng(0)
    while rows > 0:
        count = min(rows, 20_000)
        some = base.take(pa.array(draw.integers(0, base.num_rows, count)))
        old = np.stack(some["embedding"].to_numpy())
        new = old + draw.normal(0, 0.1, old.shape).astype(np.float32)
        new /= np.linalg.norm(new, axis=1, keepdims=True)
        flat = pa.FixedSizeListArray.from_arrays(pa.array(new.reshape(-1), pa.float32()), new.shape[1])
        marks = [f"{rows - number:064x}" for number in range(count)]
        for name, column in (
            ("embedding", flat),
            ("digest", pa.array(marks)),
            ("token_digest", pa.array(marks)),
            ("binary", pa.array([f"/synthetic/{rows // 20_000}.so"] * count)),
        ):
            at = some.schema.get_field_index(name)
            some = some.set_column(at, some.schema.field(at), column.cast(some.schema.field(at).type))
        store.replace(some)
        rows -= count
    store.remove(files)
    store.tidy()
    return index


def search(place: Path, quick: bool) -> None:
    """One function of a file among 200,000, from 16 clients: 300 functions of 18 files, again and again."""
    index = synthetic_index(place, 200_000)
    total = 200 if quick else 10_000
    with service(place, "--index", str(index)) as (url, _):
        wanted: list[tuple[str, str]] = []
        for path in sorted(FILES.glob("*-x86_64.so"))[: 2 if quick else 18]:
            file = sent(url, path)
            found = done(url, "/v1/bcsd/search", {"file": file, "min_blocks": 1}).json()
            wanted += [(file, hex(query["address"])) for query in found["queries"]]

        def ask(client: Client, number: int) -> Awaitable[int]:
            file, function = wanted[number % len(wanted)]
            return client.ask("POST", "/v1/bcsd/search", {"file": file, "function": function})

        asyncio.run(load(url, 16, 64, ask))
        seconds, failures, whole = asyncio.run(load(url, 16, total, ask))
    told("functions that are asked for", len(wanted), "", "")
    told(f"search among {found['rows']:,}, 16 clients, p95", 1000 * percentile(seconds), "ms", "≤ 250")
    told("searches a second", total / whole, "", "")
    told(f"failures of {total:,}", failures, "", "0")


def absa(place: Path, quick: bool) -> None:
    """One text and eight aspects from 64 clients, beside a table of the command."""
    total = 256 if quick else 4096
    texts = [TEXT.format(number, number % 97) for number in range(2 * total)]
    asked = [word for aspect in ASPECTS for word in ("--aspect", aspect)]
    took = []
    for count in (total, 2 * total):
        write_text(place / "t.txt", "\n".join(texts[:count]) + "\n")
        began = time.perf_counter()
        command = [sys.executable, "-m", "weft", "absa", "predict", str(place / "t.txt"), *asked, "--quiet"]
        subprocess.run([*command, "-o", str(place / "o.jsonl")], check=True)
        took.append(time.perf_counter() - began)
    rate = total / (took[1] - took[0])
    with service(place) as (url, _):

        def ask(client: Client, number: int) -> Awaitable[int]:
            return client.ask("POST", "/v1/absa/predict", {"texts": [texts[number]], "aspects": ASPECTS})

        asyncio.run(load(url, 64, 128, ask))
        seconds, failures, all_of_it = asyncio.run(load(url, 64, total, ask))
    told("absa: the command", rate, "texts/s", "")
    told("absa: 64 clients over the command", total / all_of_it / rate, "", "≥ 0.8")
    told("absa: 64 clients, p95", percentile(seconds), "s", "≤ 1")
    told(f"failures of {total:,}", failures, "", "0")


def memory(place: Path, quick: bool) -> None:
    """Mixed requests: what all processes hold after 10,000 over what they held after 500."""
    index, store = place / "index", place / "store"
    weft(["bcsd", "index", "add", str(A), str(B), "--index", str(index), "--quiet"])
    weft(["kg", "extract", str(HERE / "src" / "weft" / "serve"), "-o", str(store), "--quiet"])
    with service(place, "--index", str(index), "--store", str(store)) as (url, process):
        file = sent(url, B)
        names = [query["name"] for query in done(url, "/v1/bcsd/search", {"file": file}).json()["queries"]]
        done(url, "/v1/bcsd/match", {"a": file, "b": file})
        done(url, "/v1/absa/explain", {"text": TEXT, "aspects": ["food"]})

        def ask(client: Client, number: int) -> Awaitable[int]:
            kind = number % 20
            if kind == 0:
                query = quote("SELECT * WHERE { ?s ?p ?o } LIMIT 5")
                return client.ask("GET", f"/v1/kg/sparql?query={query}")
            if kind < 5:
                return client.ask("GET", "/v1/kg/facts?entity=Desk")
            if kind < 8:
                return client.ask("GET", f"/v1/kg/entities?q=s{number % 50}")
            if kind < 13:
                function = names[number % len(names)]
                return client.ask("POST", "/v1/bcsd/search", {"file": file, "function": function})
            if kind < 15:
                return client.ask("GET", "/v1/jobs")
            body = {"texts": [TEXT.format(number, number % 97)], "aspects": ASPECTS[: 1 + number % 8]}
            return client.ask("POST", "/v1/absa/predict", body)

        _, failures, _ = asyncio.run(load(url, 8, 500, ask))
        before = held(process.pid)
        more = 500 if quick else 9_500
        _, others, _ = asyncio.run(load(url, 8, more, ask))
        after = held(process.pid)
    told("memory after 500 mixed requests", before / 2**20, "MiB", "")
    told(f"memory after {500 + more:,} over that", after / before, "", "≤ 1.1")
    told("failures", failures + others, "", "0")


def kills(place: Path, quick: bool) -> None:
    """Killed during jobs, again and again: no accepted job is lost, none has two results."""
    accepted: dict[str, str] = {}
    rounds = 3 if quick else 20
    draw = np.random.default_rng(0)
    for _ in range(rounds):
        with service(place) as (url, process):
            a, b = sent(url, A), sent(url, B)
            for path, body in (
                ("functions", {"file": a}),
                ("match", {"a": a, "b": b}),
                ("explain", {"a": a, "function_a": "checked", "b": b, "function_b": "checked"}),
            ):
                answer = httpx.post(f"{url}/v1/bcsd/{path}?wait=0", json=body, timeout=300, trust_env=False)
                accepted[answer.json()["id"]] = path
            time.sleep(float(draw.uniform(0, 8)))
            process.send_signal(signal.SIGKILL)
            process.wait()
    lost, results = 0, dict[str, set[str]]()
    with service(place) as (url, _):
        for name, kind in accepted.items():
            while True:
                job = httpx.get(f"{url}/v1/jobs/{name}", timeout=300, trust_env=False)
                if job.status_code != 200 or job.json()["state"] not in ("queued", "running"):
                    break
                time.sleep(0.3)
            if job.status_code != 200 or job.json()["state"] != "done":
                lost += 1
                continue
            result = httpx.get(f"{url}/v1/jobs/{name}/result", timeout=300, trust_env=False)
            results.setdefault(kind, set()).add(json.dumps(result.json(), sort_keys=True))
    told(f"killed {rounds} times: jobs lost of {len(accepted)}", lost, "", "0")
    told("different results of the same request", sum(len(found) - 1 for found in results.values()), "", "0")


def start(place: Path, quick: bool) -> None:
    """From the command to the first page with all it needs, and to the first answer about a text."""
    pages, answers = [], []
    for number in range(1 if quick else 5):
        (place / str(number)).mkdir()
        began = time.perf_counter()
        with service(place / str(number)) as (url, _):
            for path in ("/", "/app.js", "/base.css", "/v1/models"):
                httpx.get(url + path, timeout=60, trust_env=False).raise_for_status()
            pages.append(time.perf_counter() - began)
            done(url, "/v1/absa/predict", {"texts": ["good"], "aspects": ["food"]})
            answers.append(time.perf_counter() - began)
    told("first page usable after the start", statistics.median(pages), "s", "≤ 3")
    told("first answer about a text after the start", statistics.median(answers), "s", "")


def schemathesis(place: Path, quick: bool, seed: int | None = None) -> None:
    """All checks against the description; every finding is printed, with the request that made it."""
    tests = HERE / "tests" / "serve"
    with service(place) as (url, _):
        command = [
            sys.executable,
            "-m",
            "schemathesis.cli",
            "--config-file",
            str(tests / "schemathesis.toml"),
            "run",
        ]
        command += [
            f"{url}/v1/openapi.json",
            "--max-time",
            "60" if quick else "1800",
            "--max-examples",
            "1000",
            *([] if seed is None else ["--seed", str(seed)]),
        ]
        command += [
            "--output-truncate",
            "false",
            "--no-color",
            "--no-shrink",
            "--continue-on-failure",
            "--suppress-health-check",
            "all",
        ]
        hooks = {
            **os.environ,
            "SCHEMATHESIS_HOOKS": "schemathesis_hooks",
            "PYTHONPATH": f"{tests}:{HERE / 'src'}",
        }
        done = subprocess.run(command, cwd=place, env=hooks, check=False)
    told("schemathesis: exit code", done.returncode, "", "0")


def held(pid: int) -> int:
    """Proportional resident memory of a process and all below it, in bytes."""
    total, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) << 10
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except FileNotFoundError:
            continue
    return total


def percentile(values: Sequence[float]) -> float:
    """The 95th."""
    return float(np.percentile(values, 95))


BENCHES: dict[str, Callable[[Path, bool], None]] = {
    bench.__name__: bench for bench in (start, search, absa, memory, kills, schemathesis)
}


def run() -> None:
    """Run those that are named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", nargs="+", choices=BENCHES)
    parser.add_argument("--quick", action="store_true", help="a hundredth: a look, no claim")
    parser.add_argument("--seed", type=int, help="what schemathesis draws by, to have a run again")
    arguments = parser.parse_args()
    BENCHES["schemathesis"] = partial(schemathesis, seed=arguments.seed)
    for name in arguments.name:
        with tempfile.TemporaryDirectory(prefix="weft-bench-serve-") as place:
            BENCHES[name](Path(place), arguments.quick)


if __name__ == "__main__":
    run()
