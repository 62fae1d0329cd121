"""RISC-V, 64 bits, with compressed instructions."""

from weft.bcsd.architectures.riscv64.processor import ARCHITECTURES

__all__ = ["ARCHITECTURES"]
