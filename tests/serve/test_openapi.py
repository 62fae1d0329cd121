"""The description is true: what it says is taken is taken, what it says is answered is answered, and nothing breaks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.serve.conftest import Service

EXAMPLES = 2


def test_every_address_is_described_with_its_refusals(client: httpx.Client):
    told = client.get("/v1/openapi.json").json()
    assert {
        "/v1/bcsd/functions",
        "/v1/bcsd/search",
        "/v1/bcsd/match",
        "/v1/bcsd/identify",
        "/v1/bcsd/explain",
        "/v1/bcsd/diff",
        "/v1/kg/entities",
        "/v1/kg/facts",
        "/v1/kg/extract",
        "/v1/kg/sparql",
        "/v1/absa/predict",
        "/v1/absa/explain",
        "/v1/absa/find",
        "/v1/models",
        "/healthz",
        "/metrics",
    } <= set(told["paths"])
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], path
            if path.startswith("/v1/"):
                assert operation["responses"]["401"]["content"] == {
                    "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
                }, (method, path)


@pytest.mark.slow
def test_schemathesis_finds_nothing(service: Service, tmp_path: Path):
    """A few examples of each address; `benchmarks/serve.py` gives them half an hour."""
    here = Path(__file__).parent
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(here / "schemathesis.toml")]
    command += ["run", f"{service.url}/v1/openapi.json"]
    command += [
        "--max-examples",
        str(EXAMPLES),
        "--generation-deterministic",
        "--no-color",
        "--max-time",
        "20",
    ]
    command += ["--request-timeout", "120", "--suppress-health-check", "all", "--phases", "examples,fuzzing"]
    hooks = {**os.environ, "SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": str(here)}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=hooks, check=False, timeout=280
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
