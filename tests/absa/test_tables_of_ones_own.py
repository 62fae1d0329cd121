"""Tables of one's own: the column of targets, a column to count by, classes that only one side has, outputs."""

import csv
import json

import pytest
from tests.absa.conftest import EXAMPLES

from weft.absa.read.labelled import Columns, read_grouped, read_labelled
from weft.absa.read.sentihood import read_sentihood
from weft.cli.main import main
from weft.errors import InputError

TEXT = "LOCATION1 is cheap but not very safe"


@pytest.fixture
def absa(trained, capfd):
    """Run a command with the trained model: exit code, what it printed, what it said."""

    def command(name, *arguments):
        code = main(["absa", name, *map(str, arguments), "--model", str(trained), "--device", "cpu"])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return command


def written(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return path


def test_a_column_of_targets_is_read_where_there_is_one(tmp_path):
    rows = [["text", "target", "aspect", "polarity"], [TEXT, "LOCATION1", "price", "positive"]]
    path = str(written(tmp_path / "own.csv", rows))
    assert read_labelled(path).sentences[0].contexts[0].target == "LOCATION1"
    assert read_labelled(path, Columns(target="")).sentences[0].contexts[0].target is None
    # Where "target" is what the labels are called it is no target.
    rows = [["text", "aspect", "target"], [TEXT, "price", "positive"]]
    labels = str(written(tmp_path / "labels.csv", rows))
    (sentence,) = read_labelled(labels, Columns(polarity="target")).sentences
    assert (sentence.contexts[0].target, sentence.polarities) == (None, ("positive",))


def test_a_column_of_targets_of_parquet_is_read_too(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    cells = {"text": [TEXT], "target": ["LOCATION1"], "aspect": ["price"], "polarity": ["positive"], "x": [1]}
    parquet.write_table(pyarrow.table(cells), tmp_path / "own.parquet")
    (sentence,) = read_labelled(str(tmp_path / "own.parquet")).sentences
    assert sentence.contexts[0].target == "LOCATION1"


def test_predict_says_that_a_column_of_targets_is_not_read(absa, tmp_path):
    path = written(tmp_path / "own.csv", [["text", "target"], [TEXT, "LOCATION1"]])
    code, out, err = absa("predict", path, "--aspect", "price")
    assert (code, json.loads(out)["target"]) == (0, None)
    assert "the column 'target' is not read: --target-column target" in err
    code, out, err = absa("predict", path, "--aspect", "price", "--target-column", "target")
    assert (code, json.loads(out)["target"]) == (0, "LOCATION1")
    assert "not read" not in err


def test_every_row_counts_under_its_own_value(absa, tmp_path):
    rows = [
        ["text", "aspect", "polarity", "shop"],
        [TEXT, "price", "positive", "A"],
        [TEXT, "safety", "negative", "B"],
        [TEXT, "price", "positive", "B"],
        ["quiet", "price", "none", "C"],
        ["quiet", "price", "none", ""],
    ]
    path = written(tmp_path / "shops.csv", rows)
    corpus, values = read_grouped(str(path), "shop")
    asked = [[context.aspect for context in sentence.contexts] for sentence in corpus.sentences]
    assert dict(zip(values, asked, strict=True)) == {"A": ["price"], "B": ["safety", "price"], "C": ["price"]}
    code, out, err = absa("eval", path, "--by", "shop", "--json")
    found = json.loads(out)
    assert [found[f"{shop}: questions"] for shop in "ABC"] == [1, 2, 1]
    assert code == 9
    assert "row 5: column 'shop' is empty" in err
    # One text may be judged otherwise under another value.
    rows[3][2] = "negative"
    assert len(read_grouped(str(written(path, rows)), "shop")[0].sentences) == 3
    assert read_labelled(str(path)).problems.count == 1
    code, out, _ = absa("eval", path, "--by", "aspect", "--json")
    assert json.loads(out)["safety: questions"] == 1


def test_answers_of_abstain_are_not_measured(absa, tmp_path):
    head = ["text", "aspect", "polarity", "shop"]
    rows = [head, [TEXT, "price", "positive", "A"], [TEXT, "safety", "unsure", "A"]]
    code, out, err = absa("eval", written(tmp_path / "t.csv", rows), "--by", "shop")
    assert (code, out) == (3, "")
    assert "polarity 'unsure' is what predict --abstain writes in place of an opinion" in err


def test_only_what_is_held_out_is_counted(absa, tmp_path):
    rows = [["text", "aspect", "polarity", "half"]]
    rows += [
        [f"{TEXT} {number}", "price", ("positive", "none")[number % 2], number % 2] for number in range(20)
    ]
    path = written(tmp_path / "halves.csv", rows)
    code, out, _ = absa("eval", path, "--by", "half", "--held-out", "0.4", "--split-seed", "3", "--json")
    found = json.loads(out)
    assert code == 0
    assert sum(value for name, value in found.items() if name.endswith(": questions")) == 8


def test_classes_that_one_side_lacks_are_told(absa, tmp_path):
    rows = [["text", "aspect", "polarity", "k"], [TEXT, "price", "good", "a"], [TEXT, "safety", "bad", "a"]]
    path = written(tmp_path / "good.csv", rows)
    code, _, err = absa("eval", path, "--by", "k")
    assert code == 3
    assert "the model has none of the opinions bad, good" in err
    rows[1][2] = "positive"
    code, _, err = absa("eval", written(path, rows), "--by", "k")
    assert code == 0
    assert "the model does not know bad" in err
    assert "no answer here is negative: what the model gives to it is shared out" in err


def test_an_aspect_of_sentihood_is_known_with_a_gloss_and_a_slip_is_refused(absa, tmp_path):
    path = EXAMPLES / "sentihood.json"
    plain = read_sentihood(path, ["price"])
    for asked in ("Price", "price: rent, cost"):
        corpus = read_sentihood(path, [asked])
        assert [s.polarities for s in corpus.sentences] == [s.polarities for s in plain.sentences]
        assert corpus.aspects == (asked,)
    with pytest.raises(InputError, match="no opinion is about the aspect 'prize'") as caught:
        read_sentihood(path, ["prize"])
    assert caught.value.hint == "is 'price' meant?"
    code, _, err = absa("eval", path, "--aspect", "prize")
    assert (code, "is 'price' meant?" in err) == (3, True)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("eval", "labelled.csv", "--split-seed", "7"), "--split-seed without --held-out"),
        (("calibrate", "labelled.csv", "--threshold", "0.4", "--criterion", "strict"), "--criterion beside"),
        (("calibrate", "labelled.csv", "--give", "0.2"), "--give without --criterion macro-f1"),
    ],
)
def test_options_that_would_say_nothing_are_refused(absa, command, says):
    name, path, *rest = command
    code, _, err = absa(name, EXAMPLES / path, *rest)
    assert (code, says in err) == (2, True)


