import pytest
import torch

from weft.absa.learn.augment import Augmentation, Augmenter, join, mask_words, rename
from weft.absa.records import Context, Sentence
from weft.errors import ConfigError

NAMES = ("LOCATION1", "LOCATION2")
SWAP = dict(zip(NAMES, reversed(NAMES), strict=True))


def sentence(text, answers):
    contexts = tuple(Context(aspect, target) for target, aspect in answers)
    return Sentence(text, contexts, tuple(answers.values()))


SAFE = sentence("LOCATION1 is safe.", {("LOCATION1", "safety"): "positive", ("LOCATION1", "price"): "none"})
DEAR = sentence("LOCATION1 is dear", {("LOCATION1", "safety"): "none", ("LOCATION1", "price"): "negative"})
BOTH = sentence(
    "LOCATION1 not LOCATION2", {("LOCATION1", "price"): "positive", ("LOCATION2", "price"): "none"}
)


def test_renaming_exchanges_names_in_text_and_questions():
    swapped = rename(BOTH, SWAP)
    assert swapped.text == "LOCATION2 not LOCATION1"
    assert swapped.contexts == (Context("price", "LOCATION2"), Context("price", "LOCATION1"))
    assert swapped.polarities == BOTH.polarities
    assert rename(swapped, SWAP) == BOTH


def test_joining_keeps_the_answers_apart():
    joined = join(SAFE, rename(DEAR, SWAP), ", but ")
    assert joined.text == "LOCATION1 is safe, but LOCATION2 is dear"
    assert dict(zip(joined.contexts, joined.polarities, strict=True)) == {
        Context("safety", "LOCATION1"): "positive",
        Context("price", "LOCATION1"): "none",
        Context("safety", "LOCATION2"): "none",
        Context("price", "LOCATION2"): "negative",
    }


def test_the_single_target_texts_of_a_batch_are_joined_in_pairs():
    augment = Augmenter([SAFE, DEAR, BOTH], Augmentation(concatenate=1.0, placeholders=NAMES))
    generator = torch.Generator().manual_seed(0)
    drawn = [found for _ in range(20) for found in augment([0, 1, 2], generator)]
    assert len(drawn) == 40
    for found in drawn:
        assert {context.target for context in found.contexts} == set(NAMES)
        assert all(name in found.text for name in NAMES)
    joined = [found for found in drawn if found != BOTH]
    assert len(joined) == 20
    # Neither name is tied to first place, neither text to a name.
    assert len({found.text.index("LOCATION1") < found.text.index("LOCATION2") for found in joined}) == 2
    assert len({found.text for found in joined}) > 4


def test_a_text_without_a_partner_stays():
    augment = Augmenter([SAFE, DEAR, BOTH], Augmentation(concatenate=1.0, placeholders=NAMES))
    assert augment([0, 2], torch.Generator().manual_seed(0)) == [SAFE, BOTH]
    assert len(augment([0, 0, 1], torch.Generator().manual_seed(0))) == 2


def test_batches_are_joined_as_often_as_asked():
    augment = Augmenter([SAFE, DEAR], Augmentation(concatenate=0.3, placeholders=NAMES))
    generator = torch.Generator().manual_seed(0)
    joined = [len(augment([0, 1], generator)) == 1 for _ in range(500)]
    assert 0.24 < sum(joined) / 500 < 0.36


def test_real_names_are_joined_only_when_they_differ():
    corvo, lark = (sentence(f"The {name} is fine", {(name, "price"): "none"}) for name in ("Corvo", "Lark"))
    generator = torch.Generator().manual_seed(0)
    augment = Augmenter([corvo, lark], Augmentation(concatenate=1.0))
    assert augment([0, 0], generator) == [corvo, corvo]
    (joined,) = augment([0, 1], generator)
    assert {context.target for context in joined.contexts} == {"Corvo", "Lark"}


def test_texts_about_one_target_stay_so_where_they_agree():
    plan = Augmentation(concatenate=1.0, same_target=1.0, placeholders=NAMES)
    (joined,) = Augmenter([SAFE, DEAR], plan)([0, 1], torch.Generator().manual_seed(0))
    assert "LOCATION2" not in joined.text
    assert dict(zip(joined.contexts, joined.polarities, strict=True)) == {
        Context("safety", "LOCATION1"): "positive",
        Context("price", "LOCATION1"): "negative",
    }
    cheap = sentence("LOCATION1 is cheap", {("LOCATION1", "price"): "positive"})
    (apart,) = Augmenter([cheap, DEAR], plan)([0, 1], torch.Generator().manual_seed(0))
    assert {context.target for context in apart.contexts} == set(NAMES)
    half = Augmenter([SAFE, DEAR], Augmentation(concatenate=1.0, same_target=0.5, placeholders=NAMES))
    generator = torch.Generator().manual_seed(0)
    assert 20 < sum("LOCATION2" in half([0, 1], generator)[0].text for _ in range(80)) < 60


def test_the_same_generator_gives_the_same_texts():
    augment = Augmenter([SAFE, DEAR, BOTH], Augmentation(0.5, 0.5, NAMES))
    first, second = (augment([0, 1, 2] * 5, torch.Generator().manual_seed(3)) for _ in range(2))
    assert first == second
    assert Augmenter([SAFE, DEAR], Augmentation())([0, 1], torch.Generator()) == [SAFE, DEAR]


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"concatenate": 1.2}, "concatenate is 1.2"),
        ({"same_target": -0.1}, "same_target is -0.1"),
        ({"swap": -0.1, "placeholders": NAMES}, "swap is -0.1"),
        ({"placeholders": ("LOCATION1",)}, "none or two"),
        ({"swap": 0.5}, "needs placeholders"),
    ],
)
def test_bad_augmentation(values, what):
    with pytest.raises(ConfigError, match=what):
        Augmentation(**values)


def test_masking_takes_words_away_and_leaves_targets(tokenizer):
    generator = torch.Generator().manual_seed(0)
    everything = mask_words(SAFE, 1.0, generator)
    assert everything.text == "LOCATION1 [MASK] [MASK]."
    assert (everything.contexts, everything.polarities) == (SAFE.contexts, SAFE.polarities)
    assert tokenizer.encode(everything.text).tokens.count("[MASK]") == 2
    assert mask_words(SAFE, 0.0, generator) == SAFE
    long = sentence("quiet " * 1000, {(None, "price"): "none"})
    assert mask_words(long, 0.3, generator).text.count("[MASK]") == pytest.approx(300, abs=50)


def test_masking_draws_nothing_where_it_is_off():
    draws = [Augmenter([SAFE, DEAR, BOTH], Augmentation(0.5, 0.5, NAMES, mask)) for mask in (0.0, 0.0, 0.9)]
    texts = [[s.text for s in draw([0, 1, 2], torch.Generator().manual_seed(3))] for draw in draws]
    assert texts[0] == texts[1]
    assert "[MASK]" not in "".join(texts[0])
    assert "[MASK]" in "".join(texts[2])
    with pytest.raises(ConfigError, match=r"Augmentation.mask is 1.5"):
        Augmentation(mask=1.5)


def test_some_texts_are_masked_and_some_stay_whole():
    draw = Augmenter([SAFE] * 400, Augmentation(mask=1.0, masked_texts=0.25))
    texts = [s.text for s in draw(range(400), torch.Generator().manual_seed(3))]
    assert set(texts) == {SAFE.text, "LOCATION1 [MASK] [MASK]."}
    assert texts.count(SAFE.text) == pytest.approx(300, abs=40)
