// SPARQL: an editor that completes, and the answers as a table.
import { ask, askJson, counted, csv, download, exportRow, h, keep, state } from "/parts.js";

const QUERY = "SELECT ?head ?relation ?tail WHERE {\n  ?fact rdf:subject ?head ; rdf:predicate ?relation ; rdf:object ?tail .\n} LIMIT 20";
const KEYWORDS = "SELECT DISTINCT WHERE FILTER OPTIONAL UNION LIMIT OFFSET ORDER BY GROUP BY COUNT ASK CONSTRUCT DESCRIBE VALUES BIND REGEX CONTAINS".split(" ");
const TERMS = "rdf:subject rdf:predicate rdf:object rdfs:label weft:confidence weft:origin weft:kind weft:source weft:document weft:start weft:end weft:line weft:sentence weft:model".split(" ");

export function sparql() {
  const area = h("textarea", { id: "query", spellcheck: "false", value: state().get.get("query") ?? QUERY });
  const out = h("div");
  const box = h("section", { "aria-labelledby": "sparql" },
    h("h2", { id: "sparql" }, "SPARQL"),
    h("p", { class: "dim" }, "Known prefixes: e: entities, r: relations, d: documents, weft: rdf: rdfs: xsd:. Control-Space completes, Control-Enter runs; Escape and then Tab leave the editor."),
    area,
    h("p", { class: "row" }, h("button", { type: "button", class: "main", onclick: () => run() }, "Run")),
    out);
  let editor = null;
  let words = Promise.resolve([]);
  queueMicrotask(() => {
    editor = CodeMirror.fromTextArea(area, { mode: "application/sparql-query", lineNumbers: true, inputStyle: "contenteditable", screenReaderLabel: "SPARQL query", lineWrapping: true,
      extraKeys: { "Ctrl-Space": "autocomplete", "Ctrl-Enter": () => run(), "Cmd-Enter": () => run(), Esc: () => box.querySelector("button").focus() }, hintOptions: { hint, completeSingle: false } });
    for (const [name, value] of [["role", "textbox"], ["aria-multiline", "true"]]) editor.getInputField().setAttribute(name, value);
    words = named().catch(() => [] /* no store: the search above says so */);
  });
  async function named() {
    const answer = await askJson(`/v1/kg/sparql?query=${encodeURIComponent("SELECT DISTINCT ?p WHERE { ?s ?p ?o } LIMIT 300")}`);
    const { entities } = await askJson("/v1/kg/entities?limit=200");
    const relations = answer.results.bindings.map((row) => row.p.value).filter((value) => value.startsWith("urn:weft:relation:")).map((value) => `r:${value.slice(18)}`);
    return [...relations, ...entities.map((entity) => `e:${encodeURIComponent(entity.entity)}`)];
  }
  async function hint(cm) {
    const names = await words;
    const cursor = cm.getCursor(), line = cm.getLine(cursor.line);
    let start = cursor.ch;
    while (start > 0 && /[\w:.%?]/.test(line[start - 1])) start--;
    const typed = line.slice(start, cursor.ch).toLowerCase();
    const variables = [...new Set(cm.getValue().match(/\?\w+/g) ?? [])];
    const found = [...variables, ...KEYWORDS, ...TERMS, ...names].filter((word) => word.toLowerCase().startsWith(typed) && word.toLowerCase() !== typed);
    return { list: found.slice(0, 60), from: { line: cursor.line, ch: start }, to: cursor };
  }
  async function run() {
    const query = editor ? editor.getValue() : area.value;
    keep({ query: query === QUERY ? "" : query });
    out.replaceChildren(h("p", { class: "dim" }, "asking …"));
    try {
      const answer = await ask("/v1/kg/sparql", { method: "POST", headers: { "content-type": "application/sparql-query", accept: "application/sparql-results+json" }, body: query });
      const told = await answer.json();
      if (told.boolean !== undefined) { out.replaceChildren(h("p", {}, told.boolean ? "yes" : "no")); return; }
      const names = told.head.vars, rows = told.results.bindings;
      const text = (term) => (term === undefined ? "" : term.type === "uri" && term.value.startsWith("urn:weft:") ? decodeURIComponent(term.value.split(":").slice(3).join(":")) : term.value);
      out.replaceChildren(
        exportRow(counted(rows.length, "row"), {
          csv: () => download("answer.csv", "text/csv", csv([names, ...rows.map((row) => names.map((name) => row[name]?.value ?? ""))])),
          json: () => download("answer.json", "application/sparql-results+json", JSON.stringify(told)),
        }),
        h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "the answer" }, h("table", { class: "grid" },
          h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name)))),
          h("tbody", {}, rows.slice(0, 1000).map((row) => h("tr", {}, names.map((name) => h("td", { class: "name" }, text(row[name])))))))));
    } catch (error) {
      out.replaceChildren(h("p", { class: "note", role: "alert" }, error.message));
    }
  }
  return box;
}
