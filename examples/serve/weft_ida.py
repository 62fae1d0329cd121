# Asks a weft service what the function under the cursor is, and names it after a hit that one chooses.
# The service is at WEFT_URL (http://127.0.0.1:8000); WEFT_TOKEN is its token.
# File > Script file... Written against the API of IDA 9.0; its calls are there since IDA 7.4 with Python 3.
import json
import os
import struct
import time
import urllib.error
import urllib.parse
import urllib.request

import ida_funcs
import ida_kernwin
import ida_nalt
import ida_name

URL = os.environ.get("WEFT_URL", "http://127.0.0.1:8000").rstrip("/")
FLAGS = ida_name.SN_NOCHECK | ida_name.SN_FORCE | ida_name.SN_NODUMMY | ida_name.SN_NOWARN


def call(path, body=None, media="application/json"):
    """Ask the service; the status, and what it answers."""
    headers = {"content-type": media}
    if os.environ.get("WEFT_TOKEN"):
        headers["authorization"] = "Bearer " + os.environ["WEFT_TOKEN"]
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    try:
        with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers), timeout=300) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        raise RuntimeError("weft: %s" % json.load(error).get("detail", error.code)) from None


def lowest(content):
    """Where a file wants to be loaded: IDA may load it elsewhere."""
    if content[:4] == b"\x7fELF":
        wide, order = content[4:6]
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
    name = urllib.parse.quote(os.path.basename(path))
    sent = call("/v1/uploads?name=" + name, content, "application/octet-stream")[1]
    body = {"file": sent["id"], "function": hex(offset + lowest(content)), "hits": 10, "min_blocks": 0}
    status, told = call("/v1/bcsd/search", body)
    while status == 202:
        time.sleep(0.5)
        if call("/v1/jobs/" + told["id"])[1]["state"] in ("done", "failed", "cancelled"):
            status, told = call("/v1/jobs/%s/result" % told["id"])
    return told["queries"][0]


class Hits(ida_kernwin.Choose):
    """The hits to choose from."""

    def __init__(self, hits):
        super().__init__(
            "weft: what is it?", [["Sure", 6], ["Name", 40], ["In", 40]], flags=ida_kernwin.Choose.CH_MODAL
        )
        self.lines = [["%.0f %%" % (100 * hit["confidence"]), hit["name"], hit["binary"]] for hit in hits]

    def OnGetSize(self):  # noqa: N802 - IDA's name
        """How many."""
        return len(self.lines)

    def OnGetLine(self, number):  # noqa: N802 - IDA's name
        """One of them."""
        return self.lines[number]


def run(address):
    """Ask about the function at an address; the name that it got, or None."""
    function = ida_funcs.get_func(address)
    if function is None:
        print("weft: no function here")
        return None
    hits = search(ida_nalt.get_input_file_path(), function.start_ea - ida_nalt.get_imagebase())["hits"]
    if not hits:
        print("weft: nothing of that size in the index")
        return None
    chosen = Hits(hits).Show(True)
    if chosen < 0:
        return None
    hit = hits[chosen]
    if not ida_name.set_name(function.start_ea, hit["name"], FLAGS):
        print("weft: the name %s was refused" % hit["name"])
        return None
    ida_funcs.set_func_cmt(
        function, "weft: confidence %.2f, in %s" % (hit["confidence"], hit["binary"]), True
    )
    print("weft: named %s" % hit["name"])
    return hit["name"]


run(ida_kernwin.get_screen_ea())
