"""Lists, faces and grades inside a text: what they are read as, and what is none."""

from __future__ import annotations

import time

import pytest

from weft.absa.records import Context, Sentence
from weft.absa.represent.faces import faces
from weft.absa.represent.lists import lists
from weft.absa.represent.meant import as_read, named_by_layout, read_otherwise
from weft.absa.represent.ratings import ratings
from weft.absa.represent.slips import Slip, replaced
from weft.absa.use.notes import notes_on
from weft.absa.use.predict import records
from weft.absa.use.store import load


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("+ boils quickly\n+ handle\n- lid", "good boils quickly\n, good handle\n, bad lid"),
        ("Four nights. + pool + staff - noise", "Four nights. good pool , good staff , bad noise"),
        ("(+) lens, (+) menu (-) strap", "good lens, good menu , bad strap"),
        ("- waited long\n+ duck – view", "bad waited long\n, good duck , bad view"),
        ("Likes: balcony, lift. Dislikes: stairs.", "good balcony, good lift. bad stairs."),
        (
            "Pros:\n- tutor\n• slides\nCons:\n- room\nFine.",
            "Pros:\ngood tutor\n, good slides\nCons:\nbad room\nFine.",
        ),
        ("PLUS: import\nMinus: licence", "good import\nbad licence"),
        ("What I loved: wheels. What we didn\u0027t like: brake", "good wheels. bad brake"),
        ("sauna = heaven, pool = cold", "sauna is heaven, pool is cold"),
        ("Pros - tutor; slides. Cons- room", "good tutor, good slides. bad room"),
        ("PROS\n1. pool\n2) bar\n\nContra:\n• lift", "PROS\ngood pool\n, good bar\n\nContra:\nbad lift"),
        ("**Pros:** pool | Cons = lift", "**good** pool | bad lift"),
        ("+pool +bar / -lift", "good pool , good bar / bad lift"),
        ("The best - and the worst - were the beds. Good - old - bad - new", None),
        # Bullets alone, and a plus and a minus inside a sentence, are no praise and no blame.
        ("- two ponds\n- a kiosk", None),
        ("Bought a phone + case - 300 euros. Dr Adeyemi + team were great - the room was not.", None),
        ("Took 5 + hours for - of course - the update. 3 - 4 euros", None),
        # One kind of head alone, what denies, and what says by itself how it is meant.
        ("Cons: coffee, queue", None),
        ("Pros: none. Cons: no parking, nothing else", None),
        ("Good: it has worked for two years now. Bad: the cable only lasts for a day or so", None),
        ("+ no noise - the battery lasts for two hours at most", None),
        ("a=b, x == y, 3 = 3", None),
        # Facts by their layout.
        ("Changelog\n+ dark mode\n- login screen", None),
        ("Please bring:\n- passport\n+ sunscreen", None),
        ("Please bring the following:\n- passport\n+ sunscreen", None),
        ("Packing list for two nights\n+ bowl\n- toys", None),
        ("@@ -1,3 +1,3 @@\n-import os\n+import sys", None),
        ("ROS: + nausea - vomiting", None),
        ("+ve culture, -ve smear", None),
        ("Urine: + protein - glucose", None),
        ("v2.1:\n+ maps\n- ads", None),
        ("Subtotal\n+ VAT\n- deposit", None),
        ("Total\n+ VAT\n- deposit", None),
        ("Total: 45.00\n+ tip\n- coffee", None),
        ("Total:\n+ pool - lift", "Total:\ngood pool , bad lift"),
        ("Paid ✔\n+ pool\n- lift", "Paid ✔\ngood pool\n, bad lift"),
        ("Antigen tests. Positive: Anna. Negative: Ben, Carl.", None),
        ("I tested it. Positive: Anna. Negative: the rooms.", "I tested it. good Anna. bad the rooms."),
        ("Good = green, bad = red", "Good is green, bad is red"),
        # One head behind another, or inside a line.
        ("Pros: Cons: everything", "Pros: bad everything"),
        ("pros: cons: the price", "pros: bad the price"),
        ("PROS: CONS: the price", "PROS: bad the price"),
        ("Likes: Dislikes: the queue", "Likes: bad the queue"),
        ("Pros: great staff Cons: noisy rooms", "good great staff , bad noisy rooms"),
        ("Overall: Pros: speed Cons: price", "Overall: good speed , bad price"),
        ("Pros: none Cons: everything", "Pros: none , bad everything"),
        ("Pros: none\nCons: everything", "Pros: none\n, bad everything"),
        ("Pros: stock options / Cons: worth nothing", "good stock options / bad worth nothing"),
        ("Pros: alarm\nCons: does nothing", "good alarm\nbad does nothing"),
        ("Pros: speed / Cons: next to nothing", "good speed / Cons: next to nothing"),
        ("I know the pros: money and the cons: time", None),
        ("Rh Positive: 12 Negative: 3", None),
        ("He weighed Pros and Cons and left", None),
        ("", None),
    ],
)
def test_lists_are_words(text: str, read: str | None) -> None:
    assert replaced(text, None, lists(text))[0] == (text if read is None else read)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Pros:\nbattery\ndisplay\nCons:\nprice", "good battery, good display\nbad price"),
        # The last line may look back on the list.
        ("Pros:\nBar\nCons:\nLift\nLoved it anyway", "good Bar\nbad Lift\nLoved it anyway"),
        ("Cons:\nLift\nPros:\nBar\nPool\nIt was fine.\n", "bad Lift\ngood Bar, good Pool\nIt was fine.\n"),
        ("Pros:\nBar\nCons:\nLift\nSmall trip overall", "good Bar\nbad Lift\nSmall trip overall"),
        ("Pros:\nBar\nCons:\nStill wet\nLift", "good Bar\nbad Still wet, bad Lift"),
        ("Pros:\nBar\nCons:\nLift\nIt crashes\nPrice", "good Bar\nbad Lift, bad It crashes, bad Price"),
        ("Pros\nroof bar\npool\n\nCons\nlift\n\nSee you", "good roof bar, good pool\n\nbad lift\n\nSee you"),
        ("Good:\nhose\nBad:\nfilter\nWe keep it", "good hose\nbad filter\nWe keep it"),
        ("Good:\nhose\nBad:\nfilter\nGreat value", "good hose\nbad filter\nGreat value"),
        ("LIKES\nTrails\nThe lake\nDISLIKES\nThe bar", "good Trails, good The lake\nbad The bar"),
        ("**Likes:**\nthe pool, a bar\nDislikes:\nwifi", "**good the pool, good a bar\nbad wifi"),
        ("Pros:\n\nsaddle\n\nCons:\n\nbrakes", "good saddle\n\nbad brakes"),
        ("Pros:\nBattery.\nCase.\nCons:\nPrice.", "good Battery., good Case.\nbad Price."),
        ("Cons:\nnone\nPros:\nstaff\nmenu", "Cons:\nnone\ngood staff, good menu"),
        (
            "Pros:\nEngine\nIt takes two prams and a dog\nSeats\nCons:\nRadio\nVerdict: buy it",
            "good Engine\nIt takes two prams and a dog, good Seats\nbad Radio\nVerdict: buy it",
        ),
        # Facts, and what has nothing below it.
        ("Antigen tests.\nPositive:\nAnna\nNegative:\nBen", None),
        ("Likes:\n3412\nDislikes:\n12", None),
        ("Plus:\ncredit 20\nMinus:\nvoucher 5", None),
        ("School debate\nPro:\nAnna Lee\nCon:\nMarcus Hill", None),
        ("Total\nPlus:\nVAT\nMinus:\ndeposit", None),
        ("Strengths\nWeaknesses\nOpportunities\nThreats", None),
        ("Good:\n\nBad:\n\nName:\nAnna", None),
        ("Pros:\nnone\nCons:\nnone\nBest phone", None),
        ("Pros:\nIt charges quickly, every time.\nCons:\nIt fits no pocket of mine.", None),
        ("Cons:\nprice\nweight", None),
    ],
)
def test_lines_below_heads_are_items(text: str, read: str | None) -> None:
    assert replaced(text, None, lists(text))[0] == (text if read is None else read)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("cabin ❤️ buffet 🤢 shows 😍😍", "cabin is good, buffet is bad, shows is good"),
        ("Speed: 😀\nSupport: 😠", "Speed: is good,\nSupport: is bad"),
        ("Beard trim :) wait :( music :-)", "Beard trim is good, wait is bad, music is good"),
        ("Stitches: A. Manual: F, noise: B+", "Stitches: is excellent. Manual: is terrible, noise: is good"),
        ("Check-in: ☹️", "Check-in: is bad"),
        # Behind a sentence a face says how one feels, and one alone may be of anything.
        ("The staff were so kind to all of us ❤️ we will come again 😍", None),
        ("Lovely place ❤️", None),
        ("Terminal: B", None),
        ("as follows :(see below), or f(x):)", None),
        ("Thanks :) Regards :)", None),
        ("yes :) no :(", None),
        ("I said hi 🙂 she said no 😢", None),
        ("No wifi 😡 welcome drink 😍", "No wifi is bad, welcome drink is good"),
        # Letters that are names.
        ("Gate: A, Platform: B", None),
        ("Blood type: A. Bed: C. Q1: D.", None),
        ("Building: C, Wing: A", None),
        ("Author: B. Traven. Section A: C", None),
        ("C:) D:)", None),
        ("Floor: C, Door: A", None),
        ("Note: A guest left. Hint: A good one.", None),
        ("Bed: A. Breakfast: C.", "Bed: is excellent. Breakfast: is average."),
    ],
)
def test_faces_and_grades_are_words(text: str, read: str | None) -> None:
    assert replaced(text, None, faces(text))[0] == (text if read is None else read)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Love it! ✔ strap ✔ alarm ✖ glass", "Love it! good strap , good alarm , bad glass"),
        ("friendly!! ✅ shop ❌ queue", "friendly!! good shop , bad queue"),
        # Behind a sentence, or with the last word before a sign, signs are about what stands before them.
        ("Friendly!! 👍 Prices though 👎", "Friendly!! is good, Prices though is bad"),
        (
            "Loved it! 👍 It was spotless. 👍 Steep stairs.",
            "Loved it! is good, It was spotless. is good, Steep stairs.",
        ),
    ],
)
def test_a_list_of_signs_in_a_line(text: str, read: str) -> None:
    assert replaced(text, None, ratings(text))[0] == read


