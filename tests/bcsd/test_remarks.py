"""What every command says of a file that it does not see whole, and names as programmers write them."""

import json
import shutil
import subprocess
from dataclasses import replace

import pyarrow as pa
import pytest

from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.matching.record import file_record, function_record
from weft.bcsd.matching.side import with_processor
from weft.bcsd.read import open_image
from weft.bcsd.read.demangle import demangle, demangle_safely
from weft.bcsd.report.page import report_page
from weft.bcsd.select import find_function
from weft.bcsd.use.remarks import coverage, file_remarks, processor_remarks
from weft.cli.main import main

CXX = "_ZNSt6vectorIiSaIiEE9push_backEOi"


def spans(image):
    return [(function.address, function.size) for function in NativeDisassembler().functions(image)]


def test_coverage_counts_code_once_and_leaves_stubs_out(files):
    image = open_image(files / "gcc-O2-x86_64.so")
    found = spans(image)
    assert 0.9 < coverage(image, found) <= 1
    assert coverage(image, found + found) == coverage(image, found)
    assert coverage(image, []) == 0
    region = image.code_map.at(found[0][0])
    assert coverage(image, [(region.start, 1 << 40)]) <= 1
    assert file_remarks(image, found) == ()
    assert file_remarks(image, found[:2]) == (
        f"only {coverage(image, found[:2]):.0%} of its code belongs to functions that were found: others are missing",
    )


def test_padding_between_functions_is_no_code_that_is_missing(tmp_path):
    lines = (f"int add_{number}(int x) {{ return x + {number}; }}" for number in range(14))
    (tmp_path / "code.c").write_text("\n".join(lines))
    place = tmp_path / "code.so"
    command = ["gcc", "-O2", "-shared", "-nostdlib", "-fPIC", "-falign-functions=32", "code.c", "-o", place]
    subprocess.run(command, cwd=tmp_path, check=True)
    image = open_image(place)
    found = spans(image)
    assert len(found) == 14
    assert sum(size for _, size in found) < 0.5 * image.code_size
    assert coverage(image, found) == 1
    assert file_remarks(image, found) == ()
    lengths = [size for _, size in sorted(found)]
    assert coverage(image, sorted(found)[::2]) == sum(lengths[::2]) / sum(lengths)
    assert "others are missing" in file_remarks(image, found[:7])[0]


@pytest.mark.parametrize(
    "name", ["gcc-O2-x86_64.so", "gcc-O2-aarch64.so", "clang-O2-i386", "clang-O2-thumb", "clang-O2-mipsel"]
)
def test_all_code_between_functions_is_padding(files, name):
    image = open_image(files / name)
    found = spans(image)
    assert coverage(image, found) == 1
    assert coverage(image, found[:3] + found[4:]) < 1


def test_zeros_between_functions_are_padding(files):
    image = open_image(files / "gcc-O2-x86_64.so")
    found = spans(image)
    region = image.code_map.at(found[0][0])
    code = bytearray(len(region.data))
    for start, size in found:
        at = start - region.start
        code[at : at + size] = region.data[at : at + size]
    zeros = replace(image, code=[replace(region, data=memoryview(code))], stub_ranges=[])
    assert coverage(zeros, found) == 1


def test_a_processor_that_was_not_trained_on_is_named():
    assert processor_remarks("mips", ("mips",)) == ()
    assert processor_remarks("mips", ()) == ()
    assert (
        "not trained on mips (but on x86_64, aarch64)" in processor_remarks("mips", ("x86_64", "aarch64"))[0]
    )


@pytest.fixture
def headless(files, tmp_path):
    """A file most of whose functions nobody can find: no symbols, no unwind table, no sections."""
    content = bytearray((files / "gcc-O2-x86_64-stripped.so").read_bytes())
    content[0x28:0x30] = bytes(8)
    content[0x3C:0x40] = bytes(4)
    start = content.find(bytes.fromhex("50e57464"))  # PT_GNU_EH_FRAME
    content[start : start + 4] = bytes(4)
    content = content.replace(b"\x01zR\0", b"\x02zR\0")  # no version of an unwind table
    place = tmp_path / "headless.so"
    place.write_bytes(content)
    shutil.copy(files / "clang-O2-mipsel", tmp_path / "mips")
    return place


