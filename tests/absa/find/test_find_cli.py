"""``weft absa find``: a text, a table, its summary and page; and what it refuses."""

import csv
import json

import pytest

from weft.absa.use.store import save
from weft.cli.main import main


@pytest.fixture
def find(tagging, tmp_path, capfd):
    save(tmp_path / "model", tagging)
    (tmp_path / "shop.csv").write_text(
        "id,text\n1,the rent is dear\n2,the location is good\n3,\n4,the very in\n5,the rent is bad\n",
        encoding="utf-8",
    )

    def command(*arguments, name="find"):
        known = ["--model", str(tmp_path / "model"), "--device", "cpu"]
        code = main(["absa", name, *map(str, arguments), *known])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return command


def test_one_text_as_a_table_and_as_json(find):
    code, out, _ = find("the rent is dear")
    assert code == 0
    assert out.splitlines()[0].split() == ["term", "category", "answer", "confidence", "words"]
    assert out.splitlines()[1].split()[0] == "rent"
    code, out, _ = find("the rent is dear", "--json")
    (record,) = json.loads(out)
    assert (record["term"], record["start"], record["stop"], record["words"]) == ("rent", 4, 8, "dear")


def test_predict_without_an_aspect_finds(find):
    assert find("the rent is dear", name="predict")[:2] == find("the rent is dear")[:2]
    code, _, err = find("the rent is dear", "--target", "rent", name="predict")
    assert (code, "--target is about an aspect" in err) == (2, True)


def test_a_polarity_that_is_not_sure_enough_is_unsure(find, tmp_path):
    (record,) = json.loads(find("the rent is dear", "--json")[1])
    _, out, _ = find("the rent is dear", "--json", "--abstain", "1")
    note = f"{record['polarity']} at {record['confidence']:.2f} is not sure enough"
    assert json.loads(out) == [record | {"polarity": "unsure", "note": note}]
    assert (
        find("the rent is dear", "--abstain", "1", name="predict")[:2]
        == find("the rent is dear", "--abstain", "1")[:2]
    )
    shown = find("the rent is dear", "--abstain", "1")[1]
    assert (shown.splitlines()[1].split()[2], note in shown) == ("unsure", True)
    assert find("the rent is dear", "--abstain", "0")[1] == find("the rent is dear")[1]
    assert find("the rent is dear", "--abstain", "1.5")[0::2] == (
        2,
        "weft absa find: --abstain is 1.5; it must be in [0, 1]\n",
    )
    _, out, _ = find(tmp_path / "shop.csv", "--abstain", "1", "--html", tmp_path / "page.html")
    assert "unsure" in out.splitlines()[1].split()
    assert "unsure" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_summary_that_is_the_whole_answer_stays(find, tmp_path):
    shop = tmp_path / "shop.csv"
    assert find(shop, "--quiet")[1] == find(shop)[1]
    assert find(shop, "--quiet", name="predict")[1] == find(shop)[1]
    assert find(shop, "--quiet", "-o", tmp_path / "found.csv")[1] == ""
    assert find(shop, "--quiet", "--html", tmp_path / "page.html")[1] == ""


def test_predict_without_an_aspect_finds_in_a_table(find, tmp_path):
    shop, out = tmp_path / "shop.csv", tmp_path / "found.csv"
    assert find(shop, name="predict") == tuple(
        part.replace("absa find", "absa predict") if isinstance(part, str) else part for part in find(shop)
    )
    assert find(shop, "-o", out, name="predict")[0] == 9
    with out.open(newline="") as file:
        assert [row["term"] for row in csv.DictReader(file)][:2] == ["rent", "location"]
    code, _, err = find(shop, "--target-column", "id", name="predict")
    assert (code, "--target-column is about an aspect" in err) == (2, True)
    code, _, err = find(shop, "-o", shop, name="predict")
    assert (code, "the output is the input" in err) == (2, True)


def test_a_table_gives_every_finding_a_summary_and_a_page(find, tmp_path):
    out, page = tmp_path / "found.csv", tmp_path / "page.html"
    code, shown, err = find(tmp_path / "shop.csv", "-o", out, "--html", page)
    assert code == 9
    assert "row 3: column 'text' is empty" in err or "row 3" in err
    assert "4 texts" in shown
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["row"], row["term"]) for row in rows if row["term"]] == [
        ("1", "rent"),
        ("2", "location"),
        ("5", "rent"),
    ]
    assert "4 texts" in page.read_text()
    code, shown, _ = find(tmp_path / "shop.csv", "--json")
    told = json.loads(shown)
    assert sum(aspect["terms"].get("rent", 0) for aspect in told["aspects"]) == 2


