"""Which AArch64 instructions compute an address: ``adr``, ``adrp`` and a low part, literal loads."""

from __future__ import annotations

from weft.bcsd.architectures.operands import Raw, immediate, split_operands

_PAGE_USERS = ("add", "ld", "st", "pr")


def page_addresses(instructions: list[Raw]) -> list[tuple[int, int]]:
    """Follow each register that holds a page, in address order, until it is written again."""
    found: list[tuple[int, int]] = []
    pages: dict[str, int] = {}
    for index, (_, _, mnemonic, operands) in enumerate(instructions):
        if mnemonic in ("adrp", "adr"):
            name, _, number = operands.partition(", ")
            value = immediate(number)
            if value is None:
                continue
            if mnemonic == "adrp":
                pages[name] = value
            else:
                pages.pop(name, None)
            found.append((index, value))
        elif not pages:
            if mnemonic.startswith("ldr") and ", #" in operands and "[" not in operands:
                _literal(found, index, operands)
        elif mnemonic.startswith(_PAGE_USERS):
            _page_use(found, pages, index, mnemonic, operands)
        else:
            pages.pop("x" + operands.partition(", ")[0][1:], None)
    return found


def _literal(found: list[tuple[int, int]], index: int, operands: str) -> None:
    value = immediate(operands.rpartition(", ")[2])
    if value is not None:
        found.append((index, value))


def _page_use(
    found: list[tuple[int, int]], pages: dict[str, int], index: int, mnemonic: str, operands: str
) -> None:
    parts = split_operands(operands)
    memory = next((part for part in parts if part.startswith("[")), None)
    if memory is not None:
        base, _, offset = memory.strip("[]!").partition(", ")
        low = immediate(offset) if offset else 0
    elif mnemonic == "add" and len(parts) == 3:
        base, low = parts[1], immediate(parts[2])
    else:
        base, low = "", None
        if mnemonic.startswith("ldr") and len(parts) == 2:
            _literal(found, index, operands)
    page = pages.get(base)
    if page is not None and low is not None:
        found.append((index, page + low))
    if not mnemonic.startswith("st"):
        for part in parts[:2] if mnemonic.startswith("ldp") else parts[:1]:
            pages.pop("x" + part[1:], None)
