import pytest

from weft.absa.records import SENTIHOOD_POLARITIES, Context, Sentence
from weft.absa.represent.batch import Representation, aspect_parts, aspect_words
from weft.absa.represent.spelling import spelled
from weft.errors import ConfigError, InputError

TEXT = "LOCATION1 is cheap but LOCATION2 is dear"


@pytest.fixture
def representation(tokenizer):
    return Representation(tokenizer, SENTIHOOD_POLARITIES, ("transit-location",), max_length=16)


def tokens(tokenizer, ids):
    return [tokenizer.id_to_token(int(number)) for number in ids]


def test_views_slots_and_order(representation, tokenizer):
    contexts = (Context("price", "LOCATION2"), Context("safety", "LOCATION1"), Context("safety", "LOCATION2"))
    first = Sentence(TEXT, contexts, ("negative", "none", "none"))
    second = Sentence("quiet", (Context("Transit_Location"),), ("positive",))
    batch = representation.questions([first, second])
    assert tokens(tokenizer, batch.input_ids[0])[:4] == ["[CLS]", "location", "##1", "is"]
    assert batch.view_text.tolist() == [0, 0, 1]
    marked = [
        tokens(tokenizer, batch.input_ids[t][m])
        for t, m in zip(batch.view_text, batch.target_mask, strict=True)
    ]
    assert marked == [["location", "##2"], ["location", "##1"], []]
    assert batch.slot_mask.tolist() == [[True, True], [True, False], [True, False]]
    assert (batch.context_view.tolist(), batch.context_slot.tolist()) == ([0, 1, 0, 2], [0, 0, 1, 0])
    words = [
        tokens(tokenizer, row[mask]) for row, mask in zip(batch.aspect_ids, batch.aspect_mask, strict=True)
    ]
    asked = [words[i][1:-1] for i in batch.context_aspect.tolist()]
    assert asked == [["price"], ["safety"], ["safety"], ["transit", "location"]]
    assert [bool(batch.aspect_known[i]) for i in batch.context_aspect] == [False, False, False, True]
    assert batch.context_text.tolist() == [0, 0, 0, 1]
    assert batch.labels is not None
    assert batch.labels.tolist() == [2, 0, 0, 1]


def test_pairs_read_text_then_question(representation, tokenizer):
    sentence = Sentence(TEXT, (Context("price", "LOCATION2"), Context("safety")))
    pairs = representation.pairs([sentence])
    rows = [
        tokens(tokenizer, row[mask]) for row, mask in zip(pairs.input_ids, pairs.attention_mask, strict=True)
    ]
    assert rows[0][-6:] == ["[SEP]", "location", "##2", "-", "price", "[SEP]"]
    assert rows[1][-3:] == ["[SEP]", "safety", "[SEP]"]
    assert pairs.token_type_ids.sum(dim=1).tolist() == [5, 2]
    assert pairs.labels is None
    alone = representation.pairs([sentence], {("LOCATION2", "price"): 0, (None, "safety"): 1}, second=False)
    assert alone.token_type_ids.sum() == 0
    assert alone.context_ids.tolist() == [0, 1]
    with pytest.raises(InputError, match="LOCATION2/price is not one of the model's"):
        representation.pairs([sentence], {(None, "safety"): 0})


def test_a_long_text_is_cut_and_keeps_its_end_mark(representation, tokenizer):
    sentence = Sentence("quiet " * 40, (Context("price"),))
    assert tokens(tokenizer, representation.questions([sentence]).input_ids[0])[-1] == "[SEP]"
    assert representation.questions([sentence]).input_ids.shape[1] == 16


def test_emoji_are_words_that_stand_where_the_emoji_stood(tokenizer):
    words, places = spelled("ok 😡👍🏽 x", str.isascii)
    assert words.split() == ["ok", "pouting", "thumbs", "up", "x"]
    assert [places[words.index(word)] for word in ("pouting", "thumbs", "x")] == [(3, 4), (4, 5), (7, 8)]
    pieces = Representation(tokenizer, ("none", "positive")).pieces("quiet 😡 safe")
    covered = {"quiet 😡 safe"[start:end] for start, end in pieces.offsets}
    assert covered == {"", "quiet", "😡", "safe"}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("I can’t – “never” – fault it…", 'I can\'t - "never" - fault it...'),
        ("• £5, 5 € or ½", "- $5, 5 $ or 1/2"),
        ("Søren, Łódź, Ærø, Straße", "Soren, Lodz, AEro, Strasse"),
        ("ﬁne ！ ok´s", "fine ! ok's"),
        ("日本 Привет", "日本 Привет"),
        ("it’s 👍", "it's  thumbs up "),
        ("plain", "plain"),
    ],
)
def test_what_no_piece_is_for_is_spelled_in_ascii(text, plain):
    words, places = spelled(text, str.isascii)
    assert words.replace("Ae", "AE") == plain
    if places is not None:
        assert len(places) == len(words)
        assert places == sorted(places)
        assert {text[start:stop] for start, stop in places} == set(text)
        kept = [(place, place + 1) for place, letter in enumerate(text) if letter.isascii()]
        assert [words[places.index(place)] for place in kept] == [text[slice(*place)] for place in kept]