def test_every_command_says_so(headless, lexical_model, tmp_path, capsys):
    model = ("--model", str(lexical_model), "--precision", "fp32")
    index = ("--index", str(tmp_path / "index"))
    mips = str(headless.with_name("mips"))
    page = tmp_path / "page.html"
    (place,) = {
        function.address for function in list(NativeDisassembler().functions(open_image(headless)))[:1]
    }
    one, other = f"{headless}@{place:#x}", f"{mips}:factorial"
    for arguments in (
        ["extract", str(headless), mips, "-o", str(tmp_path / "f.parquet")],
        ["embed", str(headless), mips, "-o", str(tmp_path / "e.parquet"), *model],
        ["index", "add", str(headless), mips, *index, *model],
        ["search", str(headless), "--min-blocks", "0", *index, *model],
        ["match", str(headless), mips, "--html", str(page), *model[:2]],
        ["show", str(headless)],
        ["show", one],
        ["explain", one, other, *model[:2]],
    ):
        assert main(["bcsd", *arguments, "--json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["schema"] == 1
        remark = "of its code belongs to functions that were found: others are missing"
        assert any(line.startswith(f"{headless}: only ") and remark in line for line in err.splitlines())
        assert remark in json.dumps(json.loads(out))
        if arguments[0] in ("embed", "index", "match", "explain"):
            assert f"{mips}: the model was not trained on mips" in err
            assert "the model was not trained on mips" in out
    assert "others are missing" in page.read_text()


@pytest.mark.parametrize("key", [None, 0x5A])
def test_code_that_is_encrypted_or_not_there_yet_is_told(files, lexical_model, tmp_path, capsys, key):
    whole = (files / "gcc-O2-x86_64.so").read_bytes()
    text = next(region for region in open_image(files / "gcc-O2-x86_64.so").code if region.name == ".text")
    begin = whole.index(bytes(text.data))
    changed = bytes(0 if key is None else byte ^ key for byte in text.data)
    place = tmp_path / "packed.so"
    place.write_bytes(whole[:begin] + changed + whole[begin + len(changed) :])
    for arguments in (
        ["extract", str(place), "-o", str(tmp_path / "f.parquet")],
        ["match", str(place), str(place), "--model", str(lexical_model), "--min-blocks", "0"],
        ["show", str(place)],
    ):
        assert main(["bcsd", *arguments, "--json"]) == 0
        out, err = capsys.readouterr()
        assert "of what was taken for functions is no code as it stands in the file: packed, encrypted" in err
        assert "no code as it stands" in json.dumps(json.loads(out))


def test_names_of_cxx_and_rust_are_readable():
    assert demangle(CXX) == "std::vector<int, std::allocator<int>>::push_back(int&&)"
    assert demangle("_RNvC7mycrate3foo") == "mycrate::foo"
    assert demangle("main") == "main"
    assert demangle("_Z") == "_Z"
    assert demangle("_Z1f" + "P" * 10_000 + "i").endswith("Pi")


def test_a_name_without_end_stays_as_it_is():
    # Each component names the one before it twice: 400 letters would be 2³⁶ characters.
    def place(number):
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        return "S_" if number == 0 else f"S{digits[number - 1]}_"

    bomb = "_Z1f1A1pIS_S_E" + "".join(f"S0_I{place(k)}{place(k)}E" for k in range(2, 36))
    assert demangle_safely([bomb, "main"]) == {}
    assert demangle_safely([CXX, "main"]) == {CXX: demangle(CXX)}


def test_a_match_shows_readable_names_and_keeps_the_raw_ones(matching):
    def named(side):
        names = [f"_ZN5space{len(f'f{row}')}f{row}Ev" for row in range(len(side))]
        index = side.table.schema.get_field_index("name")
        table = side.table.set_column(index, "name", pa.array(names))
        return replace(side, table=table, readable={name: demangle(name) for name in names})

    a = with_processor(named(matching.a), ("riscv",))
    record = function_record(a, 3)
    assert (record["name"], record["demangled"]) == ("_ZN5space2f3Ev", "space::f3()")
    assert file_record(a)["remarks"] == [
        "the model was not trained on x86_64 (but on riscv): its scores are less sure"
    ]
    text = report_page(replace(matching, a=a, b=named(matching.b)), "m", True)
    assert "space::f3()" in text
    assert "not trained on x86_64" in text


def test_a_function_is_found_by_its_readable_name(functions_of):
    _, functions = functions_of("gcc-O2-x86_64.so")
    listed = [replace(function) for function in functions.values()]
    listed[2].name = CXX
    assert find_function(listed, CXX, "x") == 2
    assert find_function(listed, "std::vector<int, std::allocator<int>>::push_back(int&&)", "x") == 2
    assert find_function(listed, "a::b", "x", {CXX: "a::b"}) == 2
