"""Which names are those of functions that compilers and C libraries put into every program."""

from __future__ import annotations

import re

#: Start-up code that only passes on addresses which the linker makes: the end of the data, what is run at the end.
_START_UP = re.compile(r"_start|call_weak_fn|frame_dummy|(de)?register_tm_clones|__do_global_dtors_aux")
#: The rest of the start-up code: what crt1.o, crti.o and crtbegin.o bring, of glibc, musl and LLVM.
_STUB = re.compile(
    r"_init|_fini|__start|_start_c|_dlstart(_c)?|_dl_relocate_static_pie|__libc_csu_(init|fini|irel)"
    r"|__do_global_ctors_aux|__do_(init|fini)"
)
#: Functions of the compiler's support library and of the C library, linked into every file.
_SUPPORT = re.compile(
    r"__aarch64_.*|__stack_chk_fail_local|__x86\.get_pc_thunk\..*|__libc_csu_.*"
    r"|__(div|mul|udiv|umod|mod|float|fix).*[dst][ifc]\d?"
)


def is_start_up(name: str) -> bool:
    """Whether a function of this name is start-up code, whose addresses of data the linker makes."""
    return _START_UP.fullmatch(name) is not None


def is_stub(name: str) -> bool:
    """Whether a function of this name is start-up code of any kind: it says nothing of the program it stands in."""
    return is_start_up(name) or _STUB.fullmatch(name) is not None


def is_runtime(name: str) -> bool:
    """Whether a function of this name is linked into every program."""
    return is_stub(name) or _SUPPORT.fullmatch(name) is not None
