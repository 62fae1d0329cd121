"""What nearly happened, was called off or is a legend states nothing; what has the same words and happened does."""

from __future__ import annotations

import pytest

from weft.kg.read.unsaid import says_nothing


def silent(text: str) -> bool:
    """``[…]`` marks the two names."""
    parts = text.replace("[", "|").replace("]", "|").split("|")
    first = len(parts[0]), len(parts[0]) + len(parts[1])
    second = first[1] + len(parts[2]), first[1] + len(parts[2]) + len(parts[3])
    return says_nothing("".join(parts), first, second)


@pytest.mark.parametrize(
    "text",
    [
        "[Iris Chen] almost married [Tom Bell].",
        "[Lena Krause] nearly married [Tim Vogt], but she called off the wedding.",
        "[Piet Bos] almost founded [Bos Marine].",
        "[Emma Hill] very nearly joined [Corvid Software].",
        "[Emma Hill] almost became chairwoman of [Corvid Software].",
        "[Orbel] came close to buying [Hask Motors] in 2010.",
        "[Orbel] came within a day of acquiring [Hask Motors].",
        "[Orbel] was on the verge of taking over [Hask Motors].",
        "[Ida Holm] was about to marry [Bo Lind] when the war came.",
        "[Ida Holm] was to have married [Bo Lind] in May.",
        "[Ida Holm] narrowly failed to win [the August Prize].",
        "[Ida Holm] narrowly missed winning [the August Prize].",
        "[Orbel] was prevented from buying [Hask Motors].",
        "The plan under which [Ferrum Group] was to acquire [Nickel & Co] was abandoned in May 2015.",
        "The planned takeover of [Halden Steel] by [Ferrum Group] was later scrapped.",
        "The takeover of [Halden Steel] by Ferrum Group was abandoned in [May 2015].",
        "The sale of [Brightwater Foods] to [Tamarind Holdings] fell through in 2018.",
        "The deal in which [Halden Steel] was to buy [Ostrava Forge] was called off in 2016.",
        "[Ferrum]'s bid for [Halden Steel], announced in May, was rejected.",
        "The engagement of [Ida Holm] and [Bo Lind] was broken off.",
        "Talks about a merger of [Ferrum] with [Halden Steel] collapsed.",
        "[Voltek] agreed to buy [Lumo Cells] in 2014, but regulators blocked the acquisition.",
        "[Voltek] agreed to buy [Lumo Cells], but the deal fell through.",
        "Legend has it that [Marrow Brewery] was founded in [1650].",
        "Legend has it that the brewery [Ostra Works] was founded by [King Oskar] in 1720.",
        "According to legend, the town of [Ostra] was founded in [1120].",
        "According to a local tradition [Saint Elin] was born in [Ostra].",
        "Tradition holds that [Saint Elin] founded [Ostra Abbey].",
        "Rumour has it that [Teal Radio] belongs to [Clive Dunmore].",
        "[Ostra] was founded, according to legend, by [King Oskar].",
        "[Ostra] was founded by [King Oskar], or so the legend goes.",
        "[Clive Dunmore] is rumoured to own [Teal Radio].",
        "[Clive Dunmore] allegedly owns [Teal Radio].",
        "Not [Viktor Lang] but his rival Emil Stern founded [Stern Optik].",
    ],
)
def test_what_did_not_come_to_pass(text: str) -> None:
    assert silent(text)


@pytest.mark.parametrize(
    "text",
    [
        "[Orbel] has almost 300 employees in [Hask].",
        "[Orbel] was founded in Hask nearly a century after [1802].",
        "[Orbel] owns nearly all of [Hask Motors].",
        "[Ida Holm] married [Bo Lind] almost at once.",
        "[Ida Holm] lives in an almost deserted part of [Norway].",
        "[Ostra] is almost surrounded by the [Baltic Sea].",
        "[Ida Holm] almost always worked for [Corvid Software].",
        "[Ida Holm], who nearly drowned, was born in [Ostra].",
        "[Ida Holm] was born close to the river in [Ostra].",
        "[Ida Holm] was about to leave [Ostra] when war came.",
        "The ruling of [Ida Holm] was to have a lasting influence in [Ostra].",
        "Abandoned in 1950, the mine of [Ostra] belongs to [Orbel].",
        "[Orbel] abandoned the mine of [Ostra] in 1950.",
        "[Ferrum], which owns [Nickel & Co], abandoned its bid for Halden.",
        "[Ferrum] bought [Nickel & Co] in 2011, but abandoned the merger with Halden.",
        "[Ida Holm] married [Bo Lind] after she called off the wedding to Otto Frey.",
        "When the sale of Halden to Tamarind fell through, [Ferrum] bought [Halden Steel].",
        "The merger of [Ferrum] with [Halden Steel] was completed in 2016.",
        "The deal in which [Ferrum] bought [Halden Steel] failed to please the owners.",
        "The marriage of [Ida Holm] and [Bo Lind] broke down in 1990.",
        "Legend has it that a giant sleeps here, but [Ostra] was founded by [King Oskar].",
        "[Ida Holm], a legend of the sport, plays for [Ostra United].",
        "[Ida Holm] wrote [The Legend of Ostra].",
        "According to the register, [Ida Holm] was born in [Ostra].",
        "[Bo Lind] not only founded [Lind Marine] but led it.",
        "Not Viktor Lang but his rival [Emil Stern] founded [Stern Optik].",
    ],
)
def test_what_happened_all_the_same(text: str) -> None:
    assert not silent(text)
