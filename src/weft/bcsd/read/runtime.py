"""Which names are those of functions that compilers and C libraries put into every program."""

from __future__ import annotations

import re

#: Functions of the C runtime and of the compiler's support library, linked into every file.
_RUNTIME = re.compile(
    r"^(_init|_fini|_start|call_weak_fn|frame_dummy|(de)?register_tm_clones|__do_global_dtors_aux|__aarch64_.*"
    r"|__stack_chk_fail_local|__x86\.get_pc_thunk\..*|__libc_csu_.*|__(div|mul|udiv|umod|mod|float|fix).*[dst][ifc]\d?)$"
)
#: Of these, those that only pass on addresses which the linker makes: the end of the data, what is run at the end.
_START_UP = re.compile(r"^(_start|call_weak_fn|frame_dummy|(de)?register_tm_clones|__do_global_dtors_aux)$")


def is_start_up(name: str) -> bool:
    """Whether a function of this name is start-up code, whose addresses of data the linker makes."""
    return _START_UP.match(name) is not None


def is_runtime(name: str) -> bool:
    """Whether a function of this name is linked into every program."""
    return _RUNTIME.match(name) is not None
