"""Files of XML with a ``<sentence>`` for each text, element by element."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from weft.errors import InputError
from weft.platform.reading import open_input


def elements(path: Path) -> Iterator[ElementTree.Element]:
    """The elements of a file, each as it ends; what a sentence holds is dropped once it was looked at.

    Raises:
        InputError: It cannot be read, is not well-formed, is in an encoding that is not read, or has no sentence.
    """
    found = 0
    open_input(path).close()
    try:
        # An entity is never expanded from outside the file.
        for _, element in ElementTree.iterparse(path, events=("end",)):
            yield element
            if element.tag == "sentence":
                found += 1
                element.clear()
    except ElementTree.ParseError as error:
        line, column = error.position
        raise InputError("not well-formed XML", where=f"{path} line {line} column {column}") from error
    except (LookupError, ValueError) as error:
        raise InputError(f"not read: {error}", where=str(path), hint="save it as UTF-8") from error
    if not found:
        raise InputError("no <sentence> element", where=str(path))
