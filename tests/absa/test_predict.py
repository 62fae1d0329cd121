"""Asking: shapes, thresholds, streams, and everything that a text can be."""

import threading

import numpy as np
import pytest

from weft.absa.read.table import TableRow
from weft.absa.records import Context, Problems, Sentence
from weft.absa.use.decide import decide
from weft.absa.use.predict import Asked, flat, records, stream
from weft.encoder.answering.product import fastest_on_cpu
from weft.errors import ConfigError, InputError

TEXT = "LOCATION1 is cheap but not very safe"


def rows(texts):
    return [TableRow(number, {"text": text}) for number, text in enumerate(texts, start=1)]


def test_shapes_of_the_interface(make):
    asker = make()
    questions = ["price", ("LOCATION1", "safety"), Context("quiet")]
    found = asker.predict([TEXT, "quiet"], questions)
    assert found.shape == (2, 3, 3)
    assert found.dtype == np.float64
    assert np.allclose(found.sum(axis=-1), 1)
    by_row = asker.predict_proba([(TEXT, questions[1]), ("quiet", questions[0])])
    assert by_row.shape == (2, 3)
    assert np.allclose(by_row, [found[0, 1], found[1, 0]], atol=1e-6)
    assert asker.classes_ == ("none", "positive", "negative")
    assert asker.predict([], questions).shape == (0, 3, 3)
    assert asker.predict_proba([]).shape == (0, 3)


def test_batches_change_nothing(make):
    asker = make()
    sentences = [Sentence("quiet " * n, (Context("price"), Context("safety", "quiet"))) for n in range(1, 12)]
    for found, expected in zip(asker.answer(sentences, 3), asker.answer(sentences), strict=True):
        assert np.allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["weft-absa", "pair"])
def test_many_questions_of_a_text_are_asked_in_parts(make, kind, monkeypatch):
    """Of a text in windows as well; no pass has more than was said."""
    asker = make(kind)
    asked = tuple(
        Context(f"{word} {n}", target) for n in range(4) for word in "abc" for target in (None, "quiet")
    )
    sentences = [
        Sentence("quiet and cheap", asked),
        Sentence("quiet . " * 40, asked),
        Sentence("a", asked[:2]),
    ]
    expected = asker.hear(sentences)
    passes, represent = [], asker.represent
    monkeypatch.setattr(asker, "represent", lambda batch: (passes.append(batch), represent(batch))[1])
    found = asker.hear(sentences, 7)
    for one, other in zip(found, expected, strict=True):
        assert np.allclose(one.rows, other.rows, atol=1e-6)
    assert found[1].parts.shape == expected[1].parts.shape
    assert np.allclose(found[1].parts, expected[1].parts, atol=1e-6)
    assert max(sum(len(sentence.contexts) for sentence in batch) for batch in passes) == 7


def test_bfloat16_moves_the_answers_a_little(make):
    asker = make()
    sentences = [
        Sentence(TEXT, (Context("price", "LOCATION1"), Context("safety"))),
        Sentence("quiet", (Context("price"),)),
    ]
    plain = np.concatenate(asker.answer(sentences))
    rounded = np.concatenate(asker.compute_in("bf16").answer(sentences))
    assert 0 < np.abs(plain - rounded).max() < 0.02
    assert np.array_equal(np.concatenate(asker.calibrated(1.0).answer(sentences)), rounded)
    assert np.array_equal(np.concatenate(asker.compute_in("fp32").answer(sentences)), plain)
    chosen = np.concatenate(asker.compute_in("auto").answer(sentences))
    assert np.array_equal(
        chosen, np.concatenate(asker.compute_in(fastest_on_cpu() or "fp32").answer(sentences))
    )


