"""Words that a user knows to be right as they are: brands, products, words of a trade."""

import copy
import json

import pytest

from weft.absa.records import Context, Sentence
from weft.absa.represent.slips import english, own_words
from weft.absa.use.notes import notes_on
from weft.absa.use.predict import records
from weft.absa.use.store import load
from weft.cli.main import main
from weft.errors import ConfigError, InputError

TEXT = "The batery was dead and the resturaunt too"


def test_own_words_stay_and_others_are_read_as_before():
    own = own_words(["Batery-Max 3000"])
    assert own == {"batery", "max"}
    assert [slip.word for slip in english(own).slips(TEXT)] == ["restaurant"]
    assert [slip.word for slip in english().slips(TEXT)] == ["battery", "restaurant"]
    # Usual slips, too, and words that are stretched; what may be meant is the same.
    text = "alot of it was sooo definately good"
    assert [slip.word for slip in english(own_words(["alot", "Sooo"])).slips(text)] == ["definitely"]


def test_a_model_that_knows_words():
    plain = load("absa-any")
    asker = plain.knowing(["Batery"])
    assert notes_on(TEXT, asker) == ["read as meant: resturaunt as restaurant"]
    assert len(notes_on(TEXT, asker.knowing(["resturaunt"]))) == 0
    asked = [Sentence(TEXT, (Context("charge", "battery"), Context("charge", "batery")))]
    assert [record["target_found"] for record in records(asker, asked)] == [False, True]
    assert [record["target_found"] for record in records(plain, asked)] == [True, True]
    ids = asker.representation.pieces(TEXT).ids
    assert ids != plain.representation.pieces(TEXT).ids
    again = copy.copy(asker)
    assert again.representation.pieces(TEXT).ids == ids
    assert asker.calibrated(2.0).representation.own == {"batery"}
    with pytest.raises(InputError, match="words is one string"):
        plain.knowing("Batery")
    with pytest.raises(ConfigError, match="say nothing"):
        plain.as_written().knowing(["Batery"])


def test_a_long_text_is_asked_in_windows_that_know_words():
    asker = load("absa-any").knowing(["batery"])
    text = "We walked on and on. " * 120 + "The batery was great. " + "We walked on and on. " * 120
    (record,) = records(asker, [Sentence(text, (Context("charge", "Batery"),))])
    assert record["target_found"]
    assert record["note"] is None


def test_a_list_of_words(tmp_path, capsys):
    words = tmp_path / "words.txt"
    words.write_text("\ufeff# brands\n\nBatery  # of Oslo\n", encoding="utf-8")

    def said(*arguments):
        code = main(["absa", "predict", TEXT, "--aspect", "charge", "--json", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    code, out, _ = said("--words", words)
    assert (code, json.loads(out)[0]["note"]) == (0, "read as meant: resturaunt as restaurant")
    code, _, err = said("--words", words, "--as-written")
    assert (code, "--words beside --as-written" in err) == (2, True)
    code, _, err = said("--words", words, "--model", "absa-small")
    assert (code, "say nothing to a model that reads all so" in err) == (2, True)
    words.write_text("# nothing\n--\n", encoding="utf-8")
    code, _, err = said("--words", words)
    assert (code, "holds no word" in err) == (3, True)


def test_a_list_of_words_is_not_written_over(tmp_path, capsys):
    words = tmp_path / "words.csv"
    words.write_text("Batery\n", encoding="utf-8")
    code = main(["absa", "find", TEXT, "--words", str(words), "-o", str(words)])
    assert (code, "the output is the input" in capsys.readouterr().err) == (2, True)
    assert words.read_text(encoding="utf-8") == "Batery\n"
