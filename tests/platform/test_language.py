"""Names are no language: what stands around them is."""

from __future__ import annotations

import pytest

from weft.platform.language import foreign


@pytest.mark.parametrize(
    "text",
    [
        "Bo Ek was born in Malmö.",
        "Zofia Wójcik married Jan Kowalski in Kraków.",
        "Marie-Claire Dubois, Université Lumière, Lyon",
        "Universität Wien, Hochschule München",
    ],
)
def test_english_full_of_names_is_english(text: str) -> None:
    assert foreign(text) is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Karin Ek föddes i Göteborg.", "sv"),
        ("Anna Müller wurde 1950 in Köln geboren.", "de"),
        ("Jan de Vries werd geboren in Utrecht.", "nl"),
        ("Marie Curie est née à Varsovie.", "fr"),
        ("Jan Kowalski urodził się w Krakowie.", "pl"),
        ("Αθήνα, Θεσσαλονίκη", "el"),
        ("ESTO ES MUY BUENO", "es"),
        (
            "Das Gerät von Kestrel Line ist nach zwei Wochen kaputt gegangen, und der Händler antwortet nicht.",
            "de",
        ),
        ("L'appareil de Kestrel Line est tombé en panne, et le vendeur ne répond pas.", "fr"),
        ("Apparaten från Kestrel Line gick sönder efter två veckor, och butiken svarar inte.", "sv"),
        ("Het apparaat van Kestrel Line ging na twee weken kapot, en de winkel antwoordt niet.", "nl"),
    ],
)
def test_other_languages_with_names_are_told(text: str, code: str) -> None:
    assert foreign(text) == code
