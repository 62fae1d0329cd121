// Two files matched one to one: a table of pairs, and a pair side by side.
import { showPair } from "/binaries/pair.js";
import { copy, counted, csv, download, exportRow, h, hex, keep, nameOf, state } from "/parts.js";
import { table } from "/table.js";

const KINDS = ["same_bytes", "same_tokens", "imports", "constants", "strings", "callees", "callers"];

export function matching(result, uploads) {
  const { get } = state();
  const [a, b] = uploads;
  const floor = h("input", { id: "floor", type: "range", min: "0", max: "1", step: "0.05", value: get.get("least") ?? "0", oninput: () => narrow() });
  const told = h("output", { for: "floor" }, floor.value);
  const kind = h("select", { id: "kind", onchange: () => narrow() }, h("option", { value: "" }, "any"), KINDS.map((name) => h("option", { value: name }, name.replace("_", " "))));
  kind.value = get.get("evidence") ?? "";
  const pair = h("section", { "aria-label": "the pair side by side" });
  const place = (half) => [h("span", { class: "dim mono" }, hex(half.address)), " ", h("span", { class: "name" }, nameOf(half))];
  const shown = table(result.matches, [
    { id: "sure", title: "Sure", number: true, value: (row) => row.confidence, show: (row) => row.confidence.toFixed(2) },
    { id: "score", title: "Score", number: true, value: (row) => row.score, show: (row) => row.score.toFixed(4) },
    { id: "a", title: result.a.path, mono: true, value: (row) => nameOf(row.a), text: (row) => `${nameOf(row.a)} ${hex(row.a.address)}`,
      show: (row, line) => h("button", { class: "plain", type: "button", "aria-label": `open the pair ${nameOf(row.a)} and ${nameOf(row.b)}`, onclick: () => open(row, line) }, place(row.a)) },
    { id: "b", title: result.b.path, mono: true, value: (row) => nameOf(row.b), text: (row) => `${nameOf(row.b)} ${hex(row.b.address)}`, show: (row) => h("span", {}, place(row.b)) },
    { id: "blocks", title: "Blocks", number: true, value: (row) => row.a.blocks + row.b.blocks, show: (row) => `${row.a.blocks} / ${row.b.blocks}` },
    { id: "why", title: "Evidence", prose: true, value: (row) => KINDS.filter((name) => row.evidence[name]).length,
      show: (row) => h("span", {}, KINDS.filter((name) => row.evidence[name]).map((name) => h("span", { class: "chip" }, name.replace("_", " "))), row.flags.map((flag) => h("span", { class: "chip flag" }, flag))) },
  ], {
    label: "matches", prefix: "", first: "sure",
    more: (row) => row.confidence >= Number(floor.value) && (!kind.value || row.evidence[kind.value]),
    filters: [h("div", {}, h("label", { for: "floor" }, "At least this sure: ", told), h("br"), floor), h("div", {}, h("label", { for: "kind" }, "Evidence"), h("br"), kind)],
  });
  function narrow() {
    told.textContent = floor.value;
    keep({ least: floor.value === "0" ? "" : floor.value, evidence: kind.value });
    shown.draw();
  }
  async function open(row, line) {
    keep({ pair: `${hex(row.a.address)}-${hex(row.b.address)}` });
    for (const other of line?.parentNode?.children ?? []) other.classList.toggle("chosen", other === line);
    await showPair(pair, row, a, b, result);
  }
  const sure = result.matches.filter((row) => row.confidence >= 0.8);
  const names = () => sure.map((row) => `${hex(row.b.address)} ${row.a.name}`).join("\n");
  const rows = () => [["a_name", "a_address", "b_name", "b_address", "score", "confidence"], ...result.matches.map((row) => [row.a.name, hex(row.a.address), row.b.name, hex(row.b.address), row.score, row.confidence])];
  const wanted = get.get("pair");
  const again = wanted && result.matches.find((row) => `${hex(row.a.address)}-${hex(row.b.address)}` === wanted);
  if (again) queueMicrotask(() => open(again));
  const remarks = [...(result.a.remarks ?? []), ...(result.b.remarks ?? [])];
  return h("div", {},
    h("h2", {}, `${counted(result.matches.length, "match", "matches")} of ${result.a.functions.toLocaleString("en")} and ${counted(result.b.functions, "function")}`),
    h("p", {}, `${sure.length} are at least 80 % sure; ${result.unmatched_a.length} of the first file and ${result.unmatched_b.length} of the second are unmatched.`, result.calibrated ? "" : " The confidences order the matches, but are no probabilities."),
    remarks.map((remark) => h("p", { class: "note" }, remark)),
    exportRow(h("button", { type: "button", onclick: () => copy(names(), counted(sure.length, "name")) }, "Copy the sure names"),
      { csv: () => download("matches.csv", "text/csv", csv(rows())), json: () => download("matches.json", "application/json", JSON.stringify(result)) }),
    shown.box, pair);
}
