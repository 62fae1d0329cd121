"""The `weft absa` commands: train, predict, explain, eval, and one clear line for everything bad."""

import csv
import json
import os
import resource
import subprocess
import sys

import numpy as np
import pyarrow.parquet
import pytest
from tests.absa.conftest import EXAMPLES

import weft.cli.absa.explain
from weft.absa.use.store import load, recalibrate
from weft.cli.main import main

TEXT = "LOCATION1 is cheap but not very safe"
CPU = ("--device", "cpu", "--quiet")


@pytest.fixture
def absa(trained, capfd):
    """Run a command with the trained model: exit code, what it printed, what it said."""

    def command(name, *arguments, model=True):
        extra = ["--model", str(trained), *CPU] if model and name != "train" else []
        code = main(["absa", name, *map(str, arguments), *extra])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return command


def test_train_leaves_a_calibrated_model_and_goes_on_when_asked_again(
    trained, bert_directory, labelled_csv, capsys
):
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {p.name for p in trained.iterdir()}
    stored = json.loads((trained / "config.json").read_text())
    assert "temperature" in json.dumps(stored)
    arguments = [
        *("--start", str(bert_directory), "--out", str(trained), "--data.train", str(labelled_csv)),
        *("--data.dev_share", "0.3", "--train.epochs", "2"),
        *("--train.batch_size", "4", "--train.device", "cpu"),
        *("--model.target_layers", "1", "--model.max_length", "32", "--int8", "true", "--quiet", "--json"),
    ]
    assert main(["absa", "train", str(EXAMPLES / "train.yaml"), *arguments]) == 0
    assert "strict" in json.loads(capsys.readouterr().out)["results"]


def test_predict_one_text(absa):
    arguments = (TEXT, "--target", "LOCATION1", "--aspect", "price", "--aspect", "safety")
    code, out, _ = absa("predict", *arguments)
    assert code == 0
    words = [line.split() for line in out.splitlines()]
    assert words[0] == ["target", "aspect", "answer", "none", "negative", "positive"]
    assert [line[:2] for line in words[1:]] == [["LOCATION1", "price"], ["LOCATION1", "safety"]]
    assert all(abs(sum(map(float, line[-3:])) - 1) < 0.02 for line in words[1:])
    code, out, _ = absa("predict", *arguments, "--json")
    first, second = json.loads(out)
    assert (first["text"], first["target"], first["aspect"]) == (TEXT, "LOCATION1", "price")
    assert set(second["probabilities"]) == {"none", "positive", "negative"}
    code, out, _ = absa("predict", *arguments, "--json", "--precision", "bf16")
    rounded = json.loads(out)[0]["probabilities"]
    assert rounded != first["probabilities"]
    assert rounded == pytest.approx(first["probabilities"], abs=0.02)


def test_what_belongs_to_layers_that_are_taken_over_stays(trained, labelled_csv, tmp_path):
    recalibrate(trained, tmp_path / "m", 1.0, 0.5, 0.3)
    settings = ("--data.train", labelled_csv, "--data.dev_share", "0.3", "--data.columns.target", "target")
    settings += ("--train.epochs", "1", "--train.batch_size", "4", "--train.device", "cpu", "--quiet")
    (tmp_path / "m.yaml").write_text(f"begin: {tmp_path / 'm'}\nout: {tmp_path / 'out'}\n", encoding="utf-8")
    assert main(["absa", "train", *map(str, (tmp_path / "m.yaml", *settings))]) == 0
    assert load(tmp_path / "out").config.length_power == 0.3


