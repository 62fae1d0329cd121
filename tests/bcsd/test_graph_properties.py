"""Whatever the bytes, a function's graph does not contradict itself."""

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from weft.bcsd.architectures import all_architectures
from weft.bcsd.disassemble.interface import EdgeKind, ReferenceKind
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read.image import Image, Region, Symbol
from weft.bcsd.represent import SLOTS, Normaliser, load_vocabulary

BASE = 0x1000
ARCHITECTURES = tuple(architecture.name for architecture in all_architectures())


def image_of(code, architecture, cuts):
    region = Region(".text", BASE, memoryview(code), len(code), True, False)
    starts = sorted({0, *(cut % max(len(code), 1) & ~3 for cut in cuts)})
    symbols = [
        Symbol(f"f{start}", BASE + start, end - start)
        for start, end in zip(starts, [*starts[1:], len(code)], strict=True)
        if end > start
    ]
    return Image("bytes", "elf", architecture, False, False, [region], [region], symbols=symbols)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.binary(min_size=4, max_size=400),
    st.sampled_from(ARCHITECTURES),
    st.lists(st.integers(0, 400), max_size=4),
)
def test_any_bytes_give_a_sound_graph(code, architecture, cuts):
    image = image_of(code, architecture, cuts)
    normaliser = Normaliser(architecture)
    for function in NativeDisassembler().functions(image):
        count = len(function.instructions)
        assert function.blocks[0].start == 0
        assert function.blocks[-1].end == count
        for before, after in zip(function.blocks, function.blocks[1:], strict=False):
            assert before.end == after.start
        assert all(block.start < block.end for block in function.blocks)
        assert function.edges == sorted(set(function.edges))
        for edge in function.edges:
            assert 0 <= edge.source < len(function.blocks)
            assert 0 <= edge.target < len(function.blocks)
        fall_throughs = [edge for edge in function.edges if edge.kind == EdgeKind.FALL_THROUGH]
        assert all(edge.target == edge.source + 1 for edge in fall_throughs)
        starts = {block.start for block in function.blocks}
        for index, reference in function.references.items():
            assert 0 <= index < count
            if reference.kind == ReferenceKind.JUMP:
                assert reference.target in starts
        tokens = normaliser.tokens(function)
        assert tokens.shape == (count, len(SLOTS))
        assert tokens.max(initial=0) < len(load_vocabulary())


@settings(deadline=None, max_examples=30)
# ``bc.eq``: AArch64's branch on a consistent condition, bit 4 set.
@example(bytes(8) + bytes.fromhex("10000054") + bytes(4), "aarch64", 1)
@given(st.binary(min_size=16, max_size=200), st.sampled_from(ARCHITECTURES), st.integers(1, 1 << 20))
def test_tokens_do_not_depend_on_the_load_address(code, architecture, pages):
    # Only position-independent references exist in these images: a jump moves with its function.
    def tokens(base):
        region = Region(".text", base, memoryview(code), len(code), True, False)
        image = Image("bytes", "elf", architecture, False, False, [region], [region])
        image.symbols = [Symbol("f", base, len(code))]
        return [
            Normaliser(architecture).tokens(function).tolist()
            for function in NativeDisassembler().functions(image)
            # A far direct target may leave the address space at one base and not at the other.
            if not any(r.kind != ReferenceKind.JUMP for r in function.references.values())
        ]

    here, there = tokens(1 << 21), tokens((1 << 21) + 4096 * (pages % 512))
    if len(here) == len(there) and architecture != "mips":
        # MIPS `j` holds an absolute place within 256 MiB.
        assert here == there


def test_a_branch_back_over_address_zero_wraps_around():
    # MIPS ``b`` and ``bal`` to eight bytes before the file's first address, which is 0.
    code = bytes.fromhex("1000fffd 00000000 0411fffb 00000000")
    region = Region(".text", 0, memoryview(code), len(code), True, False)
    image = Image("low", "elf", "mips", True, False, [region], [region], symbols=[Symbol("f", 0, len(code))])
    (function,) = NativeDisassembler().functions(image)
    targets = {index: reference.target for index, reference in function.references.items()}
    assert targets == {0: 0xFFFFFFF8, 2: 0xFFFFFFF8}
    assert function.callees == [0xFFFFFFF8]