def test_a_list_of_aspects_is_not_written_over(absa, tmp_path):
    table = written(tmp_path / "texts.csv", [["text"], [TEXT]])
    aspects = tmp_path / "aspects.csv"
    aspects.write_text("price\n", encoding="utf-8")
    code, _, err = absa("predict", table, "--aspects", aspects, "-o", aspects)
    assert (code, "the output is the input" in err) == (2, True)
    assert aspects.read_text(encoding="utf-8") == "price\n"


def test_a_list_of_aspects_may_have_comments_and_empty_lines(absa, tmp_path):
    aspects = tmp_path / "aspects.txt"
    aspects.write_bytes("\ufeff# What we ask\r\n\r\nprice  # rent, too\r\n  \r\nC# lessons\r\n".encode())
    code, out, _ = absa("predict", TEXT, "--aspects", aspects, "--json")
    assert (code, [record["aspect"] for record in json.loads(out)]) == (0, ["price", "C# lessons"])
    aspects.write_text("# nothing\n", encoding="utf-8")
    code, _, err = absa("predict", TEXT, "--aspects", aspects)
    assert (code, "holds no aspect" in err) == (3, True)


def test_one_text_is_written_and_printed(absa, tmp_path):
    code, out, _ = absa("predict", TEXT, "--aspect", "price", "--json", "-o", tmp_path / "found.jsonl")
    record = json.loads((tmp_path / "found.jsonl").read_text(encoding="utf-8"))
    assert (code, json.loads(out)) == (0, [record])


@pytest.mark.parametrize("aspect", ["\u200b", "\ufeff", "<br>"])
def test_an_aspect_that_cannot_be_seen_is_none(absa, aspect):
    code, _, err = absa("predict", TEXT, "--aspect", aspect)
    assert (code, "it must be at least one word" in err) == (3, True)
