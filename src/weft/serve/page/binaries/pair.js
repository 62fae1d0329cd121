// Two functions side by side: blocks aligned by their tokens, instructions compared, both graphs.
import { copy, h, hex, say, work } from "/parts.js";

const MOST_BLOCKS = 300;
const WIDEST = 8;

const QUIET = () => {};
const detail = async (file, address) => (await work("/v1/bcsd/functions", { file, function: hex(address) }, QUIET)).result;

export async function showPair(place, row, a, b, result) {
  place.replaceChildren(h("p", { class: "dim" }, "reading both functions …"));
  try {
    const [left, right] = await Promise.all([detail(a, row.a.address), detail(b, row.b.address)]);
    place.replaceChildren(...pairOf(row, left, right, a, b, result));
    place.dataset.ready = "1";
    place.scrollIntoView({ block: "start" });
  } catch (error) {
    place.replaceChildren();
    say(error.message, true);
  }
}

function pairOf(row, left, right, a, b, result) {
  const blocks = align(left, right);
  const same = blocks.filter(([x, y, lines]) => x !== null && y !== null && lines.every((line) => line.kind === "same")).length;
  const why = h("div");
  const explain = h("button", { type: "button", onclick: () => explained(why, explain, row, a, b) }, "What carries the match?");
  const number = new Map(blocks.flatMap(([x, y], index) => [[`a${x}`, index], [`b${y}`, index]]));
  const kindOf = ([x, y, lines]) => (x === null || y === null ? "only" : lines.every((line) => line.kind === "same") ? "same" : "changed");
  const kinds = new Map(blocks.flatMap((block) => [[`a${block[0]}`, kindOf(block)], [`b${block[1]}`, kindOf(block)]]));
  return [
    h("h2", {}, `${left.demangled ?? left.name} and ${right.demangled ?? right.name}`),
    h("p", {}, `${Math.round(100 * row.confidence)} % sure, score ${row.score}; ${same} of ${blocks.length} block pairs are alike in all instructions.`),
    h("p", { class: "row" }, explain,
      h("button", { type: "button", onclick: () => copy(left.name, "the first name") }, "Copy the first name"),
      h("button", { type: "button", onclick: () => copy(right.name, "the second name") }, "Copy the second name")),
    why,
    h("p", { class: "dim" }, "Boxes of the same number are aligned. A thick frame: changed; a dashed one: only here."),
    h("div", { class: "panes" },
      h("div", { class: "card" }, flow(left, "a", number, kinds, result.a.path)),
      h("div", { class: "card" }, flow(right, "b", number, kinds, result.b.path))),
    h("div", { class: "wide tall", tabindex: "0", role: "region", "aria-label": "instructions side by side" }, h("div", { class: "code" }, blocks.flatMap(([x, y, lines], index) => [
      h("div", { class: "head" }, `${index + 1}: ${x === null ? "only in the second" : y === null ? "only in the first" : kindOf([x, y, lines]) === "same" ? "alike" : "changed"}`),
      ...lines.flatMap((line) => [instruction(line.left, line.kind), instruction(line.right, line.kind)]),
    ]))),
  ];
}

const instruction = (found, kind) =>
  found ? h("div", { class: kind === "same" ? undefined : kind }, h("i", {}, hex(found.address)), found.text) : h("div", { class: "gap" });

async function explained(place, button, row, a, b) {
  button.disabled = true;
  place.replaceChildren(h("p", { class: "dim" }, "hiding each block in turn …"));
  try {
    const { result: told } = await work("/v1/bcsd/explain", { a, function_a: hex(row.a.address), b, function_b: hex(row.b.address) }, QUIET);
    const strongest = (half) => [...half.blocks].sort((x, y) => y.drop - x.drop).slice(0, 5);
    place.replaceChildren(h("p", {}, `Learned similarity ${told.learned}, lexical ${told.lexical}. Without a block the similarity falls by:`),
      h("div", { class: "panes" }, [told.a, told.b].map((half) => h("ul", { class: "card facts" }, strongest(half).map((block) => h("li", {}, `${block.drop.toFixed(3)} without the block at ${hex(block.address)}`))))));
  } catch (error) {
    place.replaceChildren();
    say(error.message, true);
  } finally {
    button.disabled = false;
  }
}

