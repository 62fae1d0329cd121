"""Every kind of change is seen and named, on three processors; what is no change is none."""

import re
import struct
from collections import Counter
from dataclasses import replace

import pytest
from tests.bcsd.difference.conftest import PATCH

from weft.bcsd.difference.compare import Sameness, Status, compare, lifted
from weft.bcsd.difference.kinds import Kind
from weft.bcsd.difference.pairing import Pairing
from weft.bcsd.difference.record import difference_record
from weft.bcsd.difference.version import VersionRequest, read_version
from weft.bcsd.matching.rule import DEFAULT_RULE
from weft.bcsd.use.embedder import Embedder
from weft.platform.processes import Limits

EXPECTED = {
    "the_constant": Kind.CONSTANT,
    "the_number": Kind.CONSTANT,
    "the_string": Kind.STRING,
    "the_import": Kind.CALLEE,
    "the_callee": Kind.CALLEE,
    "the_global": Kind.GLOBAL,
    "the_field": Kind.FIELD,
    "the_condition": Kind.CONDITION,
    "the_block": Kind.BLOCK,
    "the_bound": Kind.BOUND_CHECK,
    "the_buffer": Kind.FRAME,
    "the_order": Kind.CODE,
    "the_local": Kind.CONSTANT,
}
UNCHANGED = {"helper_one", "helper_two", "the_same", "the_many", "the_line"}


def by_name(difference):
    """The name in the old version, or else in the new one → what became of the function."""
    return {
        (difference.old.codes[e.old] if e.old >= 0 else difference.new.codes[e.new]).name: e
        for e in difference.entries
    }


@pytest.mark.parametrize("processor", ["x86_64", "aarch64", "arm"])
def test_each_kind_of_change_is_seen_and_what_is_none_is_not(difference_of, processor):
    difference = difference_of(f"old-{processor}", f"new-{processor}")
    found = by_name(difference)
    changed = {name for name, entry in found.items() if entry.status == Status.CHANGED}
    assert changed == EXPECTED.keys()
    for name, kind in EXPECTED.items():
        kinds = found[name].change.kinds
        assert kind in kinds, (name, kinds)
    assert {name for name, entry in found.items() if entry.status == Status.UNCHANGED} == UNCHANGED
    assert found["the_line"].sameness == Sameness.LINES
    assert found["added_function"].status == Status.ADDED
    assert found["removed_function"].status == Status.REMOVED
    renamed = found["name_before"]
    assert renamed.status == Status.RENAMED
    assert difference.new.codes[renamed.new].name == "name_after"
    assert not difference.remarks


def test_where_addresses_are_made_from_a_table_only_what_was_changed_is(difference_of):
    found = by_name(difference_of("old-mipsel", "new-mipsel"))
    assert {name for name, entry in found.items() if entry.status == Status.CHANGED} == EXPECTED.keys()
    assert {name for name, entry in found.items() if entry.status == Status.UNCHANGED} == UNCHANGED
    # What is called by way of a register is known.
    for name in ("the_callee", "the_import"):
        assert Kind.CALLEE in found[name].change.kinds


def test_changes_come_first_the_most_telling_and_the_largest_on_top(difference_of):
    difference = difference_of("old-x86_64", "new-x86_64")
    statuses = [list(Status).index(entry.status) for entry in difference.entries]
    assert statuses == sorted(statuses)
    ranks = [entry.change.rank for entry in difference.entries if entry.change is not None]
    assert ranks == sorted(ranks)
    first = difference.entries[0]
    assert difference.old.codes[first.old].name == "the_bound"
    assert next(iter(first.change.kinds)) == Kind.BOUND_CHECK
    assert "+ if (arg3 < 0x41)" in first.change.notes
    assert all(0 < entry.change.amount <= 1 for entry in difference.entries if entry.change is not None)


def test_notes_say_what_was_and_what_is(difference_of):
    found = by_name(difference_of("old-x86_64", "new-x86_64"))
    for name, note in {
        "the_constant": "0x400 → 0x1000",
        "the_string": '"value is %d" → "value is %u"',
        "the_import": "check → verify",
        "the_callee": "helper_one → helper_two",
        "the_global": "limit_low → limit_high",
        "the_field": "field 0x0 → 0x4",
        "the_number": "= 000000000000f83f → = 0000000000000440",
        "the_buffer": "0x48 → 0x68",
    }.items():
        assert note in found[name].change.notes, found[name].change.notes


def test_other_registers_another_order_and_another_layout_are_no_change(difference_of):
    difference = difference_of("old-x86_64", "registers-x86_64")
    found = by_name(difference)
    # The one that keeps a dozen values over its calls spills others of them.
    assert {name for name, entry in found.items() if entry.status == Status.CHANGED} <= {"the_many"}
    samenesses = Counter(entry.sameness for entry in difference.entries)
    assert samenesses[Sameness.ORDER] >= 10
    # Without the lifter nobody knows.
    plain = difference_of("old-x86_64", "registers-x86_64", "none")
    assert plain.count(Status.CHANGED) >= 10
    assert any("nothing is lifted" in remark for remark in plain.remarks)


