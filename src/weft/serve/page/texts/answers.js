// Answers in a grid, a column for each question; bars for all, and the words that made one.
import { counted, csv, download, exportRow, h, keep, say, state, work } from "/parts.js";
import { table } from "/table.js";
import { CLASSES, bars, count } from "/texts/bars.js";

const question = (record) => [record.target, record.aspect].filter(Boolean).join(" · ");

export function answers(records, problems) {
  if (!records.length) return [h("p", { class: "note" }, "No text could be used."), ...problems.map((line) => h("p", {}, line))];
  const questions = [...new Set(records.map(question))];
  const grouped = new Map();
  for (const record of records) {
    const key = `${record.row ?? ""}\n${record.column ?? ""}\n${record.text}`;
    if (!grouped.has(key)) grouped.set(key, new Map());
    grouped.get(key).set(question(record), record);
  }
  const rows = [...grouped.values()].map((asked, index) => ({ rank: index + 1, asked, text: [...asked.values()][0].text }));
  const words = h("section", { "aria-label": "the words that made an answer", "aria-live": "polite" });
  const open = (row, number) => {
    keep({ open: `${row.rank}.${number}` });
    explain(row.asked.get(questions[number]), words);
  };
  const place = (record) => (record ? CLASSES.indexOf(record.polarity) - (record.probabilities[record.polarity] ?? 0) : 9);
  const shown = table(rows, [
    { id: "rank", title: "#", number: true, value: (row) => row.rank, show: (row) => String(row.rank) },
    { id: "text", title: "Text", prose: true, value: (row) => row.text, text: (row) => row.text, show: (row) => row.text },
    ...questions.map((name, number) => ({ id: `a${number}`, title: name, value: (row) => place(row.asked.get(name)),
      text: (row) => row.asked.get(name)?.polarity ?? "", show: (row) => opinion(row.asked.get(name), () => open(row, number)) })),
  ], { label: "answers", prefix: "", first: "rank", descending: false, words: "Filter by text or answer" });
  const names = [...["row", "column"].filter((name) => name in records[0]), "text", "target", "aspect", "polarity", ...Object.keys(records[0].probabilities), "note"];
  const [row, number] = (state().get.get("open") ?? "").split(".").map(Number);
  if (rows[row - 1]?.asked.has(questions[number])) queueMicrotask(() => open(rows[row - 1], number));
  return [
    h("h2", {}, `${counted(rows.length, "text")}, ${counted(records.length, "answer")}`),
    problems.length ? h("div", { class: "note" }, problems.map((line) => h("p", {}, line))) : "",
    bars(questions.map((name) => ({ name, counts: count(records.filter((record) => question(record) === name)) }))),
    exportRow({
      csv: () => download("opinions.csv", "text/csv", csv([names, ...records.map((record) => names.map((name) => record[name] ?? record.probabilities[name]))])),
      json: () => download("opinions.json", "application/json", JSON.stringify(records, null, 1)),
    }),
    h("p", { class: "dim" }, "Press an answer to see the words that made it."),
    words,
    shown.box,
  ];
}

function opinion(record, onclick) {
  if (!record) return "";
  const sure = record.probabilities[record.polarity];
  return h("button", { type: "button", class: `opinion ${record.polarity}`, title: record.note ?? undefined, "aria-label": `${question(record)}: ${record.polarity}${sure === undefined ? "" : `, ${Math.round(100 * sure)} %`}; show the words`, onclick },
    h("b", {}, record.polarity === "none" ? "–" : record.polarity), sure === undefined ? "" : ` ${sure.toFixed(2)}`, record.note ? " *" : "");
}

async function explain(record, place) {
  place.replaceChildren(h("p", { class: "dim" }, "asking which words …"));
  delete place.dataset.ready;
  try {
    const body = { text: record.text, aspects: [record.aspect], targets: record.target ? [record.target] : [], polarity: record.polarity in record.probabilities ? record.polarity : null };
    const { result: [told] } = await work("/v1/absa/explain", body, () => {});
    const strongest = Math.max(...told.words.map((word) => Math.abs(word.score)), 1e-9);
    const line = h("p", { class: "words" });
    let done = 0;
    for (const word of told.words) {
      line.append(told.text.slice(done, word.start));
      const shown = h("span", { class: word.score >= 0 ? "pro" : "con", title: word.score.toFixed(3) }, told.text.slice(word.start, word.end));
      shown.style.setProperty("--heat", ((0.5 * Math.abs(word.score)) / strongest).toFixed(3));
      line.append(shown);
      done = word.end;
    }
    line.append(told.text.slice(done));
    const first = [...told.words].sort((x, y) => Math.abs(y.score) - Math.abs(x.score)).slice(0, 5);
    place.replaceChildren(h("div", { class: "card" },
      h("h2", {}, `${question(record)}: ${told.polarity} ${told.probabilities[told.polarity].toFixed(2)}`),
      line,
      h("p", { class: "dim" }, `Green words speak for it, red ones against. The strongest: ${first.map((word) => `${word.text} ${word.score >= 0 ? "+" : "−"}${Math.abs(word.score).toFixed(3)}`).join(", ")}.`),
      record.note ? h("p", { class: "dim" }, record.note) : ""));
    place.dataset.ready = "1";
  } catch (error) {
    place.replaceChildren();
    say(error.message, true);
  }
}
