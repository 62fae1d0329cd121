// What all pages use: elements, the address, messages, the service. What others wrote goes through textContent alone.
export function h(tag, attributes = {}, ...children) {
  const svg = ["svg", "rect", "line", "text", "title", "g"].includes(tag) && attributes.svg !== false;
  const made = svg && tag !== "title" ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false || name === "svg") continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return made;
}

// The address: #/page?name=value. What is asked anew is a place to come back to; how it is looked at is not.
export function state() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const page = ["binaries", "graph", "texts"].includes(path) ? path : "binaries";
  return { page, get: new URLSearchParams(query || "") };
}

export function keep(values, anew = false) {
  const { page, get } = state();
  for (const [name, value] of Object.entries(values)) {
    if (value === "" || value === null || value === undefined) get.delete(name);
    else get.set(name, value);
  }
  const query = get.toString();
  const place = `#/${page}${query ? `?${query}` : ""}`;
  if (place !== location.hash) history[anew ? "pushState" : "replaceState"](null, "", place);
}

export function say(text, bad = false) {
  const place = document.getElementById("status");
  place.textContent = text;
  place.classList.toggle("bad", bad);
}

const TOKEN = "weft-token";
function headers(more = {}) {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { ...more, authorization: `Bearer ${token}` } : more;
}

let asking = null;
function askToken() {
  asking ??= new Promise((resolve) => {
    const door = document.getElementById("door");
    door.addEventListener("close", () => {
      sessionStorage.setItem(TOKEN, document.getElementById("token").value.trim());
      document.getElementById("token").value = "";
      asking = null;
      resolve();
    }, { once: true });
    door.showModal();
  });
  return asking;
}

async function problemOf(answer) {
  try {
    const told = await answer.json();
    return new Error([told.where, told.detail].filter(Boolean).join(": ") + (told.hint ? ` (${told.hint})` : ""));
  } catch {
    return new Error(`the service answered ${answer.status}`);
  }
}

export async function ask(path, options = {}) {
  for (;;) {
    let answer;
    try {
      answer = await fetch(path, { ...options, headers: headers(options.headers) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw Object.assign(new Error("the service cannot be reached"), { away: true });
    }
    if (answer.status === 401) {
      await askToken();
      continue;
    }
    if (!answer.ok) throw await problemOf(answer);
    return answer;
  }
}

export const askJson = async (path, options) => (await ask(path, options)).json();
export const post = (path, body, options = {}) =>
  ask(path, { ...options, method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

export async function upload(file, tell, signal) {
  const { upload_bytes: most } = await askJson("/v1/models"); // asks for the token before the file is sent
  if (file.size > most) throw new Error(`${file.name} has ${mebibytes(file.size)}: this service takes files of at most ${mebibytes(most)}`);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/v1/uploads?name=${encodeURIComponent(file.name)}`);
    for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => tell(`sending ${file.name}`, event.loaded, event.total));
    request.addEventListener("error", () => reject(new Error("the file could not be sent")));
    request.addEventListener("abort", () => reject(new DOMException("stopped", "AbortError")));
    signal?.addEventListener("abort", () => request.abort());
    if (signal?.aborted) { reject(new DOMException("stopped", "AbortError")); return; }
    request.addEventListener("load", () => {
      let told = {};
      try { told = JSON.parse(request.responseText); } catch { /* no JSON: told below */ }
      if (request.status === 201) resolve(told);
      else reject(new Error(told.detail || `the service answered ${request.status}`));
    });
    request.send(file);
  });
}

const mebibytes = (bytes) => `${(bytes / 2 ** 20).toLocaleString("en", { maximumFractionDigits: 1 })} MiB`;
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// Submits a job, follows its events, and gives its result.
export async function work(path, body, tell, signal) {
  const answer = await post(`${path}?wait=0`, body, { signal });
  return answer.status === 202 ? follow((await answer.json()).id, tell, signal) : { result: await answer.json(), id: null };
}

export async function follow(id, tell, signal) {
  let last = await askJson(`/v1/jobs/${id}`);
  signal?.addEventListener("abort", () => ask(`/v1/jobs/${id}`, { method: "DELETE" }).catch(() => {}));
  // A service that is started again goes on with its jobs: one waits a minute for it.
  for (let away = 0; !["done", "failed", "cancelled"].includes(last.state);) {
    let reader;
    try {
      const events = await ask(`/v1/jobs/${id}/events`);
      reader = events.body.pipeThrough(new TextDecoderStream()).getReader();
    } catch (error) {
      away += 1;
      if (!error.away || away > 30) throw error;
      tell("the service is away: waiting for it", 0, 0);
      await pause(2000);
      continue;
    }
    let held = "";
    for (;;) {
      const { value, done } = await reader.read().catch(() => ({ done: true }));
      if (done) break;
      away = 0;
      held += value;
      const parts = held.split(/\r?\n\r?\n/);
      held = parts.pop();
      for (const part of parts) {
        const line = part.split(/\r?\n/).find((text) => text.startsWith("data:"));
        if (!line) continue;
        last = JSON.parse(line.slice(5));
        const { what, done: made, total } = last.progress ?? { what: last.state, done: 0, total: 0 };
        tell(what, made, total);
      }
    }
  }
  if (last.state === "cancelled") throw new Error("the job was cancelled");
  return { result: await askJson(`/v1/jobs/${id}/result`), id, job: last };
}

// A bar with words and a way to stop.
export function progress(onstop) {
  const bar = h("progress", { "aria-label": "progress" });
  const words = h("span", {}, "");
  const stop = h("button", { type: "button", onclick: onstop }, "Stop");
  const box = h("p", { class: "work" }, bar, " ", words, " ", stop);
  return {
    box,
    tell(what, done, total) {
      words.textContent = what + (total ? ` ${Math.min(100, Math.round((100 * done) / total))} %` : "");
      if (total) { bar.max = total; bar.value = done; } else bar.removeAttribute("value");
    },
  };
}

export function dropZone(id, title, hint, onfile, accept) {
  const name = h("span", { class: "mono" });
  const input = h("input", { type: "file", id, accept, onchange: () => input.files[0] && take(input.files[0]) });
  const zone = h("label", { class: "drop", for: id }, title, h("br"), h("small", { class: "dim" }, hint), h("br"), name, input);
  zone.forget = () => { input.value = ""; name.textContent = ""; };
  function take(file) {
    name.textContent = `${file.name}, ${file.size.toLocaleString("en")} bytes`;
    onfile(file);
  }
  for (const kind of ["dragover", "dragleave", "drop"]) {
    zone.addEventListener(kind, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
    });
  }
  return zone;
}

export function download(name, type, text) {
  const place = URL.createObjectURL(text instanceof Blob ? text : new Blob([text], { type }));
  const link = h("a", { href: place, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(place), 1000);
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
  } catch {
    say("the browser does not let pages copy here", true);
  }
}

const cell = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?\d/.test(text) ? `'${text}` : text; // a spreadsheet would compute it
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
export const csv = (rows) => rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
export const hex = (number) => `0x${number.toString(16)}`;
export const counted = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
export const nameOf = (half) => half.demangled ?? half.name;

// Buttons that hand out what is shown; the last argument says how, what comes before it stands before them.
export function exportRow(...parts) {
  const ways = parts.pop();
  return h("p", { class: "row" }, parts,
    h("button", { type: "button", onclick: ways.csv }, "CSV"),
    h("button", { type: "button", onclick: ways.json }, "JSON"));
}
