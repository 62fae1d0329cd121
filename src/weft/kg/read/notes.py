"""Marks of notes in pages, and numbers that are raised for another reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from weft.kg.read.origins import unmarked

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_NOTED = re.compile(r"\s*(?:\[[^\[\]]{1,30}\]\s*)+")
"""What stands raised where a note belongs: "[1]", "[citation needed]"."""
_NUMBERED = re.compile(r"\s*(?:\d{1,3}|[*†‡§¶])(?:\s*[,–-]?\s*(?:\d{1,3}|[*†‡§¶]))*\s*")
"""The same without brackets, where it leads to the note or follows a mark or a word: "left.²", but not "10³"."""
_SEVERAL = re.compile(r"[,*†‡§¶]")
"""What no power is: "1,2", "2,*"."""
_MARKED = re.compile(r"[.!?…,;:\"'”’)\]]\s*\Z")
_WORD = re.compile(r"([^\W\d_]{2,})\Z")
_LONG = 4
"""Letters of a word that is no symbol: what is raised behind it is no power, unless it is a unit."""
_UNITS = re.compile(r"(?:(?:kilo|centi|milli)?met(?:er|re)|mile|yard)s?|foot|feet|inch(?:es)?", re.IGNORECASE)
_ELEMENTS = re.findall(
    r"\S+",
    "hydrogen helium lithium beryllium boron carbon nitrogen oxygen fluorine neon sodium magnesium "
    "aluminium silicon phosphorus sulfur chlorine argon potassium calcium scandium titanium vanadium "
    "chromium manganese iron cobalt nickel copper zinc gallium germanium arsenic selenium bromine krypton "
    "rubidium strontium yttrium zirconium niobium molybdenum technetium ruthenium rhodium palladium "
    "silver cadmium indium tin antimony tellurium iodine xenon caesium barium lanthanum cerium "
    "praseodymium neodymium promethium samarium europium gadolinium terbium dysprosium holmium erbium "
    "thulium ytterbium lutetium hafnium tantalum tungsten rhenium osmium iridium platinum gold mercury "
    "thallium lead bismuth polonium astatine radon francium radium actinium thorium protactinium uranium "
    "neptunium plutonium americium curium berkelium californium einsteinium fermium",
)
_PROTONS = {name: number for number, name in enumerate(_ELEMENTS, 1)} | {
    "aluminum": 13,
    "sulphur": 16,
    "cesium": 55,
}
_NUCLEONS = (1.8, 3)
"""Least and most nucleons of an isotope for each proton; a note of just such a number behind such a word is rare."""
_FRACTION = re.compile(r"\s*[/⁄]")
_BACK = frozenset(("↑", "^", "↩", "↩︎"))
"""What leads from a note back to its place."""
_LEADS = re.compile(
    r"(?:foot|end)note|noteref|(?:^|[\s#_-])f(?:t)?n\b|(?:^|[\s#_-])f(?:t)?n(?:ref)?[\d.:_-]|cite_note"
)
"""How a link says that it leads to a note: "#fn1", "#_ftn1", ``class="footnote"``, ``role="doc-noteref"``."""
_POWER = re.compile(r"\s*[-−–+]?\d{1,3}\s*")
_RAISED = str.maketrans("0123456789-−–+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁻⁺")


def is_mark(node: LexborNode) -> bool:
    """Whether a node says where a note belongs, or leads back from it."""
    if node.tag not in ("a", "sup"):
        return False
    said = unmarked(node.text())
    if node.tag == "a":
        return _is_link(node, said)
    if _NUMBERED.fullmatch(said) is None:
        return _NOTED.fullmatch(said) is not None
    if _is_inside(node) or node.css_first('a[href^="#"]') is not None:
        return True
    after = node.next
    if after is not None and (after.tag == "sub" or _FRACTION.match(unmarked(after.text() or ""))):
        return False
    before = (node.prev.text() or "") if node.prev is not None else ""
    word = _WORD.search(before)
    if word is not None and _is_isotope(word[1], said):
        return False
    if before[-1:].isspace() and after is not None and unmarked(after.text() or "")[:1].isalpha():
        return False  # what is raised before a symbol is its own: "by mass, ¹⁴C"
    if word is not None and _SEVERAL.search(said):
        return True
    if word is not None and len(word[1]) >= _LONG and _UNITS.fullmatch(word[1]) is None:
        return True
    return _MARKED.search(before) is not None


def raised(node: LexborNode) -> str | None:
    """A power as it is read, "10³" and not 103; None of what is no number behind a number."""
    before = (node.prev.text() or "") if node.prev is not None else ""
    said = unmarked(node.text())
    if not before[-1:].isdecimal() or _POWER.fullmatch(said) is None:
        return None
    return said.strip().translate(_RAISED)


def _is_isotope(word: str, said: str) -> bool:
    """Whether a number behind an element's name counts the nucleons of its atoms: "uranium²³⁵", but not "gold¹²"."""
    protons = _PROTONS.get(word.lower())
    if protons is None or not said.strip().isdecimal():
        return False
    least, most = _NUCLEONS
    return protons > 1 and least * protons <= int(said) <= most * protons


def _is_inside(node: LexborNode) -> bool:
    """Whether a raised number stands in a link to another place of its page."""
    around = node.parent
    return around is not None and around.tag == "a" and (around.attributes.get("href") or "")[:1] == "#"


def _is_link(node: LexborNode, said: str) -> bool:
    told = node.attributes
    inside = (told.get("href") or "")[:1] == "#"
    if inside and said.strip() in _BACK:
        return True
    if _NUMBERED.fullmatch(said) is None and _NOTED.fullmatch(said) is None:
        return False
    return any(_LEADS.search(told.get(name) or "") for name in ("href", "class", "role", "rel", "epub:type"))
