// Binaries: two files matched one to one, a pair side by side; one file searched for in the index.
import { ask, askJson, copy, counted, csv, download, dropZone, follow, h, hex, keep, progress, say, state, upload, work } from "/parts.js";
import { showPair } from "/pair.js";
import { table } from "/table.js";

const nameOf = (half) => half.demangled ?? half.name;
const KINDS = ["same_bytes", "same_tokens", "imports", "constants", "strings", "callees", "callers"];

export function binaries(main) {
  const chosen = {};
  const results = h("div");
  const go = h("button", { type: "button", class: "main", disabled: true, onclick: () => start() }, "Match");
  const least = h("input", { id: "blocks", type: "number", min: "0", value: "0" });
  const take = (side) => (file) => {
    chosen[side] = file;
    go.disabled = !chosen.a;
    go.textContent = chosen.b ? "Match the two files" : "Search the index for its functions";
  };
  main.append(
    h("h1", {}, "Binaries"),
    h("p", { class: "dim" }, "Drop two files to see which function of one is which of the other; drop one to see which files of the index it shares functions with. Files are read, never run."),
    h("div", { class: "panes" },
      dropZone("file-a", "First file", "the one whose names are known, if one has them", take("a")),
      dropZone("file-b", "Second file", "leave it out to search the index", take("b"))),
    h("div", { class: "row" }, h("div", {}, h("label", { for: "blocks" }, "Least basic blocks"), h("br"), least), h("div", {}, go)),
    results);

  async function start() {
    const stop = new AbortController();
    const shown = progress(() => stop.abort());
    results.replaceChildren(shown.box);
    go.disabled = true;
    say("");
    keep({ job: "", q: "", sort: "", down: "", pair: "", least: "", evidence: "" });
    try {
      const sent = {};
      for (const side of ["a", "b"]) if (chosen[side]) sent[side] = (await upload(chosen[side], shown.tell)).id;
      const few = Math.max(5, Number(least.value) || 0);
      const { result, id, job } = chosen.b
        ? await work("/v1/bcsd/match", { a: sent.a, b: sent.b, min_blocks: Number(least.value) || 0 }, shown.tell, stop.signal)
        : await libraries(sent.a, few, shown.tell, stop.signal);
      if (id) keep({ job: id });
      draw(result, job?.uploads ?? []);
    } catch (error) {
      results.replaceChildren();
      say(error.message, true);
    } finally {
      go.disabled = !chosen.a;
    }
  }

  // An index of libraries says which of them are in the file; another one, which functions are alike.
  async function libraries(file, few, tell, signal) {
    const { libraries: named } = await askJson("/v1/models");
    return named
      ? work("/v1/bcsd/identify", { file, min_blocks: few }, tell, signal)
      : work("/v1/bcsd/search", { file, hits: 5, min_blocks: few }, tell, signal);
  }

  function draw(result, uploads) {
    results.replaceChildren(result.matches ? matching(result, uploads) : result.libraries ? identified(result) : found(result));
    results.dataset.ready = "1";
  }

  const before = state().get.get("job");
  if (before) {
    const shown = progress(() => ask(`/v1/jobs/${before}`, { method: "DELETE" }));
    results.append(shown.box);
    follow(before, shown.tell)
      .then(({ result, job }) => draw(result, job.uploads))
      .catch((error) => { results.replaceChildren(); keep({ job: "" }); say(error.message, true); });
  }
}

function matching(result, uploads) {
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
    { id: "why", title: "Evidence", value: (row) => KINDS.filter((name) => row.evidence[name]).length,
      show: (row) => h("span", {}, KINDS.filter((name) => row.evidence[name]).map((name) => h("span", { class: "chip" }, name.replace("_", " "))), row.flags.map((flag) => h("span", { class: "chip flag" }, flag))) },
  ], {
    label: "matches", prefix: "", first: "sure", onrow: true,
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
    h("p", { class: "row" },
      h("button", { type: "button", onclick: () => copy(names(), counted(sure.length, "name")) }, "Copy the sure names"),
      h("button", { type: "button", onclick: () => download("matches.csv", "text/csv", csv(rows())) }, "CSV"),
      h("button", { type: "button", onclick: () => download("matches.json", "application/json", JSON.stringify(result)) }, "JSON")),
    shown.box, pair);
}

function identified(result) {
  const explained = result.functions - result.unexplained.length;
  return h("div", {},
    h("h2", {}, `${counted(result.libraries.length, "library", "libraries")} in ${result.binary}`),
    h("p", {}, `${explained.toLocaleString("en")} of ${counted(result.functions, "function")} are explained.`),
    result.remarks.map((remark) => h("p", { class: "note" }, remark)),
    h("p", { class: "row" }, h("button", { type: "button", onclick: () => download("libraries.json", "application/json", JSON.stringify(result)) }, "JSON")),
    table(result.libraries, [
      { id: "sure", title: "Sure", number: true, value: (row) => row.sure, show: (row) => row.sure.toFixed(2) },
      { id: "name", title: "Library", mono: true, value: (row) => row.name, text: (row) => row.name, show: (row) => row.name },
      { id: "version", title: "Version", value: (row) => row.versions[0].version, show: (row) => row.versions.slice(0, 3).map((one) => `${one.version} ${one.share.toFixed(2)}`).join(", ") },
      { id: "functions", title: "Functions", number: true, value: (row) => row.functions.length, show: (row) => `${row.functions.length} of ${row.functions_in_index}` },
      { id: "named", title: "Such as", mono: true, value: (row) => row.functions[0]?.address ?? 0, text: (row) => row.functions.map((one) => one.name).join(" "), show: (row) => row.functions.slice(0, 4).map((one) => `${hex(one.address)} ${one.name}`).join(", ") },
    ], { label: "libraries", prefix: "", first: "sure" }).box);
}

function found(result) {
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
  ], { label: "functions and what is most alike", prefix: "", first: "sure", onrow: true });
  return h("div", {},
    h("h2", {}, `${counted(result.queries.length, "function")} against ${result.rows.toLocaleString("en")} of the index`),
    files.length
      ? [h("p", {}, "Files of the index that its functions come from (those that are at least 50 % sure):"),
         h("ul", {}, files.slice(0, 20).map((file) => h("li", {}, h("span", { class: "mono" }, file.binary), `: ${counted(file.functions, "function")}`)))]
      : h("p", {}, "No function is at least 50 % sure to be one of the index."),
    result.remarks.map((remark) => h("p", { class: "note" }, remark)),
    h("p", { class: "row" }, h("button", { type: "button", onclick: () => download("hits.json", "application/json", JSON.stringify(result)) }, "JSON")),
    shown.box);
}

