# Asks a weft service what the function under the cursor is, and names it after a hit that one chooses.
# The service is at WEFT_URL (http://127.0.0.1:8000); WEFT_TOKEN is its token.
# @category weft
# Runs in the Script Manager, under Jython 2.7 and under PyGhidra. Written against the API of Ghidra 11.4.
import json
import os
import struct
import time

from ghidra.program.model.symbol import SourceType
from ghidra.util.exception import DuplicateNameException, InvalidInputException

try:
    from urllib.error import HTTPError
    from urllib.parse import quote
    from urllib.request import Request, urlopen
except ImportError:  # Jython 2.7
    from urllib import quote
    from urllib2 import HTTPError, Request, urlopen

URL = os.environ.get("WEFT_URL", "http://127.0.0.1:8000").rstrip("/")


def call(path, body=None, media="application/json"):
    """Ask the service; the status, and what it answers."""
    headers = {"content-type": media}
    if os.environ.get("WEFT_TOKEN"):
        headers["authorization"] = "Bearer " + os.environ["WEFT_TOKEN"]
    data = json.dumps(body).encode("ascii") if isinstance(body, dict) else body
    try:
        answer = urlopen(Request(URL + path, data, headers), timeout=300)
        return answer.getcode(), json.loads(answer.read().decode("utf-8"))
    except HTTPError as error:
        told = json.loads(error.read().decode("utf-8"))
        raise RuntimeError("weft: %s" % told.get("detail", error.code))


def lowest(content):
    """Where a file wants to be loaded: Ghidra may load it elsewhere."""
    if content[:4] == b"\x7fELF":
        wide, order = bytearray(content[4:6])
        end = "<" if order == 1 else ">"
        table, size, count = struct.unpack_from(
            end + ("Q14xHH" if wide == 2 else "I10xHH"), content, 32 if wide == 2 else 28
        )
        found = []
        for number in range(count):
            kind = struct.unpack_from(end + "I", content, table + number * size)[0]
            form, place = ("Q", 16) if wide == 2 else ("I", 8)
            if kind == 1:
                found.append(struct.unpack_from(end + form, content, table + number * size + place)[0])
        return min(found) & ~0xFFF if found else 0
    if content[:2] == b"MZ":
        head = struct.unpack_from("<I", content, 60)[0]
        wide = struct.unpack_from("<H", content, head + 24)[0] == 0x20B
        return struct.unpack_from("<Q" if wide else "<I", content, head + (48 if wide else 52))[0]
    return 0


def search(path, offset):
    """The function that lies so far from where its file begins, with its hits."""
    with open(path, "rb") as file:
        content = file.read()
    sent = call("/v1/uploads?name=" + quote(os.path.basename(path)), content, "application/octet-stream")[1]
    body = {"file": sent["id"], "function": "0x%x" % (offset + lowest(content)), "hits": 10, "min_blocks": 0}
    status, told = call("/v1/bcsd/search", body)
    while status == 202:
        time.sleep(0.5)
        if call("/v1/jobs/" + told["id"])[1]["state"] in ("done", "failed", "cancelled"):
            status, told = call("/v1/jobs/%s/result" % told["id"])
    return told["queries"][0]


def run(program, address, choose):
    """Ask about the function at an address; the name that it got, or None."""
    function = program.getFunctionManager().getFunctionContaining(address)
    if function is None:
        print("weft: no function here")
        return None
    offset = function.getEntryPoint().subtract(program.getImageBase())
    hits = search(str(program.getExecutablePath()), offset)["hits"]
    if not hits:
        print("weft: nothing of that size in the index")
        return None
    lines = ["%3.0f %%  %s in %s" % (100 * hit["confidence"], hit["name"], hit["binary"]) for hit in hits]
    chosen = choose(lines)
    if chosen is None:
        return None
    hit = hits[lines.index(chosen)]
    try:
        function.setName(hit["name"], SourceType.ANALYSIS)
    except (DuplicateNameException, InvalidInputException):
        print("weft: the name %s was refused" % hit["name"])
        return None
    function.setComment("weft: confidence %.2f, in %s" % (hit["confidence"], hit["binary"]))
    print("weft: named %s" % hit["name"])
    return hit["name"]


def ask(lines):
    """Let a person choose; a cancelled question is no choice."""
    from ghidra.util.exception import CancelledException

    try:
        return askChoice("weft", "What is it?", lines, lines[0])  # noqa: F821 - a function of Ghidra's scripts
    except CancelledException:
        return None


run(currentProgram, currentAddress, ask)  # noqa: F821 - globals of Ghidra's scripts
