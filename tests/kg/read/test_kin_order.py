"""Words of kinship tell who is whose child, and that a sibling is none."""

from __future__ import annotations

import pytest

from weft.kg.read.kin_order import is_turned


@pytest.mark.parametrize(
    ("relation", "text", "turned"),
    [
        ("child", "{t:Gerald} died. He is survived by their daughter, {h:Imogen}.", True),
        ("child", "{h:Gerald} died. He is survived by their daughter, {t:Imogen}.", False),
        ("father", "{h:Gerald} died. He is survived by his son, {t:Rupert}.", True),
        ("father", "{t:Gerald} died. He is survived by his son, {h:Rupert}.", False),
        ("child", "{h:Tobias} was born in Ulm. His father, {t:Wilhelm}, was a smith.", True),
        ("child", "{t:Tobias} was born in Ulm. His father, {h:Wilhelm}, was a smith.", False),
        ("mother", "{h:Tobias} was born in Ulm. His father, {t:Wilhelm}, was a smith.", True),
        ("father", "{h:Tobias} was born in Ulm. His father, {t:Wilhelm}, was a smith.", False),
        ("child", "{h:Johan}'s elder sibling, {t:Grethe}, became a teacher.", True),
        ("child", "{t:Johan}'s elder sibling, {h:Grethe}, became a teacher.", True),
        ("spouse", "{t:Johan}'s elder sibling, {h:Grethe}, became a teacher.", True),
        ("sibling", "{t:Johan}'s elder sibling, {h:Grethe}, became a teacher.", False),
        ("child", "{h:Johan}'s daughter {t:Grethe} became a teacher.", False),
        ("child", "{t:Johan}'s daughter {h:Grethe} became a teacher.", True),
        ("child", "{h:Gerald}, the son of a lighthouse keeper, {t:Arthur}, died.", True),
        ("child", "{t:Gerald}, the son of a lighthouse keeper, {h:Arthur}, died.", False),
        ("father", "{h:Gerald} was the only son of {t:Arthur}.", False),
        ("child", "{h:Ada}, the mother of {t:Otto}, died.", False),
        ("father", "{t:Ada}, the mother of {h:Otto}, died.", True),
        ("mother", "{t:Ada}, the mother of {h:Otto}, died.", False),
        # A wife may be the mother of whom the text named before.
        ("child", "Karl had a son, {t:Otto}. His wife, {h:Anna}, was a nurse.", False),
        # Not before this name, not of kinship, and in another sentence.
        ("child", "{h:Gerald} told his daughter of {t:Imogen}.", False),
        ("employer", "{h:Gerald} died. He is survived by their daughter, {t:Imogen}.", False),
        ("child", "{t:Gerald} lost his daughter. {h:Imogen} was a smith.", False),
    ],
)
def test_who_is_whose_child(relation: str, text: str, turned: bool) -> None:
    plain, places, rest = "", {}, text
    while "{" in rest:
        before, _, after = rest.partition("{")
        name, _, rest = after.partition("}")
        plain += before
        places[name[0]] = (len(plain), len(plain) + len(name[2:]))
        plain += name[2:]
    assert is_turned(relation, plain + rest, places["h"], places["t"]) is turned
