// Bars of opinions: one for each name, parted by polarity.
import { h } from "/parts.js";

export const JUDGED = ["positive", "neutral", "conflict", "negative"];
export const CLASSES = [...JUDGED, "none"];
const TONES = { positive: "good", neutral: "mid", conflict: "torn", negative: "bad", none: "nil" };

export const count = (records) => CLASSES.map((polarity) => records.filter((record) => (record.polarity === "unsure" ? "none" : record.polarity) === polarity).length);

// rows: { name, counts, shown }: shown is what stands before the bar; whole: what a full bar is; the row's own sum where null.
export function bars(rows, whole = null, classes = CLASSES) {
  const drawn = rows.flatMap(({ name, counts, shown }) => {
    const all = Math.max(1, whole ?? counts.reduce((sum, one) => sum + one, 0));
    let left = 0;
    const bar = h("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": `${name}: ${classes.map((polarity, index) => `${counts[index]} ${polarity}`).join(", ")}` },
      classes.map((polarity, index) => {
        const width = (100 * counts[index]) / all;
        const part = h("rect", { x: left, y: 0, width, height: 8, class: TONES[polarity] });
        left += width;
        return part;
      }));
    return [shown ?? h("span", {}, name), bar, h("span", { class: "dim" }, counts.slice(0, JUDGED.length).join(" / "))];
  });
  return h("div", {},
    h("p", { class: "key" }, classes.map((polarity) => h("span", {}, h("i", { class: TONES[polarity], svg: false }), polarity === "none" ? "no opinion" : polarity))),
    h("div", { class: "bars" }, drawn));
}
