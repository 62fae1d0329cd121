// Texts: pasted or dropped, asked about aspects, or read for what they judge where none are named.
import { ask, askJson, dropZone, follow, h, keep, progress, say, state, upload, work } from "/parts.js";
import { answers } from "/texts/answers.js";
import { findings } from "/texts/findings.js";

const MOST = 64; // texts of one request; a file has no such bound
const HELD = "weft-texts";
const split = (text) => [...new Set(text.split(/[,;\n]/).map((part) => part.trim()).filter(Boolean))];
// What a view keeps in the address beside the question.
const KEPT = ["asked", "job", "q", "sort", "down", "open", "show"];

export function texts(main) {
  const { get } = state();
  let file = null;
  const pasted = h("textarea", { id: "texts", "aria-describedby": "texts-hint", placeholder: "The food was great, the service slow.", value: sessionStorage.getItem(HELD) ?? "", oninput: () => { file = null; zone.forget(); } });
  const aspects = h("input", { id: "aspects", value: get.get("aspects") ?? "", placeholder: "food, service, price", "aria-describedby": "aspects-hint", oninput: () => name() });
  const targets = h("input", { id: "targets", value: get.get("targets") ?? "", "aria-describedby": "targets-hint" });
  const column = h("input", { id: "column", value: get.get("column") ?? "text" });
  const pros = h("input", { id: "pros", value: get.get("pros") ?? "", "aria-describedby": "sides-hint" });
  const cons = h("input", { id: "cons", value: get.get("cons") ?? "", "aria-describedby": "sides-hint" });
  const by = h("input", { id: "by", value: get.get("by") ?? "", "aria-describedby": "by-hint" });
  const go = h("button", { class: "main" }, "Ask");
  const results = h("div");
  const zone = dropZone("table", "Or a table", "CSV, TSV, JSON lines, Parquet or plain lines", (taken) => { file = taken; pasted.value = ""; }, ".csv,.tsv,.jsonl,.ndjson,.parquet,.txt");
  main.append(
    h("h1", {}, "Texts"),
    h("form", { onsubmit: (event) => { event.preventDefault(); start(); } },
      h("div", { class: "panes" },
        h("div", {}, h("label", { for: "texts" }, "Texts"), " ", h("small", { class: "dim", id: "texts-hint" }, "one on each line"), pasted),
        h("div", {}, zone, h("p", {}, h("label", { for: "column" }, "Its column of texts "), column),
          h("p", {}, h("label", { for: "pros" }, "or of what was good "), pros, " ", h("label", { for: "cons" }, "and of what was not "), cons,
            " ", h("small", { class: "dim", id: "sides-hint" }, "where a form asks for both")),
          h("p", {}, h("label", { for: "by" }, "Compared by the column "), by, " ", h("small", { class: "dim", id: "by-hint" }, "a branch, a month, stars")))),
      h("div", { class: "row" },
        h("div", { class: "grow" }, h("label", { for: "aspects" }, "Aspects"), " ", h("small", { class: "dim", id: "aspects-hint" }, "with commas between; none: what the texts judge is found"), h("br"), aspects),
        h("div", { class: "grow" }, h("label", { for: "targets" }, "Targets"), " ", h("small", { class: "dim", id: "targets-hint" }, "words of the texts; none: the whole text"), h("br"), targets),
        h("div", {}, go))),
    results);
  name();

  function name() {
    const finds = split(aspects.value).length === 0;
    go.textContent = finds ? "Find what they judge" : "Ask";
    targets.disabled = finds;
    by.disabled = !finds;
  }

  async function start(again = false) {
    const asked = { aspects: split(aspects.value), targets: split(targets.value) };
    const finds = !asked.aspects.length;
    const lines = pasted.value.split("\n").map((line) => line.trim()).filter(Boolean);
    if (!lines.length && !file) { say("give a text or a table", true); return; }
    if (!file && columns().pros) { say("what was good and what was not are columns of a table: leave both empty, or give one", true); return; }
    const stop = new AbortController();
    const shown = progress(() => stop.abort());
    results.replaceChildren(shown.box);
    delete results.dataset.ready;
    go.disabled = true;
    say("");
    if (!again) keep(Object.fromEntries(KEPT.map((key) => [key, ""])));
    keep({ aspects: aspects.value, targets: finds ? "" : targets.value, column: column.value === "text" ? "" : column.value, pros: pros.value, cons: cons.value, by: finds ? by.value : "", asked: file ? "" : "1" });
    sessionStorage.setItem(HELD, file ? "" : pasted.value);
    try {
      if (file) {
        const body = { file: (await upload(file, shown.tell, stop.signal)).id, ...columns(), ...(finds ? compared() : asked) };
        const { result, id } = await work(finds ? "/v1/absa/find" : "/v1/absa/predict", body, shown.tell, stop.signal);
        if (!results.isConnected) return; // somebody went to another page, whose address this is not
        if (id) keep({ job: id }, true);
        draw(result.records, result);
      } else {
        draw(await ofLines(lines, finds, asked, shown.tell, stop.signal), { texts: lines.length, problems: [] });
      }
    } catch (error) {
      if (!results.isConnected) return;
      results.replaceChildren();
      say(error.name === "AbortError" ? "stopped" : error.message, true);
    } finally {
      go.disabled = false;
    }
  }

  // A form has a column for each side; the column of texts is read where there is none of these.
  function columns() {
    const [good, bad] = [pros.value.trim(), cons.value.trim()];
    if (!good && !bad) return { text_column: column.value.trim() || "text" };
    return { pros: good ? [good] : [], cons: bad ? [bad] : [] };
  }

  function compared() {
    return by.value.trim() ? { by: by.value.trim() } : {};
  }

  async function ofLines(lines, finds, asked, tell, signal) {
    let records = [];
    const step = finds ? MOST : Math.max(1, Math.min(MOST, Math.floor(1024 / (asked.aspects.length * Math.max(1, asked.targets.length)))));
    for (let first = 0; first < lines.length; first += step) {
      const told = (what, done, total) => tell(total ? `${what} ${done} of ${total}` : what, first, lines.length);
      told(finds ? "reading" : "asking", 0, 0);
      const body = { texts: lines.slice(first, first + step), ...(finds ? {} : asked) };
      records = records.concat((await work(finds ? "/v1/absa/find" : "/v1/absa/predict", body, told, signal)).result);
    }
    return records;
  }

  // Answers have probabilities, findings have one number.
  function draw(records, told) {
    const found = told.summary !== undefined || (records.length ? records[0].probabilities === undefined : !split(aspects.value).length);
    const texts = told.summary?.texts ?? told.texts;
    results.replaceChildren(...(found ? findings(records, texts, told.problems, told.summary?.by) : answers(records, told.problems)));
    results.dataset.ready = found ? "found" : "asked";
  }

  const before = get.get("job");
  if (before) {
    const shown = progress(() => ask(`/v1/jobs/${before}`, { method: "DELETE" }));
    results.append(shown.box);
    follow(before, shown.tell)
      .then(({ result }) => draw(result.records, result))
      .catch((error) => { if (!results.isConnected) return; results.replaceChildren(); keep({ job: "" }); say(error.message, true); });
  } else if (get.get("asked") && pasted.value.trim()) start(true);
  else askJson("/v1/models").catch((error) => say(error.message, true)); // asks for the token, where one is needed
}