def test_an_item_with_a_rating_needs_no_further_word() -> None:
    text = "Beds: ❤️\n+ bath 9/10 - lift 👎"
    assert as_read(text, str.isascii, as_meant=True)[0] == "Beds: is good\n+ bath is excellent - lift is bad"
    assert read_otherwise("+ sofa 👍\n- lift", str.isascii) == [
        Slip(7, 8, "is good."),
        Slip(9, 10, "bad"),
    ]


def test_signs_in_a_row_are_words_of_their_own() -> None:
    assert (
        as_read("lift ✅✔️ pool 👍☆", str.isascii, as_meant=True)[0]
        == "lift is good is good, pool is good is terrible"
    )
    assert read_otherwise("lift 👍👎", str.isascii) == [Slip(5, 6, "is good"), Slip(6, 7, " is bad")]


def test_lines_are_those_that_a_page_shows() -> None:
    text = "<b>Pros:</b><br>- pool<br />- <i>big</i> bar<p>Cons:</p>- lift<br>wifi 9/10"
    read = "Pros: good pool , good big bar Cons: bad lift"
    assert " ".join(as_read(text, str.isascii, as_meant=True)[0].split()).startswith(read)
    text = "Fine.<br>+ pool<br>- small <b>lift"
    assert [text[slice(*place)] for place in named_by_layout(text)] == ["pool", "small <b>lift"]
    text = "Pros: tea&amp; bar, caf&eacute; by&nbsp;night. Cons: lift"
    assert as_read(text, lambda letter: letter == "é" or letter.isascii(), as_meant=True)[0] == (
        "good tea& bar, good café by night. bad lift"
    )
    assert read_otherwise("<p>+ pool</p><p>- lift</p>", str.isascii) == [
        Slip(3, 4, "good"),
        Slip(16, 17, ", bad"),
    ]