def test_the_same_text_is_read_once(make, monkeypatch):
    asker = make()
    read = []
    represent = asker.represent
    monkeypatch.setattr(asker, "represent", lambda batch: (read.extend(batch), represent(batch))[1])
    first, other = Sentence(TEXT, (Context("price"),)), Sentence(TEXT, (Context("safety"),))
    found = asker.answer([first, other, Sentence(TEXT, (Context("price"),), where="row 3")])
    assert [sentence.contexts for sentence in read] == [(*first.contexts, *other.contexts)]
    assert np.array_equal(found[0], found[2])
    assert not np.allclose(found[0], found[1])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the rent is good", False),  # a text without the target
        ("LOCATION1 " + "good " * 10_000, True),  # ten thousand words
        ("good " * 10_000 + "LOCATION1", True),
        ("😀 🏠 LOCATION1 👍🏽", True),
        ("東京は静かで安全です LOCATION1", True),
        ("Это место", False),
        ("\u202eLOCATION1 \u0000 \ufffd", True),
        ("." * 500, False),
        ("a", False),
    ],
)
def test_any_text_has_a_defined_answer(make, text, found):
    (record,) = records(make(), [Sentence(text, (Context("price", "LOCATION1"),))])
    assert record["target_found"] is found
    assert sum(record["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    if not found:
        assert record["polarity"] == "none"


def test_text_that_is_no_text(make):
    asker = make()
    for text in (
        "",
        "   ",
        "\n\t",
        "&nbsp;",
        "<p></p>",
        "<br/>&#8203;",
        "\x01",
        "\u202e\x7f",
        "\ufffd\ufe0f",
    ):
        with pytest.raises(InputError, match="text 2: the text is empty"):
            asker.predict(["fine", text], ["price"])
    with pytest.raises(InputError, match="text 1: a NoneType, not a text"):
        asker.predict([None], ["price"])
    with pytest.raises(InputError, match="text 2: a float, not a text"):
        asker.predict(["fine", float("nan")], ["price"])
    with pytest.raises(InputError, match=r"texts is one string \(give a list: \['fine'\]\)"):
        asker.predict("fine", ["price"])
    with pytest.raises(InputError, match="contexts is one string"):
        asker.predict(["fine"], "price")
    with pytest.raises(InputError, match="no questions"):
        asker.predict(["fine"], [])
    with pytest.raises(InputError, match="is no question"):
        asker.predict(["fine"], [3])
    for question in ("", ("", "price"), ("LOCATION1", " ")):
        with pytest.raises(InputError, match=r"the (aspect|target) is"):
            asker.predict(["fine"], [question])
    # As scikit-learn's texts; of two letters each was a text and a question.
    for row in ("fine", "ab", ("fine", "price", 3), None, 3.0):
        with pytest.raises(InputError, match=r"row 2: .* is no row \(give \(text, question\)"):
            asker.predict_proba([("fine", "price"), row])
    assert asker.predict_proba(np.array([["fine", "price"]])).shape == (1, 3)
    with pytest.raises(InputError, match=r"here: 'price' is no question \(give Context"):
        Sentence("fine", ("price",), (), "here")
    with pytest.raises(ConfigError, match=r"temperature is '2'; it must be positive"):
        asker.calibrated("2")


def test_thresholds_by_hand():
    shares = np.array([[0.6, 0.1, 0.3], [0.2, 0.5, 0.3], [0.9, 0.06, 0.04]])
    assert decide(shares).tolist() == [0, 1, 0]
    assert decide(shares, 0.3).tolist() == [2, 1, 0]  # 0.3 / 0.9, 0.5 / 0.7, 0.06 / 0.96
    assert decide(shares, 1 / 3 + 1e-9).tolist() == [0, 1, 0]
    assert decide(shares, 0.0).tolist() == [2, 1, 1]
    assert decide(shares, 1.0).tolist() == [0, 0, 0]
    ties = np.array([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [1.0, 0.0, 0.0]])
    assert decide(ties).tolist() == ties.argmax(axis=1).tolist() == [0, 1, 0]
    for wrong in (-0.1, 1.1):
        with pytest.raises(ConfigError, match="threshold"):
            decide(shares, wrong)


def test_the_models_own_threshold_answers_unless_another_is_given(make):
    asker = make()
    sentence = Sentence(TEXT, (Context("price", "LOCATION1"), Context("safety")))
    for threshold in (0.0, 1.0):
        chosen = asker.calibrated(1.0, threshold)
        assert chosen.calibrated(2.0).config.threshold == threshold
        own = [record["polarity"] != "none" for record in records(chosen, [sentence])]
        other = [record["polarity"] != "none" for record in records(chosen, [sentence], 1 - threshold)]
        assert own == [threshold == 0.0] * 2
        assert other == [threshold == 1.0] * 2
    with pytest.raises(ConfigError, match=r"AbsaConfig.threshold is 1.5; it must be in \[0, 1\]"):
        asker.calibrated(1.0, 1.5)


@pytest.mark.parametrize("share", [2, -0.1, float("nan")])
def test_shares_that_are_none_are_refused(make, share):
    asked = [Sentence("rent is dear", (Context("price"),))]
    for named in ("abstain", "threshold"):
        with pytest.raises(ConfigError, match=f"{named} is "):
            records(make(), asked, **{named: share})


def test_a_stream_names_bad_rows_and_goes_on(make):
    problems = Problems()
    given = [*rows(["LOCATION1 is cheap", " ", "quiet"]), TableRow(4, {}, "3 fields; the header has 1")]
    given.append(TableRow(5, {"text": 7}))
    asked = Asked(("price", "safety"), ("LOCATION1",))
    found = [
        record
        for chunk in stream(make(), given, asked, problems, source="a.csv", chunk=2)
        for record in chunk
    ]
    assert [record["row"] for record in found] == [1, 1, 3, 3]
    assert [record["aspect"] for record in found] == ["price", "safety"] * 2
    assert list(problems.lines()) == [
        "a.csv row 2: column 'text' is empty",
        "a.csv row 4: 3 fields; the header has 1",
        "a.csv row 5: column 'text' holds 7, not text",
    ]


@pytest.mark.parametrize(("of_a_text", "taken", "known"), [(1, 4, 8), (3, 10, 19), (100, 32, 64)])
def test_a_stream_reads_no_further_than_it_must(make, of_a_text, taken, known):
    """Four texts, in however many rows each of them stands, eight times as many rows at most; and the next four."""
    read = []

    def endless():
        number = 0
        while True:
            number += 1
            read.append(number)
            yield TableRow(number, {"text": f"quiet {(number - 1) // of_a_text}"})

    chunks = stream(make(), endless(), Asked(("price",)), Problems(), chunk=4)
    found = next(chunks)
    assert [record["row"] for record in found] == list(range(1, taken + 1))
    assert len(read) == known
    chunks.close()


def test_the_first_answers_of_a_long_table_come_soon(make):
    many = [f"cheap {number}" for number in range(1000)]
    parts = stream(make(), rows(many), Asked(("price",)), Problems(), chunk=256)
    assert [len(next(parts)) for _ in range(4)] == [64, 128, 256, 256]
    parts.close()


@pytest.mark.parametrize(("aspects", "taken"), [(4, 6), (16, 6), (32, 3), (1000, 1)])
def test_a_chunk_has_fewer_texts_where_much_is_asked_of_each(make, aspects, taken):
    asker = make()
    asked = Asked(tuple(f"a {n}" for n in range(aspects // 2)), ("a", "b"))
    chunks = stream(asker, rows("abcdefghi"), asked, Problems(), chunk=6)
    assert {record["row"] for record in next(chunks)} == set(range(1, taken + 1))
    chunks.close()


def test_records_are_made_while_the_next_texts_are_answered(make, monkeypatch):
    """Those of the first text wait until the second one is asked: in one thread they would wait for ever."""
    asker, second = make(), threading.Event()
    alone = [
        record for part in stream(asker, rows("abcde"), Asked(("price",)), Problems()) for record in part
    ]
    hear, mentions = asker.hear, asker.mentions

    def heard(sentences):
        if sentences[0].text == "b":
            second.set()
        return hear(sentences)

    def mentioned(text, target):
        assert second.wait(60)
        return mentions(text, target)

    monkeypatch.setattr(asker, "hear", heard)
    monkeypatch.setattr(asker, "mentions", mentioned)
    parts = list(stream(asker, rows("abcde"), Asked(("price",)), Problems(), chunk=1))
    assert [len(part) for part in parts] == [1] * 5
    found = [record for part in parts for record in part]
    assert [(r["row"], r["text"], r["polarity"]) for r in found] == [
        (r["row"], r["text"], r["polarity"]) for r in alone
    ]


def test_what_was_answered_before_a_fault_is_given(make, monkeypatch):
    asker = make()
    hear, mentions = asker.hear, asker.mentions

    def failing(work, text):
        def fails(given, *more):
            if text in (given, getattr(given[0], "text", None)):
                raise ValueError("broken")
            return work(given, *more)

        return fails

    for name, work in (("hear", hear), ("mentions", mentions)):
        with monkeypatch.context() as patched:
            patched.setattr(asker, name, failing(work, "c"))
            found = []
            parts = stream(asker, rows("abcd"), Asked(("price",)), Problems(), chunk=1)
            with pytest.raises(ValueError, match="broken"):
                found.extend(record["text"] for part in parts for record in part)
            assert found == ["a", "b"]


def test_many_problems_are_counted_and_few_kept(make):
    problems = Problems(keep=3)
    assert [len(chunk) for chunk in stream(make(), rows([""] * 10), Asked(("price",)), problems)] == [0]
    lines = list(problems.lines())
    assert len(lines) == 4
    assert lines[-1] == "… and 7 more"


def test_columns_of_a_row():
    row = TableRow(1, {"text": "a", "place": "LOCATION1", "what": "price"})
    asked = Asked(text_column="text", target_column="place", aspect_column="what")
    assert asked.columns == ["text", "place", "what"]
    assert asked.sentence(row, "").contexts == (Context("price", "LOCATION1"),)
    for values, what in (
        ({}, "give aspects"),
        ({"aspects": ("price",), "aspect_column": "what"}, "give aspects, .* not both"),
        ({"aspects": ("price",), "targets": ("a",), "target_column": "place"}, "not both"),
    ):
        with pytest.raises(ConfigError, match=what):
            Asked(**values)


def test_flat_records(make):
    (record,) = records(make(), [Sentence(TEXT, (Context("price", "LOCATION1"),))])
    plain = flat(record)
    assert "probabilities" not in plain
    assert plain["p_positive"] == record["probabilities"]["positive"]
