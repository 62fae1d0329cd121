// Graph: search an entity, walk from it, read the sentence behind an edge, take it along.
import { sparql } from "/graph/sparql.js";
import { places } from "/graph/words.js";
import { askJson, counted, download, h, keep, say, state } from "/parts.js";

const MOST = 150;
const SHAPES = { class: "round-rectangle", module: "hexagon", function: "ellipse", method: "ellipse", parameter: "diamond", variable: "diamond", attribute: "diamond", external: "rectangle", constant: "rectangle", unresolved: "triangle" };
const short = (name) => { const tail = name.split(".").slice(-2).join("."); return tail.length > 30 ? `${tail.slice(0, 29)}…` : tail; };

export function graph(main) {
  const facts = new Map(); // id → fact
  const known = new Set(); // entities whose facts were asked for
  const search = h("input", { id: "entity", type: "search", autocomplete: "off", "aria-describedby": "entity-hint", oninput: () => suggest() });
  const options = h("ul", { class: "options", "aria-label": "entities of that name" });
  const panel = h("aside", { "aria-label": "facts", tabindex: "0" }, h("p", { class: "dim" }, "Search an entity to begin."));
  const picture = h("div", { id: "picture", role: "img", "aria-label": "the graph; the list beside it says the same" });
  const told = h("p", { class: "dim", role: "status" });
  let drawn = null;
  main.append(
    h("h1", {}, "Graph"),
    h("form", { role: "search", onsubmit: (event) => { event.preventDefault(); open(search.value.trim()); } },
      h("div", { class: "row" },
        h("div", { class: "grow" }, h("label", { for: "entity" }, "Entity"), " ", h("small", { class: "dim", id: "entity-hint" }, "a name, an alias, the end of a qualified name"), h("br"), search),
        h("div", {}, h("button", { class: "main" }, "Show"))),
      options),
    h("div", { class: "beside" }, picture, panel),
    told,
    h("p", { class: "row" },
      h("button", { type: "button", onclick: () => clear() }, "Begin anew"),
      h("button", { type: "button", onclick: () => drawn?.fit(undefined, 30) }, "Fit"),
      h("button", { type: "button", onclick: () => take() }, "Facts as JSON"),
      h("button", { type: "button", onclick: async () => drawn && download("graph.png", "image/png", await drawn.png({ output: "blob-promise", full: true, scale: 2, bg: getComputedStyle(document.body).backgroundColor })) }, "Picture")),
    sparql());
  draw();

  let waiting = 0, asked = 0;
  function suggest() {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const mine = ++asked;
      try {
        const { entities } = await askJson(`/v1/kg/entities?limit=12&q=${encodeURIComponent(search.value.trim())}`);
        if (mine === asked) offer(entities);
      } catch (error) {
        say(error.message, true);
      }
    }, 150);
  }

  // Whoever is on a name already stays there when a later list comes.
  function offer(entities) {
    const on = options.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    options.replaceChildren(...entities.map((entity) => h("li", {}, h("button", { type: "button", "data-name": entity.entity, onclick: () => open(entity.entity) }, entity.entity, " ", h("small", { class: "dim" }, `${entity.kind} ${entity.facts}`)))));
    if (on !== null) ([...options.querySelectorAll("button")].find((button) => button.dataset.name === on) ?? search).focus();
  }

  async function open(name) {
    if (!name) return;
    try {
      say("");
      const record = await askJson(`/v1/kg/facts?limit=24&entity=${encodeURIComponent(name)}`);
      if (!panel.isConnected) return; // somebody went to another page, whose address this is not
      known.add(record.entity);
      for (const fact of record.facts) facts.set(`${fact.head}\n${fact.relation}\n${fact.tail}`, fact);
      keep({ entity: record.entity }, true);
      options.replaceChildren();
      add();
      list(record);
    } catch (error) {
      say(error.message, true);
    }
  }

  function list(record) {
    const also = record.also.length ? `, also ${record.also.slice(0, 6).join(", ")}` : "";
    panel.replaceChildren(h("h2", {}, record.entity), h("p", { class: "dim" }, `${record.kind || "entity"}${also}: ${counted(record.facts.length, "fact")}`),
      h("ul", { class: "facts" }, record.facts.map((fact) => h("li", {}, line(fact)))));
    panel.scrollTop = 0;
    choose(drawn?.getElementById(record.entity));
  }

  const line = (fact) => [
    h("button", { class: "plain", type: "button", onclick: () => open(fact.head) }, short(fact.head)), " ",
    h("button", { class: "plain", type: "button", "aria-label": `the sentences of ${fact.relation}`, onclick: () => behind(fact) }, h("b", {}, fact.relation)), " ",
    h("button", { class: "plain", type: "button", onclick: () => open(fact.tail) }, short(fact.tail)), " ",
    h("span", { class: "dim" }, fact.origin === "tree" ? "stated" : fact.confidence.toFixed(2)),
  ];

  function behind(fact) {
    panel.replaceChildren(
      h("h2", {}, `${fact.head} `, h("b", {}, fact.relation), ` ${fact.tail}`),
      h("p", { class: "dim" }, `${fact.origin === "tree" ? "stated by the syntax" : `inferred, confidence ${fact.confidence.toFixed(2)}`}, at ${counted(fact.evidence.length, "place")}`),
      ...fact.evidence.slice(0, 12).flatMap((place) => [h("blockquote", {}, ...marked(place.sentence, [place.head, place.tail])), h("p", { class: "dim" }, `${place.document}, line ${place.line}`)]),
      h("p", {}, h("button", { type: "button", onclick: () => open(fact.head) }, `Facts of ${short(fact.head)}`), " ", h("button", { type: "button", onclick: () => open(fact.tail) }, `Facts of ${short(fact.tail)}`)));
    panel.scrollTop = 0;
    choose(drawn?.getElementById(`${fact.head}\n${fact.relation}\n${fact.tail}`));
  }

  function choose(element) {
    drawn?.elements().removeClass("chosen");
    element?.addClass("chosen");
  }

  function draw() {
    drawn = cytoscape({ container: picture, style: looks(), minZoom: 0.2, maxZoom: 3 });
    drawn.on("tap", "node", (event) => open(event.target.id()));
    drawn.on("tap", "edge", (event) => behind(facts.get(event.target.id())));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.style(looks()));
  }

  function add() {
    const fresh = [];
    let left = 0;
    for (const [id, fact] of facts) {
      if (drawn.getElementById(id).nonempty()) continue;
      const ends = [[fact.head, fact.kinds[0]], [fact.tail, fact.kinds[1]]];
      const absent = ends.filter(([name]) => drawn.getElementById(name).empty() && !fresh.some((one) => one.data.id === name));
      if (drawn.nodes().length + fresh.length + absent.length > MOST) { left += 1; continue; }
      for (const [name, kind] of new Map(absent)) fresh.push({ group: "nodes", data: { id: name, label: short(name), kind } });
      fresh.push({ group: "edges", data: { id, source: fact.head, target: fact.tail, label: fact.relation, origin: fact.origin, confidence: fact.confidence } });
    }
    drawn.add(fresh);
    drawn.nodes().forEach((node) => node.toggleClass("open", known.has(node.id())));
    // The word of an arrow stands at its end with fewer arrows: around the other one there is no room.
    drawn.edges().forEach((edge) => edge.data("at", edge.source().degree() < edge.target().degree() ? "source" : "target"));
    // Boxes of the size of their labels are laid out, so that no label lies on another.
    drawn.layout({ name: "fcose", animate: false, randomize: drawn.nodes().length === fresh.filter((one) => one.group === "nodes").length, quality: "proof", nodeDimensionsIncludeLabels: true, nodeSeparation: 90, idealEdgeLength: 140, nodeRepulsion: 12000, padding: 30 }).run();
    if (drawn.zoom() > 1.3) { drawn.zoom(1.3); drawn.center(); }
    const edges = drawn.edges().toArray();
    const boxes = drawn.nodes().map((node) => node.boundingBox({ includeLabels: true }));
    const asked = edges.map((edge) => (edge.data("at") === "source" ? [edge.source(), edge.target()] : [edge.target(), edge.source()]));
    places(asked.map(([near, far], index) => ({ from: near.position(), to: far.position(), label: edges[index].data("label") })), boxes)
      .forEach((offset, index) => edges[index].data("offset", offset === null ? 0 : offset - 9).toggleClass("wordless", offset === null));
    told.textContent = `${counted(drawn.nodes().length, "entity", "entities")}, ${counted(drawn.edges().length, "fact")}` + (left ? `; ${counted(left, "fact")} more than the picture holds` : "") + ". Filled: opened. Solid arrows are stated, dashed ones inferred. ▢ class ⬡ module ○ function ◇ variable ▭ external △ unresolved.";
    document.body.dataset.drawn = `${drawn.nodes().length} ${drawn.edges().length}`;
  }

  function clear() {
    facts.clear();
    known.clear();
    drawn.elements().remove();
    told.textContent = "";
    keep({ entity: "" });
    panel.replaceChildren(h("p", { class: "dim" }, "Search an entity to begin."));
  }

  const take = () => download("facts.json", "application/json", JSON.stringify([...facts.values()], null, 1));
  const before = state().get.get("entity");
  if (before) { search.value = before; open(before); } else suggest();
}

