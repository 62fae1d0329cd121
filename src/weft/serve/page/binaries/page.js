// Binaries: files are dropped, a question is chosen, and the job that answers is followed.
import { difference } from "/binaries/difference.js";
import { identified } from "/binaries/libraries.js";
import { matching } from "/binaries/matching.js";
import { found } from "/binaries/search.js";
import { ask, askJson, dropZone, follow, h, keep, progress, say, state, upload, work } from "/parts.js";

// What may be asked: of how many files, with which fields of the request, under which words on the button.
const QUESTIONS = {
  match: { files: 2, title: "Which function is which", go: "Match the two files", body: (a, b, least) => ({ a, b, min_blocks: least }), draw: matching },
  diff: { files: 2, title: "What changed from the first to the second", go: "Show what changed", body: (a, b) => ({ old: a, new: b }), draw: difference },
  identify: { files: 1, title: "Which libraries are in it", go: "Find its libraries", body: (file, _, least) => ({ file, min_blocks: Math.max(1, least) }), draw: identified },
  search: { files: 1, title: "What of the index is alike", go: "Search the index for its functions", body: (file, _, least) => ({ file, hits: 5, min_blocks: least }), draw: found },
};
// What a view keeps in the address.
const KEPT = ["job", "q", "sort", "down", "pair", "least", "evidence", "status", "kind", "only", "lq", "lsort", "ldown"];

export function binaries(main) {
  const chosen = {};
  let served = { index: null, libraries: false };
  let task = state().get.get("task") ?? "";
  if (!(task in QUESTIONS)) task = "";
  const results = h("div");
  const go = h("button", { type: "button", class: "main", disabled: true, onclick: () => start() }, "Match the two files");
  const least = h("input", { id: "blocks", type: "number", min: "0", placeholder: "0 or 5" });
  const radios = Object.entries(QUESTIONS).map(([name, { title }]) => {
    const input = h("input", { type: "radio", name: "task", id: `task-${name}`, value: name, disabled: true, onchange: () => { task = name; keep({ task }); offer(); } });
    return [name, input, h("label", { for: `task-${name}` }, title)];
  });
  const why = h("p", { class: "dim", id: "task-why", role: "status" });
  const take = (side) => (file) => { chosen[side] = file; offer(); };
  main.append(
    h("h1", {}, "Binaries"),
    h("p", { class: "dim" }, "Drop two files to see which function of one is which of the other, or what changed; drop one to see which libraries are in it. Files are read, never run."),
    h("div", { class: "panes" },
      dropZone("file-a", "First file", "the older one, or the one whose names are known", take("a")),
      dropZone("file-b", "Second file", "leave it out to ask about one file", take("b"))),
    h("fieldset", { class: "choice", "aria-describedby": "task-why" }, h("legend", {}, "Question"), radios.map(([, input, label]) => h("span", {}, input, " ", label))),
    why,
    h("div", { class: "row" }, h("div", {}, h("label", { for: "blocks" }, "Least basic blocks"), h("br"), least), h("div", {}, go)),
    results);
  offer();
  askJson("/v1/models").then((told) => { served = told; offer(); }).catch((error) => say(error.message, true));

  function allowed(name) {
    if (name === "identify") return served.libraries;
    return name === "search" ? served.index !== null : true;
  }

  // Only what the files and the service allow can be chosen; the first of it is, unless another one was.
  function offer() {
    const count = chosen.b ? 2 : 1;
    const possible = Object.keys(QUESTIONS).filter((name) => QUESTIONS[name].files === count && allowed(name));
    const now = possible.includes(task) ? task : possible[0];
    for (const [name, input] of radios) {
      input.disabled = !possible.includes(name);
      input.checked = name === now;
    }
    go.textContent = QUESTIONS[now]?.go ?? "Ask";
    go.disabled = !chosen.a || now === undefined;
    least.disabled = now === "diff";
    why.textContent = now === undefined && chosen.a ? "This service has no index to ask: drop a second file." : count === 1 && chosen.a && !served.libraries ? "The index of this service does not say of which library a function is." : "";
  }

  async function start() {
    const stop = new AbortController();
    const shown = progress(() => stop.abort());
    const name = radios.find(([, input]) => input.checked)[0];
    const question = QUESTIONS[name];
    results.replaceChildren(shown.box);
    delete results.dataset.ready;
    go.disabled = true;
    say("");
    keep({ ...Object.fromEntries(KEPT.map((key) => [key, ""])), task: name });
    try {
      const sent = {};
      for (const side of question.files === 2 ? ["a", "b"] : ["a"]) sent[side] = (await upload(chosen[side], shown.tell, stop.signal)).id;
      const few = least.value === "" ? (question.files === 1 ? 5 : 0) : Math.max(0, Math.floor(Number(least.value)) || 0);
      const { result, id, job } = await work(`/v1/bcsd/${name}`, question.body(sent.a, sent.b, few), shown.tell, stop.signal);
      if (!results.isConnected) return; // somebody went to another page, whose address this is not
      if (id) keep({ job: id }, true);
      draw(question, result, job?.uploads ?? []);
    } catch (error) {
      if (!results.isConnected) return;
      results.replaceChildren();
      say(error.name === "AbortError" ? "stopped" : error.message, true);
    } finally {
      offer();
    }
  }

  function draw(question, result, uploads) {
    results.replaceChildren(question.draw(result, uploads));
    results.dataset.ready = "1";
  }

  const before = state().get.get("job");
  if (before) {
    const shown = progress(() => ask(`/v1/jobs/${before}`, { method: "DELETE" }));
    results.append(shown.box);
    follow(before, shown.tell)
      .then(({ result, job }) => draw(QUESTIONS[job.kind.replace("bcsd.", "")], result, job.uploads))
      .catch((error) => { if (!results.isConnected) return; results.replaceChildren(); keep({ job: "" }); say(error.message, true); });
  }
}