def test_what_is_asked_the_other_way_round_is_a_condition(version_of, tmp_path):
    old = version_of("old-x86_64")
    raw = bytearray((PATCH / "patch-old-x86_64.so").read_bytes())
    turned = set()
    for code in old.codes:
        for line in code.lines:
            # Code lies in the file where it lies in memory.
            place = line.address + (raw[line.address] == 0x0F)
            if re.fullmatch(r"j[^m].*|cmov.*|set.*", line.mnemonic):
                raw[place] ^= 1
                turned.add(code.name)
                break
    (tmp_path / "turned.so").write_bytes(raw)
    new = read_version(VersionRequest(str(tmp_path / "turned.so")))
    found = by_name(compare(old, new, lambda pairing: None, Limits(120, 4096)))
    assert len(turned) >= 5
    for name, entry in found.items():
        assert (entry.status == Status.CHANGED) == (name in turned), name
        assert name not in turned or Kind.CONDITION in entry.change.kinds, (name, entry.change.kinds)


@pytest.mark.parametrize("what", ["two cases change places", "a case joins another"])
def test_which_case_leads_where(files, functions_of, tmp_path, what):
    name = "gcc-O2-x86_64.so"
    (entries,) = functions_of(name)[1]["dense"].tables.values()
    raw = bytearray((files / name).read_bytes())
    # The entries count from the table's start, which lies in the file where it lies in memory.
    (place,) = (
        base
        for base in range(0, len(raw) - 4 * len(entries), 4)
        if all(struct.unpack_from("<i", raw, base + 4 * i)[0] == to - base for i, to in enumerate(entries))
    )
    moved = [entries[4], entries[2] if what == "a case joins another" else entries[3]]
    struct.pack_into("<ii", raw, place + 12, *(to - place for to in moved))
    (tmp_path / name).write_bytes(raw)
    old, new = (read_version(VersionRequest(str(folder / name))) for folder in (files, tmp_path))
    found = by_name(compare(old, new, lambda pairing: None, Limits(120, 4096)))
    assert {one for one, entry in found.items() if entry.status == Status.CHANGED} == {"dense"}
    assert Kind.CONDITION in found["dense"].change.kinds


@pytest.mark.parametrize(
    "name", ["old-x86_64", "old-aarch64", "new-arm", "new-mipsel", "new-x86_64-stripped"]
)
def test_a_file_is_no_other_version_of_itself(difference_of, name):
    difference = difference_of(name, name)
    assert difference.count(Status.UNCHANGED) == len(difference.old) == len(difference.entries)


def test_stripped_versions_are_paired_by_content_calls_and_place(difference_of, version_of):
    difference = difference_of("old-x86_64-stripped", "new-x86_64-stripped")
    names = [{c.address: c.name for c in version_of(f"{age}-x86_64").codes} for age in ("old", "new")]
    pairs = [
        (names[0][difference.old.codes[e.old].address], names[1][difference.new.codes[e.new].address])
        for e in difference.entries
        if e.old >= 0 and e.new >= 0
    ]
    wrong = [(a, b) for a, b in pairs if a != b and (a, b) != ("name_before", "name_after")]
    assert wrong in ([], [("removed_function", "added_function")])
    assert len(pairs) >= 18


def test_the_model_pairs_what_is_left(version_of, lexical_model):
    old, new = version_of("old-x86_64"), version_of("registers-x86_64")
    # Without names, neighbours or equal content nothing but the model knows one function.
    pairing = Pairing(old, new)
    embedder = Embedder.load(lexical_model)
    pairing.by_model(embedder, replace(DEFAULT_RULE, floor=0.0), lifted)
    rows = {code.name: row for row, code in enumerate(new.codes)}
    right = [new.codes[b].name == old.codes[a].name for a, b in pairing.partner.items()]
    assert len(right) == len(old)
    assert sum(right) >= 0.8 * len(rows)


def test_the_record_holds_everything_side_by_side(difference_of):
    record = difference_record(difference_of("old-aarch64", "new-aarch64"))
    assert record["counts"] == {"changed": 13, "added": 1, "removed": 1, "renamed": 1, "unchanged": 5}
    bound = next(f for f in record["functions"] if f["old"] and f["old"]["name"] == "the_bound")
    marks = [row[0] for block in bound["blocks"] for row in block["rows"]]
    assert marks.count("+") >= 2
    assert "!" not in marks
    assert [block["old"] for block in bound["blocks"]].count(None) == 2
    # All instructions of both versions are there, once.
    for side in (1, 2):
        texts = [row[side][0] for block in bound["blocks"] for row in block["rows"] if row[side]]
        assert len(texts) == len(set(texts))
    assert record["old"]["functions"] == 20


@pytest.mark.parametrize(
    ("name", "linked"),
    [
        ("the_global", True),
        ("the_string", True),
        ("the_callee", False),
        ("the_import", False),
        ("the_constant", False),
    ],
)
def test_what_the_linker_put_where_start_up_code_looks_is_no_change(difference_of, name, linked):
    difference = difference_of("old-x86_64", "new-x86_64")
    entry = by_name(difference)[name]
    old, new = difference.old.codes[entry.old], difference.new.codes[entry.new]
    same = difference.references.same_function
    started = [code._replace(name="deregister_tm_clones") for code in (old, new)]
    assert not same(old, new)
    assert same(*started) == linked
    assert not same(started[0], new)