function* marked(sentence, names) {
  let done = 0;
  const places = names.filter(Boolean).map((name) => [sentence.indexOf(name), name.length]).filter(([start]) => start >= 0).sort((x, y) => x[0] - y[0]);
  for (const [start, length] of places) {
    if (start < done) continue;
    yield sentence.slice(done, start);
    yield h("mark", {}, sentence.slice(start, start + length));
    done = start + length;
  }
  yield sentence.slice(done);
}

function looks() {
  const sheet = getComputedStyle(document.documentElement);
  const colour = (name) => sheet.getPropertyValue(`--${name}`).trim();
  return [
    { selector: "node", style: { label: "data(label)", "font-size": 11, width: 16, height: 16, color: colour("text"), "background-color": colour("ground"), "border-width": 2, "border-color": colour("near"), "text-valign": "bottom", "text-margin-y": 3, "text-outline-color": colour("soft"), "text-outline-width": 2, "min-zoomed-font-size": 5 } },
    ...Object.entries(SHAPES).map(([kind, shape]) => ({ selector: `node[kind = "${kind}"]`, style: { shape } })),
    { selector: "node.open", style: { "background-color": colour("near"), width: 22, height: 22, "font-weight": "bold" } },
    { selector: "edge", style: { "font-size": 9, color: colour("blue"), width: 1.4, "line-color": colour("arrow"), "target-arrow-color": colour("arrow"), "target-arrow-shape": "triangle", "arrow-scale": 0.8, "curve-style": "bezier", "control-point-step-size": 16, "text-rotation": "autorotate", "text-outline-color": colour("soft"), "text-outline-width": 2, "min-zoomed-font-size": 7 } },
    ...["source", "target"].map((end) => ({ selector: `edge[at = "${end}"][offset]`, style: { [`${end}-label`]: "data(label)", [`${end}-text-offset`]: "data(offset)", [`${end}-text-rotation`]: "autorotate" } })),
    { selector: "edge.wordless", style: { "source-label": "", "target-label": "" } },
    { selector: 'edge[origin != "tree"]', style: { "line-style": "dashed" } },
    { selector: ".chosen", style: { "line-color": colour("centre"), "target-arrow-color": colour("centre"), "border-color": colour("centre"), "border-width": 4, width: 3 } },
    { selector: "node.chosen", style: { width: 26, height: 26 } },
  ];
}
