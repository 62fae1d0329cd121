// Texts: pasted or dropped, asked about aspects; a grid of answers, the words that made one, bars for all.
import { askJson, counted, csv, download, dropZone, h, keep, post, progress, say, state, upload, work } from "/parts.js";

const CLASSES = ["positive", "neutral", "negative", "none"];
const TONES = { positive: "good", neutral: "mid", negative: "bad", none: "nil", unsure: "nil" };
const MOST = 64; // texts of one request; a file has no such bound
const split = (text) => [...new Set(text.split(/[,;\n]/).map((part) => part.trim()).filter(Boolean))];

export function texts(main) {
  const { get } = state();
  let file = null;
  const pasted = h("textarea", { id: "texts", "aria-describedby": "texts-hint", placeholder: "The food was great, the service slow." });
  const aspects = h("input", { id: "aspects", value: get.get("aspects") ?? "food, service, price", required: true });
  const targets = h("input", { id: "targets", value: get.get("targets") ?? "" });
  const column = h("input", { id: "column", value: get.get("column") ?? "text" });
  const go = h("button", { class: "main" }, "Ask");
  const results = h("div");
  const zone = dropZone("table", "Or a table", "CSV, TSV, JSON lines, Parquet or plain lines", (taken) => { file = taken; }, ".csv,.tsv,.jsonl,.ndjson,.parquet,.txt");
  main.append(
    h("h1", {}, "Texts"),
    h("form", { onsubmit: (event) => { event.preventDefault(); start(); } },
      h("div", { class: "panes" },
        h("div", {}, h("label", { for: "texts" }, "Texts"), " ", h("small", { class: "dim", id: "texts-hint" }, "one on each line"), pasted),
        h("div", {}, zone, h("p", {}, h("label", { for: "column" }, "Its column of texts "), column))),
      h("div", { class: "row" },
        h("div", { class: "grow" }, h("label", { for: "aspects" }, "Aspects"), " ", h("small", { class: "dim" }, "with commas between"), h("br"), aspects),
        h("div", { class: "grow" }, h("label", { for: "targets" }, "Targets"), " ", h("small", { class: "dim" }, "words of the texts; none: the whole text"), h("br"), targets),
        h("div", {}, go), h("div", {}, h("button", { type: "button", onclick: () => start(true) }, "Find what they judge")))),
    results);

  async function start(finds = false) {
    const asked = { aspects: split(aspects.value), targets: split(targets.value) };
    const lines = pasted.value.split("\n").map((line) => line.trim()).filter(Boolean);
    keep({ aspects: aspects.value, targets: targets.value, column: column.value === "text" ? "" : column.value });
    if (finds && !lines.length) { say("paste texts to find what they judge", true); return; }
    if (!finds && (!asked.aspects.length || (!lines.length && !file))) { say("give a text and an aspect", true); return; }
    const stop = new AbortController();
    const shown = progress(() => stop.abort());
    results.replaceChildren(shown.box);
    go.disabled = true;
    say("");
    try {
      let records = [], problems = [];
      if (finds) {
        for (let first = 0; first < lines.length && !stop.signal.aborted; first += MOST) {
          shown.tell("reading", first, lines.length);
          records = records.concat(await (await post("/v1/absa/find", { texts: lines.slice(first, first + MOST) }, { signal: stop.signal })).json());
        }
        results.replaceChildren(...findings(records));
        results.dataset.ready = "1";
        return;
      }
      if (lines.length) {
        const step = Math.max(1, Math.min(MOST, Math.floor(1024 / (asked.aspects.length * Math.max(1, asked.targets.length)))));
        for (let first = 0; first < lines.length && !stop.signal.aborted; first += step) {
          shown.tell("asking", first, lines.length);
          const some = await (await post("/v1/absa/predict", { texts: lines.slice(first, first + step), ...asked }, { signal: stop.signal })).json();
          records = records.concat(some);
        }
      } else {
        const sent = await upload(file, shown.tell);
        const { result } = await work("/v1/absa/predict", { file: sent.id, text_column: column.value.trim() || "text", ...asked }, shown.tell, stop.signal);
        records = result.records;
        problems = result.problems;
      }
      results.replaceChildren(...answers(records, problems));
      results.dataset.ready = "1";
    } catch (error) {
      results.replaceChildren();
      say(error.name === "AbortError" ? "stopped" : error.message, true);
    } finally {
      go.disabled = false;
    }
  }
}

// What was found without being asked: bars for each category, and each finding with its words marked in its text.
function findings(records) {
  if (!records.length) return [h("p", {}, "Nothing is judged.")];
  const grouped = records.map((record) => ({ ...record, target: null, aspect: record.category ?? record.term ?? "the whole" }));
  const names = [...new Set(grouped.map(question))].sort();
  const columns = ["text", "term", "category", "polarity", "confidence", "words", "note"];
  return [
    h("h2", {}, counted(records.length, "finding")),
    summary(grouped, names),
    h("p", { class: "row" },
      h("button", { type: "button", onclick: () => download("findings.csv", "text/csv", csv([columns, ...records.map((record) => columns.map((name) => record[name] ?? ""))])) }, "CSV"),
      h("button", { type: "button", onclick: () => download("findings.json", "application/json", JSON.stringify(records, null, 1)) }, "JSON")),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "findings" }, h("table", { class: "grid" },
      h("thead", {}, h("tr", {}, ["Text", "Term", "Category", "Opinion", "Sure", "Words"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, records.slice(0, 1000).map((record) => h("tr", {},
        h("td", {}, record.start === null ? record.text : [record.text.slice(0, record.start), h("mark", {}, record.text.slice(record.start, record.stop)), record.text.slice(record.stop)]),
        h("td", {}, record.term ?? "–"), h("td", {}, record.category ?? "–"), h("td", { class: record.polarity }, h("b", {}, record.polarity)),
        h("td", { class: "number" }, record.confidence.toFixed(2)), h("td", {}, record.words ?? "–")))))),
  ];
}

