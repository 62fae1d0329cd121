"""Functions with instructions that the lifter does not know are not taken for what the others compute."""

from pathlib import Path

from weft.bcsd.difference.compute import OutlineRequest, outlines
from weft.bcsd.lift.apart.wire import pack_code
from weft.bcsd.lift.code import CodeBlock, FunctionCode

FILE = Path(__file__).parent.parent / "files" / "llvm-ppc64.o"


def code(text: str) -> bytes:
    data = bytes.fromhex(text)
    block = CodeBlock(0x1000, data, (4,) * (len(data) // 4), ())
    return pack_code(FunctionCode(0x1000, 0x1000 + len(data), (block,), False, data))


def test_an_instruction_that_is_not_known_leaves_the_function_without_an_outline():
    # cmpd r3, r4; isel r3, r5, r6, lt; blr, and li r3, 1; blr
    choice, plain = code("0020237c1e30657c2000804e"), code("010060382000804e")
    found = outlines(OutlineRequest(str(FILE), (choice, plain), {}, {}))
    assert [one is None for one in found] == [True, False]
