"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const KINDS = ["fall-through", "taken", "switch", "indirect"];
  const by = (id) => document.getElementById(id);
  const make = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  const draw = (tag, attributes, text) => {
    const element = document.createElementNS(SVG, tag);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // A picture: boxes and arrows were placed when the page was written.
  const graph = (record) => {
    if (!record.graph) return make("p", `${record.blocks.length} blocks are too many to draw.`, "dim");
    const [width, height] = record.graph.size;
    const picture = draw("svg", {
      width: width + 16, height: height + 24, viewBox: `-8 -8 ${width + 16} ${height + 24}`, role: "img", class: "picture",
    });
    const heads = draw("defs", {});
    KINDS.forEach((_, kind) => {
      const head = draw("marker", {
        id: `head${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto",
      });
      head.append(draw("path", { d: "M0 0.5 8 4 0 7.5z", class: `head edge${kind}` }));
      heads.append(head);
    });
    picture.append(heads);
    for (const [kind, ...points] of record.graph.arrows) {
      let way = `M${points[0]} ${points[1]}`;
      for (let i = 2; i < points.length; i += 2) {
        const [x0, y0, x1, y1] = points.slice(i - 2, i + 2);
        const bend = (y1 - y0) / 2;
        way += x0 === x1 ? `L${x1} ${y1}` : `C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1}`;
      }
      picture.append(draw("path", {
        d: way, class: `edge${kind}`, "marker-end": `url(#head${kind})`,
      }));
    }
    record.graph.boxes.forEach(([x, y, width, height], number) => {
      picture.append(draw("rect", { x, y, width, height, rx: 3, class: "box" }));
      const [start, end] = record.blocks[number];
      const lines = record.code.slice(start, Math.min(end, start + data.box_lines)).map(([, text]) =>
        text.length <= data.box_columns ? text : text.slice(0, data.box_columns - 1) + "…");
      if (end - start > data.box_lines) lines.push(`… ${end - start - data.box_lines} more`);
      const address = record.code[start] ? record.code[start][0] : "";
      [`${number}: ${address}`, ...lines].forEach((line, index) => picture.append(
        draw("text", { x: x + 5, y: y + 14 + 11 * index, class: index ? "" : "head" }, line)));
    });
    return picture;
  };
  const listing = (record) => {
    const text = make("pre");
    record.blocks.forEach(([start, end], number) => {
      if (!record.code[start]) return;
      text.append(make("b", `block ${number}`));
      const lines = record.code.slice(start, end).map(([address, line]) => `${address.padStart(9)}  ${line}`);
      text.append(lines.join("\n") + "\n");
    });
    if (record.left_out) text.append(`… ${record.left_out} more instructions\n`);
    return text;
  };
  const pane = (side, row, view) => {
    const box = make("div", undefined, "pane");
    const [name, address, size, blocks] = data[side].functions[row];
    box.append(make("h3", `${side.toUpperCase()}: ${name} at ${address}, ${size} bytes, ${blocks} blocks`));
    const inner = make("div", undefined, "scroll");
    const record = data[side].pictures[row];
    inner.append(view === "graph" ? graph(record) : listing(record));
    box.append(inner);
    return box;
  };

  // What speaks for a match, in words.
  const names = (side, address) => data[side].names[address] || address;
  const evidence = (found) => {
    const list = make("dl", undefined, "evidence");
    const add = (term, text) => list.append(make("dt", term), make("dd", text));
    if (found.same_bytes) add("bytes", "equal");
    if (found.same_tokens) add("tokens", "equal up to where the code was linked");
    for (const kind of ["imports", "constants", "strings"]) {
      if (!found[kind]) continue;
      const shown = found[kind].shared.map((item) =>
        kind === "strings" ? JSON.stringify(item) : item);
      add(`${kind} (${found[kind].agreement.toFixed(2)})`, shown.join(", "));
    }
    for (const kind of ["callees", "callers"]) {
      if (!found[kind]) continue;
      const shown = found[kind].shared.map((item) => `${names("a", item.a)} ↔ ${names("b", item.b)}`);
      add(`matched ${kind} (${found[kind].agreement.toFixed(2)})`, shown.join(", "));
    }
    if (found.place) add(`place (${found.place.agreement.toFixed(2)})`, "between functions that are matched");
    if (!list.children.length) add("evidence", "none beside the score");
    return list;
  };
  const open = (row) => {
    const following = row.nextElementSibling;
    if (following && following.classList.contains("detail")) {
      following.remove();
      row.classList.remove("open");
      return;
    }
    const match = data.matches[Number(row.dataset.match)];
    const cell = make("td");
    cell.colSpan = row.cells.length;
    cell.append(evidence(match.evidence));
    const views = make("div", undefined, "views");
    const panes = make("div", undefined, "panes");
    const show = (view) => {
      panes.replaceChildren(pane("a", match.a, view), pane("b", match.b, view));
      panes.querySelectorAll(".scroll").forEach((inner, index) => {
        const record = index ? data.b.pictures[match.b] : data.a.pictures[match.a];
        // A wide graph opens at its entry.
        if (view === "graph" && record.graph) inner.scrollLeft = record.graph.boxes[0][0] + record.graph.boxes[0][2] / 2 - inner.clientWidth / 2;
      });
      for (const button of views.querySelectorAll("button")) button.ariaPressed = String(button.value === view);
    };
    for (const [view, label] of [["graph", "Control flow"], ["listing", "Instructions"]]) {
      const button = make("button", label);
      button.value = view;
      button.type = "button";
      button.addEventListener("click", () => show(view));
      views.append(button);
    }
    const key = make("span", undefined, "key dim");
    KINDS.forEach((label, kind) => {
      const item = make("span");
      item.append(make("i", undefined, `edge${kind}`), label);
      key.append(item);
    });
    views.append(key);
    cell.append(views, panes);
    const detail = make("tr", undefined, "detail");
    detail.append(cell);
    row.after(detail);
    row.classList.add("open");
    show("graph");
  };

  const tables = [...document.querySelectorAll("table")];
  const rows = (table) => [...table.tBodies[0].rows].filter((row) => !row.classList.contains("detail"));
  const close = () => {
    document.querySelectorAll("tr.detail").forEach((row) => row.remove());
    document.querySelectorAll("tr.open").forEach((row) => row.classList.remove("open"));
  };
  const filter = () => {
    const wanted = by("search").value.toLowerCase();
    const floor = Number(by("floor").value) / 100;
    const tiny = by("tiny").checked;
    by("floor-value").textContent = `${by("floor").value} %`;
    let shown = 0;
    close();
    for (const table of tables) {
      for (const row of rows(table)) {
        const fits = row.textContent.toLowerCase().includes(wanted)
          && (row.dataset.confidence === undefined || Number(row.dataset.confidence) >= floor)
          && !(tiny && row.dataset.tiny);
        row.hidden = !fits;
        if (fits && !table.hidden) shown += 1;
      }
    }
    by("count").textContent = `${shown} shown`;
  };
  const sort = (table, head) => {
    const down = head.dataset.order === "up" || (head.dataset.order === undefined && head.dataset.first === "down");
    const value = (row) => row.cells[head.cellIndex].dataset.value;
    const compare = head.dataset.kind === "text"
      ? (x, y) => value(x).localeCompare(value(y))
      : (x, y) => Number(value(x)) - Number(value(y));
    close();
    for (const other of table.tHead.rows[0].cells) delete other.dataset.order;
    head.dataset.order = down ? "down" : "up";
    table.tBodies[0].append(...rows(table).sort((x, y) => (down ? -1 : 1) * compare(x, y)));
  };
  for (const table of tables) {
    for (const head of table.tHead.rows[0].cells) head.addEventListener("click", () => sort(table, head));
  }
  for (const row of document.querySelectorAll("tr.match")) {
    row.addEventListener("click", () => open(row));
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") open(row); });
  }
  for (const button of document.querySelectorAll("nav button")) {
    button.addEventListener("click", () => {
      for (const other of document.querySelectorAll("nav button")) other.ariaPressed = String(other === button);
      for (const table of tables) table.hidden = table.id !== button.value;
      filter();
    });
  }
  for (const id of ["search", "floor", "tiny"]) by(id).addEventListener("input", filter);
  // A link such as report.html#match-3 opens that match.
  const named = /^#match-(\d+)$/.exec(location.hash);
  const first = named && document.querySelector(`tr.match[data-match="${named[1]}"]`);
  filter();
  if (first) { open(first); first.scrollIntoView(); }
})();
