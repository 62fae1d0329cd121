"""Work on a cluster: each item once, in order; failures of an item are its own, failures of the cluster are said."""

import pickle
from types import SimpleNamespace

import pytest

from weft.errors import ConfigError, InputError, MissingExtraError, WeftError
from weft.platform.processes import cluster
from weft.platform.processes.cluster import Cluster, OnNode


def load():
    return halve


def halve(number):
    if number % 2:
        raise InputError("is odd", where=str(number))
    return number // 2 if number else number // 0


class Told(Cluster):
    """A cluster without one: answers so many of the items, each so often."""

    def __init__(self, repeat=1, answered=99, fails=False):
        self._ray = SimpleNamespace(exceptions=SimpleNamespace(RayError=ConnectionError))
        self._told = repeat, answered, fails

    def _rows(self, load, wave, block):
        repeat, answered, fails = self._told
        actor = OnNode(load)
        for number, item in list(wave.items())[:answered] * repeat:
            answer = actor({"number": [number], "item": [pickle.dumps(item)]})
            yield {name: values[0] for name, values in answer.items()}
        if fails:
            raise ConnectionError("trace\nnode lost")


def test_an_item_that_fails_is_told_and_the_rest_goes_on():
    outcomes = list(Told().run(load, [4, 3, 0, 2]))
    assert [(outcome.item, outcome.value) for outcome in outcomes] == [(4, 2), (3, None), (0, None), (2, 1)]
    assert str(outcomes[1].error) == "3: is odd"
    assert "ZeroDivisionError" in str(outcomes[2].error)
    assert all(outcome.seconds >= 0 for outcome in outcomes)


def test_items_answered_twice_count_once_and_waves_follow_each_other(monkeypatch):
    monkeypatch.setattr(cluster, "_WAVE", 3)
    asked = iter(range(2, 20, 2))
    found = Told(repeat=2).run(load, asked)
    assert next(found).value == 1
    assert next(asked) == 8  # a wave is asked for when the one before is done
    assert [outcome.value for outcome in found] == [2, 3, 5, 6, 7, 8, 9]


def test_items_without_an_answer_and_a_lost_cluster_are_errors():
    with pytest.raises(WeftError, match="gave 2 of the items no answer"):
        list(Told(answered=1).run(load, [2, 4, 6]))
    with pytest.raises(WeftError, match=r"the Ray cluster failed: node lost \(what is loaded there must lie"):
        list(Told(fails=True).run(load, [2]))


def test_without_ray_the_way_to_it_is_said(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(cluster, "import_module", absent)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[scale\]'"):
        Cluster("local")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:99999999"])
def test_no_cluster_at_an_address_is_said_at_once(address):
    pytest.importorskip("ray", reason="needs the extra `scale`")
    with pytest.raises(ConfigError, match=f"no Ray cluster at '{address}'"):
        Cluster(address)
