"""The tagger: what it is trained on, what it minimises, that it learns, that nothing else changes."""

from dataclasses import replace

import pytest
import torch
from tests.absa.find.conftest import reviews

from weft.absa.config import ModelOptions
from weft.absa.evaluate.terms import term_scores
from weft.absa.find.finder import Finder
from weft.absa.learn.terms import Marked, _tagged, marked, train_tagger, with_tagger
from weft.absa.model.terms import TAGS, tag_loss
from weft.absa.read.reviews import Opinion, Review
from weft.absa.records import Context, Sentence
from weft.absa.use.store import load, save
from weft.errors import ConfigError, InputError
from weft.train.config import TrainConfig

OPEN = {"open_aspects": True, "aspect_dropout": 0.0, "similarity_layers": 3, "frozen_layers": 1}


def test_terms_are_marked_as_whole_words_the_longer_first():
    review = Review(
        "Rent: the rent of the rents is dear",
        (Opinion("negative", "rent", None, "dear"), Opinion("negative", "the rent")),
        "x",
    )
    (found,) = marked([review], opinions=True)
    assert [review.text[a:b] for a, b in found.terms] == ["Rent", "the rent"]
    assert [review.text[a:b] for a, b in found.opinions] == ["dear"]
    assert marked([review])[0].opinions is None


def test_tags_of_a_text(make):
    asker = make()
    text = "the rent is very dear"
    batch = _tagged(asker, [Marked(text, ((4, 8),), ((12, 21),)), Marked(text, ())])
    names = [TAGS[n] if n >= 0 else "-" for n in batch.tags[0].tolist()]
    assert names == ["-", "O", "B-term", "O", "B-opinion", "I-opinion", "-"]
    assert batch.complete.tolist() == [True, False]


def test_judging_words_that_nobody_marked_are_no_fault():
    logits = torch.full((1, 1, len(TAGS)), -20.0)
    logits[..., TAGS.index("B-opinion")] = 20.0
    outside = torch.zeros(1, 1, dtype=torch.long)
    assert tag_loss(logits, outside, torch.tensor([False])) < 1e-6
    assert tag_loss(logits, outside, torch.tensor([True])) > 30
    term = torch.full((1, 1), TAGS.index("B-term"))
    assert tag_loss(logits, term, torch.tensor([False])) > 30


def test_tokens_that_do_not_count_change_nothing():
    logits, tags = torch.randn(1, 3, len(TAGS)), torch.tensor([[0, 1, -1]])
    first = tag_loss(logits, tags, torch.tensor([True]))
    logits[0, 2] += 5
    assert first == tag_loss(logits, tags, torch.tensor([True]))


def test_it_learns(tagging):
    scores = term_scores(Finder(tagging), reviews())
    assert scores["term_f1"] > 0.9
    assert scores["terms"] == sum(len({o.term for o in review.opinions}) for review in reviews())


def test_training_the_tagger_leaves_the_answers_as_they_were(make):
    plain = make(**OPEN)
    asker = with_tagger(plain, 2)
    sentence = Sentence("the rent is dear", (Context("price"),))
    before = plain.answer([sentence])[0]
    head = asker.module.terms.head.weight.clone()
    texts = marked(reviews(), opinions=True)
    train_tagger(asker, texts, TrainConfig(steps=2, batch_size=4, device="cpu", restore_best=False))
    assert (asker.answer([sentence])[0] == before).all()
    assert not torch.equal(asker.module.terms.head.weight, head)


def test_a_new_tagger_has_no_threshold_of_another_one(make):
    plain = make(**OPEN)
    plain.config = replace(plain.config, outside=-1.0, term_threshold=0.7, length_power=0.2)
    asker = with_tagger(plain, 2)
    assert (asker.config.outside, asker.config.term_threshold) == (0.0, None)
    assert asker.config.length_power == 0.2


def test_a_stored_tagger_tags_the_same(tagging, tmp_path):
    text = "the rent is dear"
    save(tmp_path / "model", tagging)
    (one,), (two,) = tagging.tags([text])[0], load(tmp_path / "model").tags([text])[0]
    assert one[0] == two[0]
    assert one[1].tolist() == two[1].tolist()