def test_two_outputs_are_one_by_a_link_too(find, tmp_path):
    page = tmp_path / "page.html"
    for place in (tmp_path / "a.csv", tmp_path / "shop.csv"):
        page.symlink_to(place)
        code, _, err = find(tmp_path / "shop.csv", "-o", tmp_path / "a.csv", "--html", page)
        assert (code, err.count("\n")) == (2, 1)
        page.unlink()
    assert not (tmp_path / "a.csv").exists()
    assert find(tmp_path / "shop.csv", "--html", "/dev/null", "-o", tmp_path / "a.csv")[0] == 9


def test_places_count_in_the_text_as_it_was_given(find, tmp_path):
    text = "  \u00a0the rent is dear \n"
    (tmp_path / "t.jsonl").write_text(json.dumps({"text": text}) + "\n", encoding="utf-8")
    out = tmp_path / "o.jsonl"
    assert find(tmp_path / "t.jsonl", "-o", out)[0] == 0
    of_table = json.loads(out.read_text(encoding="utf-8").splitlines()[0])
    assert of_table["text"] == text
    assert text[of_table["start"] : of_table["stop"]] == of_table["term"] == "rent"
    assert of_table == {"row": 1, **json.loads(find(text, "--json")[1])[0]}


def test_categories_of_the_user_name_the_aspects(find, tmp_path):
    (tmp_path / "mine.txt").write_text("money: rent\nwhere: location\n")
    _, shown, _ = find(tmp_path / "shop.csv", "--domain", tmp_path / "mine.txt", "--json")
    told = {aspect["aspect"]: aspect["terms"] for aspect in json.loads(shown)["aspects"]}
    assert told["money"]["rent"] == 2
    assert told["where"]["location"] == 1


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        ((" ",), 3, "the text is empty"),
        (("a good rent", "--html", "{}/x.html"), 2, "--html is a page about a table"),
        (("{}/absent.csv",), 3, "is not there"),
        (("{}/shop.csv", "-o", "{}/shop.csv"), 2, "the output is the input"),
        (("{}/shop.csv", "-o", "{}/a.csv", "--html", "{}/./a.csv"), 2, "two outputs are one file"),
        (("{}/shop.csv", "--text-column", "review"), 3, "no column 'review'"),
        (("{}/shop.csv", "--domain", "{}/none.txt"), 3, "none.txt"),
        (("{}/shop.csv", "--html", "{}/no/x.html"), 8, "make its folder first"),
    ],
)
def test_what_it_refuses(find, tmp_path, arguments, code, what):
    found, _, err = find(*(argument.format(tmp_path) for argument in arguments))
    assert found == code
    assert what in err


def test_a_model_without_a_tagger_says_so(make, tmp_path, capfd):
    save(tmp_path / "plain", make())
    assert main(["absa", "find", "a text", "--model", str(tmp_path / "plain"), "--device", "cpu"]) == 2
    assert "finds no terms by itself" in capfd.readouterr().err


def test_texts_in_another_language_are_counted(find, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(
        "text\nthe rent is dear\nDas Zimmer war sauber und das Personal freundlich\n", encoding="utf-8"
    )
    code, out, _ = find(table)
    assert code == 0
    assert out.splitlines()[1].startswith("1 text seems to be in another language than English")
    assert json.loads(find(table, "--json")[1])["other_languages"] == 1


def test_targets_that_no_text_mentions_are_counted(find, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("text;place\nthe rent is dear;Hotel\nthe rent is dear;rent\n", encoding="utf-8")
    asked = (table, "--target-column", "place", "--aspect", "price", "-o", tmp_path / "o.csv")
    code, _, err = find(*asked, name="predict")
    assert (code, err) == (
        0,
        "weft absa predict: 1 of 2 questions names a target that its text does not mention: answered none\n",
    )
    assert find(*asked, "--quiet", name="predict")[2] == ""


def test_a_form_that_asks_what_was_good_and_what_was_not(find, tmp_path):
    form = tmp_path / "form.csv"
    form.write_text(
        "id,liked,better\n1,the location is good,the rent is dear\n2,,the rent is bad\n3,the transit is good,\n",
        encoding="utf-8",
    )
    out = tmp_path / "found.csv"
    code, shown, err = find(form, "--pros", "liked", "--cons", "better", "-o", out)
    assert code == 0
    assert "4 texts" in shown
    assert "2 of 6 fields empty" in err
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["row"], row["column"], row["term"]) for row in rows if row["term"]] == [
        ("1", "liked", "location"),
        ("1", "better", "rent"),
        ("2", "better", "rent"),
        ("3", "liked", "transit"),
    ]
    assert {row["polarity"] for row in rows if row["column"] == "liked"} == {"positive"}
    assert find(form, "--pros", "liked", "--cons", "better", "--quiet")[2] == ""
    assert find(form, "--pros", "liked", "--cons", "better", name="predict")[1] == shown


