"""How wide registers are and what scales them differs; which registers they are does not."""

import shutil
import subprocess

import pytest

from weft.bcsd.architectures import architecture_named
from weft.bcsd.difference.files import diff

SHAPES = [
    ("x86_64", "eax, [rbx + rbx*2]", "eax, [rbx + rbx*4]", "ecx, [rdx + rdi*2]"),
    ("x86_64", "qword ptr [rsp + 8], rax", "dword ptr [rsp + 8], eax", "qword ptr [rbp - 8], r9"),
    ("x86_64", "eax, al", "eax, ax", "r9d, sil"),
    ("x86_64", "xmm0, xmmword ptr [rax]", "ymm0, ymmword ptr [rax]", "xmm7, xmmword ptr [rbx]"),
    ("i386", "edx, [eax + 8]", "edx, [eax + ecx + 8]", "ecx, [ebx + 0x10]"),
    ("aarch64", "x0, [x1, w2, uxtw #2]", "x0, [x1, w2, sxtw #2]", "x3, [x4, w5, uxtw #2]"),
    ("aarch64", "w0, w1, w2", "x0, x1, x2", "w7, w8, wzr"),
    ("aarch64", "v0.4s, v1.4s", "v0.8h, v1.8h", "v2.4s, v3.4s"),
    ("arm", "r0, [r1, r2, lsl #2]", "r0, [r1, r2, lsl #3]", "r3, [r4, r5, lsl #2]"),
]


@pytest.mark.parametrize(("processor", "old", "changed", "same"), SHAPES)
def test_a_shape_is_width_and_scale(processor, old, changed, same):
    shape = architecture_named(processor).shape
    assert shape(old) != shape(changed)
    assert shape(old) == shape(same)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="compiles two versions")
@pytest.mark.parametrize(("old", "new"), [("3 * n", "5 * n"), ("p[0] + n", "(unsigned)(p[0] + n)")])
def test_a_line_of_another_width_or_scale_is_marked_and_counted(tmp_path, old, new):
    for name, what in (("old", old), ("new", new)):
        (tmp_path / f"{name}.c").write_text(f"long f(long *p, long n) {{ return {what}; }}\n")
        command = ["gcc", "-O1", "-shared", "-fPIC", "-o", f"{name}.so", f"{name}.c"]
        subprocess.run(command, cwd=tmp_path, check=True)
    (found,) = (
        entry for entry in diff(tmp_path / "old.so", tmp_path / "new.so") if entry["status"] == "changed"
    )
    assert found["old"]["name"] == "f"
    assert found["amount"] > 0
    assert [row[0] for block in found["blocks"] for row in block["rows"]].count("!") >= 1
