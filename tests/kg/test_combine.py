"""The endpoint that combines tokens: a server on this machine that answers well, badly, late and not at all."""

from __future__ import annotations

import json
from dataclasses import replace
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from tests.kg.fake_endpoint import FakeServer, Handler, chat, endpoint, server

from weft.errors import ConfigError
from weft.kg.combine.combine import ACCEPTED, Choice, Combiner
from weft.kg.combine.endpoint import Endpoint, Reply
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.extraction.facts import Extractor
from weft.kg.languages import find_language
from weft.kg.model.decode import Answers
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.dataset import Dataset

__all__ = ["server"]

TEXTS = ["open the red file", "close the blue file", "value error"]


@pytest.fixture(scope="module")
def tokenizer() -> CodeTokenizer:
    return CodeTokenizer.train(TEXTS * 4, 320)


def choice(tokenizer: CodeTokenizer, *words: str) -> Choice:
    slots = [tokenizer.tail(word) for word in words]
    return Choice("raise ValueError", "load", "raises", "what it raises", slots)


def test_a_tail_of_likely_tokens_is_taken(server: FakeServer, tokenizer: CodeTokenizer) -> None:
    server.reply = chat('Here it is: {"tail": "red file"}')
    combiner = Combiner(endpoint(server, model="small", key="secret"), tokenizer)
    assert combiner.combine(choice(tokenizer, "red", "file", "blue")) == tokenizer.tail("red file")
    assert combiner.tally.counts == {"accepted": 1}
    sent = server.asked[0]
    assert server.paths == ["/v1/chat/completions"]
    assert server.keys == ["Bearer secret"]
    assert (sent["model"], sent["temperature"]) == ("small", 0)
    assert "raise ValueError" in sent["messages"][1]["content"]
    assert "what it raises" in sent["messages"][1]["content"]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (chat('{"tail": "red error"}'), "a token that is not likely"),
        (chat('{"tail": null}'), "no tail given"),
        (chat('{"tail": ""}'), "empty or too long"),
        (chat('{"tail": "red red red red red red red red red red"}'), "empty or too long"),
        (chat("I cannot say."), "nonsense"),
        (chat('{"tail": 3}'), "nonsense"),
        (chat('{"head": "red"}'), "nonsense"),
        (chat('{"tail": "red"'), "nonsense"),
        ("<html>", "no chat reply"),
        ('{"choices": []}', "no chat reply"),
        ('{"choices": [{"message": {"content": null}}]}', "no chat reply"),
    ],
)
def test_anything_else_is_refused_counted_and_listed(
    server: FakeServer, tokenizer: CodeTokenizer, reply: str, reason: str
) -> None:
    server.reply = reply
    combiner = Combiner(endpoint(server), tokenizer)
    assert combiner.combine(choice(tokenizer, "red", "file")) is None
    assert combiner.tally.counts == {reason: 1}
    assert combiner.tally.listed[0].startswith(f"load raises: {reason}")


def test_special_tokens_are_never_likely(server: FakeServer, tokenizer: CodeTokenizer) -> None:
    server.reply = chat('{"tail": "<end>"}')
    combiner = Combiner(endpoint(server), tokenizer)
    assert combiner.combine(Choice("", "load", "raises", "", [list(range(5))])) is None


def test_failures_of_the_endpoint_are_no_failures_of_extraction(
    server: FakeServer, tokenizer: CodeTokenizer
) -> None:
    asked = choice(tokenizer, "red")
    server.status = 503
    combiner = Combiner(endpoint(server), tokenizer)
    assert combiner.combine(asked) is None
    assert combiner.tally.counts == {"status 503": 1}
    server.status, server.delay = 200, 0.5
    late = Combiner(endpoint(server, timeout=0.1), tokenizer)
    assert late.combine(asked) is None
    assert late.tally.counts == {"time-out": 1}


def test_a_dead_endpoint_is_not_asked_for_ever(tokenizer: CodeTokenizer) -> None:
    class Dead:
        asked = 0

        def ask(self, system: str, user: str) -> Reply:
            self.asked += 1
            return Reply(None, "no connection")

    dead = Dead()
    combiner = Combiner(dead, tokenizer)
    for _ in range(9):
        assert combiner.combine(choice(tokenizer, "red")) is None
    assert dead.asked == 5
    assert combiner.tally.counts == {"no connection": 5, "not asked: the endpoint does not answer": 4}


def test_another_document_asks_a_dead_endpoint_once(tokenizer: CodeTokenizer) -> None:
    class Dead:
        asked = 0

        def ask(self, system: str, user: str) -> Reply:
            self.asked += 1
            return Reply(None, "no connection")

    dead = Dead()
    combiner = Combiner(dead, tokenizer)
    for _ in range(3):
        combiner.begin()
        for _ in range(9):
            assert combiner.combine(choice(tokenizer, "red")) is None
    assert dead.asked == 5 + 1 + 1
    assert combiner.tally.counts == {"no connection": 1, "not asked: the endpoint does not answer": 8}
    assert combiner.tally.unanswered == 9


def test_nobody_listens(tokenizer: CodeTokenizer) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as closed:
        port = closed.server_address[1]
    assert Endpoint(f"http://127.0.0.1:{port}", timeout=1).ask("", "").failure == "no connection"


@pytest.mark.parametrize("url", ["", "localhost:8080", "ftp://host/v1", "http://", "http://host:x/v1"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="no URL"):
        Endpoint(url)


def test_a_timeout_must_be_positive() -> None:
    with pytest.raises(ConfigError, match="time-out"):
        Endpoint("http://127.0.0.1/v1", timeout=0)


def test_the_name_of_the_model_is_what_facts_carry() -> None:
    with pytest.raises(ConfigError, match="name of the endpoint's model is empty"):
        Endpoint("http://127.0.0.1/v1", model=" ")


def test_the_key_is_in_no_message() -> None:
    assert "secret" not in repr(Endpoint("http://127.0.0.1/v1", key="secret"))


def test_slots_hold_what_the_hypotheses_hold() -> None:
    tokens = torch.tensor([[[[7, 8, 0], [7, 9, 6], [5, 0, 0]]]])
    assert Answers(tokens, torch.zeros(1, 1, 3)).slots(0, 0) == [[7, 5], [8, 9], [6]]


def test_the_endpoint_chooses_among_what_the_model_finds_likely(
    server: FakeServer, dataset: Dataset, model: LeafyChainModel, tree: Path
) -> None:
    path = next(tree.glob("*.py"))
    plain = Extractor(model, dataset.tokenizer, None, find_language("python"))
    spelled = plain.facts(path, beams=3)
    server.reply = chat('{"tail": "no_such_token_here"}')
    refused = Combiner(endpoint(server), dataset.tokenizer, model.config.leaves)
    assert replace(plain, combiner=refused).facts(path, beams=3) == spelled
    assert refused.tally.counts.keys() <= {"a token that is not likely", "empty or too long"}

    class Last:
        """Takes the likeliest token of the last slot."""

        def ask(self, system: str, user: str) -> Reply:
            slots = json.loads(user.rsplit("Likely tokens: ", 1)[1])
            return Reply(json.dumps({"tail": slots[-1][0] if slots else None}))

    kept = Combiner(Last(), dataset.tokenizer, model.config.leaves)
    chosen = replace(plain, combiner=kept).facts(path, beams=3)
    assert len(chosen) == len(spelled)
    assert kept.tally.counts[ACCEPTED] > 0
    assert all(0 <= fact.confidence <= 1 for fact in chosen)