def test_one_side_for_all(find, tmp_path):
    texts = tmp_path / "cons.txt"
    texts.write_text("the rent is good\nthe location is good\n", encoding="utf-8")
    sure = {
        side: [aspect["polarities"] for aspect in json.loads(find(texts, "--json", *side)[1])["aspects"]]
        for side in ((), ("--side", "pros"))
    }
    assert sure["--side", "pros"] == [{"positive": 1}, {"positive": 1}]
    alone = json.loads(find("the rent is good", "--json", "--side", "pros")[1])
    plain = json.loads(find("the rent is good", "--json")[1])
    assert alone[0]["confidence"] != plain[0]["confidence"]
    for wrong, what in (
        (("--side", "pros", "--pros", "liked"), "not both"),
        (("--pros", "liked"), "no column 'liked'"),
    ):
        code, _, err = find(tmp_path / "shop.csv", *wrong)
        assert (code in (2, 3), what in err, err.count("\n")) == (True, True, 1)
    code, _, err = find("a good rent", "--cons", "better")
    assert (code, "--cons names a column of a table" in err) == (2, True)


def test_fields_that_nobody_filled_in(find, tmp_path):
    form, out = tmp_path / "form.csv", tmp_path / "found.csv"
    form.write_text("id,liked,better\n1,,\n2, ,\n", encoding="utf-8")
    code, _, err = find(form, "--pros", "liked", "--cons", "better", "-o", out)
    assert (code, "nobody filled in 'liked' or 'better'" in err, out.exists()) == (3, True, False)


@pytest.fixture
def branches(tmp_path):
    """Two branches, one of them judged for its rent; a row of none."""
    path = tmp_path / "branches.csv"
    texts = (("Leeds", "the rent is dear"), ("York", "the very in"))
    rows = [f"{where},{text}" for where, text in texts for _ in range(20)]
    path.write_text("\n".join(["branch,text", *rows, ",the rent is dear"]) + "\n", encoding="utf-8")
    return path


def test_branches_are_compared(find, branches, tmp_path):
    out, page = tmp_path / "found.csv", tmp_path / "page.html"
    code, shown, _ = find(branches, "--by", "branch", "-o", out, "--html", page)
    assert code == 0
    lines = shown.splitlines()
    at = lines.index("by branch, texts: Leeds 20, York 20; 1 text without")
    assert lines[at + 1].split() == ["aspect", "branch", "stands", "out", "here", "elsewhere", "p"]
    row = lines[at + 2].split()
    assert (row[1], row[3:]) == (
        "Leeds",
        ["more", "20", "of", "20", "(1.00)", "0", "of", "20", "(0.00)", "<.001"],
    )
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["group"] for row in rows} >= {"Leeds", ""}
    told = json.loads(find(branches, "--by", "branch", "--json")[1])["by"]
    assert [(group["group"], group["texts"]) for group in told["groups"]] == [("Leeds", 20), ("York", 20)]
    assert [
        (one["group"], one["here"], one["elsewhere"]) for one in told["differences"] if one["here"][0]
    ] == [("Leeds", [20, 20], [0, 20])]
    assert "by" not in json.loads(find(branches, "--json")[1])
    html = page.read_text(encoding="utf-8")
    assert "<h2>By branch</h2>" in html
    assert "20 of 20" in html


def test_branches_that_do_not_differ(find, branches, tmp_path):
    same, page = tmp_path / "same.csv", tmp_path / "page.html"
    text = branches.read_text(encoding="utf-8").replace("the very in", "the rent is dear")
    same.write_text(text, encoding="utf-8")
    assert "nothing stands out" in find(same, "--by", "branch", "--html", page)[1]
    assert "Nothing stands out" in page.read_text(encoding="utf-8")


def test_columns_that_texts_cannot_be_compared_by(find, branches, tmp_path):
    for by, what in (
        ("text", "'text' holds texts"),
        ("town", "no column 'town'"),
        ("", "no column ''"),
    ):
        code, _, err = find(branches, "--by", by)
        assert (code in (2, 3), what in err, err.count("\n")) == (True, True, 1)
    code, _, err = find("a good rent", "--by", "branch")
    assert (code, "--by names a column of a table" in err) == (2, True)
    ids, out = tmp_path / "ids.csv", tmp_path / "out.csv"
    ids.write_text("id,text\n" + "".join(f"{n},the rent is bad\n" for n in range(300)), encoding="utf-8")
    code, _, err = find(ids, "--by", "id", "-o", out)
    assert (code, "more than 200 different values" in err, out.exists()) == (3, True, False)
    lines = tmp_path / "rows.jsonl"
    lines.write_text(
        '{"text": "the rent is bad", "branch": 3}\n{"text": "the rent is bad"}\n', encoding="utf-8"
    )
    assert "by branch, texts: 3 1; 1 text without" in find(lines, "--by", "branch")[1]
