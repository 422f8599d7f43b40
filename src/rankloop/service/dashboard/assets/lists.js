// Production's list beside another one, with the moves drawn.

import { moves } from "./charts.js";
import { h } from "./dom.js";
import { chart } from "./drawing.js";
import { count, plural } from "./format.js";
import { badge } from "./parts.js";

const LONGEST = 25;

/** Both lists; `more` may say something of an item of the second. */
export function lists(production, other, title, more = () => null) {
  const before = production.slice(0, LONGEST);
  const after = other.slice(0, LONGEST);
  const places = new Map(before.map((item, i) => [item, i]));
  const moved = after.filter((item, i) => places.get(item) !== i).length;
  return [
    h("p", { class: "quiet" }, moved ? `${plural(moved, "item has", "items have")} moved. Blue: up; vermilion: down.` : "The two lists are the same."),
    h("div", { class: "beside" },
      h("div", {}, h("h3", {}, "Production"),
        h("ol", { class: "places" }, before.map((item, i) => h("li", {}, h("span", { class: "place" }, i + 1), titled(item))))),
      chart(moves, { before, after, label: `${plural(moved, "item")} moved; the lists beside name them` }, { class: "between" }),
      h("div", {}, h("h3", {}, title),
        h("ol", { class: "places" }, after.map((item, i) => h("li", {}, h("span", { class: "place" }, i + 1), titled(item), h("span", { class: "marks" }, more(item), move(places.get(item), i))))))),
    production.length > LONGEST ? h("p", { class: "quiet" }, `and ${count(production.length - LONGEST)} more`) : null,
  ];
}

/** A name that tells itself in full where there is no room for it. */
const titled = (item) => h("bdi", { class: "name", title: item }, item);

function move(from, to) {
  if (from === to) return null;
  if (from === undefined) return badge("new");
  const up = from - to;
  return h("span", { class: `badge ${up > 0 ? "good" : "bad"}` },
    h("span", { "aria-hidden": "true" }, up > 0 ? `↑ ${up}` : `↓ ${-up}`), h("span", { class: "hidden" }, up > 0 ? `up ${up}` : `down ${-up}`));
}
