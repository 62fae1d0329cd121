"""Of what kind a change is, and how much of a function it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from weft.bcsd.architectures.architecture import Architecture, FlowKind
from weft.bcsd.difference.align import Pair, align, align_blocks
from weft.bcsd.difference.content import CALLS, Line
from weft.bcsd.difference.globals import References
from weft.bcsd.difference.outline import Outline
from weft.bcsd.difference.told.compared import effects_changed
from weft.bcsd.difference.told.conditions import Condition, bounds_added, widths_changed
from weft.bcsd.difference.version import Code
from weft.bcsd.disassemble.interface import ReferenceKind


class Kind(StrEnum):
    """Kinds of change, the most telling first: the order in which changed functions are shown."""

    BOUND_CHECK = "bound check added"
    CONDITION = "condition"
    CALLEE = "callee"
    ARGUMENT = "argument"
    STORE = "store"
    WIDTH = "width"
    BLOCK = "block"
    FIELD = "field offset"
    CONSTANT = "constant"
    STRING = "string"
    GLOBAL = "global"
    FRAME = "frame"
    CODE = "code"


class Row(NamedTuple):
    """One line of a side-by-side listing.

    Args:
        old: Instruction of the old version, by index; -1 where it is new.
        new: Instruction of the new version; -1 where it is gone.
        kinds: What differs; empty where nothing does, or only registers and layout.
        same: Whether nothing differs at all.
    """

    old: int
    new: int
    kinds: tuple[Kind, ...]
    same: bool


class BlockRow(NamedTuple):
    """Two blocks beside each other, -1 for none, and their instructions."""

    old: int
    new: int
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Change:
    """What changed in a function.

    Args:
        kinds: Each with how often, in the order of :class:`Kind`.
        amount: The share of the instructions of both versions that are new, gone or different.
        notes: What a person should read first: conditions, arguments, stores, texts, callees, constants.
        blocks: Both versions side by side.
    """

    kinds: dict[Kind, int]
    amount: float
    notes: tuple[str, ...]
    blocks: tuple[BlockRow, ...]

    @property
    def rank(self) -> tuple[int, float]:
        """Sorts changes, the most telling kind first, then the largest."""
        order = list(Kind)
        return min((order.index(kind) for kind in self.kinds), default=len(order)), -self.amount


_FLOAT = re.compile(r"#-?\d+\.\d+")
_MENTIONS = {'"': Kind.STRING, "import ": Kind.CALLEE, "extern ": Kind.GLOBAL, "= ": Kind.CONSTANT}
#: Kinds that say why a condition reads differently.
_TELLING = (Kind.CONDITION, Kind.CALLEE, Kind.FIELD, Kind.CONSTANT, Kind.GLOBAL)
#: Kinds that say why what a function computes is another thing.
_WHY = frozenset(Kind) - {Kind.CODE, Kind.FRAME, Kind.ARGUMENT, Kind.STORE, Kind.WIDTH}
#: Instructions that choose by a condition: x86 has it in the name, AArch64 as the last operand.
_CHOOSING = re.compile(r"cmov|set|f?csel|cs(et|inc|inv|neg)|c(inc|inv|neg)")
_ASKED = frozenset(["eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"])
#: Notes of one function.
_NOTES = 12
#: Of these, notes on effects.
_EFFECTS = 6
_NOTHING: Mapping[str, int] = MappingProxyType({})


class Comparison:
    """Compares functions of two versions instruction by instruction.

    Args:
        architecture: Of both.
        references: What became of what.
        stack: The name of the stack pointer.
    """

    def __init__(self, architecture: Architecture, references: References, stack: str = "") -> None:
        self._architecture, self._references, self._stack = architecture, references, stack
        self._parts: dict[tuple[str, str], _Parts] = {}

    def change(
        self,
        old: Code,
        new: Code,
        outlines: tuple[Outline | None, Outline | None],
        taken: Mapping[str, int] = _NOTHING,
    ) -> Change:
        """What changed, by what both compute if that is known, and by how many arguments callees take if that is."""
        keys = [self._keys(code) for code in (old, new)]
        cut = [
            [side[start:end] for start, end in code.blocks]
            for side, code in zip(keys, (old, new), strict=True)
        ]
        notes: list[str] = []
        counts: Counter[Kind] = Counter()
        blocks = [self._block(old, new, pair, counts, notes) for pair in align_blocks(*cut)]
        _computed(outlines, taken, counts, notes)
        asked = self._asked(old) != self._asked(new) or old.tables != new.tables
        if asked and not any(counts[kind] for kind in _WHY):
            counts[Kind.CONDITION] += 1
        differing = sum(
            (row.old >= 0) + (row.new >= 0) for block in blocks for row in block.rows if row.kinds
        )
        total = len(old.lines) + len(new.lines)
        return Change(
            kinds={kind: counts[kind] for kind in Kind if counts[kind]} or {Kind.CODE: 1},
            amount=round(differing / total, 4) if total else 0.0,
            notes=tuple(dict.fromkeys(notes))[:_NOTES],
            blocks=tuple(blocks),
        )

    def _keys(self, code: Code) -> list[tuple[str, ...]]:
        """What lines are aligned by: mnemonic and form, without registers, numbers and addresses."""
        return [
            (self._take_apart(line).form, line.says if line.says.startswith(("import", '"')) else "")
            for line in code.lines
        ]

    def _asked(self, code: Code) -> Counter[str]:
        """What conditional jumps, moves and the like ask of the flags, each with how often."""
        return Counter(asked for line in code.lines if (asked := self._asks(line)))

    def _asks(self, line: Line) -> str:
        if self._take_apart(line).conditional:
            return line.mnemonic
        if not _CHOOSING.match(line.mnemonic):
            return ""
        last = line.operands.rpartition(" ")[2]
        return f"{line.mnemonic} {last}" if last in _ASKED else line.mnemonic

    def _take_apart(self, line: Line) -> _Parts:
        key = (line.mnemonic, line.plain)
        known = self._parts.get(key)
        if known is None:
            known = self._parts[key] = _parts(self._architecture, self._stack, line)
        return known

    def _block(self, old: Code, new: Code, pair: Pair, counts: Counter[Kind], notes: list[str]) -> BlockRow:
        spans = [
            range(*code.blocks[place]) if place >= 0 else range(0)
            for code, place in ((old, pair.old), (new, pair.new))
        ]
        if pair.old < 0 or pair.new < 0:
            counts[Kind.BLOCK] += 1
            alone = [
                Row(a, b, (Kind.BLOCK,), False)
                for a, b in ([(place, -1) for place in spans[0]] or [(-1, place) for place in spans[1]])
            ]
            for row in alone:
                self._alone(old, new, row, notes)
            return BlockRow(pair.old, pair.new, tuple(alone))
        lines = [[code.lines[place] for place in span] for code, span in zip((old, new), spans, strict=True)]
        exact = align([_exact(line) for line in lines[0]], [_exact(line) for line in lines[1]])
        rows: list[Row] = []
        for step in self._replaced(exact, lines):
            a = spans[0].start + step.old if step.old >= 0 else -1
            b = spans[1].start + step.new if step.new >= 0 else -1
            row = self._row(old, new, a, b)
            for kind in row.kinds:
                counts[kind] += 1
            if row.kinds:
                self._note(old, new, row, notes)
            rows.append(row)
        return BlockRow(pair.old, pair.new, tuple(rows))

    def _replaced(self, steps: list[Pair], lines: list[list[Line]]) -> list[Pair]:
        """Lines that stand alone on both sides of a gap, paired where they are of one form."""
        found: list[Pair] = []
        gap: tuple[list[int], list[int]] = ([], [])
        for step in (*steps, Pair(0, 0)):
            if step.old >= 0 and step.new >= 0:
                if gap[0] and gap[1]:
                    forms = [
                        [self._take_apart(lines[side][place]).form for place in gap[side]] for side in (0, 1)
                    ]
                    found += [
                        Pair(
                            gap[0][pair.old] if pair.old >= 0 else -1,
                            gap[1][pair.new] if pair.new >= 0 else -1,
                        )
                        for pair in align(*forms)
                    ]
                else:
                    found += [Pair(place, -1) for place in gap[0]] + [Pair(-1, place) for place in gap[1]]
                gap = ([], [])
                found.append(step)
            elif step.old >= 0:
                gap[0].append(step.old)
            else:
                gap[1].append(step.new)
        return found[:-1]

    def _row(self, old: Code, new: Code, a: int, b: int) -> Row:
        if a < 0 or b < 0:
            line = old.lines[a] if a >= 0 else new.lines[b]
            return Row(a, b, (self._lone_kind(line),), False)
        one, other = old.lines[a], new.lines[b]
        if one.kind == other.kind == ReferenceKind.JUMP:
            # Where a jump leads is what blocks are aligned for.
            same = one.mnemonic == other.mnemonic
            return Row(a, b, () if same else (Kind.CONDITION,), same)
        kinds = self._differences(one, other)
        same = not kinds and one.mnemonic == other.mnemonic and one.plain == other.plain
        return Row(a, b, tuple(sorted(kinds, key=list(Kind).index)), same)

    def _differences(self, one: Line, other: Line) -> set[Kind]:
        kinds: set[Kind] = set()
        first, second = self._take_apart(one), self._take_apart(other)
        if one.mnemonic != other.mnemonic:
            kinds.add(Kind.CONDITION if first.conditional and second.conditional else Kind.CODE)
        if first.immediates != second.immediates:
            kinds.add(Kind.FRAME if first.on_stack and second.on_stack else Kind.CONSTANT)
        if first.displacement != second.displacement:
            kinds.add(Kind.FRAME if first.in_frame and second.in_frame else Kind.FIELD)
        if not self._references.same(one, other):
            kinds.add(_reference_kind(one, other))
        if not kinds and _FLOAT.findall(one.plain) != _FLOAT.findall(other.plain):
            kinds.add(Kind.CONSTANT)
        if not kinds and first.shape != second.shape:
            kinds.add(Kind.CODE)
        return kinds

    def _lone_kind(self, line: Line) -> Kind:
        return Kind.CALLEE if line.kind in CALLS else Kind.CODE

    # -- notes --

    def _note(self, old: Code, new: Code, row: Row, notes: list[str]) -> None:
        if row.old < 0 or row.new < 0:
            self._alone(old, new, row, notes)
            return
        one, other = old.lines[row.old], new.lines[row.new]
        first, second = self._take_apart(one), self._take_apart(other)
        for kind in row.kinds:
            if kind == Kind.CONSTANT and (one.says or other.says):
                notes.append(f"{self.said(one, old_side=True)} → {self.said(other, old_side=False)}")
            elif kind in (Kind.CONSTANT, Kind.FRAME) and first.immediates != second.immediates:
                notes.append(f"{_numbers(first.immediates)} → {_numbers(second.immediates)}")
            elif kind == Kind.FIELD:
                notes.append(f"field {_offset(first)} → {_offset(second)}")
            elif kind in (Kind.CALLEE, Kind.STRING, Kind.GLOBAL):
                notes.append(f"{self.said(one, old_side=True)} → {self.said(other, old_side=False)}")
            elif kind == Kind.CONDITION:
                notes.append(f"{one.mnemonic} → {other.mnemonic}")

    def _alone(self, old: Code, new: Code, row: Row, notes: list[str]) -> None:
        gone = row.old >= 0
        line = old.lines[row.old] if gone else new.lines[row.new]
        if line.kind in CALLS or line.says.startswith('"'):
            notes.append(f"{'−' if gone else '+'} {self.said(line, old_side=gone)}")

    def said(self, line: Line, *, old_side: bool) -> str:
        """What an instruction refers to, for a person."""
        if line.says:
            return line.says.removeprefix("import ")
        version = self._references.old if old_side else self._references.new
        row = version.rows.get(line.target)
        return version.shown(row) if row is not None else hex(line.target)


class _Parts(NamedTuple):
    form: str
    immediates: tuple[int, ...]
    displacement: int | None
    in_frame: bool
    on_stack: bool
    conditional: bool
    shape: tuple[str, ...]


def _parts(architecture: Architecture, stack: str, line: Line) -> _Parts:
    referring = line.kind >= 0
    parts = architecture.take_apart(line.mnemonic, line.operands, "@" if referring else None)
    flow = architecture.flow_at(line.address, line.mnemonic, line.operands)
    conditional = flow.kind in (FlowKind.BRANCH, FlowKind.RETURN_IF)
    jump = line.kind == ReferenceKind.JUMP
    memory = "[" in line.operands or "(" in line.operands
    return _Parts(
        form=f"{line.mnemonic} {len(parts.operands)}{'m' if memory else ''}{'@' if referring else ''}",
        immediates=() if jump else tuple(parts.immediates),
        displacement=None if referring else parts.displacement,
        in_frame=parts.in_frame,
        on_stack=bool(parts.operands) and parts.operands[0].lstrip("$") == stack,
        conditional=conditional,
        shape=() if jump else architecture.shape(line.plain),
    )


def _exact(line: Line) -> tuple[str, str, str, int]:
    jump = line.kind == ReferenceKind.JUMP
    return line.mnemonic, "" if jump else line.plain, line.says, line.kind


def _reference_kind(one: Line, other: Line) -> Kind:
    if one.kind in CALLS or other.kind in CALLS:
        return Kind.CALLEE
    says = one.says[:1] + other.says[:1]
    if '"' in says:
        return Kind.STRING
    if "=" in says:
        return Kind.CONSTANT
    code = {int(ReferenceKind.CODE)}
    return Kind.CALLEE if {one.kind, other.kind} <= code else Kind.GLOBAL


def _computed(
    outlines: tuple[Outline | None, Outline | None],
    taken: Mapping[str, int],
    counts: Counter[Kind],
    notes: list[str],
) -> None:
    """What the branches of both versions ask and what both read, where both could be lifted."""
    before, after = outlines
    if before is None or after is None:
        return
    for sign, one, other in (("−", before, after), ("+", after, before)):
        for token in sorted(set(one.mentions) - set(other.mentions)):
            kind = next(kind for mark, kind in _MENTIONS.items() if token.startswith(mark))
            if not counts[kind]:
                counts[kind] += sign == "+"
                notes.append(f"{sign} {token.removeprefix('import ').removeprefix('extern ')}")
    asked = [Counter((c.key, c.bounds) for c in outline.conditions) for outline in (before, after)]
    gone, come = asked[0] - asked[1], asked[1] - asked[0]
    told: list[str] = []
    alone: list[list[Condition]] = []
    for sign, outline, side in (("−", before, gone), ("+", after, come)):
        known = {(c.key, c.bounds): c for c in outline.conditions}
        told += [f"{sign} if {known[key].text}" for key in sorted(side)]
        alone.append([known[key] for key in side.elements()])
    checks = bounds_added(*alone)
    counts[Kind.BOUND_CHECK] += checks
    counts[Kind.CONDITION] += max(abs(come.total() - gone.total()) - checks, 0)
    if not checks and (gone or come) and not any(counts[kind] for kind in _TELLING):
        counts[Kind.CONDITION] += 1
    widths = widths_changed(before.conditions, after.conditions)
    counts[Kind.WIDTH] += len(widths)
    told += widths
    effects = effects_changed(before.effects, after.effects, taken, fields=counts[Kind.FIELD] > 0)
    counts.update(Kind(note.effect) for note in effects)
    notes[:0] = [*told[:_NOTES], *(note.text for note in effects[:_EFFECTS])]


def _numbers(values: Sequence[int]) -> str:
    return ", ".join(str(value) if abs(value) < 10 else hex(value) for value in values) or "none"


def _offset(parts: _Parts) -> str:
    return "none" if parts.displacement is None else f"{parts.displacement:#x}"
