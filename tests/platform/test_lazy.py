"""What is imported when it is first asked for: modules that libraries import as they are loaded."""

import subprocess
import sys


def said(*lines: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], check=True, capture_output=True, text=True
    ).stdout


def test_a_module_that_a_library_imports_is_loaded_when_it_is_asked_for_something():
    lines = ["import sys", "import weft.bcsd", "from scipy import sparse"]
    lines += [
        "print('numpy.f2py.crackfortran' in sys.modules, 'numpy.testing._private.utils' in sys.modules)"
    ]
    lines += [
        "import numpy",
        "numpy.testing.assert_allclose(1, 1)",
        "print(numpy.f2py.get_include is not None)",
    ]
    lines += [
        "print('numpy.f2py.crackfortran' in sys.modules, 'numpy.testing._private.utils' in sys.modules)"
    ]
    assert said(*lines) == "False False\nTrue\nTrue True\n"


def test_a_module_below_one_that_waits_is_the_module_that_it_is():
    lines = ["from weft.platform.lazy import later", "later('json', 'xml.dom', 'no.such.module')"]
    lines += [
        "import xml.dom.minidom, json.decoder",
        "print(json.loads('[1]'), xml.dom.minidom.Document().nodeName)",
    ]
    lines += ["try: import no.such.module", "except ModuleNotFoundError as error: print(error.name)"]
    assert said(*lines) == "[1] #document\nno\n"
