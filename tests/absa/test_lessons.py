"""What ``recipes/absa_any.py`` trains on: made sentences, drawn questions, nothing of what is measured on."""

import csv
import re
from argparse import Namespace
from pathlib import Path
from random import Random

import pytest
import torch

from weft.absa.read.reviews import Opinion, Review
from weft.absa.read.sentihood import ALL_ASPECTS, read_sentihood

ROOT = Path(__file__).parents[2]
REVIEWS = [
    Review(
        "the waiter was rude and the soup cold",
        (Opinion("negative", "waiter"), Opinion("negative", "soup")),
        "restaurants",
    ),
    Review("a lovely soup", (Opinion("positive", "soup", "food quality"),), "restaurants", True),
    Review("they smiled", (Opinion("positive", None, "service"),), "restaurants", True),
    Review("dull screen", (Opinion("negative", "screen", "display"),), "laptops", True),
    Review("i saw madonna", (Opinion("neutral", "madonna"),), "tweets"),
]


@pytest.fixture(scope="module")
def lists(recipe):
    module = recipe("absa_any_lists")
    return module.read_aspects(), module.read_names()


@pytest.fixture(scope="module")
def lessons(recipe, lists):
    aspects, names = lists
    maker = recipe("absa_any_made").Maker(aspects, names)
    places = read_sentihood(ROOT / "examples/absa/sentihood.json", ALL_ASPECTS).sentences
    return recipe("absa_any_lessons").Lessons(REVIEWS, places, 30, 0, aspects, names, maker)


def test_the_lists_are_whole(lists):
    aspects, names = lists
    assert {kind for aspect in aspects for kind in aspect.kinds} == set(names)
    for aspect in aspects:
        assert {"positive", "negative", "neutral"} >= set(aspect.said) >= {"positive", "negative"}
        assert bool(aspect.good) == bool(aspect.bad)
    for things in names.values():
        assert len(things) == len(set(things)) >= 20


