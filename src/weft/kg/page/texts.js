"use strict";
// Everything that the texts say goes through textContent: it is never read as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const panel = document.getElementById("panel");
const slider = document.getElementById("slider");
const KINDS = { PER: "persons", ORG: "organisations", LOC: "places", TIME: "times", NUM: "numbers", MISC: "other names" };
const counted = (number, one) => `${number} ${one}${number === 1 ? "" : "s"}`;
let chosen = null; // an entity {document, entity, name}, or none

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

const marks = data.documents.map((item, number) => {
  const section = element("section");
  section.append(element("h2", item.id));
  const text = element("div", undefined, "text");
  const found = item.pieces.map((piece) => {
    if (typeof piece === "string") {
      text.append(piece);
      return null;
    }
    const mark = element("mark", piece.text, KINDS[piece.kind] ? `k-${piece.kind}` : "");
    mark.tabIndex = 0;
    mark.setAttribute("role", "button");
    mark.title = `${piece.name}${KINDS[piece.kind] ? `, one of the ${KINDS[piece.kind]}` : ""}`;
    const choose = () => show({ document: number, entity: piece.entity, name: piece.name });
    mark.addEventListener("click", choose);
    mark.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
    });
    text.append(mark);
    return mark;
  });
  section.append(text);
  document.getElementById("texts").append(section);
  return found;
});

const facts = data.documents.flatMap((item, number) =>
  item.facts.map((fact) => ({
    ...fact,
    document: number,
    ends: fact.places.map((place) => item.pieces[place].entity),
  })),
);

function light(fact) {
  marks.flat().forEach((mark) => mark?.classList.remove("chosen", "same"));
  if (!fact) return;
  const pieces = data.documents[fact.document].pieces;
  pieces.forEach((piece, place) => {
    if (fact.ends.includes(piece.entity)) marks[fact.document][place].classList.add("same");
  });
  fact.places.forEach((place) => marks[fact.document][place].classList.add("chosen"));
  if (fact.places.length) marks[fact.document][fact.places[0]].scrollIntoView({ block: "center" });
}

function show(entity) {
  chosen = entity;
  const least = Number(slider.value);
  document.getElementById("least").textContent = least.toFixed(2);
  const shown = facts.filter(
    (fact) =>
      fact.confidence >= least &&
      (!entity || (fact.document === entity.document && fact.ends.includes(entity.entity))),
  );
  const heading = element("h2", entity ? entity.name : "All facts");
  const list = element("ul");
  for (const fact of shown) {
    const button = element("button");
    button.append(element("span", fact.confidence.toFixed(2), "sure"), fact.head + " ", element("span", fact.relation, "relation"), " " + fact.tail);
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      list.querySelectorAll("button").forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      light(fact);
    });
    const item = element("li");
    item.append(button);
    list.append(item);
  }
  const parts = [heading];
  if (entity) {
    const all = element("button", "all facts");
    all.addEventListener("click", () => {
      light(null);
      show(null);
    });
    parts.push(all);
  }
  parts.push(shown.length ? list : element("p", "No fact is that sure.", "dim"));
  panel.replaceChildren(...parts);
  if (entity) {
    light(null);
    data.documents[entity.document].pieces.forEach((piece, place) => {
      if (piece.entity === entity.entity) marks[entity.document][place].classList.add("same");
    });
  }
}

const names = data.documents.reduce((sum, item) => sum + item.pieces.filter((piece) => typeof piece !== "string").length, 0);
document.getElementById("summary").textContent =
  `${data.title}: ${counted(data.documents.length, "text")}, ${counted(names, "mention")}, ${counted(facts.length, "fact")}. ` +
  "Press a name for its facts, a fact for where it stands.";
const kinds = new Set(data.documents.flatMap((item) => item.pieces.map((piece) => piece.kind)));
for (const [kind, told] of Object.entries(KINDS)) {
  if (!kinds.has(kind)) continue;
  const line = element("span");
  line.append(element("i", undefined, `k-${kind}`), told);
  document.getElementById("key").append(line);
}
slider.value = data.least;
slider.addEventListener("input", () => show(chosen));
show(null);
