"""Going on from a trained model: which classes stay, and what is told of it before and after."""

import torch

from weft.absa import load
from weft.absa.config import ModelOptions
from weft.absa.learn.begin import kept_classes, notes_on_begin, reached
from weft.absa.learn.setup import DataFiles, Setup
from weft.train import TrainConfig, run_setup

OPTIONS = ModelOptions(max_length=32, similarity_layers=1, aspect_dropout=0.0, classifier_dropout=0.0)


def _said(bert_directory, tmp_path, rows, **choices):
    """Go on from a model of (none, mixed, negative, positive) with a table: what is told, the figures, the model."""

    def table(name, lines):
        path = tmp_path / name
        path.write_text("\n".join(["text,aspect,polarity", *lines]), encoding="utf-8")
        return DataFiles(str(path), dev_share=0.3)

    few = TrainConfig(
        epochs=1, batch_size=4, learning_rate=5e-3, weight_decay=0.0, metric="score", mode="max", device="cpu"
    )
    if not (tmp_path / "a").exists():
        kinds = ("none", "mixed", "negative", "positive")
        first = [f"good {n} and bad,price,{kinds[n % 4]}" for n in range(24)]
        run_setup(
            Setup(table("a.csv", first), tmp_path / "a", start=str(bert_directory), model=OPTIONS, train=few)
        )
    told = list[str]()
    setup = Setup(table("b.csv", rows), tmp_path / "b", begin=str(tmp_path / "a"), train=few, **choices)
    outcome = run_setup(setup, tell=told.append)
    return told, outcome.results, load(tmp_path / "a"), load(tmp_path / "b")


def test_a_class_that_no_row_has_is_kept_and_told(bert_directory, tmp_path):
    rows = [f"cheap {n},price,{('none', 'positive', 'negative')[n % 3]}" for n in range(18)]
    told, results, old, new = _said(bert_directory, tmp_path, rows)
    assert new.classes_ == ("none", "negative", "positive", "mixed")
    assert any("no row says mixed" in line and "it is kept as it is known" in line for line in told)
    assert any("--int8 true" in line for line in told)
    assert {"before: accuracy", "before: strict", "accuracy", "strict"} <= set(results)
    was, now = (asker.module.head.classifier for asker in (old, new))
    # No gradient of the loss gets there.
    assert torch.allclose(now.weight[3], was.weight[1], atol=1e-6)
    assert torch.allclose(now.bias[3], was.bias[1], atol=1e-6)
    assert not torch.allclose(now.weight[2], was.weight[3], atol=1e-6)


def test_a_class_that_is_left_out_is_told(bert_directory, tmp_path):
    rows = [f"cheap {n},price,{('none', 'positive', 'negative')[n % 3]}" for n in range(18)]
    told, _, _, new = _said(bert_directory, tmp_path, rows, keep_classes=False, int8=True)
    assert new.classes_ == ("none", "negative", "positive")
    assert any("also answers mixed: the new model will not, since no row says so" in line for line in told)
    assert not any("--int8" in line for line in told)


def test_rows_of_another_scheme_keep_no_class(bert_directory, tmp_path):
    rows = [f"cheap {n},price,{('none', 'good', 'bad')[n % 3]}" for n in range(18)]
    told, results, _, new = _said(bert_directory, tmp_path, rows)
    assert new.classes_ == ("none", "bad", "good")
    assert any("also answers mixed, negative, positive: the new model will not" in line for line in told)
    # All that it can answer there is none.
    assert results["before: accuracy"] == results["all_none"]


def test_the_threshold_of_before_is_told(make, corpus):
    begin = make().calibrated(1.0, 0.3)
    kept = kept_classes(begin, corpus)

    def told(decided):
        return "\n".join(notes_on_begin("old", begin, corpus, kept, decided=decided, int8=True))

    assert "(threshold 0.5); old has 0.3" in told(False)
    assert "threshold" not in told(True)


def test_what_the_beginning_reaches_is_under_its_own_threshold(make, corpus):
    begin = make()
    values = {
        threshold: reached(begin.calibrated(1.0, threshold), corpus)["before: accuracy"]
        for threshold in (0.0, 1.0)
    }
    gold = [polarity for sentence in corpus.sentences for polarity in sentence.polarities]
    assert values[1.0] == gold.count("none") / len(gold)
    assert values[0.0] != values[1.0]
