"""One instruction's p-code with what it reads and writes, pruned to what is still needed after it."""

from __future__ import annotations

from collections.abc import Sequence

from weft.bcsd.lift.decode.processors import Processor
from weft.bcsd.lift.decode.translate import (
    CALLS,
    FLOW,
    REGISTER,
    SYSTEM,
    TEMPORARY,
    Operand,
    Step,
    Steps,
    Translator,
)

#: Operations that matter even where nothing reads their result.
EFFECTS = frozenset(FLOW | CALLS | {"STORE"})
#: Distinct instructions that are remembered.
_REMEMBERED = 200_000


class Unit:
    """The steps of an instruction, or of a group that belongs together.

    Attributes:
        steps: All of them, without marks.
        reads: Bits of the registers that are read before they are written.
        writes: Bits of the registers that are written.
        plain: Whether control goes through it from the first step to the last.
        jumps: Whether, beside that, only its last step transfers control.
    """

    __slots__ = ("_pruned", "jumps", "plain", "reads", "starts", "steps", "writes")

    def __init__(self, steps: Steps, bits: Bits) -> None:
        kept: list[Step] = []
        self.starts: dict[int, int] = {}
        for step in steps:
            if step.op == "IMARK":
                self.starts.setdefault(step.ins[0].key, len(kept))
            else:
                kept.append(step)
        self.steps = tuple(kept)
        flow = [place for place, step in enumerate(kept) if step.op in FLOW]
        self.plain = not flow
        self.jumps = flow == [len(kept) - 1] and not _inward(kept[-1], self.starts)
        self.reads, self.writes = bits.of(self.steps)
        self._pruned: dict[int, Steps] = {}

    def needed(self, live: int, bits: Bits) -> Steps:
        """The steps without those whose results nobody reads, given the registers that are read later."""
        asked = live & self.writes
        known = self._pruned.get(asked)
        if known is None:
            known = self._pruned[asked] = prune(self.steps, asked, bits)
        return known


def _inward(step: Step, starts: dict[int, int]) -> bool:
    """Whether a jump may lead into its own instruction."""
    return step.op in ("BRANCH", "CBRANCH") and (step.ins[0].kind == 0 or step.ins[0].key in starts)


def prune(steps: Steps, live: int, bits: Bits) -> Steps:
    """Straight steps without the needless ones; temporaries are not read behind them."""
    kept: list[Step] = []
    temporaries: set[int] = set()
    for step in reversed(steps):
        out = step.out
        if step.op not in bits.effects and out is not None:
            if out.kind == REGISTER:
                bit = bits.bit(out)
                if not live & bit:
                    continue
                if not out.skipped:
                    live &= ~bit
            elif out.kind == TEMPORARY:
                if out.key not in temporaries:
                    continue
                temporaries.discard(out.key)
        elif out is None and step.op not in bits.effects:
            continue
        for operand in step.ins:
            if operand.kind == REGISTER:
                live |= bits.bit(operand)
            elif operand.kind == TEMPORARY:
                temporaries.add(operand.key)
        if step.op in CALLS or step.op == "RETURN":
            live |= bits.call if step.op in CALLS else bits.result
        kept.append(step)
    return tuple(reversed(kept))


class Bits:
    """Registers as bits of a number, in the order in which they turn up.

    Args:
        arguments: Families that a call reads.
        results: Families that a return reads.
        clobbered: Families that a call writes.
        ignored: Families that nothing reads.
        effects: Operations that matter by themselves.
        seconds: Families that a return reads beside its results.
    """

    def __init__(
        self,
        arguments: list[int],
        results: list[int],
        clobbered: list[int],
        ignored: frozenset[int],
        effects: frozenset[str] = EFFECTS,
        seconds: Sequence[int] = (),
    ) -> None:
        self.effects = effects
        self._places: dict[int, int] = {}
        self._ignored = ignored
        self.families: list[int] = []
        self.call = self.many(arguments)
        self.result = self.many([*results, *seconds])
        self.clobber = self.many([*arguments, *results, *clobbered])

    def many(self, families: list[int]) -> int:
        """The bits of several families."""
        out = 0
        for family in families:
            out |= self.bit(Operand(REGISTER, family, 1))
        return out

    def bit(self, operand: Operand) -> int:
        """The bit of a register operand."""
        if operand.key in self._ignored:
            return 0
        place = self._places.get(operand.key)
        if place is None:
            place = self._places[operand.key] = len(self._places)
            self.families.append(operand.key)
        return 1 << place

    def members(self, mask: int) -> list[int]:
        """The families of bits."""
        found: list[int] = []
        while mask:
            low = mask & -mask
            found.append(self.families[low.bit_length() - 1])
            mask ^= low
        return found

    def of(self, steps: Steps) -> tuple[int, int]:
        """What steps read before they write it, and what they write."""
        reads = writes = 0
        for step in steps:
            for operand in step.ins:
                if operand.kind == REGISTER:
                    reads |= self.bit(operand) & ~writes
            if step.op in CALLS:
                reads |= self.call & ~writes
                writes |= self.clobber
            elif step.op == "RETURN":
                reads |= self.result & ~writes
            out = step.out
            if out is not None and out.kind == REGISTER:
                bit = self.bit(out)
                if out.skipped:
                    reads |= bit & ~writes
                writes |= bit
        return reads, writes


class Units:
    """The units of a processor's instructions, each distinct one made once.

    Args:
        processor: Which.
        thorough: Whether what p-code has no operation for counts as an effect, and floating-point arguments of calls,
            second halves and extended registers of results as read: for comparing two functions exactly. Without it,
            what is most alike in all builds is kept.
    """

    def __init__(self, processor: Processor, *, thorough: bool = False) -> None:
        self.thorough = thorough
        self.home = processor.home
        self._processor = processor
        self._translators: dict[bool, Translator] = {}
        self._known: dict[tuple[bytes, int, bool], Unit | None] = {}
        self.families = self._translator(thumb=False).families
        named = {
            name: self._named(getattr(processor, name))
            for name in ("arguments", "results", "extended", "clobbered", "ignored", "vectors", "seconds")
        }
        self.vectors = named["vectors"] if thorough else []
        self.seconds = named["seconds"] if thorough else []
        self.arguments, self.results, self.clobbered = (
            named["arguments"],
            [*named["results"], *(named["extended"] if thorough else [])],
            named["clobbered"],
        )
        self.bits = Bits(
            [*self.arguments, *self.vectors],
            self.results,
            self.clobbered,
            # On MIPS what is called goes by way of the program counter.
            frozenset(named["ignored"]) - ({self.families.named("pc")} if thorough else set()),
            EFFECTS | {"CALLOTHER", SYSTEM} if thorough else EFFECTS,
            self.seconds,
        )

    def _named(self, names: tuple[str, ...]) -> list[int]:
        found = [self.families.named(name) for name in names]
        return [family for family in found if family is not None]

    def _translator(self, thumb: bool) -> Translator:
        if thumb not in self._translators:
            self._translators[thumb] = Translator(self._processor, thumb, thorough=self.thorough)
        return self._translators[thumb]

    def of(self, code: bytes, address: int, thumb: bool) -> Unit | None:
        """The unit of an instruction; None where it cannot be translated."""
        key = (code, address & 3, thumb)
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            steps = self._translator(thumb).steps(code, address & 3)
            self._known[key] = None if steps is None else Unit(steps, self.bits)
        return self._known[key]

    def made(self, steps: Steps) -> Unit:
        """The unit of steps that no instruction has."""
        return Unit(steps, self.bits)