def test_an_explanation_says_where_the_threshold_decided(absa, trained, tmp_path):
    """Far from one half one of the two answers is not the most probable one."""
    for threshold, said in ((0.0, True), (1.0, False)):
        recalibrate(trained, tmp_path / "m", 20.0, threshold)
        common = ("explain", TEXT, "--aspect", "price", "--model", tmp_path / "m", "--method", "gradient")
        told = json.loads(absa(*common, "--json", model=False)[1])[0]
        likely = max(told["probabilities"], key=told["probabilities"].get)
        assert (told["polarity"] != "none") == said
        note = f"(decided by the threshold {threshold:g})"
        assert (note in absa(*common, model=False)[1]) == (told["polarity"] != likely)
        other = next(name for name in told["probabilities"] if name != likely)
        assert note not in absa(*common, "--polarity", other, model=False)[1]


def test_a_target_that_the_text_does_not_mention(absa):
    code, out, _ = absa("predict", "the rent is good", "--target", "Hotel", "--aspect", "price")
    assert code == 0
    assert "none" in out
    assert "the text does not mention Hotel" in out


def test_threshold(absa):
    for threshold, opinion in (("0", True), ("1", False)):
        _, out, _ = absa("predict", TEXT, "--aspect", "price", "--threshold", threshold, "--json")
        assert (json.loads(out)[0]["polarity"] != "none") is opinion
    code, _, err = absa("predict", TEXT, "--aspect", "price", "--threshold", "2")
    assert (code, err.count("\n")) == (2, 1)
    assert "--threshold is 2.0; it must be in [0, 1]" in err


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_predict_a_table(absa, tmp_path, suffix):
    """The example with its own target column, in and out; a row without target asks about the whole text."""
    output = tmp_path / f"out.{suffix}"
    code, _, _ = absa(
        *("predict", EXAMPLES / "reviews.csv", "--text-column", "review", "--target-column", "place"),
        *("--aspects", EXAMPLES / "aspects.txt", "-o", output),
    )
    # Row 2 has fewer fields than the header: it is named, the others go through.
    assert code in (0, 9)
    if suffix == "csv":
        with output.open(newline="", encoding="utf-8") as file:
            found = list(csv.DictReader(file))
    elif suffix == "jsonl":
        found = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    else:
        found = pyarrow.parquet.read_table(output).to_pylist()
    assert [int(row["row"]) for row in found][:3] == [1, 1, 1]
    assert [row["aspect"] for row in found[:3]] == ["price", "quiet", "transit location"]
    assert found[0]["target"] == "Hotel Aurora"


def test_predict_standard_input(absa, tmp_path, monkeypatch):
    (tmp_path / "in").write_text("LOCATION1 is cheap\n\nquiet\n")
    with (tmp_path / "in").open() as given:
        monkeypatch.setattr(sys, "stdin", given)
        code, out, err = absa("predict", "-", "--aspect", "price")
    assert [json.loads(line)["row"] for line in out.splitlines()] == [1, 3]
    assert code == 9
    assert "standard input row 2: column 'text' is empty" in err


@pytest.mark.parametrize("command", [("predict", "--aspect", "price"), ("predict",), ("find",)])
def test_a_table_without_a_usable_row_is_one_error_and_leaves_what_stood_there(absa, tmp_path, command):
    table, out, page = tmp_path / "t.jsonl", tmp_path / "out.csv", tmp_path / "page.html"
    table.write_text('"fine"\n')
    out.write_text("before")
    name, *asked = command
    html = ("--html", page) if name == "find" else ()
    code, shown, err = absa(name, table, *asked, "-o", out, *html, model=False)
    assert (code, shown, out.read_text(), page.exists()) == (3, "", "before", False)
    assert err == (
        f"weft absa {name}: {table}: no usable row; the first problem: {table} row 1: a JSON str, not an object\n"
    )