def test_sentences_of_many_kinds_say_what_they_are_put_together_from(recipe):
    kinds, random = recipe("absa_any_kinds").Kinds(), Random(5)
    choosing = set()
    for path in (ROOT / "recipes/absa_any").glob("choices*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            choosing |= {row["domain"] for row in csv.DictReader(file)}
    assert choosing.isdisjoint(word for thing in kinds.things for word in thing.words[0].split())
    names = [{name for judged in thing.aspects for name in judged.names} for thing in kinds.things]
    always = {word: polarity for polarity, words in kinds.always.items() for word in words}
    several = 0
    for _ in range(600):
        sentence = kinds(random)
        assert not re.search("[{}@*]", sentence.text)
        answers = dict(zip(sentence.contexts, sentence.polarities, strict=True))
        assert set(answers.values()) - {"none"}
        assert any(own >= {context.aspect for context in answers} for own in names)
        assert all(context.target is None or context.target in sentence.text for context in answers)
        several += len({context.target for context in answers}) == 2
        told = [polarity for polarity in answers.values() if polarity != "none"]
        denied = re.search(
            r"\b(?:not|n't|nobody|hardly|never|by no means|far from|anything but)\b", sentence.text.lower()
        )
        plain = [
            always[word] for word in always if re.search(rf"\b(?:is|was|are|were) {word}[.;,]", sentence.text)
        ]
        if plain and len(told) == 1 and not denied:
            assert set(plain) == set(told), sentence.text
    assert several > 150


def test_made_sentences_hold_what_they_say(recipe, lists):
    aspects, names = lists
    maker, random = recipe("absa_any_made").Maker(aspects, names), Random(3)
    seen = set()
    for _ in range(300):
        sentence = maker(random)
        assert "{X}" not in sentence.text
        assert set(sentence.polarities) - {"none"}
        told = {c.target for c in sentence.contexts}
        assert len(told) <= 2
        for context in sentence.contexts:
            assert context.target is None or context.target.lower() in sentence.text.lower()
        seen |= set(sentence.polarities)
    assert seen == {"none", "positive", "negative", "neutral"}


def test_made_sentences_share_no_five_words_with_the_questions(lists):
    aspects, _ = lists
    asked = set()
    for name in ("questions.csv", "questions-unseen.csv"):
        with (ROOT / "examples/absa" / name).open(encoding="utf-8", newline="") as file:
            asked |= {gram for row in csv.DictReader(file) for gram in grams(row["text"])}
    for aspect in aspects:
        for sentences in aspect.said.values():
            for said in sentences:
                assert asked.isdisjoint(grams(said)), said


@pytest.mark.parametrize(
    "name", [f"questions-{which}.csv" for which in ("third", "fourth", "fifth", "sixth", "seventh")]
)
def test_told_sentences_share_no_four_words_with_the_questions_that_measure(recipe, name):
    with (ROOT / "examples/absa" / name).open(encoding="utf-8", newline="") as file:
        asked = {gram for row in csv.DictReader(file) for gram in grams(row["text"], 4)}
    module = recipe("absa_any_told")
    for told in (*module.read_told(), *module.read_both()):
        assert asked.isdisjoint(grams(told.text, 4)), told.text


def test_told_sentences_are_asked_what_they_say_and_never_what_they_may_say(recipe, lists):
    module, random = recipe("absa_any_told"), Random(2)
    told, both = module.read_told(), module.read_both()
    teller = module.Teller(told, both, *lists)
    for one in told:
        sentence = teller.one(one, random)
        answers = dict(zip(sentence.contexts, sentence.polarities, strict=True))
        assert "{" not in sentence.text
        assert set(answers.values()) & {*one.said[0].values(), "conflict"}
        for context in answers:
            assert context.target is None or context.target.lower() in sentence.text.lower()
    for pair in both:
        sentence = teller.two(pair, random)
        first, second = dict.fromkeys(context.target for context in sentence.contexts)
        heard = [
            {p for c, p in zip(sentence.contexts, sentence.polarities, strict=True) if c.target == name}
            for name in (first, second)
        ]
        assert all(set(said.values()) <= found for said, found in zip(pair.said, heard, strict=True))
    dirty = module.Told("hotel", "The sheets were grey.", ({"cleanliness": "negative"},))
    alone = module.Teller([dirty], [], *lists)
    asked = {c.aspect: p for _ in range(60) for c, p in zip(*_parts(alone.one(dirty, random)), strict=True)}
    assert asked["cleanliness"] == "negative"
    assert "room" not in asked
    assert "none" in asked.values()


def test_what_a_reader_may_see_either_way_is_not_learnt_and_not_asked_as_wrong(recipe, lists):
    module, random = recipe("absa_any_told"), Random(4)
    open_one = module.Told(
        "hotel", "The sheets had seen better days.", ({"bed": "negative", "cleanliness": "?"},)
    )
    teller = module.Teller([open_one], [], *lists)
    for _ in range(40):
        sentence = teller.one(open_one, random)
        for context, polarity in zip(*_parts(sentence), strict=True):
            if context.aspect.split(":")[0] in ("cleanliness", "hygiene", "tidiness"):
                assert polarity == "?"
    word = module.Told("hotel", "We asked about the breakfast.", ({"breakfast": "none"},))
    alone = module.Teller([word], [], *lists)
    assert all(set(alone.one(word, random).polarities) == {"none"} for _ in range(20))


def test_praise_and_blame_of_one_aspect_of_one_thing_are_a_conflict(recipe, lists):
    module, random = recipe("absa_any_told"), Random(3)
    praise = module.Told("hotel", "{X} has the softest bed", ({"bed": "positive"},))
    blame = module.Told("hotel", "The springs poke you at {X}.", ({"bed": "negative"},))
    teller = module.Teller([praise, blame], [], *lists)
    drawn = [teller.one(praise, random) for _ in range(300)]
    torn = [s for s in drawn if "conflict" in s.polarities]
    assert 5 < len(torn) < 40
    for sentence in torn:
        assert "softest bed" in sentence.text
        assert "springs poke" in sentence.text
        assert set(sentence.polarities) <= {"conflict", "none"}
    both = module.Told("hotel", "A soft bed, but it squeaks.", ({"bed": "conflict"},))
    alone = module.Teller([both], [], *lists)
    assert all("conflict" in alone.one(both, random).polarities for _ in range(40))


def test_a_review_that_praises_and_blames_a_term_is_asked_about_it(recipe, lists):
    lessons = recipe("absa_any_lessons")
    opinions = tuple(Opinion(polarity, "pasta", "food quality") for polarity in ("positive", "negative"))
    review = Review("The pasta was hot but the pasta was salty.", opinions, "restaurants", True)
    drawn = lessons.Lessons([review], [], 0, 0, *lists, None)
    answers = [dict(zip(*_parts(drawn._rows[0](Random(n))), strict=True)) for n in range(30)]
    told = {context.aspect: polarity for found in answers for context, polarity in found.items()}
    assert told["pasta"] == "conflict"
    assert "conflict" in {polarity for aspect, polarity in told.items() if "food" in aspect}


def _parts(sentence):
    return sentence.contexts, sentence.polarities


def test_marks_become_terms_and_judging_words(recipe, tmp_path):
    path = tmp_path / "terms.txt"
    lines = [
        "# comment",
        "hotel | Our [room|-] <smelled of dog>, the [pool|+]: <fine>. [Wifi|*]?",
        r"food | I ate.\n\nTwice.",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    room, nothing = recipe("absa_any_marked").read_marked(path)
    assert room.text == "Our room smelled of dog, the pool: fine. Wifi?"
    assert [room.text[a:b] for a, b in room.terms] == ["room", "pool", "Wifi"]
    assert room.polarities == ("negative", "positive", "conflict")
    assert [room.text[a:b] for a, b in room.words] == ["smelled of dog", "fine"]
    assert [(o.term, o.polarity) for o in room.review().opinions][2] == ("Wifi", "conflict")
    assert (nothing.text, nothing.terms, nothing.words) == ("I ate.\n\nTwice.", (), ())
    path.write_text("hotel | The [room|-smelled.\n", encoding="utf-8")
    with pytest.raises(ValueError, match="a mark that is none: hotel"):
        recipe("absa_any_marked").read_marked(path)


def test_marked_sentences_are_not_what_measures(recipe):
    asked = set()
    for name in ("third", "fourth", "fifth", "sixth", "seventh"):
        path = ROOT / f"examples/absa/questions-{name}.csv"
        with path.open(encoding="utf-8", newline="") as file:
            asked |= {gram for row in csv.DictReader(file) for gram in grams(row["text"], 4)}
    marked = recipe("absa_any_marked").read_marked()
    assert len(marked) > 1000
    for one in marked:
        assert asked.isdisjoint(grams(one.text, 4)), one.text


def test_compared_things_are_judged_the_other_way_round(recipe):
    pairs, random = recipe("absa_any_pairs"), Random(0)
    for _ in range(300):
        text, first, second = pairs.compared("food", "tasty", "bland", ("Foo", "Bar"), random)
        assert {first, second} == {"positive", "negative"}
        assert {"Foo", "Bar"} <= set(re.findall(r"\w+", text))
        assert "{" not in text
        if text.startswith("Foo beats") or text.startswith("I switched from Bar"):
            assert first == "positive"
        if text.startswith("avoid Foo") or "hate that of Foo" in text:
            assert first == "negative"


def test_two_reviews_in_one_text_are_asked_in_the_same_words(recipe, lists):
    aspects, names = lists
    maker = recipe("absa_any_made").Maker(aspects, names)
    reviews = [
        Review("the soup was cold", (Opinion("negative", "soup"),), "restaurants"),
        Review("a lovely salad", (Opinion("positive", "salad"),), "restaurants"),
    ]
    both = recipe("absa_any_lessons").Lessons(reviews, [], 0, 20, aspects, names, maker)
    rows, seen = range(len(reviews), len(both.sentences)), 0
    for sentence in both(list(rows), torch.Generator().manual_seed(0)):
        targets = list(dict.fromkeys(context.target for context in sentence.contexts))
        if len(targets) < 2 or None in targets:
            continue
        seen += 1
        assert all(target in sentence.text for target in targets)
        answers = dict(zip(sentence.contexts, sentence.polarities, strict=True))
        food = {c.target: p for c, p in answers.items() if p != "none" and c.aspect not in ("soup", "salad")}
        soup = targets[0] if sentence.text.index("soup") < sentence.text.index("salad") else targets[1]
        assert food[soup] == "negative"
        assert sorted(food.values()) == ["negative", "positive"]
    assert seen > 3


def grams(text, size=5):
    words = re.findall(r"\w+", text.lower().replace("{x}", "xxx"))
    return {tuple(words[i : i + size]) for i in range(len(words) - size + 1)}


def test_every_epoch_asks_otherwise_and_the_same_seed_the_same(lessons):
    rows = list(range(len(lessons.sentences)))
    first, again, other = (lessons(rows, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert all(len(sentence.contexts) == len(sentence.polarities) > 0 for sentence in first)


def test_what_a_review_says_is_asked_and_what_it_may_say_is_never_none(lessons):
    told = {}
    for seed in range(60):
        for sentence in lessons([0, 1, 2, 3, 4], torch.Generator().manual_seed(seed)):
            for context, polarity in zip(sentence.contexts, sentence.polarities, strict=True):
                name = context.aspect.split(":")[0]
                told.setdefault((sentence.text, context.target, name), set()).add(polarity)
    rude = "the waiter was rude and the soup cold"
    assert told[rude, None, "waiter"] == told[rude, None, "staff"] == {"negative"}
    assert told[rude, None, "soup"] == told[rude, None, "food"] == {"negative"}
    assert told["i saw madonna", "madonna", "general"] == {"neutral"}
    assert told["dull screen", None, "screen"] == {"negative"}
    silent = {name for (text, _, name), found in told.items() if text == rude and "none" in found}
    assert silent
    assert not silent & {
        "service",
        "employees",
        "personnel",
        "waiters",
        "dishes",
        "cooking",
        "meals",
        "cuisine",
    }
    assert all(len(found) == 1 for found in told.values())


def test_markers_give_way_to_names(lessons):
    first = len(REVIEWS)
    rows = list(range(first, first + len(lessons.places)))
    texts = [s.text for seed in range(20) for s in lessons(rows, torch.Generator().manual_seed(seed))]
    marked = sum("LOCATION" in text for text in texts)
    assert 0 < marked < len(texts) / 2


def test_a_kind_that_is_left_out_is_in_no_sentence_and_a_wrong_name_is_an_error(recipe, capsys):
    kinds = recipe("absa_any_kinds")
    every = {thing.kind for thing in kinds.Kinds().things}
    assert {thing.kind for thing in kinds.Kinds(without={"bakery", "bar"}).things} == every - {
        "bakery",
        "bar",
    }
    any_review, left_out = recipe("absa_any"), recipe("absa_any_left_out")
    needed = ["--data", "x", "--start", "x", "--out", "x"]
    for name, (source, of_kind, _) in left_out.LEFT_OUT.items():
        chosen = any_review.parsed(
            left_out.given(name, 0, Namespace(data="x", start="x", out=Path("x"), steps=1))
        )
        assert source in chosen.without
        assert set(of_kind) == set(chosen.without_kind) <= any_review.every_kind()
    for wrong in (["--without", "laptop"], ["--without-kind", "restaurant"]):
        with pytest.raises(SystemExit) as ended:
            any_review.parsed([*needed, *wrong])
        assert ended.value.code == 2
        assert wrong[1] in capsys.readouterr().err


def test_several_told_sentences_are_one_review(recipe, lists):
    """At most so many; what one praises and another blames is torn; what none judges is asked, too."""
    told = recipe("absa_any_told")
    teller = told.Teller(told.read_told(), [], *lists)
    some = [one for one in teller.told if one.kind != "person"][::400]
    torn = silent = 0
    for number, one in enumerate(some):
        sentence = teller.several(one, 6, Random(number))
        assert sentence.text[-1] in ".!?"
        answers = dict(zip(sentence.contexts, sentence.polarities, strict=True))
        torn += "conflict" in answers.values()
        silent += "none" in answers.values()
    assert len(some) > 60
    assert silent > 0.9 * len(some)
    assert 0 < torn < 0.5 * len(some)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("positive", "positive", "positive"),
        ("positive", "none", "positive"),
        ("none", "negative", "negative"),
        ("positive", "negative", "conflict"),
        ("conflict", "negative", "conflict"),
        ("neutral", "negative", "?"),
    ],
)
def test_what_two_sentences_say_of_one_aspect(recipe, one, other, both):
    unknown = recipe("absa_any_lessons").UNKNOWN
    assert recipe("absa_any_told")._torn(one, other) == (unknown if both == "?" else both)


def test_reviews_of_one_source_in_one_text(recipe, lists):
    """What one of them judges is asked, and what none of them does; another source's categories are not."""
    module = recipe("absa_any_lessons")
    sources = {"first.jsonl": ("food", "service"), "second.jsonl": ("price", "location")}
    reviews = [
        Review(
            f"text {source} {name} {number}",
            (Opinion(polarity, None, name),),
            "restaurants",
            True,
            f"{source} {number}",
        )
        for source, names in sources.items()
        for name in names
        for number, polarity in enumerate(("positive", "positive", "negative"))
    ]
    lessons = module.Lessons(reviews, [], 0, 0, *lists, lambda random: None, joined=40)
    found = lessons([*range(len(reviews), len(reviews) + 40)], torch.Generator().manual_seed(1))
    seen = set()
    for sentence in found:
        (source,) = [source for source in sources if source in sentence.text]
        assert {context.aspect for context in sentence.contexts} <= {*sources[source]}
        for context, polarity in zip(sentence.contexts, sentence.polarities, strict=True):
            assert (polarity == "none") == (f" {context.aspect} " not in sentence.text)
        seen |= {*sentence.polarities}
    assert seen == {"positive", "negative", "conflict", "none"}


def test_whole_reviews(recipe):
    """Every tenth chooses and is trained on never; each has both kinds of answers, and what it does not judge."""
    long = recipe("absa_any_long")
    for name in long.EVERY:
        reviews = long.read_long(name)
        assert len(reviews) > 90
        assert sum(one.chooses for one in reviews) == len(range(7, len(reviews), 10))
        assert len({one.text for one in reviews}) == len(reviews)
        for one in reviews:
            assert {"none", "positive", "negative"} & {*one.said.values()}
            assert all(context.target is None or context.target in one.text for context in one.said)
            assert one.whole().contexts == tuple(one.said)
            drawn = one.drawn(Random(0))
            assert len(drawn.contexts) == min(10, len(one.said))
            if drawn.text == one.text:
                answers = dict(zip(drawn.contexts, drawn.polarities, strict=True))
                asked_as_terms = {context for context in answers if context.aspect == "general"}
                assert {c: answers[c] for c in answers if c not in asked_as_terms}.items() <= one.said.items()


def test_aspects_of_new_lists_are_asked_as_terms(recipe):
    """In some draws, with the same answer, where they stand in the text; never those of older lists."""
    long = recipe("absa_any_long")
    as_terms = 0
    for name in long.EVERY:
        for number, one in enumerate(long.read_long(name)[:400]):
            drawn = one.drawn(Random(number))
            for context, polarity in zip(drawn.contexts, drawn.polarities, strict=True):
                if context in one.said or drawn.text != one.text:
                    continue
                assert one.where in long.NEW
                assert context.aspect == "general"
                assert context.target in one.text
                said = {asked.aspect.lower(): answer for asked, answer in one.said.items()}
                assert said[context.target.lower()] == polarity
                as_terms += 1
    assert as_terms > 30


def test_districts_get_other_names(recipe):
    """In half of the draws; the question follows the text."""
    reviews = recipe("absa_any_long").read_long("districts.jsonl")
    renamed = 0
    for number, one in enumerate(reviews):
        drawn = one.drawn(Random(number))
        targets = {context.target for context in drawn.contexts}
        assert all(target in drawn.text for target in targets)
        renamed += not targets <= {context.target for context in one.said}
    assert 0.35 < renamed / len(reviews) < 0.65


def test_two_things_swap_names(recipe):
    """In half of the draws of a short text, and the answers with them; never where "she" would be somebody else."""
    swapped = 0
    able = [one for one in recipe("absa_any_long").read_long("short.jsonl") if one.swaps]
    for number, one in enumerate(able):
        drawn = one.drawn(Random(number))
        first, second = dict.fromkeys(context.target for context in one.said)
        assert {context.target for context in drawn.contexts} == {first, second}
        other = {first: second, second: first}
        answers = dict(zip(drawn.contexts, drawn.polarities, strict=True))
        if drawn.text != one.text:
            swapped += 1
            answers = {
                type(context)(context.aspect, other[context.target]): answer
                for context, answer in answers.items()
            }
        assert answers == one.said
    assert len(able) > 90
    assert 0.4 < swapped / len(able) < 0.6
    assert not recipe("absa_any_long")._swaps("Dr Lund listens, Dr Moe never does.", ["Dr Lund", "Dr Moe"])
    assert not recipe("absa_any_long")._swaps("The Aro is quiet, the Aro 2 is not.", ["Aro", "Aro 2"])


def texts_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return {row["text"] for row in csv.DictReader(file)}


def runs(text, length=6):
    """Its runs of so many words."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + length]) for i in range(len(words) - length + 1)}


def test_texts_for_training_share_nothing_with_those_that_measure_and_choose(recipe):
    """No six words in a row; no eight of a set that was written after what is learnt: usual words stand in a row."""
    later = ROOT / "examples/absa/questions-eighteenth.csv"
    paths = [
        *({*(ROOT / "examples/absa").glob("questions*.csv")} - {later}),
        *(ROOT / "recipes/absa_any").glob("choices*.csv"),
    ]
    assert len(paths) > 10
    known = set().union(*map(runs, set().union(*map(texts_of, paths))))
    marked = recipe("absa_any_marked")
    sets = [*(ROOT / "examples/absa").glob("marked-*.txt"), ROOT / "recipes/absa_any/marked-choices.txt"]
    reviews = {one.text for path in sets for one in marked.read_marked(path)}
    assert len(reviews) == 230
    long = recipe("absa_any_long")
    texts = [one.text for name in long.EVERY for one in long.read_long(name)]
    texts += [one.text for one in marked.read_marked(marked.REVIEWS)]
    assert not [text[:50] for text in texts if runs(text) & known]
    known = set().union(*(runs(text, 8) for text in texts_of(later)))
    assert not [text[:50] for text in texts if runs(text, 8) & known]
    known = set().union(*map(runs, reviews))
    assert not [one.text[:50] for one in marked.read_marked(marked.REVIEWS) if runs(one.text) & known]


def test_what_is_learnt_is_not_what_measures_and_chooses(recipe):
    marked = recipe("absa_any_marked")
    sentences = marked.read_marked()
    learnt = marked.learnt(ROOT / "recipes/absa_any/terms.txt", chooses=True)
    assert len(sentences) * 0.89 < len(learnt) < sum(not one.chooses for one in sentences)
    measured = [one.text for path in marked.EXAMPLES.glob("marked-*.txt") for one in marked.read_marked(path)]
    known = set().union(*map(runs, measured))
    assert not [one.text for one in learnt if runs(one.text) & known]
    assert len(marked.learnt(marked.REVIEWS)) == len(marked.read_marked(marked.REVIEWS)) - 2
    forms = [one.marked.text for path in marked.FORMS for one in marked.read_answers(path)]
    assert len(forms) == 520
    known |= set().union(*map(runs, forms))
    answers = marked.learnt_answers()
    assert len(answers) == len(marked.read_answers(ROOT / "recipes/absa_any/answers.txt")) == 780
    for one in [*learnt, *marked.learnt(marked.REVIEWS), *(one.marked for one in answers)]:
        assert not runs(one.text) & known, one.text
    assert {one.side for one in answers} == {"pros", "cons"}
    exported = {path: marked.read_exported(path) for path in marked.EXPORTS}
    assert [len(reviews) for reviews in exported.values()] == [87, 91, 115]
    assert {one.stars for reviews in exported.values() for one in reviews} == {1, 2, 3, 4, 5}
    assert len(marked.read_exported(marked.LISTS / "exported.txt")) == 300
    # Nothing that the tagger learnt from shares a turn with them.
    known = set().union(*(runs(one.marked.text) for reviews in exported.values() for one in reviews))
    for one in [*learnt, *marked.learnt(marked.REVIEWS), *(one.marked for one in answers)]:
        assert not runs(one.text) & known, one.text


def test_what_is_found_is_counted_by_its_place_or_its_words(recipe):
    found, marked = recipe("absa_any_found"), recipe("absa_any_marked")
    text = marked.read_line(
        "hotel | The [front desk|-] was <slow>, the [pool|*] <warm> and <dirty>, no [lift|-]. A pool!", False
    )
    desk, pool, again, no = (text.text.index(words) for words in ("desk", "pool", "pool!", "no"))
    told = [
        found.Told(desk, desk + 4, "negative"),
        found.Told(pool, pool + 4, "positive"),
        found.Told(again, again + 4, "negative"),
        found.Told(no, no + 2, "negative"),
    ]
    scores = found.measured([text], [told])
    assert (scores["marks"], scores["findings"]) == (3, 4)
    assert scores["found"] == scores["found with polarity"] == pytest.approx(2 / 3)
    assert scores["found exactly"] == pytest.approx(1 / 3)
    assert scores["right"] == scores["right with polarity"] == 0.75
    alone = found.measured([text], [told[:2]])
    assert alone["found with polarity"] == pytest.approx(1 / 3)
    assert alone["F1"] == pytest.approx(0.8)
    assert found.measured([text], [[]])["F1"] == 0


def test_what_chooses_shares_nothing_with_what_measures():
    paths = (ROOT / "examples/absa").glob("questions*.csv")
    known = set().union(*map(runs, set().union(*map(texts_of, paths))))
    further = texts_of(ROOT / "recipes/absa_any/choices-further.csv")
    assert not [text[:50] for text in further if runs(text) & known]
    assert not further & texts_of(ROOT / "recipes/absa_any/choices.csv")
