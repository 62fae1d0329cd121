"""GDB asks a weft service what a function of a stripped program is, and takes its name over.

    (gdb) source weft_gdb.py
    (gdb) weft ask *0x960          the functions of the index that are most alike; without an address the one at $pc
    (gdb) weft rename *0x960       name it after the best hit, if that is at least 80 % sure

The service is at WEFT_URL (http://127.0.0.1:8000); WEFT_TOKEN is its token. Standard library alone; written against
GDB 13.
"""

import json
import os
import struct
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import gdb

URL = os.environ.get("WEFT_URL", "http://127.0.0.1:8000").rstrip("/")
SURE = 0.8
_sent = {}
_names = {}


def call(path, body=None, media="application/json"):
    """Ask the service; what it answers as JSON, with the status."""
    headers = {"content-type": media}
    if os.environ.get("WEFT_TOKEN"):
        headers["authorization"] = "Bearer " + os.environ["WEFT_TOKEN"]
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    try:
        with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers), timeout=300) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        raise gdb.GdbError("weft: " + json.load(error).get("detail", str(error))) from None
    except urllib.error.URLError as error:
        raise gdb.GdbError("weft: no service at %s (%s)" % (URL, error.reason)) from None


def search(path, address):
    """The hits of the function at an address of a file; the file is sent once."""
    if path not in _sent:
        with open(path, "rb") as file:
            name = urllib.parse.quote(os.path.basename(path))
            sent = call("/v1/uploads?name=" + name, file.read(), "application/octet-stream")
        _sent[path] = sent[1]["id"]
    body = {"file": _sent[path], "function": hex(address), "hits": 5, "min_blocks": 0}
    status, told = call("/v1/bcsd/search", body)
    while status == 202:
        time.sleep(0.5)
        job = call("/v1/jobs/" + told["id"])[1]
        if job["state"] in ("done", "failed", "cancelled"):
            status, told = call("/v1/jobs/%s/result" % told["id"])
    return told["queries"][0]


def moved(path):
    """How far the program lies from where its file says, by its entry point."""
    with open(path, "rb") as file:
        head = file.read(32)
    little, wide = "<" if head[5] == 1 else ">", head[4] == 2
    entry = struct.unpack_from(little + ("Q" if wide else "I"), head, 24)[0]
    for line in gdb.execute("info files", to_string=True).splitlines():
        if "Entry point:" in line and entry:
            return int(line.split()[-1], 16) - entry
    return 0


def symbols(names):
    """A file of symbols alone: an ELF whose .text is nowhere but has functions, in the program's own byte order."""
    texts, places = b"\0", []
    for address, (name, size) in sorted(names.items()):
        places.append((len(texts), address, size))
        texts += name.encode() + b"\0"
    shnames = b"\0.text\0.symtab\0.strtab\0"
    table = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)
    for place, address, size in places:
        table += struct.pack("<IBBHQQ", place, 0x12, 0, 1, address, size)
    first = 64
    text_at, names_at = first + len(table), first + len(table) + len(texts)
    sections_at = names_at + len(shnames)
    begin, end = min(names), max(address + size for address, (_, size) in names.items())
    sections = [
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (1, 8, 6, begin, first, end - begin, 0, 0, 16, 0),
        (7, 2, 0, 0, first, len(table), 3, 1, 8, 24),
        (15, 3, 0, 0, text_at, len(texts), 0, 0, 1, 0),
        (15, 3, 0, 0, names_at, len(shnames), 0, 0, 1, 0),
    ]
    machine = 183 if "aarch64" in gdb.execute("show architecture", to_string=True) else 62
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 0, sections_at, 0, 64, 0, 0, 64, len(sections), 4)
    return head + table + texts + shnames + b"".join(struct.pack("<IIQQQQIIQQ", *one) for one in sections)


class Weft(gdb.Command):
    """Ask a weft service what a function is: weft ask [*ADDRESS], weft rename [*ADDRESS]."""

    def __init__(self):
        super().__init__("weft", gdb.COMMAND_USER)

    def invoke(self, argument, from_tty):
        """Run the command."""
        what, _, place = argument.strip().partition(" ")
        if what not in ("ask", "rename"):
            raise gdb.GdbError("weft ask [*ADDRESS] or weft rename [*ADDRESS]")
        path = gdb.current_progspace().filename
        if not path:
            raise gdb.GdbError("weft: no program is loaded")
        text = place.strip().lstrip("*") or "$pc"
        offset = moved(path)
        query = search(path, int(gdb.parse_and_eval("(unsigned long)(%s)" % text)) - offset)
        if not query["hits"]:
            print("weft: nothing of that size in the index")
        elif what == "ask":
            print(
                "%s at %#x, %d blocks, is most alike:"
                % (query["name"], query["address"] + offset, query["blocks"])
            )
            for hit in query["hits"]:
                name = hit.get("demangled", hit["name"])
                print("  %3.0f %%  %s in %s" % (100 * hit["confidence"], name, hit["binary"]))
        else:
            self.rename(query, query["hits"][0], offset)

    def rename(self, query, hit, offset):
        """Give the function the name of a hit."""
        if hit["confidence"] < SURE and hit["score"] < 1:
            raise gdb.GdbError("weft: only %.0f %% sure; nothing was renamed" % (100 * hit["confidence"]))
        _names[query["address"] + offset] = hit["name"], query["size"]
        with tempfile.NamedTemporaryFile(suffix=".weft", delete=False) as file:
            file.write(symbols(_names))
        gdb.execute("add-symbol-file %s -s .text %#x" % (file.name, min(_names)), to_string=True)
        os.unlink(file.name)
        print("weft: %#x is %s" % (query["address"] + offset, hit["name"]))


Weft()