def test_a_text_that_looks_like_a_path_is_explained_from_standard_input(absa, tmp_path, monkeypatch):
    asked = ("--aspect", "price", "--method", "gradient", "--json")
    assert "a text that looks like a path comes by standard input" in absa("explain", "safe.txt", *asked)[2]
    for content, text in (
        (b"\xef\xbb\xbfsafe.txt\r\n", "safe.txt"),
        (b"is\r\n\r\ncheap\n", "is\r\n\r\ncheap"),
    ):
        (tmp_path / "in").write_bytes(content)
        with (tmp_path / "in").open() as given:
            monkeypatch.setattr(sys, "stdin", given)
            code, out, _ = absa("explain", "-", *asked)
        (found,) = json.loads(out)
        assert (code, found["text"], found["window"]) == (0, text, [0, len(text)])
    for content, what in ((b"\n", "the text is empty"), (b"\xff", "standard input: is not UTF-8")):
        (tmp_path / "in").write_bytes(content)
        with (tmp_path / "in").open() as given:
            monkeypatch.setattr(sys, "stdin", given)
            code, out, err = absa("explain", "-", *asked)
        assert (code, out, what in err) == (3, "", True)


def test_a_question_is_no_command_to_a_terminal(absa):
    code, shown, _ = absa("explain", TEXT, "--aspect", "pri\x1b[1mce", "--method", "gradient")
    assert code == 0
    assert shown.startswith("pri\\x1b[1mce: ")
    assert "\x1b" not in shown


