"""What compilers leave to registers and slots is seen: steps of loops, arguments passed on, results, system calls."""

import pytest

from weft.bcsd.difference.outline import Outliner
from weft.bcsd.difference.told.spelling import Named
from weft.bcsd.lift.code import BY_WAY_OF, RETURNS, CodeBlock, FunctionCode, Surroundings
from weft.bcsd.lift.pcode import PcodeLifter
from weft.bcsd.lift.solve.ssa import Solver
from weft.errors import LimitError

LIFTER = PcodeLifter()
WORDS = {"x86_64": 8, "i386": 4, "aarch64": 8, "mips": 4}


def digest(processor, *blocks):
    """What blocks compute, each given as its instructions in hex and the blocks that follow it."""
    made, address = [], 0x1000
    for number, (text, *successors) in enumerate(blocks):
        lines = [bytes.fromhex(line) for line in text.split()]
        # Each block begins where the one before ends.
        made.append(CodeBlock(address, b"".join(lines), tuple(map(len, lines)), tuple(successors)))
        address += len(made[number].data)
    code = FunctionCode(0x1000, address, tuple(made), False, b"".join(block.data for block in made))
    around = Surroundings(processor, False, WORDS[processor], False, (), thunks=THUNKS)
    computed = LIFTER.compute(code, around)
    assert computed.opaque == 0
    return Outliner(computed, lambda _: None, lambda _: Named("f", "f"), lambda *_: "").outline().digest


def loop(body):
    """``for (s = 0; n; n--) body``, as x86 spells it."""
    size = len(bytes.fromhex(body.replace(" ", ""))) + 4
    return ("31c0", 1), (f"{body} ffce 75{256 - size:02x}", 1, 2), ("c3",)


