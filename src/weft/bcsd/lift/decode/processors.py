"""What SLEIGH and the calling conventions call things, for each processor: one line each in :data:`PROCESSORS`."""

from __future__ import annotations

from dataclasses import dataclass


def _numbered(prefix: str, *numbers: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{number}" for number in numbers)


@dataclass(frozen=True)
class Processor:
    """One instruction set with its calling convention.

    Args:
        language: SLEIGH's name of it.
        big_endian: Order of bytes.
        word: Bytes of an address.
        stack: The stack pointer.
        arguments: Registers of the first arguments, in order; where there are none, they lie on the stack.
        results: Registers that hold a result, integers first.
        extended: Further registers of results, that ordinary features do not know.
        clobbered: Registers that a call does not keep, beside arguments and results.
        vector: Bytes of a vector or floating-point register that are one value.
        vectors: Registers of the first floating-point arguments, in order.
        seconds: Registers that hold the second half of a result of two words.
        system_call: SLEIGH's name of a call of the system; empty where it has no operation of its own.
        system_arguments: Registers that such a call reads: its number, then what it is given.
        fences: Instructions that order accesses to memory and have no p-code.
        home: Bytes at the top of the stack that belong to what a call is given in registers, and to the callee.
        pushes: Whether a call pushes where to return to.
        own_address: A register that holds the function's own address at its entry.
        global_pointer: A register that holds one address wherever the function uses it, and is brought back from the
            stack behind calls.
        zero: Flags that are 0 wherever a compiler's code runs.
        ignored: Registers of no meaning to what is computed.
        clears_low_bit: Whether the lowest bit of a code pointer says how to decode.
        thumb: SLEIGH's variable for the Thumb state.
        region_jumps: Whether direct jumps replace an address's low bits (MIPS).
        page_relative: Mask and value of instructions whose constant counts from the page (AArch64's ``adrp``).
        delay: Whether an instruction after a jump belongs to it.
        thunks: Whether small functions are called to learn where the code lies.
    """

    language: str
    big_endian: bool
    word: int
    stack: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    clobbered: tuple[str, ...]
    vector: int = 8
    vectors: tuple[str, ...] = ()
    extended: tuple[str, ...] = ()
    seconds: tuple[str, ...] = ()
    system_call: str = ""
    system_arguments: tuple[str, ...] = ()
    fences: frozenset[bytes] = frozenset()
    home: int = 0
    pushes: bool = False
    own_address: str = ""
    global_pointer: str = ""
    zero: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    clears_low_bit: bool = False
    thumb: str = ""
    region_jumps: bool = False
    page_relative: tuple[int, int] = (0, 1)
    delay: bool = False
    thunks: bool = False


#: lfence, mfence, sfence.
_FENCES = frozenset({b"\x0f\xae\xe8", b"\x0f\xae\xf0", b"\x0f\xae\xf8"})

_X86_64 = Processor(
    language="x86:LE:64:default",
    big_endian=False,
    word=8,
    stack="RSP",
    arguments=("RDI", "RSI", "RDX", "RCX", "R8", "R9"),
    results=("RAX", "XMM0"),
    clobbered=("R10", "R11", *_numbered("XMM", *range(1, 16))),
    vector=16,
    vectors=_numbered("XMM", *range(8)),
    extended=("ST0",),
    seconds=("RDX",),
    system_call="syscall",
    system_arguments=("RAX", "RDI", "RSI", "RDX", "R10", "R8", "R9"),
    fences=_FENCES,
    pushes=True,
    zero=("DF",),
    ignored=("RIP",),
)
_I386 = Processor(
    language="x86:LE:32:default",
    big_endian=False,
    word=4,
    stack="ESP",
    arguments=(),
    results=("EAX", "ST0"),
    thunks=True,
    clobbered=("ECX", "EDX", *_numbered("XMM", *range(8))),
    vector=16,
    seconds=("EDX",),
    fences=_FENCES,
    pushes=True,
    zero=("DF",),
    ignored=("EIP",),
)
_AARCH64 = Processor(
    language="AARCH64:LE:64:v8A",
    big_endian=False,
    word=8,
    stack="sp",
    arguments=_numbered("x", *range(8)),
    results=("x0", "q0"),
    clobbered=(*_numbered("x", *range(8, 19), 30), *_numbered("q", *range(1, 8), *range(16, 32))),
    vector=16,
    vectors=_numbered("q", *range(8)),
    seconds=("x1",),
    system_call="CallSupervisor",
    system_arguments=("x8", *_numbered("x", *range(6))),
    ignored=("pc",),
    page_relative=(0x9F000000, 0x90000000),
)


def _arm(order: str) -> Processor:
    return Processor(
        language=f"ARM:{order}:32:v8",
        big_endian=order == "BE",
        word=4,
        stack="sp",
        arguments=_numbered("r", *range(4)),
        results=("r0", "d0"),
        clobbered=("r12", "lr", *_numbered("d", *range(1, 8), *range(16, 32))),
        vectors=_numbered("d", *range(8)),
        seconds=("r1",),
        system_call="software_interrupt",
        system_arguments=("r7", *_numbered("r", *range(7))),
        ignored=("pc", "TB", "ISAModeSwitch"),
        clears_low_bit=True,
        thumb="TMode",
    )


def _mips(order: str, bits: int) -> Processor:
    return Processor(
        language=f"MIPS:{order}:{bits}:default",
        big_endian=order == "BE",
        word=bits // 8,
        stack="sp",
        # The 64-bit convention passes eight; Ghidra names the last four after the old convention's temporaries.
        arguments=("a0", "a1", "a2", "a3", *(_numbered("t", *range(4)) if bits == 64 else ())),
        results=("v0", "f0"),
        clobbered=(
            "v1",
            "at",
            "ra",
            "t8",
            "t9",
            "hi",
            "lo",
            *_numbered("t", *range(8)),
            *_numbered("f", *range(1, 20)),
        ),
        vector=bits // 8,
        vectors=_numbered("f", *range(12, 20)) if bits == 64 else ("f12", "f14"),
        seconds=("v1", "f1") if bits == 32 else ("v1",),
        system_call="syscall",
        system_arguments=("v0", "a0", "a1", "a2", "a3", *(("t0", "t1") if bits == 64 else ())),
        home=16 if bits == 32 else 0,
        own_address="t9",
        global_pointer="gp",
        ignored=("pc", "ISAModeSwitch"),
        clears_low_bit=True,
        region_jumps=True,
        delay=True,
    )


_PPC64 = Processor(
    language="PowerPC:LE:64:default",
    big_endian=False,
    word=8,
    stack="r1",
    arguments=_numbered("r", *range(3, 11)),
    results=("r3", "f1"),
    clobbered=("r0", "r11", "r12", "LR", "CTR", *_numbered("f", 0, *range(2, 14))),
    vectors=_numbered("f", *range(1, 14)),
    seconds=("r4",),
    system_call="syscall",
    system_arguments=("r0", *_numbered("r", *range(3, 9))),
    home=96,
    own_address="r12",
)
_RISCV64 = Processor(
    language="RISCV:LE:64:RV64GC",
    big_endian=False,
    word=8,
    stack="sp",
    arguments=_numbered("a", *range(8)),
    results=("a0", "fa0"),
    clobbered=(
        "ra",
        *_numbered("t", *range(7)),
        *_numbered("ft", *range(12)),
        *_numbered("fa", *range(1, 8)),
    ),
    vectors=_numbered("fa", *range(8)),
    seconds=("a1",),
    system_call="ecall",
    system_arguments=("a7", *_numbered("a", *range(6))),
    ignored=("pc",),
)

#: By architecture, order of bytes and size of an address.
PROCESSORS: dict[tuple[str, bool, int], Processor] = {
    ("x86_64", False, 8): _X86_64,
    ("i386", False, 4): _I386,
    ("aarch64", False, 8): _AARCH64,
    ("arm", False, 4): _arm("LE"),
    ("arm", True, 4): _arm("BE"),
    ("mips", False, 4): _mips("LE", 32),
    ("mips", True, 4): _mips("BE", 32),
    ("mips64", False, 8): _mips("LE", 64),
    ("mips64", True, 8): _mips("BE", 64),
    ("ppc64", False, 8): _PPC64,
    ("riscv64", False, 8): _RISCV64,
}