def test_the_tagger_may_read_less_at_once_than_the_model(tagging):
    """A text is tagged in windows of its own length, each token in one at least."""
    text = "the rent is dear . " * 6
    ((whole, _),) = tagging.tags([text])[0]
    options = replace(tagging.config.options, term_length=12)
    tagging.config = replace(tagging.config, options=options)
    windows = tagging.tags([text])[0]
    assert len(windows) > 1
    assert all(len(offsets) <= 12 for offsets, _ in windows)
    seen = {place for offsets, _ in windows for place in offsets if place[1] > place[0]}
    assert seen == {place for place in whole if place[1] > place[0]}
    for wrong in (4, 1000):
        with pytest.raises(
            ConfigError, match=f"term_length is {wrong}; it must be 0, or from 8 to max_length"
        ):
            replace(options, term_length=wrong)


def test_what_cannot_be_is_told(make):
    with pytest.raises(ConfigError, match="pair has no frozen layers"):
        with_tagger(make("pair"), 1)
    with pytest.raises(ConfigError, match="no tagger"):
        train_tagger(make(), [Marked("a", ())], TrainConfig(epochs=1))
    with pytest.raises(InputError, match="no texts"):
        train_tagger(with_tagger(make(**OPEN), 1), [], TrainConfig(epochs=1))
    with pytest.raises(ConfigError, match="term_layers"):
        ModelOptions(kind="pair", term_layers=1)
    with pytest.raises(ConfigError, match="term_layers is 3 above 1"):
        make(**OPEN, term_layers=3)
    with pytest.raises(ConfigError, match="finds no terms"):
        Finder(make())
    with pytest.raises(ConfigError, match="finds no terms"):
        make().tags(["a"])
    with pytest.raises(ConfigError, match="finds no terms"):
        make("pair").tags(["a"])


def test_how_readily_it_tags_is_a_number_of_the_model_and_is_stored(tagging, tmp_path):
    text = "the rent is dear but the location is good"

    def tagged(outside):
        asker = tagging.calibrated(1.0)
        asker.config = replace(asker.config, outside=outside)
        save(tmp_path / f"{outside}", asker)
        ((_, tags),) = load(tmp_path / f"{outside}").tags([text])[0]
        return tags

    assert (tagged(0.0) == tagging.tags([text])[0][0][1]).all()
    assert not tagged(100.0).any()
    assert tagged(-100.0).all()
    with pytest.raises(ConfigError, match="outside is nan; it must be finite"):
        replace(tagging.config, outside=float("nan"))


def test_a_tagger_stays_where_it_was_when_lower_layers_learn(make, recipe, tmp_path):
    """The layers that are to learn stay in the frozen stack, where aspects and tagger read them."""
    first = make(**OPEN, term_layers=1)
    save(tmp_path / "before", first)
    open_lower = replace(first.config.options, frozen_layers=0, term_from=1)
    moved = recipe("absa_any").under_options(tmp_path / "before", open_lower)
    sentence = Sentence("the rent is very dear", (Context("rent"), Context("noise")))
    batch = _tagged(first, [Marked(sentence.text, ())])
    tags = first.module.tag(batch.input_ids, batch.attention_mask)
    lowest = first.module.encoder(batch.input_ids, batch.attention_mask, layers=slice(0, 1)).last_hidden_state
    assert torch.equal(first.module.terms(lowest, batch.attention_mask), tags)
    assert torch.equal(moved.module.tag(batch.input_ids, batch.attention_mask), tags)
    assert (moved.answer([sentence])[0] == first.answer([sentence])[0]).all()
    trained = {n for n, p in moved.module.named_parameters() if p.requires_grad}
    assert "encoder.layers.0.attention.query.weight" in trained
    for name in list(trained):
        if name.startswith("encoder.layers."):
            moved.module.get_parameter(name).data += 1.0
    assert torch.equal(moved.module.tag(batch.input_ids, batch.attention_mask), tags)
    assert (moved.answer([sentence])[0] != first.answer([sentence])[0]).any()


@pytest.mark.parametrize("depth", [0, 4])
def test_a_tagger_stands_on_layers_of_the_frozen_stack(depth):
    with pytest.raises(ConfigError, match=rf"term_from is {depth}; it must be -1, or from frozen_layers"):
        ModelOptions(**OPEN, term_from=depth)
