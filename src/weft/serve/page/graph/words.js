// Where the words of arrows stand: on no name and on no other word. What has no such place is said by the list alone.
const OFFSETS = [52, 40, 66, 82, 100, 122, 148];
const LETTER = 5, HEIGHT = 6, GAP = 3;

// edges: { from: {x, y}, to: {x, y}, label }, the word standing nearer to `from`; boxes: { x1, y1, x2, y2 } of nodes with their names.
// Gives for each edge how far from its node the middle of its word is; null where it fits nowhere.
export function places(edges, boxes) {
  const taken = [];
  return edges.map(({ from, to, label }) => {
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    const half = (LETTER * label.length) / 2;
    for (const offset of OFFSETS) {
      if (offset + half + 12 > length) break;
      const points = [];
      for (let along = -half; along <= half + 1; along += LETTER) {
        const share = (offset + along) / length;
        points.push([from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share]);
      }
      const free = points.every(([x, y]) =>
        boxes.every((box) => x < box.x1 - GAP || x > box.x2 + GAP || y < box.y1 - GAP || y > box.y2 + GAP) &&
        taken.every(([a, b]) => Math.abs(a - x) > HEIGHT + GAP || Math.abs(b - y) > HEIGHT + GAP));
      if (free) {
        taken.push(...points);
        return offset;
      }
    }
    return null;
  });
}