@pytest.mark.parametrize("end", ["\r\n", "\r", "_x000D_\n", "<br>", "&#10;"])
def test_lines_end_as_programs_write_them(end: str) -> None:
    text = end.join(("Pros:", "- tutor", "- slides", "Cons:", "- room", ""))
    assert [text[slice(*place)] for place in named_by_layout(text)] == ["tutor", "slides", "room"]
    assert read_otherwise(end.join(("Changelog", "+ maps", "- ads")), str.isascii) == []
    assert read_otherwise(end.join(("To do:", "✅ laundry", "❌ dishes")), str.isascii) == []


def test_blanks_are_those_that_programs_write() -> None:
    text = "Pros:\xa0tutor, big\xa0bar. Cons:\u2003room"
    assert as_read(text, str.isascii, as_meant=True)[0] == "good tutor, good big bar. bad room"


def test_signs_may_be_written_as_web_pages_write_them() -> None:
    text = "Food &#9733;&#9733;&starf;&#x2605;&#9734; wifi &#128078; pool 9&#x2F;10"
    assert as_read(text, str.isascii, as_meant=True)[0] == "Food is good, wifi is bad, pool is excellent"
    assert notes_on(text, load("absa-any")) == ["read as meant: ★★★★☆ as good, 👎 as bad, 9/10 as excellent"]
    text = "&#43; pool<br>&minus; lift"
    assert as_read(text, str.isascii, as_meant=True)[0] == "good pool , bad lift"
    assert [text[slice(*place)] for place in named_by_layout(text)] == ["pool", "lift"]