CALL = "e800100000"
#: A function that tells where it was called from, and a call of it by an instruction at 0x1006.
THUNK = 0x3000
ASK = "e8f51f0000"
#: A function that counts calls (``__fentry__``), a pointer to it, and calls of both by an instruction at 0x1000.
COUNTS, SLOT = 0x4000, 0x5000
#: Functions that stand for ``ret`` and for a jump to where ``rax`` points.
RETURN, INDIRECT = 0x6000, 0x7000
THUNKS = {THUNK: "ebx", COUNTS: "", SLOT: "", RETURN: RETURNS, INDIRECT: BY_WAY_OF + "rax"}
COUNT, COUNT_FAR = "e8fb2f0000", "ff15fa3f0000"
PAIRS = {
    # mov eax, 22 or 0; jmp __x86_return_thunk
    "a result behind a thunk that returns": (
        "x86_64",
        (("b816000000 e9f64f0000",),),
        (("b800000000 e9f64f0000",),),
    ),
    # mov rax, [rdi] or [rdi + 8]; call or jmp __x86_indirect_thunk_rax
    "what a thunk calls": ("x86_64", (("488b07 e8f85f0000 c3",),), (("488b4708 e8f75f0000 c3",),)),
    "what a thunk jumps to": ("x86_64", (("488b07 e9f85f0000",),), (("488b4708 e9f75f0000",),)),
    # mov eax, [rdi] or [rsi], behind a call that keeps registers
    "the argument behind a call that counts": ("x86_64", ((f"{COUNT} 8b07 c3",),), ((f"{COUNT} 8b06 c3",),)),
    "the argument behind a far call that counts": (
        "x86_64",
        ((f"{COUNT_FAR} 8b07 c3",),),
        ((f"{COUNT_FAR} 8b06 c3",),),
    ),
    # add eax, [rdi]; add rdi, 4 or 8
    "the step of a pointer": ("x86_64", loop("0307 4883c704"), loop("0307 4883c708")),
    # mov [rdi], edx; add rdi, 4 or 8
    "where a loop stores": ("x86_64", loop("8917 4883c704"), loop("8917 4883c708")),
    # mov ecx, [esp + 4]; add eax, [ecx]; add dword [esp + 4], 4 or 8
    "the step of an argument on the stack": (
        "i386",
        loop("8b4c2404 0301 8344240404"),
        loop("8b4c2404 0301 8344240408"),
    ),
    # test ecx, ecx; je; mov dword [esp + 4], 5 or 6; mov eax, [esp + 4]
    "an argument on the stack that one way sets": (
        "i386",
        (("85c9 7408", 1, 2), ("c744240405000000", 2), ("8b442404 c3",)),
        (("85c9 7408", 1, 2), ("c744240406000000", 2), ("8b442404 c3",)),
    ),
    # mov dword [rsp - 8], 5 or 6 on one way, read on the same condition later
    "a variable that one way sets": (
        "x86_64",
        (("85c9 7408", 1, 2), ("c74424f805000000", 2), ("31c0 85c9 7404", 3, 4), ("8b4424f8", 4), ("c3",)),
        (("85c9 7408", 1, 2), ("c74424f806000000", 2), ("31c0 85c9 7404", 3, 4), ("8b4424f8", 4), ("c3",)),
    ),
    "a loop that nothing seems to reach": (
        "x86_64",
        (("c3",), ("8917 4883c704 ffce 75f6", 1, 2), ("c3",)),
        (("c3",), ("8917 4883c708 ffce 75f6", 1, 2), ("c3",)),
    ),
    # mov rax, rdi; mov rdi, rsi; mov rsi, rax
    "arguments passed on in another order": (
        "x86_64",
        ((f"{CALL} b803000000 c3",),),
        ((f"4889f8 4889f7 4889c6 {CALL} b803000000 c3",),),
    ),
    # mov rsi, rdi
    "an argument passed on twice": (
        "x86_64",
        ((f"{CALL} b803000000 c3",),),
        ((f"4889fe {CALL} b803000000 c3",),),
    ),
    # push dword [esp + 8] twice, or [esp + 8] and then [esp + 16]
    "arguments passed on by the stack": (
        "i386",
        ((f"ff742408 ff742408 {CALL} 83c408 b803000000 c3",),),
        ((f"ff742404 ff74240c {CALL} 83c408 b803000000 c3",),),
    ),
    # movsd xmm0, xmm1
    "another floating-point argument passed on": (
        "x86_64",
        ((f"{CALL} b803000000 c3",),),
        ((f"f20f10c1 {CALL} b803000000 c3",),),
    ),
    # mov rax, rdi or rsi
    "another argument returned": ("x86_64", (("4889f8 c3",),), (("4889f0 c3",),)),
    # mov rax, rdi; mov rdx, rsi
    "the second half of a result": ("x86_64", (("4889f8 c3",),), (("4889f8 4889f2 c3",),)),
    # mov x1, x2 or x3
    "the second half of a result on AArch64": (
        "aarch64",
        (("e10302aa c0035fd6",),),
        (("e10303aa c0035fd6",),),
    ),
    # movsd xmm0, [rbx] or [rbx + 8], behind a call
    "a floating-point result behind a call": (
        "x86_64",
        ((f"{CALL} f20f1003 c3",),),
        ((f"{CALL} f20f104308 c3",),),
    ),
    # mov eax, 1; add rdx, 1 or 2; syscall
    "what the system is given": (
        "x86_64",
        (("b801000000 4883c201 0f05 c3",),),
        (("b801000000 4883c202 0f05 c3",),),
    ),
    "what the system is given on AArch64": (
        "aarch64",
        (("21040091 010000d4 c0035fd6",),),
        (("21080091 010000d4 c0035fd6",),),
    ),
    "what the system gives": (
        "x86_64",
        (("b801000000 0f05 c3",),),
        (("b801000000 0f05 b801000000 c3",),),
    ),
    # sub rsp, 40; mov rdi, rsp; call; mov eax, [rsp + 12] or [rsp + 16]
    "another field of what a call filled": (
        "x86_64",
        ((f"4883ec28 4889e7 {CALL} 8b44240c 4883c428 c3",),),
        ((f"4883ec28 4889e7 {CALL} 8b442410 4883c428 c3",),),
    ),
    # sub rsp, 24; mov dword [rsp + 12], 0; lea rdi, [rsp + 12]; call; mov eax, [rsp + 12] or xor eax, eax
    "what a call wrote": (
        "x86_64",
        ((f"4883ec18 c744240c00000000 488d7c240c {CALL} 8b44240c 4883c418 c3",),),
        ((f"4883ec18 c744240c00000000 488d7c240c {CALL} 31c0 4883c418 c3",),),
    ),
    # mov [rdi], rsp, too, and the call is another one
    "what a call wrote where an address was stored": (
        "x86_64",
        ((f"4883ec18 c7042400000000 488927 31ff {CALL} 8b0424 4883c418 c3",),),
        ((f"4883ec18 c7042400000000 488927 31ff {CALL} 31c0 4883c418 c3",),),
    ),
    # mov dword [rsp], 0 or 1; mov [rsp + 16], rsp; lea rdi, [rsp + 16]; call
    "what lies where a variable points that is handed out": (
        "x86_64",
        ((f"4883ec18 c7042400000000 4889642410 488d7c2410 {CALL} 4883c418 c3",),),
        ((f"4883ec18 c7042401000000 4889642410 488d7c2410 {CALL} 4883c418 c3",),),
    ),
    # mov dword [rsp - 8], 0; mov dword [rsp + 4 * rdi - 16], 7; mov eax, [rsp - 8] or xor eax, eax
    "what an element of an array was before another one was written": (
        "x86_64",
        (("c74424f800000000 c744bcf007000000 8b4424f8 c3",),),
        (("c74424f800000000 c744bcf007000000 31c0 c3",),),
    ),
    # and mov eax, [rsp] or xor eax, eax behind it
    "what a call wrote where a variable points": (
        "x86_64",
        ((f"4883ec18 c7042400000000 4889642410 488d7c2410 {CALL} 8b0424 4883c418 c3",),),
        ((f"4883ec18 c7042400000000 4889642410 488d7c2410 {CALL} 31c0 4883c418 c3",),),
    ),
    # sub rsp, 8; push 1 or 2; call
    "what a call is given behind its registers": (
        "x86_64",
        ((f"4883ec08 6a01 {CALL} 4883c410 b803000000 c3",),),
        ((f"4883ec08 6a02 {CALL} 4883c410 b803000000 c3",),),
    ),
    # addiu sp, -32; li t0, 1 or 2; sw t0, 16(sp); jal; nop; addiu sp, 32; jr ra; li v0, 3
    "what a call is given behind its registers on MIPS": (
        "mips",
        (("e0ffbd27 01000824 1000a8af 0008000c 00000000 2000bd27 0800e003 03000224",),),
        (("e0ffbd27 02000824 1000a8af 0008000c 00000000 2000bd27 0800e003 03000224",),),
    ),
    # fld tbyte [rsp + 8]; fld tbyte [rsp + 24]; faddp or fmulp
    "arithmetic of long double": (
        "x86_64",
        (("db6c2408 db6c2418 dec1 c3",),),
        (("db6c2408 db6c2418 dec9 c3",),),
    ),
    # push ebx; mov eax, 5 or 6; call the thunk; cmp dword [esp + 8], 3; jle; call; pop ebx
    "what was set before a call that tells where the code lies": (
        "i386",
        ((f"53 b805000000 {ASK} 837c240803 7e05", 1, 2), (CALL, 2), ("5b c3",)),
        ((f"53 b806000000 {ASK} 837c240803 7e05", 1, 2), (CALL, 2), ("5b c3",)),
    ),
    # mov eax, 1; test edi, edi; je or jne; mov eax, 2
    "a value chosen the other way round": (
        "x86_64",
        (("b801000000 85ff 7405", 1, 2), ("b802000000", 2), ("c3",)),
        (("b801000000 85ff 7505", 1, 2), ("b802000000", 2), ("c3",)),
    ),
    # cmovs or cmovns
    "a value moved the other way round": (
        "x86_64",
        (("89f0 85ff 0f48c2 c3",),),
        (("89f0 85ff 0f49c2 c3",),),
    ),
    # ucomisd xmm0, xmm0; jp or jnp
    "a number where there is none": (
        "x86_64",
        (("b801000000 660f2ec0 7a05", 1, 2), ("b802000000", 2), ("c3",)),
        (("b801000000 660f2ec0 7b05", 1, 2), ("b802000000", 2), ("c3",)),
    ),
    # test edi, edi; je to where ecx is 1, or jne; then, or else, ecx is 2; eax is ecx
    "which arm of a branch sets what": (
        "x86_64",
        (("85ff 7407", 1, 2), ("b901000000 eb05", 3), ("b902000000", 3), ("89c8 c3",)),
        (("85ff 7507", 1, 2), ("b901000000 eb05", 3), ("b902000000", 3), ("89c8 c3",)),
    ),
    # mov dword [rdi], 1; mfence; mov dword [rsi], 2
    "a fence": (
        "x86_64",
        (("c70701000000 c70602000000 c3",),),
        (("c70701000000 0faef0 c70602000000 c3",),),
    ),
    "another fence": (
        "x86_64",
        (("c70701000000 0faef8 c70602000000 c3",),),
        (("c70701000000 0faef0 c70602000000 c3",),),
    ),
}


