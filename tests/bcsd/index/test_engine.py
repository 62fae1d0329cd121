"""LanceDB is loaded without the client of a remote catalogue; who uses that client has it."""

import subprocess
import sys

import pytest

pytest.importorskip("lancedb")

LOADED = "sum(name.startswith('lance_namespace_urllib3_client.models') for name in sys.modules)"


def said(*lines: str) -> str:
    script = "\n".join(("import sys", "from weft.bcsd.index.engine import lancedb", *lines))
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout


def test_a_folder_is_opened_without_the_models_of_the_client(tmp_path):
    table = f"d.create_table('t', pa.table({{'x': [1, 2]}})), print(d.open_table('t').count_rows(), {LOADED})"
    assert said("import pyarrow as pa", f"d = lancedb().connect({str(tmp_path)!r})", table) == "2 0\n"


def test_whoever_uses_a_model_has_it():
    asked = "one = lance_namespace.ListNamespacesResponse(namespaces=['a'])"
    real = "from lance_namespace_urllib3_client.models import ListNamespacesResponse as Real"
    lines = ["lancedb()", "import lance_namespace", asked, real]
    lines += [
        "print(one.namespaces, type(one) is Real, isinstance(one, lance_namespace.ListNamespacesResponse))"
    ]
    lines += ["print(lance_namespace.ListNamespacesResponse.from_dict({'namespaces': ['b']}).namespaces)"]
    assert said(*lines) == "['a'] True True\n['b']\n"


def test_what_is_loaded_already_stays():
    lines = ["import lance_namespace_urllib3_client as client", "lancedb()"]
    assert said(*lines, "print(client is sys.modules['lance_namespace_urllib3_client'])") == "True\n"


def test_methods_are_not_compared_and_whoever_uses_the_package_for_it_has_it():
    lines = ["lancedb()", "print('overrides' in sys.modules)", "import overrides"]
    lines += ["print(overrides.__file__ is not None, overrides.override.__module__.startswith('overrides'))"]
    assert said(*lines) == "False\nTrue True\n"
    there = ["import overrides as before", "lancedb()", "print(sys.modules['overrides'] is before)"]
    assert said(*there) == "True\n"
