"""Import every module of the installed weft and check that it is the installed one."""

import importlib
import pkgutil
import sys
from pathlib import Path

import weft

# Modules that are made of classes of a package which only an extra brings.
OF_EXTRAS = {"weft.bench.bcsd.peers.qbindiff_loader": "qbindiff"}

own = Path(sys.argv[1]).resolve()
home = Path(weft.__file__).resolve()
if own not in home.parents:
    sys.exit(f"weft comes from {home}, not from the wheel in {own}")
names = [module.name for module in pkgutil.walk_packages(weft.__path__, "weft.")]
for name in names:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or OF_EXTRAS.get(name) != error.name:
            raise
print(f"{len(names)} modules of weft {weft.__version__} import from the wheel")
