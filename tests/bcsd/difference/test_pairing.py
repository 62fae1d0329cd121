"""How functions of two versions are paired without a model, on functions made up."""

from types import SimpleNamespace

from weft.bcsd.difference.content import Line
from weft.bcsd.difference.pairing import RENAMED, Pairing, likeness
from weft.bcsd.difference.version import Code


def code(name, words, address):
    """A function whose instructions are these words."""
    lines = tuple(Line(address + 4 * place, word, "", word) for place, word in enumerate(words))
    return Code(
        name or f"sub_{address:x}", (), address, 4 * len(lines), lines, ((0, len(lines)),), (), (), "", b""
    )


class Made:
    """A version that is its functions, from ``(name, instructions)``."""

    def __init__(self, *functions):
        self.codes = [code(name, words, 0x1000 * (row + 1)) for row, (name, words) in enumerate(functions)]
        self.rows = {one.address: row for row, one in enumerate(self.codes)}
        self.side = SimpleNamespace()

    def __len__(self):
        return len(self.codes)


def paired(old, new):
    pairing = Pairing(Made(*old), Made(*new))
    pairing.settle()
    return pairing.partner


LONG = [f"i{place}" for place in range(RENAMED + 4)]
OTHER = [f"j{place}" for place in range(RENAMED + 4)]


def test_names_are_pairs_in_any_order_and_a_clone_is_its_function():
    assert paired([("a", LONG), ("b", OTHER)], [("b", OTHER), ("a", LONG)]) == {0: 1, 1: 0}
    assert paired([("a.constprop.0", LONG)], [("x", OTHER), ("a.isra.0", LONG)]) == {0: 1}


def test_what_occurs_twice_pairs_nothing():
    """Two of one name, of which one is left in the new version: nobody knows which."""
    old = [("a", LONG), ("a", OTHER), ("b", ["x", "y"])]
    assert paired(old, [("b", ["x", "y"]), ("a", ["p", "q"] * RENAMED)]) == {2: 0}


def test_other_names_need_much_in_common():
    assert paired([("a", LONG)], [("b", LONG)]) == {0: 0}
    assert paired([("a", LONG[:4])], [("b", LONG[:4])]) == {}
    half = LONG[: len(LONG) // 2] + OTHER[len(LONG) // 2 :]
    assert likeness(code("a", LONG, 0), code("b", half, 0)) == 0.5
    assert paired([("a", LONG)], [("b", half)]) == {}
    # Without a name of their own they stand at the same place.
    assert paired([("", LONG)], [("", half)]) == {0: 0}


def test_it_is_one_to_one():
    pairing = Pairing(Made(("", LONG), ("", OTHER)), Made(("", LONG), ("", OTHER)))
    assert pairing._add(0, 1)
    assert not pairing._add(0, 0)
    assert not pairing._add(1, 1)
    assert pairing.left() == ([1], [0])
    assert pairing._add(1, 0)
    assert pairing.partner == {0: 1, 1: 0}
