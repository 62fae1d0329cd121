"""A function of which one instruction was changed does not compute the same."""

import random

import pytest

from weft.bcsd.architectures import architecture_named
from weft.bcsd.difference.content import Reader
from weft.bcsd.difference.outline import Outliner
from weft.bcsd.difference.told.spelling import Named
from weft.bcsd.lift.apart.wire import pack_computation, unpack_computation
from weft.bcsd.lift.code import CodeBlock
from weft.bcsd.lift.gather import code_of, surroundings_of
from weft.bcsd.lift.pcode import PcodeLifter
from weft.bcsd.lift.solve.fixed import BIAS

#: What only keeps the caller's registers, or fills space: nothing is computed by it.
SAVING = ("push", "pop", "nop", "ret", "endbr64", "stp", "ldp", "str", "ldr", "bti", "pac", "aut")


class Bench:
    """Outlines of one file's functions, as they are and with a bit turned round."""

    def __init__(self, image):
        self.image, self.around, self.reader = image, surroundings_of(image), Reader(image)
        self.lifter, self.architecture = PcodeLifter(), architecture_named(image.architecture)

    def outline(self, code):
        bias = BIAS[self.around.word]

        def name(address):
            place = address - bias if self.around.maps(address - bias) else address
            return Named(self.reader.named(place) or f"@{place:x}", hex(place))

        computed = self.lifter.compute(code, self.around)
        assert unpack_computation(pack_computation(computed)) == computed
        return Outliner(
            computed,
            lambda value: value - bias if self.around.maps(value - bias) else None,
            name,
            self.reader.read,
        ).outline()

    def mutant(self, code, rng):
        """The function with one bit of an instruction turned round, where that is an instruction of its length."""
        number = rng.randrange(len(code.blocks))
        block = code.blocks[number]
        place = rng.randrange(len(block.lengths))
        start, size = sum(block.lengths[:place]), block.lengths[place]
        raw = bytearray(block.data[start : start + size])
        raw[rng.randrange(size)] ^= 1 << rng.randrange(8)
        decoder = self.architecture.decoder(self.image, code.address)
        before, after = (
            next(iter(decoder.disasm_lite(bytes(data), block.address + start)), None)
            for data in (block.data[start : start + size], raw)
        )
        if before is None or after is None or after[1] != size or before[2:] == after[2:]:
            return None, ""
        if before[2].startswith(SAVING) or after[2] == "adc":
            return None, ""
        kinds = [self.architecture.flow(line[2], line[3]).kind for line in (before, after)]
        if kinds[0] != kinds[1]:
            return None, ""
        data = block.data[:start] + bytes(raw) + block.data[start + size :]
        blocks = list(code.blocks)
        blocks[number] = CodeBlock(block.address, data, block.lengths, block.successors)
        own = bytearray(code.data)
        offset = block.address + start - code.address
        own[offset : offset + size] = raw
        return code._replace(blocks=tuple(blocks), data=bytes(own)), f"{before[2:]} → {after[2:]}"


OLD = "../difference/files/patch-old-{}.so"


@pytest.mark.parametrize("processor", ["x86_64", "aarch64"])
def test_a_changed_instruction_is_a_changed_function(functions_of, processor):
    image, functions = functions_of(OLD.format(processor))
    bench, rng = Bench(image), random.Random(3)
    codes = [code_of(image, function) for function in functions.values() if len(function.blocks) > 1]
    whole = {code.address: bench.outline(code) for code in codes}
    missed, seen = [], 0
    for _ in range(300):
        code = rng.choice(codes)
        mutant, told = bench.mutant(code, rng)
        if mutant is None:
            continue
        if bench.outline(mutant).digest == whole[code.address].digest:
            missed.append(told)
        else:
            seen += 1
    assert seen >= 60
    # Some bits only name a register that nobody reads.
    assert len(missed) <= 0.1 * seen, missed


def test_the_same_function_twice_is_the_same(functions_of):
    image, functions = functions_of(OLD.format("x86_64"))
    first, second = Bench(image), Bench(image)
    for function in functions.values():
        code = code_of(image, function)
        assert first.outline(code) == second.outline(code)


def test_a_condition_the_other_way_round_is_another_one(functions_of):
    image, functions = functions_of(OLD.format("x86_64"))
    bench, code = Bench(image), code_of(image, functions["the_condition"])
    for number, block in enumerate(code.blocks):
        last = block.data[-block.lengths[-1] :]
        if last[0] & 0xF0 == 0x70 or last[:1] == b"\x0f":
            raw = bytearray(block.data)
            raw[-block.lengths[-1] + (last[0] == 0x0F)] ^= 1
            blocks = list(code.blocks)
            blocks[number] = block._replace(data=bytes(raw))
            assert bench.outline(code._replace(blocks=tuple(blocks))).digest != bench.outline(code).digest
            return
    pytest.fail("no conditional jump")
