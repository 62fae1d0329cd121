"""An image becomes functions: bounds, instructions, basic blocks, typed edges, resolved references."""

from weft.bcsd.disassemble.interface import (
    Block,
    Disassembler,
    Edge,
    EdgeKind,
    Flag,
    Function,
    Reference,
    ReferenceKind,
)

__all__ = ["Block", "Disassembler", "Edge", "EdgeKind", "Flag", "Function", "Reference", "ReferenceKind"]
