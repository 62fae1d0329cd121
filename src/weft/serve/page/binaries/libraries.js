// What a file consists of: its libraries, the functions that speak for one, and what none explains.
import { copy, counted, csv, download, exportRow, h, hex, keep, state } from "/parts.js";
import { table } from "/table.js";

export function identified(result) {
  const explained = result.functions - result.unexplained.length;
  const behind = h("section", { "aria-label": "the functions behind it", "aria-live": "polite" });
  const open = (title, functions, value, line) => {
    keep({ pair: value, ...(line ? { lq: "", lsort: "", ldown: "" } : {}) });
    for (const other of line?.parentNode?.children ?? []) other.classList.toggle("chosen", other === line);
    behind.replaceChildren(...listed(title, functions));
    behind.dataset.shown = value;
  };
  const shown = table(result.libraries, [
    { id: "sure", title: "Sure", number: true, value: (row) => row.sure, show: (row) => row.sure.toFixed(2) },
    { id: "name", title: "Library", mono: true, value: (row) => row.name, text: (row) => `${row.name} ${row.packages.join(" ")}`,
      show: (row, line) => h("button", { class: "plain", type: "button", "aria-label": `the functions of ${row.name}`, onclick: () => open(`Functions of ${row.name}`, row.functions, row.name, line) }, row.name) },
    { id: "version", title: "Nearest version held", value: (row) => row.versions[0]?.version ?? "", show: (row) => row.versions.slice(0, 3).map((one) => `${one.version} ${one.share?.toFixed(2) ?? "(no other held)"}`).join(", ") },
    { id: "says", title: "The file says", value: (row) => said(row), text: (row) => said(row), show: (row) => said(row) },
    { id: "functions", title: "Functions", number: true, value: (row) => row.functions.length, show: (row) => `${row.functions.length} of ${row.functions_in_index}` },
    { id: "packages", title: "Package", mono: true, value: (row) => row.packages.join(" "), show: (row) => row.packages.join(", ") },
  ], { label: "libraries", prefix: "", first: "sure" });
  const lines = () => [["library", "sure", "version", "version_share", "file_says", "function", "address", "size"],
    ...result.libraries.flatMap((row) => row.functions.map((one) => [row.name, row.sure, row.versions[0]?.version, row.versions[0]?.share, said(row), one.name, hex(one.address), one.size])),
    ...result.unexplained.map((one) => ["", "", "", "", "", one.name, hex(one.address), one.size])];
  const wanted = state().get.get("pair");
  const again = wanted && result.libraries.find((row) => row.name === wanted);
  if (again) open(`Functions of ${again.name}`, again.functions, again.name);
  else if (wanted === "-") open("Functions that no library explains", result.unexplained, "-");
  return h("div", {},
    h("h2", {}, `${counted(result.libraries.length, "library", "libraries")} in ${result.binary}`),
    h("p", {}, `${explained.toLocaleString("en")} of ${counted(result.functions, "function")} are explained.`),
    result.remarks.map((remark) => h("p", { class: "note" }, remark)),
    exportRow(h("button", { type: "button", onclick: () => open("Functions that no library explains", result.unexplained, "-") }, "What none explains"),
      { csv: () => download("libraries.csv", "text/csv", csv(lines())), json: () => download("libraries.json", "application/json", JSON.stringify(result)) }),
    shown.box, behind);
}

function said(row) {
  return row.file_says.map((one) => one.text).join("; ");
}

function listed(title, functions) {
  return [
    h("h2", {}, `${title} (${functions.length.toLocaleString("en")})`),
    h("p", { class: "row" }, h("button", { type: "button", onclick: () => copy(functions.map((one) => `${hex(one.address)} ${one.name}`).join("\n"), counted(functions.length, "name")) }, "Copy these names")),
    table(functions, [
      { id: "address", title: "Address", mono: true, value: (row) => row.address, text: (row) => hex(row.address), show: (row) => hex(row.address) },
      { id: "name", title: "Function", mono: true, value: (row) => row.name, text: (row) => row.name, show: (row) => row.name },
      { id: "size", title: "Bytes", number: true, value: (row) => row.size, show: (row) => row.size.toLocaleString("en") },
    ], { label: title, prefix: "l", first: "address", descending: false }).box,
  ];
}