def test_what_a_web_page_wrote_is_read_as_it_is_shown(tokenizer):
    text = "it&#39;s A&amp;B,<br />&#x1F44D; caf&eacute; &rsquo; &foo; & c; &#0; AT&T;"
    words, places = spelled(text, str.isascii)
    assert places is not None
    assert words == "it's A&B,  thumbs up  cafe ' &foo; & c;   AT&T;"
    stands_for = {
        part: text[slice(*places[words.index(part)])] for part in ("'", "&", " t", "up", "&foo", "T;")
    }
    assert stands_for == {
        "'": "&#39;",
        "&": "&amp;",
        " t": "&#x1F44D;",
        "up": "&#x1F44D;",
        "&foo": "&",
        "T;": "T",
    }
    for text in ("a < b & c;", "i <3 it", "p > 2 <paid>", "if a <b and c> d"):
        assert spelled(text, str.isascii) == (text, None)
    assert spelled('<p>so <b class="x" id=y>bad</b><br/></p>', str.isascii)[0].split() == ["so", "bad"]
    representation = Representation(tokenizer, ("none", "positive"))
    pieces = representation.pieces("quiet&nbsp;&amp; safe")
    assert pieces.ids == representation.pieces("quiet & safe").ids
    assert "quiet&nbsp;&amp; safe"[slice(*pieces.offsets[2])] == "&amp;"


def test_what_a_tokenizer_has_a_piece_for_stays(tokenizer):
    text = "it’s – £5"
    assert spelled(text, lambda letter: letter in text) == (text, None)
    representation = Representation(tokenizer, ("none", "positive"))
    typed, plain = (representation.pieces(words) for words in ("quiet ’safe‘", "quiet 'safe'"))
    assert typed == plain


def test_aspect_words():
    assert aspect_words("Transit-Location") == aspect_words("transit_location") == "transit location"
    assert aspect_words("-") == "-"


def test_bad_requests(representation, tokenizer):
    with pytest.raises(InputError, match="no aspect"):
        representation.questions([Sentence("quiet", ())])
    with pytest.raises(InputError, match="no aspect"):
        representation.pairs([Sentence("quiet", ())])
    with pytest.raises(InputError, match="row 2: polarity 'great'"):
        representation.questions([Sentence("quiet", (Context("price"),), ("great",), "row 2")])
    with pytest.raises(ConfigError, match="max_length is 4"):
        Representation(tokenizer, SENTIHOOD_POLARITIES, max_length=4)


def test_a_gloss_is_read_part_by_part(tokenizer):
    """Each part is a row of its own, the aspect is known by its name, and what has no gloss stays one row."""
    assert aspect_parts("quiet: not noisy , calm;peace") == ["quiet", "not noisy", "calm", "peace"]
    assert aspect_parts("quiet") == aspect_parts("quiet: ,") == ["quiet"]
    assert aspect_parts(": ") == [": "]
    reader = Representation(tokenizer, SENTIHOOD_POLARITIES, ("quiet", "price: rent"), parts=True)
    asked = tuple(map(Context, ("quiet: noisy, calm", "price: rent", "quiet", "green")))
    batch = reader.questions([Sentence("very quiet", asked)])
    assert batch.aspect_part is not None
    assert batch.aspect_part.tolist() == [0, 0, 0, 1, 2, 3]
    assert batch.aspect_known.tolist() == [True, True, True, False]
    assert batch.slot_aspect.tolist() == [[0, 1, 2, 3]]
    assert reader.questions([Sentence("very quiet", asked[1:])]).aspect_part is None
    whole = Representation(tokenizer, SENTIHOOD_POLARITIES, ("quiet",)).questions(
        [Sentence("very quiet", asked)]
    )
    assert whole.aspect_part is None
    assert len(whole.aspect_ids) == 4
