"""The page of a neighbourhood: whole, offline, harmless, and drawn by a real browser where one is installed."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from tests.kg.storage.conftest import ODD, SCHEMA, evidence, put
from tests.platform.pages import Page, browse, with_script

from weft.errors import ConfigError, OutputError
from weft.kg.page.neighbourhood import neighbourhood
from weft.kg.page.write import neighbourhood_page, write_page
from weft.kg.storage.graph import Graph
from weft.kg.storage.writer import create_store, open_writer


@pytest.fixture
def star(tmp_path: Path) -> Graph:
    """A centre with 400 neighbours, the last the surest, and a chain that leads away from it."""
    create_store(tmp_path / "star", SCHEMA)
    with open_writer(tmp_path / "star") as writer:
        around = [evidence("hub", "knows", f"n{number:03}", 0.5 + number / 1000) for number in range(400)]
        chain = [evidence("n399", "knows", "far", 0.6), evidence("far", "knows", "farther", 0.6)]
        put(writer, "one", *around, *chain)
        writer.finish()
    return Graph.load(tmp_path / "star")


def test_the_surest_facts_come_first_and_rings_are_steps(star: Graph) -> None:
    around = neighbourhood(star, "hub", nodes=300, depth=3)
    assert len(around.rings) == 300
    assert around.rings["hub"] == 0
    assert "n399" in around.rings
    assert "n000" not in around.rings
    assert around.left_out == 400 - 299
    few = neighbourhood(star, "farther", nodes=10, depth=2)
    assert few.rings == {"farther": 0, "far": 1, "n399": 2}
    assert [fact.tail for fact in few.facts] == ["farther", "far"]
    assert few.left_out == 0
    with pytest.raises(ConfigError, match=r"nodes is 301; it must be in 2\.\.300"):
        neighbourhood(star, "hub", nodes=301)
    with pytest.raises(ConfigError, match="depth is 0"):
        neighbourhood(star, "hub", depth=0)


def test_the_page_asks_nobody_and_what_the_corpus_says_is_no_markup(odd_store: Path, tmp_path: Path) -> None:
    graph = Graph.load(odd_store)
    write_page(graph, neighbourhood(graph, ODD), tmp_path / "page.html")
    read = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    # One element for the data, four of others that draw, one for the page; nothing that a name opened or closed.
    assert read.tags.count("script") == 6
    data = json.loads(read.texts["data"][0])
    assert data["centre"] == ODD
    assert {place["sentence"] for fact in data["facts"] for place in fact["places"]} >= {f"{ODD} knows Bo."}
    with pytest.raises(OutputError, match="cannot be written"):
        write_page(graph, neighbourhood(graph, ODD), tmp_path / "no" / "page.html")


@pytest.mark.slow
def test_a_browser_draws_it_and_shows_the_sentence_behind_an_arrow(odd_store: Path, tmp_path: Path) -> None:
    graph = Graph.load(odd_store)
    around = neighbourhood(graph, ODD)
    page = tmp_path / "page.html"
    write_page(graph, around, page)
    # As a click on an arrow and on an entity would: through the events of the drawing itself.
    text = page.read_text(encoding="utf-8")
    script = """
      graph.getElementById("f1").emit("tap");
      const arrow = panel.textContent;
      graph.nodes()[0].emit("tap");
      const entity = panel.querySelectorAll("button").length;
      const slider = document.getElementById("slider");
      slider.value = "0.6";
      slider.dispatchEvent(new Event("input"));
      document.body.dataset.tapped = JSON.stringify([arrow, entity, graph.edges(":visible").length]);
      showFact(0);"""
    page.write_text(with_script(text, script), encoding="utf-8")
    dom = browse(page, "", tmp_path)
    assert f'data-ready="{len(around.rings)} {len(around.facts)}"' in dom
    found = re.search(r'data-tapped="([^"]*)"', dom)
    assert found is not None
    arrow, entity, visible = json.loads(html.unescape(found[1]))
    fact = around.facts[1]
    assert graph.places(fact.row)[0].sentence in arrow
    assert f"confidence {fact.confidence:.2f}" in arrow
    assert entity == len([fact for fact in around.facts if around.centre in (fact.head, fact.tail)])
    assert visible == sum(fact.confidence >= 0.6 for fact in around.facts)
    # The name is text in the panel, and its script element is none.
    assert html.escape(ODD, quote=False).replace("\u2028", "\u2028") in dom
    assert "<script>alert" not in dom.split('id="data"')[0]
    assert '<div data-id="layer' in dom or "<canvas" in dom


@pytest.mark.slow
def test_no_label_lies_on_another(star: Graph, tmp_path: Path) -> None:
    around = neighbourhood(star, "hub", nodes=60)
    script = """
      const boxes = graph.nodes().map((node) => node.boundingBox({ includeLabels: true, includeOverlays: false }));
      let over = 0;
      boxes.forEach((one, first) => boxes.slice(first + 1).forEach((other) => {
        if (one.x1 < other.x2 && other.x1 < one.x2 && one.y1 < other.y2 && other.y1 < one.y2) over += 1;
      }));
      document.body.dataset.over = over;
      document.body.dataset.places = JSON.stringify(graph.nodes().map((node) => Math.round(node.position("x"))));"""
    page = tmp_path / "page.html"
    page.write_text(with_script(neighbourhood_page(star, around), script), encoding="utf-8")
    first, second = browse(page, "", tmp_path), browse(page, "", tmp_path)
    assert 'data-over="0"' in first
    places = re.search(r'data-places="([^"]*)"', first)
    assert places is not None
    assert len(set(json.loads(places[1]))) > 10
    assert places[0] in second


@pytest.mark.slow
def test_a_browser_draws_the_largest_page(star: Graph, tmp_path: Path) -> None:
    around = neighbourhood(star, "hub", nodes=300, depth=3)
    page = tmp_path / "page.html"
    page.write_text(neighbourhood_page(star, around), encoding="utf-8")
    dom = browse(page, "#fact=0", tmp_path)
    assert f'data-ready="300 {len(around.facts)}"' in dom
    assert "hub knows n399" in html.unescape(re.sub("<[^>]+>", "", dom))