def test_one_text_and_a_table_are_written_with_the_same_columns(absa, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(f"text\n{TEXT}\n")
    heads = []
    for given, name in ((TEXT, "one.csv"), (table, "table.csv")):
        assert absa("predict", given, "--aspect", "price", "-o", tmp_path / name)[0] == 0
        heads.append((tmp_path / name).read_text().splitlines()[0])
    assert heads[1] == f"row,{heads[0]}"


def test_standard_input_is_called_so(absa, tmp_path, monkeypatch):
    (tmp_path / "in").write_text("")
    with (tmp_path / "in").open() as given:
        monkeypatch.setattr(sys, "stdin", given)
        code, _, err = absa("predict", "-", "--input-format", "csv", "--aspect", "price")
    assert (code, err) == (3, "weft absa predict: standard input: no column 'text'; there are none\n")


def test_a_broken_row_is_named_and_the_rest_goes_through(absa, tmp_path):
    table = tmp_path / "t.csv"
    table.write_bytes(
        b"text,n\nfine,1\nshort\nbad \xff,2\n,3\n" + "日本 😀,4\n".encode() + b"word " * 10_000 + b",5\n"
    )
    code, out, err = absa("predict", table, "--aspect", "price")
    assert code == 9
    assert [json.loads(line)["row"] for line in out.splitlines()] == [1, 5, 6]
    for line in ("row 2: 1 field;", "row 3: column 'text' is not UTF-8", "row 4: column 'text' is empty"):
        assert f"{table} {line}" in err
    assert "3 rows could not be used" in err


def test_an_explanation_says_where_the_target_is_missing(absa, tmp_path):
    page = tmp_path / "page.html"
    arguments = ("the rent is good", "--target", "Hotel", "--aspect", "price", "--method", "search")
    code, out, _ = absa("explain", *arguments, "--html", page)
    assert code == 0
    assert "(the text does not mention Hotel)" in out
    assert "not mentioned" in page.read_text(encoding="utf-8")


def test_every_way_of_training(trained, bert_directory, labelled_csv, tmp_path, capsys):
    """CG-BERT taught by another model, with smoothed labels, balanced classes, rates by layer, a threshold."""
    arguments = [
        *("--start", bert_directory, "--data.train", labelled_csv, "--data.dev_share", 0.3),
        *("--train.epochs", 1, "--train.batch_size", 4, "--train.device", "cpu", "--model.max_length", 32),
        *("--learning.label_smoothing", 0.1, "--learning.class_balance", 0.3, "--train.layer_decay", 0.7),
        *("--learning.distillation", 0.5, "--decide", "mean", "--quiet"),
    ]
    for kind in ("cg", "pair", "qacg", "qacg-official"):
        out = tmp_path / kind
        teacher = json.dumps([str(trained)] * 2) if kind == "qacg" else trained
        own = ("--teacher", teacher, "--model.kind", kind, "--model.context_from", 1, "--out", out)
        command = ["absa", "train", EXAMPLES / "train.yaml", *arguments, *own]
        assert main([str(part) for part in command]) == 0
        stored = json.loads((out / "config.json").read_text())["config"]["model"]
        assert stored["options"]["kind"] == kind
        assert 0 < stored["threshold"] < 1
    capsys.readouterr()


def test_quasi_attention_and_its_gate_are_seen_as_matrices(
    bert_directory, labelled_csv, tmp_path, absa, capfd
):
    out = tmp_path / "qacg"
    arguments = [
        *(
            "--start",
            bert_directory,
            "--data.train",
            labelled_csv,
            "--data.dev_share",
            0.3,
            "--out",
            out,
            "--quiet",
        ),
        *("--train.epochs", 1, "--train.batch_size", 4, "--train.device", "cpu", "--model.max_length", 32),
        *("--model.kind", "qacg", "--model.context_from", 1, "--model.quasi_start", "open"),
    ]
    command = ["absa", "train", EXAMPLES / "train.yaml", *arguments]
    assert main([str(part) for part in command]) == 0
    capfd.readouterr()
    question = ("--target", "LOCATION1", "--aspect", "price")
    code, told, _ = absa("explain", TEXT, *question, "--model", out, "--json", "--maps", model=False)
    assert code == 0
    maps = json.loads(told)[0]["maps"]
    size = len(maps["tokens"])
    assert len(maps["layers"]) == 2
    for layer in maps["layers"]:
        quasi, gate = np.array(layer["quasi"]), np.array(layer["gate"])
        assert quasi.shape == np.array(layer["weights"]).shape == (4, size, size)
        # α / n of a sigmoid, before the gate; this began at .76.
        assert (quasi <= 1 / size + 1e-6).all()
        assert quasi.min() >= 0
        assert quasi.max() > 0
        assert gate.shape == (4, size, 1)
        assert 0.4 < gate.mean() < 1


def test_a_failed_table_leaves_no_output(absa, tmp_path):
    output = tmp_path / "out.csv"
    code, _, _ = absa("predict", tmp_path / "absent.csv", "--aspect", "price", "-o", output)
    assert code == 3
    assert not output.exists()


BAD = [
    (("predict", "", "--aspect", "price"), 3, "the text is empty"),
    (("predict", "  ", "--aspect", "price"), 3, "the text is empty"),
    (("predict", TEXT), 2, "finds no terms by itself"),
    (("predict", EXAMPLES / "reviews.csv"), 3, "no column 'text'"),
    (("predict", EXAMPLES / "reviews.csv", "--text-column", "review"), 2, "finds no terms by itself"),
    (("predict", TEXT, "--aspect", " "), 3, "the aspect is ' '"),
    (("predict", TEXT, "--aspect", "price", "--target", ""), 3, "the target is ''"),
    (("predict", "absent.csv", "--aspect", "price"), 3, "absent.csv: is not there"),
    (
        ("predict", EXAMPLES / "reviews.csv", "--aspect", "price"),
        3,
        "no column 'text'; there are 'id', 'review', 'place' (--text-column names another)",
    ),
    (
        ("predict", "I read reviews.txt", "--aspect", "price"),
        3,
        "I read reviews.txt: is not there (look at the path's spelling; a text that looks like a path comes by "
        "standard input)",
    ),
    (
        ("predict", TEXT, "--aspect", "price", "-o", "o.xyz"),
        2,
        "known are .csv, .jsonl, .ndjson, .parquet, .tsv)",
    ),
    (
        ("predict", EXAMPLES / "aspects.txt", "--aspect", "price", "-o", "o.xyz", "--model", "absent"),
        2,
        "known are .csv, .jsonl, .ndjson, .parquet, .tsv)",
    ),
    (("predict", "reviews/absent.doc", "--aspect", "price"), 3, "reviews/absent.doc: is not there"),
    (("predict", ".", "--aspect", "price"), 3, ".: is a folder"),
    (("predict", __file__, "--aspect", "price"), 3, "is a file of an unknown kind"),
    (("predict", TEXT, "--aspect", "price", "-o", "absent/o.csv"), 8, "absent/o.csv: cannot be written"),
    (("predict", TEXT, "--aspect", "price", "-o", "."), 8, "is a folder: name a file"),
    (
        ("predict", TEXT, "--aspects", "absent.txt"),
        3,
        "absent.txt: is not there, and --aspects is a file with one aspect per line (look at the path's "
        "spelling; --aspect takes one in words and may be repeated)",
    ),
    (("predict", TEXT, "--aspect", "price", "--threads", "0"), 2, "threads is 0"),
    (("predict", TEXT, "--aspect", "price", "--device", "abacus"), 2, "device is 'abacus'"),
    (("predict", TEXT, "--aspect", "price", "--model", "absent"), 4, "'absent': no such model"),
    (
        ("predict", EXAMPLES / "reviews.csv", "--aspect-column", "asp", "--aspect", "manner"),
        2,
        "give aspects, or the column that holds them, not both",
    ),
    (
        ("predict", TEXT, "--aspect-column", "aspect"),
        2,
        "--aspect-column names a column of a table; a text has none",
    ),
    (
        ("predict", TEXT, "--aspect", "price", "--text-column", "t"),
        2,
        "--text-column names a column of a table",
    ),
    (("predict", TEXT, "--aspect", "price", "--target-column", "t"), 2, "--target-column names a column"),
    (("predict", TEXT, "--text-column", "t"), 2, "--text-column names a column of a table; a text has none"),
    (("find", TEXT, "--text-column", "t"), 2, "--text-column names a column of a table; a text has none"),
    (
        ("find", EXAMPLES / "reviews.csv", "--html", "-"),
        2,
        "argument --html: a page is a file: '-' names none",
    ),
    (("explain", TEXT, "--aspect", "price", "--html", "-"), 2, "argument --html: a page is a file"),
    (("eval", EXAMPLES / "labelled.csv", "--aspect", "price"), 2, "--aspect chooses among SentiHood's"),
    (
        ("eval", "x.json", "--polarity-column", "p"),
        2,
        "names a column of a table; a file of SentiHood has none",
    ),
    (
        ("calibrate", "x.xml", "--text-column", "p"),
        2,
        "names a column of a table; a file of SemEval has none",
    ),
    (("predict", "\u200b", "--aspect", "price"), 3, "the text is empty"),
    (("predict", "caf\udce9", "--aspect", "price"), 3, "the text is not UTF-8: character 4"),
    (("predict", TEXT, "--aspect", "price", "--target", "\udcff"), 3, "the target '\\udcff' is not UTF-8"),
    (("predict", TEXT, "--aspect", "\udcff"), 3, "the aspect '\\udcff' is not UTF-8"),
    (("explain", TEXT, "--aspect", "\udcff"), 3, "the aspect '\\udcff' is not UTF-8"),
    (("predict", TEXT, "--threshold", "0"), 2, "--threshold is about an aspect that is asked"),
    (
        ("predict", EXAMPLES / "aspects.txt", "--aspect", "price", "--target-column", "place"),
        2,
        "no column 'place'",
    ),
    (("find", EXAMPLES / "aspects.txt", "--text-column", "review"), 2, "no column 'review'"),
    (("calibrate", EXAMPLES / "labelled.csv", "--give", "nan"), 2, "--give is nan"),
    (("eval", EXAMPLES / "labelled.csv", "--explanations", "-5"), 2, "--explanations is -5; it must be"),
    (("eval", EXAMPLES / "labelled.csv", "--explainer", "random"), 2, "--explainer without --explanations"),
    (
        ("eval", EXAMPLES / "questions.csv", "--by", "kind", "--explanations", "5"),
        2,
        "--explanations are not tested where opinions are counted",
    ),
    (
        ("eval", EXAMPLES / "sentihood.json", "--by", "aspect"),
        2,
        "--by names a column of a table (SentiHood's",
    ),
    (
        ("eval", EXAMPLES / "restaurants.xml", "--by", "aspect"),
        2,
        "--by names a column of a table (SemEval's",
    ),
    (("explain", "", "--aspect", "price"), 3, "the text is empty"),
    (("explain", TEXT, "--aspect", "price", "--polarity", "great"), 3, "polarity 'great'"),
    (("explain", TEXT, "--aspect", "price", "--maps"), 2, "--maps are matrices for programs"),
    (("explain", TEXT, "--aspect", "price", "--method", "quasi"), 2, "no quasi-attention"),
    (("explain", TEXT, "--aspect", "price", "--html", "absent/page.html"), 8, "cannot be written"),
    (("eval", "absent.json"), 3, "absent.json"),
    (("train",), 2, "which settings?"),
    (("train", "--quiet"), 2, "which settings?"),
    (("train", "absent.yaml"), 3, "absent.yaml"),
    (("dance",), 2, "no command 'dance'"),
]


@pytest.mark.parametrize(("arguments", "code", "what"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input_is_one_line_and_its_exit_code(absa, tmp_path, monkeypatch, arguments, code, what):
    monkeypatch.chdir(tmp_path)
    given = [str(argument) for argument in arguments]
    found, out, err = absa(
        *given,
        model="--model" not in given and "--device" not in given and given[0] not in ("dance", "train"),
    )
    assert found == code
    assert what in err + out
    assert (err + out).count("\n") == 1


def test_a_table_without_rows_is_refused(absa, tmp_path):
    table, output = tmp_path / "t.csv", tmp_path / "o.csv"
    table.write_text("text,n\n")
    for arguments in (
        ("predict", table, "--aspect", "price", "-o", output),
        ("find", table),
        ("predict", table),
    ):
        code, out, err = absa(*arguments)
        assert (code, out, err.count("\n")) == (3, "", 1)
        assert f"{table}: holds no row" in err
    assert not output.exists()


def test_json_lines_without_the_column_leave_no_output(absa, tmp_path):
    table, output = tmp_path / "t.jsonl", tmp_path / "o.csv"
    table.write_text('{"Text": "cheap"}\n{"Text": "safe"}\n')
    for arguments in (
        ("predict", table, "--aspect", "price", "-o", output),
        ("predict", table, "--aspect", "x"),
    ):
        code, out, err = absa(*arguments)
        assert (code, out, err.count("\n")) == (3, "", 1)
        assert "no column 'text'; there are 'Text' (did you mean 'Text' for 'text'?" in err
    assert not output.exists()


def test_an_empty_line_of_a_table_is_named_and_counted(absa, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("text\ncheap\n\nquiet\n")
    code, out, err = absa("predict", table, "--aspect", "price")
    assert code == 9
    assert [json.loads(line)["row"] for line in out.splitlines()] == [1, 3]
    assert "row 2: column 'text' is empty" in err


def test_an_output_that_is_the_input(absa, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("text\na\n")
    code, _, err = absa("predict", table, "--aspect", "price", "-o", table)
    assert code == 2
    assert "the output is the input" in err
    assert table.read_text() == "text\na\n"


def test_bad_training_files(absa, tmp_path, bert_directory):
    for text, what in (
        ("nonsense: 1\n", "nonsense"),
        ("data: {train: absent.csv}\nstart: x\nout: y\n", "absent.csv"),
        ("data: {train: a.csv}\nstart: x\nout: y\nmodel: {kind: word2vec}\n", "kind"),
        ("data: [", "bad.yaml"),
    ):
        path = tmp_path / "bad.yaml"
        path.write_text(text)
        code, _, err = absa("train", path, "--quiet")
        assert code in (2, 3)
        assert what in err
        assert err.count("\n") == 1


def test_explain(absa, tmp_path):
    page = tmp_path / "page.html"
    arguments = (TEXT, "--target", "LOCATION1", "--aspect", "price", "--method", "gradient")
    code, out, _ = absa("explain", *arguments, "--html", page)
    assert code == 0
    assert out.startswith("LOCATION1 / price: ")
    assert "cheap" in page.read_text(encoding="utf-8")
    code, out, _ = absa("explain", *arguments, "--json", "--maps")
    assert code == 0
    maps = json.loads(out)[0]["maps"]
    assert len(maps["layers"][0]["weights"][0][0]) == 1 + len(maps["tokens"])
    code, out, _ = absa("explain", *arguments, "--json", "--polarity", "negative")
    (found,) = json.loads(out)
    assert (found["polarity"], found["method"]) == ("negative", "gradient")
    assert [word["text"] for word in found["words"]] == TEXT.split()


def test_a_rough_explanation_says_so_beside_what_programs_read(absa):
    asked = ("explain", TEXT, "--aspect", "price", "--json", "--method")
    code, out, err = absa(*asked, "gradient")
    assert (code, json.loads(out)[0]["method"]) == (0, "gradient")
    assert "its signs are often wrong" in err
    assert "--method integrated was found best" in err
    assert absa(*asked, "occlusion")[2] == ""


def test_an_explanation_that_takes_its_time_says_so(absa, trained, monkeypatch):
    asked = (
        "explain",
        TEXT,
        "--aspect",
        "price",
        "--aspect",
        "safety",
        "--method",
        "shapley",
        "--model",
        trained,
    )
    said = f"weft absa explain: explaining 2 answers, each about a text of {len(TEXT.split())} words"
    assert said not in absa(*asked, model=False)[2]
    monkeypatch.setattr(weft.cli.absa.explain, "PATIENCE", 0.0)
    assert absa(*asked, model=False)[2].count(said) == 1
    assert said not in absa(*asked, "--quiet", model=False)[2]


def test_explain_says_which_part_of_a_long_text_answered(absa):
    text = "the transit is good . " * 8 + "LOCATION1 is cheap . " + "the rent is bad . " * 8
    question = (text, "--target", "LOCATION1", "--aspect", "price", "--method", "gradient")
    _, out, _ = absa("explain", *question, "--json", "--maps")
    (found,) = json.loads(out)
    start, end = found["window"]
    assert 0 < start <= text.index("LOCATION1") < end < len(text)
    assert all(text[word["start"] : word["end"]] == word["text"] for word in found["words"])
    assert "cheap" in found["maps"]["tokens"]
    _, out, _ = absa("predict", *question[:-2], "--json")
    assert found["probabilities"] == pytest.approx(json.loads(out)[0]["probabilities"], abs=1e-5)
    _, out, _ = absa("explain", *question)
    assert f"the window that answers: characters {start:,} to {end:,} of {len(text):,}" in out
    _, out, _ = absa("explain", TEXT, *question[1:])
    assert "window" not in out


def test_eval(absa, labelled_csv):
    code, out, _ = absa("eval", labelled_csv, "--target-column", "target", "--explanations", "3")
    assert code == 0
    for line in (
        "strict accuracy",
        "floor: strict accuracy of all none",
        "calibration error",
        "deletion, gradient",
    ):
        assert line in out
    code, out, _ = absa("eval", labelled_csv, "--target-column", "target", "--json")
    assert 0 <= json.loads(out)["strict"] <= 1


def test_eval_says_where_predict_answers_none(absa, tmp_path):
    table = tmp_path / "asked.csv"
    table.write_text("text,target,aspect,polarity\nthe rent is dear,rent,price,negative\n", encoding="utf-8")
    asked = ("eval", table, "--target-column", "target")
    assert "does not mention" not in absa(*asked)[2]
    with table.open("a", encoding="utf-8") as file:
        file.write("the rent is dear,hotel,price,none\n")
    code, _, err = absa(*asked)
    assert code == 0
    assert "1 of 2 questions names a target that its text does not mention: predict answers none there" in err


def test_eval_counts_opinions_by_a_column_and_of_mabsa(absa, tmp_path):
    table = tmp_path / "asked.csv"
    rows = [
        "text,aspect,polarity,kind",
        f"{TEXT},price,positive,a",
        f"{TEXT},safety,neutral,a",
        "quiet,price,none,b",
    ]
    table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    code, out, _ = absa("eval", table, "--by", "kind", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["a: questions"], found["b: questions"], found["b: all_none"]) == (2, 1, 1)
    # The model has no neutral: such a question cannot be right.
    assert found["a: recall_neutral"] == 0
    code, out, _ = absa("eval", table, "--by", "kind")
    assert "opinions found with the right polarity" in out
    code, _, err = absa("eval", table, "--by", "kind", "--input-format", "mabsa")
    assert code == 2
    assert "--by names a column of a table" in err
    partly = tmp_path / "partly.jsonl"
    known = {"text": TEXT, "aspect": "price", "polarity": "positive"}
    partly.write_text(json.dumps(known | {"kind": None}) + "\n", encoding="utf-8")
    code, _, err = absa("eval", partly, "--by", "kind")
    assert code == 3
    assert "column 'kind' is empty" in err
    lines = ["cheap and safe####[['NULL', 'price', 'positive']]", "quiet####[]", "broken"]
    (tmp_path / "hotel-dev.txt").write_text("\n".join(lines), encoding="utf-8")
    code, out, err = absa("eval", tmp_path / "hotel-dev.txt", "--input-format", "mabsa", "--json")
    assert code == 9
    assert "hotel-dev.txt line 3: no ####" in err
    assert json.loads(out)["questions"] == 2


def test_predict_says_what_it_is_not_sure_of(absa):
    code, out, _ = absa("predict", TEXT, "--aspect", "price", "--abstain", "1")
    assert code == 0
    assert out.splitlines()[1].split()[:2] == ["price", "unsure"]
    assert "is less sure than 1" in out
    code, _, err = absa("predict", TEXT, "--aspect", "price", "--abstain", "2")
    assert code == 2
    assert "--abstain is 2" in err


def test_help_needs_no_torch_and_answers_quickly():
    code = "import sys; from weft.cli.main import main; main(['absa', *sys.argv[1:]]); sys.exit('torch' in sys.modules)"
    environment = {**os.environ, "COLUMNS": "100"}
    for arguments in (["--help"], ["train", "--help"]):
        start = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, check=False, env=environment
        )
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 0
        # Processor time, for the clock tells what else the machine does; measured 0.1 s.
        assert end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime < 0.5


def test_reading_a_table_needs_no_extra(trained, tmp_path):
    """CSV in, CSV out, and the gradient explanation, with pyarrow and captum out of reach."""
    (tmp_path / "t.csv").write_text("text\nLOCATION1 is cheap\n")
    code = (
        "import sys; sys.modules['pyarrow'] = sys.modules['captum'] = None\n"
        "from weft.cli.main import main\n"
        "model = ['--model', sys.argv[1], '--device', 'cpu', '--quiet']\n"
        "assert main(['absa', 'predict', 't.csv', '--aspect', 'price', '-o', 'out.csv', *model]) == 0\n"
        "assert main(['absa', 'explain', 'a cheap rent', '--aspect', 'price', '--method', 'gradient', *model]) == 0\n"
        "assert main(['absa', 'predict', 't.csv', '--aspect', 'price', '-o', 'out.parquet', *model]) == 5\n"
        "assert main(['absa', 'explain', 'a cheap rent', '--aspect', 'price', '--method', 'integrated', *model]) == 5\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(trained)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("pip install '.[absa]'") == 2
    assert (tmp_path / "out.csv").read_text().startswith("row,text,")
