// Two versions compared: changed functions first, and one of them side by side, block by block.
import { copy, counted, csv, download, exportRow, h, hex, keep, nameOf, state } from "/parts.js";
import { table } from "/table.js";

const STATUSES = ["changed", "added", "removed", "renamed", "unchanged"];
const MARKS = { "=": ["", "alike"], "~": ["layout", "other registers or layout alone"], "!": ["differs", "differs"], "-": ["gone", "gone"], "+": ["add", "new"] };
const AROUND = 3; // lines that stay around a change

export function difference(result) {
  const { get } = state();
  const rows = result.functions.map((row, index) => ({ ...row, rank: index + 1 }));
  const kinds = [...new Set(rows.flatMap((row) => Object.keys(row.kinds ?? {})))];
  const usual = result.counts.changed ? "changed" : "all";
  const status = h("select", { id: "became", onchange: () => narrow() },
    h("option", { value: "all" }, `all ${rows.length.toLocaleString("en")}`),
    STATUSES.map((name) => h("option", { value: name }, `${name} ${(result.counts[name] ?? 0).toLocaleString("en")}`)));
  status.value = get.get("status") ?? usual;
  const kind = h("select", { id: "kind", onchange: () => narrow() }, h("option", { value: "" }, "any"), kinds.map((name) => h("option", { value: name }, name)));
  kind.value = get.get("kind") ?? "";
  const section = h("section", { "aria-label": "the function side by side" });
  const names = (row) => (row.old && row.new && nameOf(row.old) !== nameOf(row.new) ? `${nameOf(row.old)} → ${nameOf(row.new)}` : nameOf(row.new ?? row.old));
  const places = (row) => [row.old, row.new].filter(Boolean).map((half) => hex(half.address)).join(" → ");
  const idOf = (row) => [row.old, row.new].map((half) => (half ? hex(half.address) : "")).join("-");
  const openable = (row) => (row.blocks ?? []).length > 0;
  const shown = table(rows, [
    { id: "rank", title: "#", number: true, value: (row) => row.rank, show: (row) => String(row.rank) },
    { id: "name", title: "Function", mono: true, value: names, text: (row) => `${names(row)} ${places(row)}`,
      show: (row, line) => (openable(row) ? h("button", { class: "plain", type: "button", "aria-label": `open ${names(row)}`, onclick: () => open(row, line) }, names(row)) : names(row)) },
    { id: "status", title: "Status", value: (row) => STATUSES.indexOf(row.status), show: (row) => row.status + (row.differs_by && row.differs_by !== "nothing" ? ` (${row.differs_by})` : "") },
    { id: "amount", title: "Changed", number: true, value: (row) => row.amount ?? -1, show: (row) => (row.amount === undefined || row.amount === null ? "" : `${Math.round(100 * row.amount)} %`) },
    { id: "kinds", title: "Kinds", prose: true, value: (row) => Object.keys(row.kinds ?? {}).length, text: (row) => Object.keys(row.kinds ?? {}).join(" "),
      show: (row) => h("span", {}, Object.keys(row.kinds ?? {}).map((name, index) => h("span", { class: index ? "chip" : "chip flag" }, name))) },
    { id: "note", title: "Such as", mono: true, value: (row) => (row.notes ?? [])[0] ?? "", text: (row) => (row.notes ?? []).join(" "), show: (row) => (row.notes ?? [])[0] ?? "" },
    { id: "place", title: "Address", mono: true, value: (row) => (row.old ?? row.new).address, show: places },
  ], {
    label: "functions of both versions", prefix: "", first: "rank", descending: false,
    more: (row) => (status.value === "all" || row.status === status.value) && (!kind.value || kind.value in (row.kinds ?? {})),
    filters: [h("div", {}, h("label", { for: "became" }, "Status"), h("br"), status), h("div", {}, h("label", { for: "kind" }, "Kind of change"), h("br"), kind)],
  });
  function narrow() {
    keep({ status: status.value === usual ? "" : status.value, kind: kind.value });
    shown.draw();
  }
  function open(row, line) {
    keep({ pair: idOf(row) });
    for (const other of line?.parentNode?.children ?? []) other.classList.toggle("chosen", other === line);
    const next = rows.find((other) => other.rank > row.rank && openable(other));
    section.replaceChildren(...sideBySide(row, names(row), result, next && (() => open(next))));
    section.dataset.shown = idOf(row);
    section.scrollIntoView({ block: "start" });
  }
  const wanted = get.get("pair");
  const again = wanted && rows.find((row) => idOf(row) === wanted && openable(row));
  if (again) queueMicrotask(() => open(again));
  const lines = () => [["status", "old_name", "old_address", "new_name", "new_address", "changed", "kinds", "differs_by", "notes"],
    ...rows.map((row) => [row.status, row.old?.name, row.old && hex(row.old.address), row.new?.name, row.new && hex(row.new.address), row.amount, Object.keys(row.kinds ?? {}).join("; "), row.differs_by, (row.notes ?? []).join("; ")])];
  const remarks = [...result.remarks, ...(result.old.remarks ?? []), ...(result.new.remarks ?? [])];
  return h("div", {},
    h("h2", {}, `${result.counts.changed.toLocaleString("en")} changed of ${counted(rows.length, "function")}`),
    h("p", {}, `From ${result.old.path} to ${result.new.path}: ${STATUSES.map((name) => `${(result.counts[name] ?? 0).toLocaleString("en")} ${name}`).join(", ")}.`),
    remarks.map((remark) => h("p", { class: "note" }, remark)),
    exportRow({ csv: () => download("difference.csv", "text/csv", csv(lines())), json: () => download("difference.json", "application/json", JSON.stringify(result)) }),
    shown.box, section);
}

