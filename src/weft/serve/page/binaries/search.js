// One file searched for in the index: what of it is most alike, and in which files that is.
import { counted, csv, download, exportRow, h, hex, nameOf } from "/parts.js";
import { table } from "/table.js";

export function found(result) {
  const byFile = new Map();
  for (const query of result.queries) {
    const best = query.hits[0];
    if (!best || best.confidence < 0.5) continue;
    const entry = byFile.get(best.binary) ?? { binary: best.binary, functions: 0, sure: 0 };
    entry.functions += 1;
    entry.sure += best.confidence;
    byFile.set(best.binary, entry);
  }
  const files = [...byFile.values()].sort((x, y) => y.sure - x.sure);
  const rows = result.queries.filter((query) => query.hits.length).map((query) => ({ query, hit: query.hits[0] }));
  const shown = table(rows, [
    { id: "sure", title: "Sure", number: true, value: (row) => row.hit.confidence, show: (row) => row.hit.confidence.toFixed(2) },
    { id: "score", title: "Score", number: true, value: (row) => row.hit.score, show: (row) => row.hit.score.toFixed(4) },
    { id: "name", title: result.binary, mono: true, value: (row) => nameOf(row.query), text: (row) => `${nameOf(row.query)} ${hex(row.query.address)}`, show: (row) => h("span", {}, h("span", { class: "dim mono" }, hex(row.query.address)), " ", nameOf(row.query)) },
    { id: "hit", title: "Most alike", mono: true, value: (row) => nameOf(row.hit), text: (row) => nameOf(row.hit), show: (row) => nameOf(row.hit) },
    { id: "binary", title: "In", mono: true, value: (row) => row.hit.binary, text: (row) => row.hit.binary, show: (row) => row.hit.binary },
  ], { label: "functions and what is most alike", prefix: "", first: "sure" });
  const lines = () => [["name", "address", "rank", "confidence", "score", "hit", "hit_address", "binary"],
    ...result.queries.flatMap((query) => query.hits.map((hit) => [query.name, hex(query.address), hit.rank, hit.confidence, hit.score, hit.name, hex(hit.address), hit.binary]))];
  return h("div", {},
    h("h2", {}, `${counted(result.queries.length, "function")} against ${result.rows.toLocaleString("en")} of the index`),
    files.length
      ? [h("p", {}, "Files of the index that its functions come from (those that are at least 50 % sure):"),
         h("ul", {}, files.slice(0, 20).map((file) => h("li", {}, h("span", { class: "mono" }, file.binary), `: ${counted(file.functions, "function")}`)))]
      : h("p", {}, "No function is at least 50 % sure to be one of the index."),
    result.remarks.map((remark) => h("p", { class: "note" }, remark)),
    exportRow({ csv: () => download("hits.csv", "text/csv", csv(lines())), json: () => download("hits.json", "application/json", JSON.stringify(result)) }),
    shown.box);
}
