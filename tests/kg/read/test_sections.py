"""Where sections begin, and a document cut there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.sections import cut, section_starts

BODY = "Greta Olsen founded it in 1962. It has two shops."


def sections(text: str) -> list[str]:
    starts = section_starts(text)
    return [text[start:stop].strip() for start, stop in zip(starts, (*starts[1:], len(text)), strict=True)]


def test_sections_begin_at_headings() -> None:
    text = f"Harbour town\n\nThe bakery\n\n{BODY}\n\n{BODY}\n\n2. The rowing club\n \n{BODY}\n\n# A visitor\n\n{BODY}\n"
    found = sections(text)
    assert [part.splitlines()[0] for part in found] == ["Harbour town", "2. The rowing club", "# A visitor"]
    assert found[0].count(BODY) == 2
    # What stands above the first heading is a section of its own.
    assert sections(f"{BODY}\n\nThe club\n\n{BODY}") == [BODY, f"The club\n\n{BODY}"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        BODY,
        "Only a title",
        f"A title\n\n{BODY}\n\n{BODY}",
        f"{BODY}\n\nThe end",
        f"{BODY}\n\nPresent: Anna Berg, Paul Stone\n\n{BODY}",
        f"{BODY}\n\nHe never came back.\n\n{BODY}",
        f"{BODY}\n\nas was the custom\n\n{BODY}",
        f"{BODY}\n\n• Anna Berg\n\n{BODY}",
        f"{BODY}\n\nAnna Berg | Chair\n\n{BODY}",
        f"{BODY}\n\nTwo lines\nof a verse\n\n{BODY}",
        f"{BODY}\n\n1962\n\n{BODY}",
        f"{BODY}\n\n{'Long ' * 20}\n\n{BODY}",
        "Anna Berg\n\nPaul Stone\n\nEva Holm\n\n",
    ],
)
def test_what_is_no_heading(text: str) -> None:
    assert section_starts(text) == (0,)


def test_a_document_is_cut_with_its_mentions() -> None:
    text = f"{BODY}\n\nThe club\n\n{BODY}"
    first, second = text.index("Greta"), text.rindex("Greta")
    mentions = tuple(Mention(start, start + 11, 7, "Greta Olsen", "PER", 0.5) for start in (first, second))
    (zero, one), (start, two) = cut(TextDocument("a", text, mentions), section_starts(text))
    assert (zero, start) == (0, text.index("The club"))
    assert one.text + two.text == text
    for part in (one, two):
        (mention,) = part.mentions
        assert part.text[mention.start : mention.end] == "Greta Olsen"
        assert mention.probability == 0.5


def test_a_mention_over_the_edge_of_a_section_is_in_none_and_each_is_looked_at_once() -> None:
    class Counted(tuple[Mention, ...]):
        asked = 0

        def __iter__(self) -> Iterator[Mention]:
            self.asked += 1
            return super().__iter__()

    mentions = Counted(Mention(start, start + 4, 0, "x") for start in (96, 98, 100, 0))
    parts = cut(TextDocument("a", "x" * 1000, mentions), range(0, 1000, 100))
    assert [[item.start for item in part.mentions] for _, part in parts[:2]] == [[96, 0], [0]]
    assert mentions.asked == 1