function sideBySide(row, name, result, next) {
  const only = h("input", { type: "checkbox", id: "only", checked: state().get.get("only") === "1", onchange: () => { keep({ only: only.checked ? "1" : "" }); draw(); } });
  const body = h("tbody");
  const wide = h("table", { class: "versions" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "mark" }, h("span", { class: "unseen" }, "mark")), h("th", { scope: "col" }, result.old.path), h("th", { scope: "col" }, result.new.path), h("th", { scope: "col", class: "kinds" }, "What differs"))),
    body);
  function draw() {
    body.replaceChildren(...row.blocks.flatMap((block, index) => blockRows(block, index + 1, only.checked)));
  }
  draw();
  const changed = row.blocks.filter((block) => block.rows.some(([mark]) => mark !== "=")).length;
  return [
    h("h2", {}, name),
    h("p", {}, `${Math.round(100 * row.amount)} % of its instructions differ, in ${changed} of ${counted(row.blocks.length, "block")}: ${Object.entries(row.kinds).map(([kind, count]) => `${kind} ${count}`).join(", ")}.`),
    h("ul", { class: "notes" }, row.notes.map((note) => h("li", { class: "mono" }, note))),
    h("p", { class: "row" },
      h("button", { type: "button", onclick: () => copy(row.new.name, "the name") }, "Copy the name"),
      next ? h("button", { type: "button", onclick: next }, "Next change") : "",
      h("span", {}, only, " ", h("label", { for: "only" }, "Only what differs"))),
    h("p", { class: "key dim" }, Object.entries(MARKS).filter(([mark]) => mark !== "=").map(([mark, [, words]]) => h("span", {}, `${mark.replace("-", "−")} ${words}`))),
    h("div", { class: "wide tall", tabindex: "0", role: "region", "aria-label": "both versions, block by block" }, wide),
  ];
}

function blockRows(block, number, only) {
  const near = block.rows.map((_, index) => block.rows.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(([mark]) => mark !== "="));
  if (only && !near.includes(true)) return [];
  const heads = h("tr", { class: "head" }, h("th", { scope: "rowgroup", class: "mark" }, String(number)), ["old", "new"].map((side) => h("td", {}, block[side] === null ? "–" : hex(block[side]))), h("td", {}));
  const lines = [heads];
  let left = 0;
  const skipped = () => {
    if (left) lines.push(h("tr", { class: "layout" }, h("td", {}), h("td", { colspan: "3" }, `${counted(left, "line")} alike`)));
    left = 0;
  };
  block.rows.forEach(([mark, old, fresh, kinds], index) => {
    if (only && !near[index]) { left += 1; return; }
    skipped();
    const [name, words] = MARKS[mark];
    lines.push(h("tr", { class: name || undefined }, h("td", { class: "mark" }, mark === "=" ? "" : h("span", { title: words }, mark.replace("-", "−"))),
      half(old, "old"), half(fresh, "new"), h("td", { class: "kinds" }, mark === "!" ? kinds.join(", ") : "")));
  });
  skipped();
  return lines;
}

const half = (found, side) =>
  found ? h("td", { class: side }, h("i", {}, hex(found[0])), " ", found[1], found[2] ? h("i", {}, ` ; ${found[2]}`) : "") : h("td", { class: "none" });