@pytest.mark.parametrize("what", PAIRS)
def test_it_is_a_change(what):
    processor, old, new = PAIRS[what]
    assert digest(processor, *old) == digest(processor, *old)
    assert digest(processor, *old) != digest(processor, *new)


ALIKE = {
    # mov edx or ecx, [rdi]; lea eax, [rdx or rcx + 1]
    "what is left in the register of a second half": (
        "x86_64",
        (("8b17 8d4201 c3",),),
        (("8b0f 8d4101 c3",),),
    ),
    # add rdi, 4 against mov rdx, rdi before the loop and add rdx, 4
    "another register of a loop": (
        "x86_64",
        loop("0307 4883c704"),
        (("31c0 4889fa", 1), ("0302 4883c204 ffce 75f6", 1, 2), ("c3",)),
    ),
    # sub rsp, 24; mov [rsp + 4 or 8], esi; lea rdi, [rsp + 12]; call; mov eax, [rsp + 4 or 8]
    "another slot of what a call cannot know": (
        "x86_64",
        ((f"4883ec18 89742404 488d7c240c {CALL} 8b442404 4883c418 c3",),),
        ((f"4883ec18 89742408 488d7c240c {CALL} 8b442408 4883c418 c3",),),
    ),
    # sub rsp, 24; mov [rsp or rsp + 8], rsi; call; mov rax, [rsp or rsp + 8]
    "what is kept at the top of the stack over a call": (
        "x86_64",
        ((f"4883ec18 48893424 {CALL} 488b0424 4883c418 c3",),),
        ((f"4883ec18 4889742408 {CALL} 488b442408 4883c418 c3",),),
    ),
    # push rbx; call; pop rbx or sub rsp, 8; call; add rsp, 8
    "a register that is kept for the caller": (
        "x86_64",
        ((f"53 {CALL} b803000000 5b c3",),),
        ((f"4883ec08 {CALL} b803000000 4883c408 c3",),),
    ),
    # six nops; call the thunk; lea eax, [ebx + 8] or mov eax, ebx; add eax, 8
    "what is reckoned from where the code lies": (
        "i386",
        ((f"90 90 90 90 90 90 {ASK} 8d8308000000 c3",),),
        ((f"90 90 90 90 90 90 {ASK} 89d8 83c008 c3",),),
    ),
    # test edi, edi; je or jne, and the arms the other way round
    "a branch whose arms change places": (
        "x86_64",
        (("85ff 7407", 1, 2), ("b901000000 eb05", 3), ("b902000000", 3), ("89c8 c3",)),
        (("85ff 7507", 1, 2), ("b902000000 eb05", 3), ("b901000000", 3), ("89c8 c3",)),
    ),
    # mov rax, rsi; test rdi, rdi; jns; mov rax, rdx, or cmovs
    "a branch or a conditional move": (
        "x86_64",
        (("4889f0 4885ff 7903", 1, 2), ("4889d0", 2), ("c3",)),
        (("4889f0 4885ff 480f48c2 c3",),),
    ),
    # test edi, edi; je; test esi, esi; je; the arms that set the same apart or one
    "arms that do the same apart or together": (
        "x86_64",
        (
            ("85ff 740b", 1, 3),
            ("85f6 7407", 2, 3),
            ("b901000000 eb05", 4),
            ("b902000000", 4),
            ("89c8 c3",),
        ),
        (
            ("85ff 740b", 1, 3),
            ("85f6 740e", 2, 4),
            ("b901000000 eb0e", 5),
            ("b902000000 eb07", 5),
            ("b902000000 eb00", 5),
            ("89c8 c3",),
        ),
    ),
    "what does nothing": ("x86_64", (("4889f8 c3",),), (("f30f1efa 90 4889f8 c3",),)),
}


@pytest.mark.parametrize("what", ALIKE)
def test_it_is_no_change(what):
    processor, old, new = ALIKE[what]
    assert digest(processor, *old) == digest(processor, *new)


def test_what_a_first_pass_saw_stays_where_a_second_is_too_large(monkeypatch):
    solve = Solver.solve

    def small(self):
        if self.late:
            raise LimitError("too many values")
        return solve(self)

    old, new = loop("8b4c2404 0301 8344240404"), loop("8b4c2404 0201 8344240404")
    alike = digest("i386", *old)
    monkeypatch.setattr(Solver, "solve", small)
    assert digest("i386", *old) not in (alike, digest("i386", *new))