// Blocks: the pairs of the most alike tokens first, in the order of the first function.
function align(left, right) {
  const parts = (side) => side.blocks.slice(0, MOST_BLOCKS).map((block) => side.instructions.slice(block.start, block.end));
  const [one, other] = [parts(left), parts(right)];
  const bags = (side) => side.map((block) => {
    const bag = new Map();
    for (const item of block) bag.set(key(item), (bag.get(key(item)) ?? 0) + 1);
    return bag;
  });
  const [bagA, bagB] = [bags(one), bags(other)];
  const scored = [];
  bagA.forEach((x, i) => bagB.forEach((y, j) => {
    let shared = 0;
    for (const [name, count] of x) shared += Math.min(count, y.get(name) ?? 0);
    const score = (2 * shared) / Math.max(1, one[i].length + other[j].length) - Math.abs(i / one.length - j / other.length) / 10;
    if (score > 0.2) scored.push([score, i, j]);
  }));
  scored.sort((x, y) => y[0] - x[0] || x[1] - y[1] || x[2] - y[2]);
  const ofA = new Map(), ofB = new Map();
  for (const [, i, j] of scored) if (!ofA.has(i) && !ofB.has(j)) { ofA.set(i, j); ofB.set(j, i); }
  const rows = one.map((block, i) => (ofA.has(i) ? [i, ofA.get(i), lines(block, other[ofA.get(i)])] : [i, null, block.map((item) => ({ left: item, right: null, kind: "only" }))]));
  other.forEach((block, j) => { if (!ofB.has(j)) rows.push([null, j, block.map((item) => ({ left: null, right: item, kind: "only" }))]); });
  return rows;
}

const key = (item) => item.tokens.join(" ");

// Instructions of two aligned blocks: the longest common subsequence; what stands between is changed.
function lines(one, other) {
  const best = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i--)
    for (let j = other.length - 1; j >= 0; j--)
      best[i][j] = key(one[i]) === key(other[j]) ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  const found = [];
  let i = 0, j = 0;
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && key(one[i]) === key(other[j])) found.push({ left: one[i++], right: other[j++], kind: "same" });
    else if (i < one.length && j < other.length && best[i + 1][j + 1] === best[i][j]) found.push({ left: one[i++], right: other[j++], kind: "changed" });
    else if (j >= other.length || (i < one.length && best[i + 1][j] >= best[i][j + 1])) found.push({ left: one[i++], right: null, kind: "only" });
    else found.push({ left: null, right: other[j++], kind: "only" });
  }
  return found;
}

// The graph in rows: a block stands one row below the first that leads to it.
function flow(side, letter, number, kinds, path) {
  const count = Math.min(side.blocks.length, MOST_BLOCKS);
  const rank = new Array(count).fill(-1);
  const queue = [0];
  rank[0] = 0;
  for (let place = 0; place < queue.length; place++)
    for (const edge of side.edges)
      if (edge.source === queue[place] && edge.target < count && rank[edge.target] < 0) { rank[edge.target] = rank[edge.source] + 1; queue.push(edge.target); }
  const last = Math.max(...rank) + 1;
  const ranks = Array.from({ length: last + 1 }, () => []);
  for (let block = 0; block < count; block++) ranks[rank[block] < 0 ? last : rank[block]].push(block);
  // A rank of many blocks, such as those of a switch, takes several rows.
  const rows = ranks.flatMap((row) => Array.from({ length: Math.ceil(row.length / WIDEST) }, (_, part) => row.slice(part * WIDEST, (part + 1) * WIDEST)));
  const width = 64 * WIDEST, height = 46 * rows.length + 10;
  const at = new Map();
  rows.forEach((row, y) => row.forEach((block, x) => at.set(block, [((x + 0.5) * width) / row.length, 46 * y + 18])));
  const drawing = h("svg", { class: "flow", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `the graph of ${side.name} in ${path}: ${count} blocks, ${side.edges.length} edges; the listing below says the same` });
  for (const edge of side.edges) {
    const [from, to] = [at.get(edge.source), at.get(edge.target)];
    if (from && to) drawing.append(h("line", { x1: from[0], y1: from[1] + 11, x2: to[0], y2: to[1] - 11 }));
  }
  for (const [block, [x, y]] of at) {
    drawing.append(h("rect", { x: x - 26, y: y - 11, width: 52, height: 22, rx: 4, class: kinds.get(letter + block) }));
    drawing.append(h("text", { x, y: y + 4 }, String((number.get(letter + block) ?? block) + 1)));
  }
  return drawing;
}
