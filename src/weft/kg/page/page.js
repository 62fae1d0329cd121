"use strict";
// Everything that the corpus says goes through textContent: it is never read as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const panel = document.getElementById("panel");
const nameOf = (index) => data.nodes[index].name;
const counted = (number, one, many = one + "s") => `${number} ${number === 1 ? one : many}`;
const short = (text) => (text.length > 32 ? text.slice(0, 31) + "…" : text);
// Of a qualified name the last two parts: the whole stands beside the graph at a click.
const labelOf = (node) => short(node.kind ? node.name.split(".").slice(-2).join(".") : node.name);
const surenessOf = (fact) => (fact.origin === "tree" ? "stated" : fact.confidence.toFixed(2));

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function marked(sentence, names) {
  const quote = element("blockquote");
  const found = names
    .filter((name) => name)
    .map((name) => [sentence.indexOf(name), name.length])
    .filter(([start]) => start >= 0)
    .sort((a, b) => a[0] - b[0]);
  let done = 0;
  for (const [start, length] of found) {
    if (start < done) continue;
    quote.append(sentence.slice(done, start), element("mark", sentence.slice(start, start + length)));
    done = start + length;
  }
  quote.append(sentence.slice(done));
  return quote;
}

function title(fact) {
  const line = element("span");
  line.append(nameOf(fact.head) + " ", element("span", fact.relation, "relation"), " " + nameOf(fact.tail));
  return line;
}

function showFact(index) {
  const fact = data.facts[index];
  const heading = element("h2");
  heading.append(title(fact));
  const places = fact.places.flatMap((place) => [
    marked(place.sentence, place.names),
    element("p", `${place.document}, line ${place.line}`, "dim"),
  ]);
  const more = fact.evidence - fact.places.length;
  if (more > 0) places.push(element("p", `and ${more} more`, "dim"));
  const sure = element("p", (fact.origin === "tree" ? "stated" : `confidence ${fact.confidence.toFixed(2)}${fact.origin === "words" ? ", a relation by words" : ""}`) +
    `, at ${counted(fact.evidence, "place")}`, "dim");
  panel.replaceChildren(heading, sure, ...places);
  graph.elements().removeClass("chosen");
  graph.getElementById(`f${index}`).addClass("chosen");
}

function showNode(index) {
  const list = element("ul");
  const least = Number(document.getElementById("slider").value);
  data.facts.forEach((fact, number) => {
    if ((fact.head !== index && fact.tail !== index) || fact.confidence < least) return;
    const button = element("button");
    button.append(title(fact), element("span", "  " + surenessOf(fact), "dim"));
    button.addEventListener("click", () => showFact(number));
    const item = element("li");
    item.append(button);
    list.append(item);
  });
  panel.replaceChildren(element("h2", nameOf(index)), list);
  graph.elements().removeClass("chosen");
  graph.getElementById(`n${index}`).addClass("chosen");
}

// The colours of the style sheet. A picture once drawn keeps them on paper: the sheet gives it its ground.
const dark = matchMedia("screen and (prefers-color-scheme: dark)");
let scheme;
const KINDS = [
  [["class"], "round-rectangle", "#8a5fb0"],
  [["module"], "hexagon", "#3d7f8c"],
  [["function", "method"], "ellipse", "#4677b8"],
  [["parameter", "variable", "attribute"], "diamond", "#5f9a57"],
  [["external", "constant"], "rectangle", "#97a1ae"],
  [["unresolved"], "triangle", "#a9b0ba"],
];

