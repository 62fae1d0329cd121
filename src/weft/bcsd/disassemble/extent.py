"""How far a function reaches of which only the start is known."""

from __future__ import annotations

from typing import NamedTuple

from weft.bcsd.architectures.architecture import TERMINAL, Architecture, FlowKind
from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.operands import Raw
from weft.bcsd.disassemble.cfg import NO_RETURN_NAMES, Surroundings
from weft.bcsd.disassemble.gaps import decoded
from weft.bcsd.read.image import Image

#: Bytes beyond which a function is cut.
FUNCTION_BYTES = 1 << 20
_STEP = 4096
#: Bytes of a function within which a call is part of how it sets its frame up, so that what follows is no other one.
_OPENING = 32


#: Bytes at the start of a function within which its frame is set up.
ENTRY_BYTES = 96


class Extent(NamedTuple):
    """How far a function reaches, and where its direct jumps lead."""

    end: int
    targets: set[int]


class Surveyor:
    """Decodes from a start until control cannot go on.

    Args:
        around: The file; functions that turn out never to return are added to it.
    """

    def __init__(self, around: Surroundings) -> None:
        self.around = around

    @property
    def trusts_jumps(self) -> bool:
        """Whether the ends of most functions are known, so that a jump out of one leads to another."""
        return not self.around.guesses

    @property
    def _image(self) -> Image:
        return self.around.image

    @property
    def _architecture(self) -> Architecture:
        return self.around.architecture

    def survey(self, start: int, limit: int) -> Extent:
        """Decode until control cannot go on and no jump seen so far leads further ahead, within ``limit``.

        Where ends are guesses, a function also ends behind a call or a jump where constants stand that it reads, or
        where another function sets its frame up, and no branch of it leads further: such a call never returns.
        """
        walk = _Walk(start, min(limit, start + FUNCTION_BYTES))
        architecture = self._architecture
        decoder = architecture.decoder(self._image, start)
        while walk.position < walk.limit:
            code = self._image.code_at(walk.position, min(walk.position + _STEP + 16, walk.limit))
            begun = walk.position
            for line in decoder.disasm_lite(code, walk.position):
                address, size, mnemonic, operands = line
                if address - begun >= _STEP:
                    break
                if address in walk.pool:
                    walk.position = address + architecture.step
                    break
                walk.position = address + size
                walk.before.append(line)
                if mnemonic.startswith(architecture.pool_loads):
                    walk.pool |= architecture.literals(self._image, start, [line])
                if architecture.plain[mnemonic]:
                    continue
                kind, target = architecture.flow_at(address, mnemonic, operands)
                if kind == FlowKind.RETURN and not architecture.returns(walk.before, len(walk.before) - 1):
                    kind = FlowKind.INDIRECT_JUMP
                if kind in (FlowKind.INDIRECT_JUMP, FlowKind.INDIRECT_JUMP_IF):
                    for case in self._cases(walk):
                        walk.jump(FlowKind.BRANCH, case)
                    behind = architecture.inline_table(self._image, walk.before) or 0
                    if walk.position < behind <= walk.limit and walk.furthest >= behind:
                        walk.position = behind
                        break
                walk.jump(kind, target)
                name = None
                if kind == FlowKind.INDIRECT_CALL:
                    name, target = architecture.called(self._image, walk.before, len(walk.before) - 1)
                calls = kind in (FlowKind.CALL, FlowKind.INDIRECT_CALL)
                stops = kind in TERMINAL or (
                    calls and (name in NO_RETURN_NAMES or self.never_returns(target))
                )
                behind = min(walk.position + 4 * architecture.delay, walk.limit)
                if stops and walk.position > walk.furthest:
                    return Extent(behind, walk.targets)
                if self._is_cut(walk, kind, behind):
                    if calls and target is not None:
                        self.around.no_return.add(target)
                    return Extent(behind, walk.targets)
            if walk.position == begun:
                if not self.trusts_jumps and walk.certain > begun:
                    # A branch leads over it: data among the code.
                    walk.position = begun + architecture.step
                    continue
                # One word that the decoder does not know is stepped over where all instructions are words.
                known = self.trusts_jumps or architecture.step != 4 or begun == walk.unknown
                if known or walk.position + 4 > walk.limit:
                    break
                walk.position = walk.unknown = walk.position + 4
        return Extent(walk.position, walk.targets)

    def _cases(self, walk: _Walk) -> list[int]:
        """Where the indirect jump that a survey has come to leads, as far as its table is found."""
        if self.trusts_jumps:
            return []
        backward = Backward(
            walk.before, [line[0] for line in walk.before], set(), {}, (walk.start, walk.limit), []
        )
        code = self._image.code_map
        table = self._architecture.find_table(
            self._image,
            walk.before,
            len(walk.before) - 1,
            backward,
            lambda at: backward.inside(at) and code.at(at) is not None,
        )
        return [] if table is None else table.targets

    def _is_cut(self, walk: _Walk, kind: FlowKind, behind: int) -> bool:
        """Whether a function surely ends behind a call or a jump, though control seems to go on."""
        if self.trusts_jumps or walk.certain >= walk.position or behind - walk.start < _OPENING:
            return False
        if kind not in TERMINAL and kind not in (FlowKind.CALL, FlowKind.INDIRECT_CALL):
            return False
        if behind in walk.pool:
            return True
        thumb = walk.start in self._image.thumb
        return self._architecture.is_entry(self._image, self._image.code_at(behind, behind + 8), thumb)

    def is_end(self, start: int, end: int) -> bool:
        """Whether code is a mere call that never returns: no function, for that would have to keep a way back."""
        lines = [*decoded(self._image, self._architecture, start, end, start in self._image.thumb)]
        if len(lines) != 1 + self._architecture.delay or self._architecture.plain[lines[0][2]]:
            return False
        kind, target = self._architecture.flow_at(lines[0][0], lines[0][2], lines[0][3])
        return kind == FlowKind.CALL and self.never_returns(target)

    def enters(self, address: int, end: int) -> bool:
        """Whether one of the first instructions sets up a frame: not always the very first."""
        end = min(address + ENTRY_BYTES, end)
        lines = decoded(self._image, self._architecture, address, end, address in self._image.thumb)
        thumb = address in self._image.thumb
        return any(
            self._architecture.is_entry(self._image, self._image.code_at(line[0], line[0] + 8), thumb)
            for line in lines
        )

    def never_returns(self, target: int | None) -> bool:
        """Whether a call of a function or a stub does not come back, as far as is known."""
        if target is None:
            return False
        return target in self.around.no_return or self._image.stubs.get(target) in NO_RETURN_NAMES


class _Walk:
    """Where a survey stands.

    Attributes:
        furthest: The furthest place that a jump leads to which stays in the function, or may.
        certain: The same of those that surely stay in it.
        pool: Constants among the code, as far as loads of them were met.
        unknown: Where the last word stood that could not be decoded.
    """

    def __init__(self, start: int, limit: int) -> None:
        self.start, self.limit = start, limit
        self.position = self.furthest = self.certain = start
        self.before: list[Raw] = []
        self.targets: set[int] = set()
        self.pool: set[int] = set()
        self.unknown = -1

    def jump(self, kind: FlowKind, target: int | None) -> None:
        """Note where an instruction leads."""
        if target is None or kind not in (FlowKind.JUMP, FlowKind.BRANCH):
            return
        self.targets.add(target)
        if target >= self.limit:
            return
        if kind == FlowKind.BRANCH:
            self.furthest, self.certain = max(self.furthest, target), max(self.certain, target)
        elif target - self.position < _STEP:
            # A jump a short way ahead stays in this function; one far away is a tail call.
            self.furthest = max(self.furthest, target)
