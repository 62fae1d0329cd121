// What texts judge without being asked: a bar for each aspect, a table of terms, and the sentences behind both.
import { counted, csv, download, exportRow, h, keep, state } from "/parts.js";
import { table } from "/table.js";
import { JUDGED, bars, count } from "/texts/bars.js";

const BARS = 40;
const SENTENCES = 100;
const COLUMNS = ["row", "group", "column", "text", "term", "start", "stop", "category", "polarity", "confidence", "words", "note"];
const aspectOf = (record) => record.category ?? (record.term ?? "").toLowerCase();
const titled = (polarity) => h("span", { class: polarity }, h("b", {}, polarity));

export function findings(records, texts, problems = [], by = null) {
  const unused = problems.length ? h("div", { class: "note" }, problems.map((line) => h("p", {}, line))) : "";
  if (!records.length) return [unused, h("p", {}, "Nothing is judged.")];
  const behind = h("section", { "aria-label": "the sentences behind it", "aria-live": "polite" });
  const byAspect = grouped(records, aspectOf);
  const terms = grouped(records, (record) => `${(record.term ?? "").toLowerCase()}\n${record.category ?? ""}`).map(([, own]) => ({ term: own[0].term?.toLowerCase() ?? "(not named)", category: own[0].category ?? "–", own, counts: count(own) }));
  const show = (title, own, value) => {
    keep({ show: value });
    behind.replaceChildren(...sentences(title, own));
    behind.dataset.shown = value;
  };
  const rows = byAspect.slice(0, BARS).map(([name, own]) => ({ name, counts: count(own), shown: h("button", { type: "button", class: "plain", "aria-label": `the sentences about ${name}`, onclick: () => show(name, own, `a:${name}`) }, name) }));
  const shown = table(terms, [
    { id: "term", title: "Term", value: (row) => row.term, text: (row) => row.term,
      show: (row) => h("button", { class: "plain", type: "button", "aria-label": `the sentences about ${row.term}`, onclick: () => show(row.term, row.own, `t:${row.term}`) }, row.term) },
    { id: "aspect", title: "Aspect", value: (row) => row.category, text: (row) => row.category, show: (row) => row.category },
    { id: "count", title: "Judged", number: true, value: (row) => row.own.length, show: (row) => row.own.length.toLocaleString("en") },
    ...JUDGED.map((name, index) => ({ id: name, title: name[0].toUpperCase() + name.slice(1), number: true, value: (row) => row.counts[index], show: (row) => row.counts[index].toLocaleString("en") })),
    { id: "words", title: "Words", value: (row) => wordsOf(row.own).join(" "), text: (row) => wordsOf(row.own).join(" "), show: (row) => wordsOf(row.own).slice(0, 4).join(", ") },
  ], { label: "terms", prefix: "", first: "count", words: "Filter by term" });
  const wanted = state().get.get("show") ?? "";
  const again = wanted.startsWith("a:") ? byAspect.find(([name]) => `a:${name}` === wanted)?.[1] : terms.find((row) => `t:${row.term}` === wanted)?.own;
  if (again) show(wanted.slice(2), again, wanted);
  const kept = COLUMNS.filter((name) => name in records[0]);
  return [
    h("h2", {}, `${counted(records.length, "judgement")} about ${counted(byAspect.length, "aspect")} in ${counted(texts, "text")}`),
    unused,
    by ? differences(by) : "",
    bars(rows, byAspect[0][1].length, JUDGED),
    byAspect.length > BARS ? h("p", { class: "dim" }, `and ${counted(byAspect.length - BARS, "rarer aspect")}, in the table below`) : "",
    exportRow({
      csv: () => download("findings.csv", "text/csv", csv([kept, ...records.map((record) => kept.map((name) => record[name]))])),
      json: () => download("findings.json", "application/json", JSON.stringify(records, null, 1)),
    }),
    behind,
    shown.box,
  ];
}

// What one group praises or blames more or less often than the others do.
function differences({ column, groups, differences, texts_without: without }) {
  const share = ([some, of]) => `${some} of ${of} (${(some / of).toFixed(2)})`;
  const more = (one) => one.here[0] * one.elsewhere[1] > one.elsewhere[0] * one.here[1];
  const head = `by ${column}: ${counted(groups.length, "group")}${without ? `; ${counted(without, "text")} without` : ""}`;
  if (!differences.length) return h("section", { "aria-label": head }, h("h2", {}, head), h("p", {}, "Nothing stands out: what differs may be chance."));
  return h("section", { "aria-label": head }, h("h2", {}, head), h("table", {},
    h("thead", {}, h("tr", {}, ["aspect", column, "stands out", "texts here", "elsewhere", "p"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, differences.map((one) => h("tr", {}, [one.aspect, one.group, `${one.measure} ${more(one) ? "more" : "less"}`, share(one.here), share(one.elsewhere), one.p < 0.001 ? "<.001" : one.p.toFixed(3)].map((cell) => h("td", {}, cell)))))));
}

// The most frequent first.
function grouped(records, name) {
  const found = new Map();
  for (const record of records) {
    const key = name(record);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(record);
  }
  return [...found].sort((x, y) => y[1].length - x[1].length || (x[0] < y[0] ? -1 : 1));
}

const wordsOf = (own) => [...new Set(own.flatMap((record) => (record.words ? record.words.split("; ") : [])))];

function sentences(title, own) {
  const ordered = [...own].sort((x, y) => y.confidence - x.confidence);
  return [
    h("h2", {}, `${title}: ${counted(own.length, "judgement")}`),
    h("p", { class: "dim" }, `What is judged is coloured, the words that judge are underlined; the surest first${own.length > SENTENCES ? `, ${SENTENCES} of them` : ""}.`),
    h("ul", { class: "facts" }, ordered.slice(0, SENTENCES).map((record) => h("li", {},
      titled(record.polarity), ` ${record.confidence.toFixed(2)} `,
      h("span", { class: "said" }, ...marked(record)), record.note ? h("small", {}, ` ${record.note}`) : ""))),
  ];
}

// The text, its term marked and the first place of each judging word underlined.
function* marked(record) {
  const parts = record.start === null ? [] : [[record.start, record.stop, "mark"]];
  for (const word of record.words?.split("; ") ?? []) {
    const start = record.text.indexOf(word);
    if (start >= 0) parts.push([start, start + word.length, "u"]);
  }
  let done = 0;
  for (const [start, stop, tag] of parts.sort((x, y) => x[0] - y[0])) {
    if (start < done) continue;
    yield record.text.slice(done, start);
    yield h(tag, {}, record.text.slice(start, stop));
    done = stop;
  }
  yield record.text.slice(done);
}