const question = (record) => [record.target, record.aspect].filter(Boolean).join(" · ");

function answers(records, problems) {
  if (!records.length) return [h("p", { class: "note" }, "No text could be used."), ...problems.map((line) => h("p", {}, line))];
  const questions = [...new Set(records.map(question))];
  const rows = new Map();
  records.forEach((record) => {
    const key = `${record.row ?? ""}\n${record.text}`;
    if (!rows.has(key)) rows.set(key, new Map());
    rows.get(key).set(question(record), record);
  });
  const words = h("section", { "aria-label": "the words that made an answer", "aria-live": "polite" });
  const names = ["text", "target", "aspect", "polarity", ...Object.keys(records[0].probabilities), "note"];
  const flat = () => csv([names, ...records.map((record) => names.map((name) => record[name] ?? record.probabilities[name] ?? ""))]);
  return [
    h("h2", {}, `${counted(rows.size, "text")}, ${counted(records.length, "answer")}`),
    problems.length ? h("div", { class: "note" }, problems.map((line) => h("p", {}, line))) : "",
    summary(records, questions),
    h("p", { class: "row" },
      h("button", { type: "button", onclick: () => download("opinions.csv", "text/csv", flat()) }, "CSV"),
      h("button", { type: "button", onclick: () => download("opinions.json", "application/json", JSON.stringify(records, null, 1)) }, "JSON"),
      h("span", { class: "dim" }, "Press an answer to see the words that made it.")),
    words,
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "answers" }, h("table", { class: "grid" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Text"), questions.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, [...rows.values()].slice(0, 500).map((row) => h("tr", {}, h("td", {}, [...row.values()][0].text), questions.map((name) => h("td", {}, opinion(row.get(name), words)))))))),
    rows.size > 500 ? h("p", { class: "dim" }, "The first 500 texts are shown; CSV and JSON hold all.") : "",
  ];
}

function opinion(record, words) {
  if (!record) return "";
  const sure = record.probabilities[record.polarity];
  return h("button", { type: "button", class: `opinion ${record.polarity}`, title: record.note ?? undefined, "aria-label": `${question(record)}: ${record.polarity}${sure === undefined ? "" : `, ${Math.round(100 * sure)} %`}; show the words`, onclick: () => explain(record, words) },
    h("b", {}, record.polarity === "none" ? "–" : record.polarity), sure === undefined ? "" : ` ${sure.toFixed(2)}`, record.note ? " *" : "");
}

async function explain(record, place) {
  place.replaceChildren(h("p", { class: "dim" }, "asking which words …"));
  try {
    const { absa } = await askJson("/v1/models");
    const model = ["absa-any", "absa-small"].includes(absa) ? absa : null;
    const body = { text: record.text, aspects: [record.aspect], targets: record.target ? [record.target] : [], model, polarity: record.polarity in record.probabilities ? record.polarity : null };
    const [told] = await (await post("/v1/absa/explain", body)).json();
    const strongest = Math.max(...told.words.map((word) => Math.abs(word.score)), 1e-9);
    const line = h("p", { class: "words" });
    let done = 0;
    for (const word of told.words) {
      line.append(told.text.slice(done, word.start));
      const shown = h("span", { class: word.score >= 0 ? "pro" : "con", title: word.score.toFixed(3) }, told.text.slice(word.start, word.end));
      shown.style.setProperty("--heat", ((0.65 * Math.abs(word.score)) / strongest).toFixed(3));
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

function summary(records, questions) {
  const rows = questions.flatMap((name) => {
    const own = records.filter((record) => question(record) === name);
    const counts = CLASSES.map((polarity) => own.filter((record) => (record.polarity === "unsure" ? "none" : record.polarity) === polarity).length);
    let left = 0;
    const bar = h("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": `${name}: ${CLASSES.map((polarity, index) => `${counts[index]} ${polarity}`).join(", ")}` },
      CLASSES.map((polarity, index) => {
        const width = (100 * counts[index]) / Math.max(1, own.length);
        const part = h("rect", { x: left, y: 0, width, height: 8, class: TONES[polarity] });
        left += width;
        return part;
      }));
    return [h("span", {}, name), bar, h("span", { class: "dim" }, `${counts[0]} / ${counts[1]} / ${counts[2]}`)];
  });
  return h("div", {},
    h("p", { class: "key" }, CLASSES.map((polarity) => h("span", {}, h("i", { class: TONES[polarity], svg: false }), polarity === "none" ? "no opinion" : polarity))),
    h("div", { class: "bars" }, rows));
}
