"""The decision threshold: chosen by brute force as well, stored, and what it leaves alone."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.absa.evaluate.metrics import Scored, macro_f1, sentiment_accuracy, strict_accuracy
from weft.absa.evaluate.opinions import opinions_by
from weft.absa.evaluate.report import calibration_error, report, score
from weft.absa.evaluate.threshold import calibrate, choose_threshold, cross_decided, curve
from weft.absa.records import Corpus
from weft.absa.use.decide import decide
from weft.absa.use.store import load, recalibrate, save
from weft.cli.main import main
from weft.errors import ConfigError, InputError, OutputError

COARSE = tuple(round(0.1 * step, 1) for step in range(1, 10))


def drawn(seed, rows=120, bias=0.0):
    """Probabilities that are right on average, except that ``none`` is favoured by ``bias``."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(rows, 3)) * 2
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    gold = np.array([random.choice(3, p=row) for row in true])
    logits[:, 0] += bias
    shown = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return Scored(gold, shown, np.arange(rows) // 4, np.arange(rows) % 4)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from(["mean", "macro-f1", "strict"]))
def test_the_choice_is_the_best_of_the_grid(seed, criterion):
    result = drawn(seed)
    at = {t: replace(result, threshold=t) for t in COARSE}
    strict = {t: strict_accuracy(at[t]) for t in COARSE}
    worth = {
        t: {"mean": (strict[t] + macro_f1(at[t])) / 2, "macro-f1": macro_f1(at[t]), "strict": strict[t]}
        for t in COARSE
    }
    allowed = [t for t in COARSE if criterion != "macro-f1" or strict[t] >= max(strict.values()) - 0.02]
    chosen = choose_threshold(result, criterion, give=0.02, grid=COARSE)
    assert chosen in allowed
    assert worth[chosen][criterion] == pytest.approx(max(worth[t][criterion] for t in allowed))


@pytest.mark.parametrize("criterion", ["mean", "macro-f1", "strict"])
def test_of_equally_good_thresholds_the_middle_one_is_taken(criterion):
    gold = np.arange(12) % 3
    sure = Scored(gold, np.where(gold[:, None] == np.arange(3), 0.98, 0.01), gold // 3, np.arange(12) % 4)
    assert choose_threshold(sure, criterion) == 0.5


def test_a_model_that_is_silent_too_often_gets_a_lower_threshold():
    honest, silent = drawn(0, rows=4000), drawn(0, rows=4000, bias=1.5)
    lower = choose_threshold(silent, "strict")
    # The same decision as the honest probabilities at their own threshold: the bias is undone.
    undone = 1 / (1 + np.exp(1.5))
    assert lower == pytest.approx(undone, abs=0.06)
    assert strict_accuracy(replace(silent, threshold=undone)) == strict_accuracy(honest)


def test_the_threshold_moves_answers_and_nothing_else():
    result = drawn(1)
    low = replace(result, threshold=0.2)
    assert (low.predicted != 0).sum() > (result.predicted != 0).sum()
    assert calibration_error(low) == calibration_error(result)
    assert sentiment_accuracy(low) == sentiment_accuracy(result)
    assert [tried.threshold for tried in curve(result, COARSE)] == list(COARSE)


def test_crossed_answers_are_those_of_each_folds_own_threshold():
    result = drawn(2, rows=400)
    crossed = cross_decided(result, folds=2)
    for number in (0, 1):
        inside = result.group % 2 == number
        other = Scored(*(getattr(result, n)[~inside] for n in ("gold", "probabilities", "group", "aspect")))
        expected = decide(result.probabilities[inside], choose_threshold(other))
        assert np.array_equal(crossed.predicted[inside], expected)
    assert np.allclose(crossed.probabilities.sum(axis=1), 1)


def test_wrong_wishes_are_refused():
    with pytest.raises(ConfigError, match="criterion is 'beauty'"):
        choose_threshold(drawn(0), "beauty")
    with pytest.raises(ConfigError, match="give is -1"):
        choose_threshold(drawn(0), "macro-f1", give=-1)


def test_classes_in_another_order_are_not_judged(make, corpus):
    asker = make()
    turned = corpus.labelled_as(("none", *reversed(corpus.polarities[1:])))
    for judge in (score, report, calibrate):
        with pytest.raises(InputError, match=r"classes are \('none', .* as the model's") as caught:
            judge(asker, turned)
        assert "labelled_as" in (caught.value.hint or "")
    same = score(asker, turned.labelled_as(asker.classes_))
    assert np.array_equal(same.gold, score(asker, corpus).gold)
    # A corpus that lacks the model's last class is numbered alike all the same.
    fewer = corpus.labelled_as(corpus.polarities[:-1])
    assert score(asker, fewer).gold.max() < len(corpus.polarities) - 1
    with pytest.raises(InputError, match=r"not .* as the model's"):
        score(asker, Corpus(corpus.sentences, (*corpus.polarities, "mixed")))


def test_a_calibrated_model_is_not_written_over_another_program_s(make, tmp_path, capsys):
    save(tmp_path / "model", make())
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    out = ["--out", str(tmp_path / "bert")]
    table = tmp_path / "rows.csv"
    table.write_text("text,aspect,polarity\ngood,price,positive\nbad,price,none\n", encoding="utf-8")
    assert main(["absa", "calibrate", str(table), "--model", str(tmp_path / "model"), *out]) == 2
    assert "bert: holds a model of another program (model_type 'bert')" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="holds a model of another program"):
        save(tmp_path / "bert", make())


def test_calibrating_again_stays_within_the_bounds(make, corpus):
    asker = make()
    unlikely = [answer.argmin(axis=1) for answer in asker.answer(corpus.sentences)]
    unlikely[0][0] = (unlikely[0][0] + 1) % len(asker.classes_)  # labels of one class say nothing
    wrong = Corpus(
        tuple(
            replace(sentence, polarities=tuple(asker.classes_[number] for number in least))
            for sentence, least in zip(corpus.sentences, unlikely, strict=True)
        ),
        asker.classes_,
    )
    once = calibrate(asker, wrong)
    assert once.temperature == pytest.approx(50)
    again = asker.calibrated(once.temperature)
    assert calibrate(again, wrong).temperature == pytest.approx(50)
    assert report(again, wrong)["temperature"] == pytest.approx(50)


def test_temperature_first_then_the_threshold(make, corpus):
    asker = make()
    found = calibrate(asker, corpus)
    calibrated = asker.calibrated(found.temperature, found.threshold)
    values = report(calibrated, corpus)
    assert values["threshold"] == found.threshold
    assert values["temperature"] == pytest.approx(found.temperature, rel=1e-3)
    assert values["strict"] == found.record()["after: strict"] == strict_accuracy(found.after)
    again = calibrate(calibrated, corpus)
    assert again.temperature == pytest.approx(found.temperature, rel=1e-3)
    given = calibrate(asker, corpus, temperature=2.0, threshold=0.3)
    assert (given.temperature, given.threshold, given.crossed) == (2.0, 0.3, None)
    assert "crossed: strict" not in given.record()


@pytest.mark.parametrize("int8", [False, True])
def test_another_threshold_leaves_the_weights_as_they_are(make, tmp_path, int8):
    save(tmp_path / "a", make(), int8=int8)
    recalibrate(tmp_path / "a", tmp_path / "b", 1.7, 0.4)
    assert (tmp_path / "b" / "model.safetensors").read_bytes() == (
        tmp_path / "a" / "model.safetensors"
    ).read_bytes()
    config = load(tmp_path / "b").config
    assert (config.temperature, config.threshold) == (1.7, 0.4)
    recalibrate(tmp_path / "b", tmp_path / "b", 1.0, 0.5)
    assert load(tmp_path / "b").config == load(tmp_path / "a").config


def test_a_model_from_before_thresholds_answers_with_the_most_probable_class(make, tmp_path):
    save(tmp_path / "old", make())
    path = tmp_path / "old" / "config.json"
    stored = json.loads(path.read_text())
    del stored["config"]["model"]["threshold"]
    path.write_text(json.dumps(stored))
    assert load(tmp_path / "old").config.threshold == 0.5


def test_a_place_that_cannot_be_written_is_told_first_and_figures_come_before(
    trained, labelled_csv, tmp_path, capfd, monkeypatch
):
    (tmp_path / "file").write_text("")
    options = ("--model", str(trained), "--target-column", "target", "--device", "cpu", "--quiet")
    assert (
        main(
            [
                "absa",
                "calibrate",
                str(tmp_path / "absent.csv"),
                *options,
                "--out",
                str(tmp_path / "file" / "m"),
            ]
        )
        == 8
    )
    assert "file" in capfd.readouterr().err

    def broken(*_):
        raise OutputError("no space left", where="m")

    monkeypatch.setattr("weft.absa.use.store.recalibrate", broken)
    assert main(["absa", "calibrate", str(labelled_csv), *options, "--out", str(tmp_path / "new" / "m")]) == 8
    out, err = capfd.readouterr()
    assert "temperature" in out
    assert "no space left" in err
    assert not (tmp_path / "new").exists()


def test_the_commands(trained, labelled_csv, tmp_path, capfd):
    table = (str(labelled_csv), "--target-column", "target", "--device", "cpu", "--quiet", "--json")

    def command(name, *arguments):
        code = main(["absa", name, *table, *map(str, arguments)])
        out, err = capfd.readouterr()
        return code, json.loads(out) if not code else err

    code, found = command("calibrate", "--model", trained, "--out", tmp_path / "c", "--criterion", "macro-f1")
    assert code == 0
    code, measured = command("eval", "--model", tmp_path / "c")
    assert measured["threshold"] == found["threshold"]
    assert measured["macro_f1"] == found["after: macro_f1"]
    _, other = command("eval", "--model", tmp_path / "c", "--threshold", 1)
    assert other["strict"] == other["all_none_strict"]
    _, part = command("eval", "--model", trained, "--held-out", 0.5, "--split-seed", 3)
    assert part["nll"] != measured["nll"]
    code, found = command("calibrate", "--model", trained, "--threshold", 0.25, "--temperature", 2)
    assert (code, found["threshold"], found["temperature"]) == (0, 0.25, 2)
    for arguments, what in (
        (("--threshold", 2), "--threshold is 2.0"),
        (("--temperature", 0), "--temperature is 0.0; it must be positive"),
        (("--held-out", 1), "--held-out is 1.0"),
    ):
        code, err = command("calibrate", "--model", trained, *arguments)
        assert code == 2
        assert what in err
        assert err.count("\n") == 1


def test_what_the_api_is_given_is_checked(make, corpus):
    asker = make()
    with pytest.raises(ConfigError, match=r"temperature is -1"):
        calibrate(asker, corpus, temperature=-1.0, threshold=0.5)
    with pytest.raises(ConfigError, match=r"threshold is 2"):
        calibrate(asker, corpus, threshold=2.0)
    for values in (["a"], "ab"):
        with pytest.raises(InputError, match="value"):
            opinions_by(asker, corpus, values)
    odd = Corpus((replace(corpus.sentences[0], polarities=("good", "none")),), corpus.polarities)
    with pytest.raises(InputError, match="polarity 'good' is not one of the corpus's"):
        score(asker, odd)