def test_an_item_ends_before_the_next_sign() -> None:
    text = "+ pool + kind staff - noise"
    assert [text[slice(*place)] for place in named_by_layout(text)] == ["pool", "kind staff", "noise"]


def test_long_texts_of_signs_take_their_time_once() -> None:
    texts = (
        "+ a - b " * 20_000,
        "Pros: a, b. Cons: c. " * 8_000,
        "a :) b 😡 " * 16_000,
        "! ✅ a ❌ b " * 16_000,
        "a = b " * 30_000,
        f"{'a :) ' * 2_000}b {':)' * 50_000}c",
        "Pros:\npool\nbar\nCons:\nlift\n" * 8_000,
        f"Pros:{chr(10)}{'a' * 200_000}{chr(10)}{'.) ' * 99_999}x{chr(10)}Cons:{chr(10)}lift{chr(10)}"
        + "a = b " * 2_000,
        f"{'Pros:' + chr(10) * 50_000 + '- a. Cons: b. '}{'a = b ' * 2_000}",
    )
    start = time.process_time()
    for text in texts:
        assert len(read_otherwise(text, str.isascii)) > 1_000
    assert time.process_time() - start < 20


def test_a_note_names_heads_and_signs_and_no_commas() -> None:
    asker = load("absa-any")
    assert notes_on("Pros: pool, bar. Cons: lift, noise.", asker) == [
        "read as meant: Pros: as good, Cons: as bad"
    ]
    assert notes_on("Pros:<br>pool<br>bar\nCons:\nlift\nnoise", asker) == [
        "read as meant: Pros: as good, Cons: as bad"
    ]
    assert notes_on("+ pool\n- lift", asker) == ["read as meant: + as good, - as bad"]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("bed: soft food: cold", "bed: soft. food: cold"),
        ("Bed: very soft Food: cold Staff: kind.", "Bed: very soft. Food: cold. Staff: kind."),
        ("Hi\nbed: very soft food: cold", "Hi\nbed: very soft. food: cold"),
        ("Bed: soft and warm Hot food: cold", "Bed: soft and warm. Hot food: cold"),
        # Where the next label begins is not clear, or something keeps them apart, or it is a sentence.
        ("bed: soft hot food: cold", None),
        ("bed: soft, food: cold", None),
        ("bed: soft\nfood: cold", None),
        ("we loved one thing: food", None),
        ("open: 10:30 close: 18:00", None),
    ],
)
def test_labels_in_a_line_are_kept_apart(text: str, read: str | None) -> None:
    assert replaced(text, None, lists(text))[0] == (text if read is None else read)


def test_each_label_has_its_own_answer() -> None:
    asker = load("absa-any")
    text = "doctor: great food: awful"
    asked = [Sentence(text, (Context("doctor"), Context("food")))]
    assert [record["polarity"] for record in records(asker, asked)] == ["positive", "negative"]
    assert notes_on(text, asker) == []
