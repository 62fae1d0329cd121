// A table that sorts and filters, and keeps how in the address.
import { counted, h, keep, state } from "/parts.js";

const STEP = 200;

// columns: { id, title, number, value(row), show(row), text(row) }; more(row) says whether further filters let it pass.
export function table(rows, columns, { label, prefix, first, descending = true, words = "Filter by name", more = () => true, filters = [] }) {
  const { get } = state();
  let sorted = columns.some((column) => column.id === get.get(`${prefix}sort`)) ? get.get(`${prefix}sort`) : first;
  let down = get.has(`${prefix}down`) ? get.get(`${prefix}down`) === "1" : descending;
  let limit = STEP;
  const search = h("input", { id: `${prefix}q`, type: "search", value: get.get(`${prefix}q`) ?? "", oninput: () => { limit = STEP; draw(); } });
  const count = h("p", { class: "dim", role: "status" });
  const head = h("tr");
  const body = h("tbody");
  const further = h("button", { type: "button", onclick: () => { limit += 5 * STEP; draw(); } }, "Show more");
  const heads = columns.map((column) => {
    const button = h("button", { type: "button", onclick: () => order(column.id) }, column.title);
    const th = h("th", { scope: "col", class: column.number ? "number" : undefined }, button);
    head.append(th);
    return [column, th, button];
  });

  function order(id) {
    down = sorted === id ? !down : columns.find((column) => column.id === id).number === true;
    sorted = id;
    draw();
  }

  function draw() {
    const typed = search.value.trim().toLowerCase();
    keep({ [`${prefix}q`]: search.value.trim(), [`${prefix}sort`]: sorted === first ? "" : sorted,
           [`${prefix}down`]: down === descending && sorted === first ? "" : down ? "1" : "0" });
    const column = columns.find((one) => one.id === sorted);
    const kept = rows.filter((row) => more(row) && (!typed || columns.some((one) => one.text && one.text(row).toLowerCase().includes(typed))));
    kept.sort((a, b) => {
      const x = column.value(a), y = column.value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    for (const [one, th, button] of heads) {
      const here = one.id === sorted;
      if (here) th.setAttribute("aria-sort", down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
      button.textContent = one.title + (here ? (down ? " ▾" : " ▴") : "");
    }
    body.replaceChildren(...kept.slice(0, limit).map((row) => {
      const line = h("tr");
      line.append(...columns.map((one) => h("td", { class: [one.number && "number", one.mono && "name", one.prose && "prose"].filter(Boolean).join(" ") || undefined }, one.show(row, line))));
      return line;
    }));
    further.hidden = kept.length <= limit;
    count.textContent = kept.length === rows.length ? counted(rows.length, "row") : `${kept.length.toLocaleString("en")} of ${counted(rows.length, "row")}`;
  }

  const box = h("div", {},
    h("div", { class: "row" }, h("div", { class: "grow" }, h("label", { for: `${prefix}q` }, words), h("br"), search), filters),
    count,
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, h("table", { class: "grid" }, h("thead", {}, head), body)),
    further);
  draw();
  return { box, draw };
}
