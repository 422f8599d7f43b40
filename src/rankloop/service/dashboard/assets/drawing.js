// Charts are drawn for the width they have, and drawn again when it or what they show has changed.

import { h, show } from "./dom.js";

const drawn = new WeakMap();

const watcher = new ResizeObserver((changes) => changes.forEach(({ target }) => fill(target)));

/** A box that `drawing(data, width)` fills once its width is known. */
export function chart(drawing, data, more = {}) {
  const paint = (width) => drawing(data, width);
  paint.of = JSON.stringify(data);
  return h("div", { ...more, class: `drawn ${more.class ?? ""}`, draw: paint });
}

function fill(box) {
  const width = box.clientWidth;
  const now = `${width} ${box.draw.of}`;
  if (width === 0 || drawn.get(box) === now) return;
  drawn.set(box, now);
  show(box, box.draw(width));
}

/** Draw all charts in a part of the page. */
export function draw(root) {
  for (const box of root.querySelectorAll(".drawn")) {
    fill(box);
    watcher.observe(box);
  }
}