function looks() {
  scheme = dark.matches ? "dark" : "light";
  const sheet = getComputedStyle(document.documentElement);
  const colour = (name) => sheet.getPropertyValue(`--${name}`).trim();
  return [
    { selector: "node", style: { label: "data(label)", "font-size": 11, width: 14, height: 14, color: colour("text"),
        "background-color": colour("far"), "text-valign": "bottom", "text-margin-y": 3,
        "text-outline-color": colour("soft"), "text-outline-width": 2, "min-zoomed-font-size": 6 } },
    { selector: "node[ring = 1]", style: { "background-color": colour("near"), width: 18, height: 18 } },
    { selector: "node[ring = 0]", style: { "background-color": colour("centre"), width: 28, height: 28, "font-size": 14,
        "font-weight": "bold" } },
    ...KINDS.map(([kinds, shape, fill]) => ({
      selector: kinds.map((kind) => `node[kind = "${kind}"]`).join(", "),
      style: { shape, "background-color": fill },
    })),
    { selector: "node[ring = 0]", style: { "border-width": 3, "border-color": colour("centre") } },
    { selector: "edge", style: { label: "data(label)", "font-size": 8, color: colour("blue"), width: 1.4,
        "line-color": colour("arrow"), "target-arrow-color": colour("arrow"), "target-arrow-shape": "triangle",
        "arrow-scale": 0.8, "curve-style": "bezier", "text-rotation": "autorotate",
        "text-outline-color": colour("soft"), "text-outline-width": 2, "min-zoomed-font-size": 7,
        opacity: "mapData(confidence, 0, 1, 0.35, 1)" } },
    { selector: 'edge[origin != "tree"]', style: { "line-style": "dashed" } },
    { selector: ".chosen", style: { "line-color": colour("centre"), "target-arrow-color": colour("centre"), width: 3,
        "border-width": 3, "border-color": colour("centre"), opacity: 1 } },
    { selector: "node.chosen", style: { width: 26, height: 26 } },
    { selector: ".hidden", style: { display: "none" } },
  ];
}

const graph = cytoscape({
  container: document.getElementById("graph"),
  elements: [
    ...data.nodes.map((node, index) => ({ data: { id: `n${index}`, label: labelOf(node), ring: node.ring, kind: node.kind } })),
    ...data.facts.map((fact, index) => ({
      data: {
        id: `f${index}`,
        source: `n${fact.head}`,
        target: `n${fact.tail}`,
        label: fact.relation,
        confidence: fact.confidence,
        origin: fact.origin,
      },
    })),
  ],
  style: looks(),
  layout: { name: "preset" },
});

// Chance of a fixed start: the same page looks the same every time.
let last = 1;
Math.random = () => {
  last = (last * 48271) % 2147483647;
  return last / 2147483647;
};
// Boxes of the size of their labels are laid out, so that no label lies on another.
graph.layout({ name: "fcose", quality: "proof", animate: false, randomize: true, nodeDimensionsIncludeLabels: true,
               nodeSeparation: 90, idealEdgeLength: () => 110, nodeRepulsion: () => 12000, padding: 40,
               numIter: data.nodes.length > 150 ? 1000 : 2500 }).run();
let width = 0;
function fit() {
  if (graph.width() === width) return;
  width = graph.width();
  graph.fit(undefined, 24);
  if (graph.zoom() > 1.5) {
    graph.zoom(1.5);
    graph.center();
  }
}
fit();
graph.on("resize", fit);
graph.on("render", () => { document.body.dataset.drawn = scheme; });
dark.addEventListener("change", () => graph.style(looks()));
graph.on("tap", "node", (event) => showNode(Number(event.target.id().slice(1))));
graph.on("tap", "edge", (event) => showFact(Number(event.target.id().slice(1))));

document.getElementById("slider").addEventListener("input", (event) => {
  const least = Number(event.target.value);
  document.getElementById("least").textContent = least.toFixed(2);
  graph.batch(() => {
    graph.edges().forEach((edge) => edge.toggleClass("hidden", edge.data("confidence") < least));
    graph.nodes().forEach((node) =>
      node.toggleClass("hidden", node.data("ring") > 0 && node.connectedEdges().not(".hidden").empty()));
  });
});

document.getElementById("centre").textContent = data.centre;
document.getElementById("summary").textContent =
  `${counted(data.nodes.length, "entity", "entities")}, ${counted(data.facts.length, "fact")}` +
  (data.leftOut ? `; ${data.leftOut} facts of ${data.centre} are not shown` : "") +
  ". Click an entity for its facts, an arrow for the sentence behind it.";
const wanted = /^#fact=(\d+)$/.exec(location.hash);
if (wanted && data.facts[Number(wanted[1])]) showFact(Number(wanted[1]));
else showNode(0);
document.body.dataset.ready = `${graph.nodes().length} ${graph.edges().length}`;
