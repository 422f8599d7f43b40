// How attractive items were over time, with the changes that the policy saw.

import { COLOURS, lines } from "./charts.js";
import { h, name } from "./dom.js";
import { chart } from "./drawing.js";
import { count, decimal, percent, when } from "./format.js";
import { figure, panel, table } from "./parts.js";

const DRAWN = 6;

export function followed(detail, history) {
  return h("div", { class: "columns" }, attractions(detail, history), clicks(history));
}

function attractions({ items }, { series, changes }) {
  const known = new Map((items ?? []).map((each) => [each.item, each.attraction ?? 0]));
  const ranked = [...series.items].sort((a, b) => (known.get(b.item) ?? 0) - (known.get(a.item) ?? 0));
  const drawn = ranked.slice(0, DRAWN).map((each, i) => ({ name: each.item, colour: COLOURS[i], values: each.attraction }));
  const marks = changes.filter((change) => change.kind !== "listed").map((change) => ({ at: change.at, text: change.kind === "reverted" ? "set back" : `best is now ${change.best.slice(0, 3).join(", ")}` }));
  if (!drawn.length || series.at.length < 2) return panel("Attraction of items", null, h("p", { class: "quiet" }, "Too few lists have been learned from to draw a line."));
  const label = `Attraction over time of ${drawn.map((each) => each.name).join(", ")}`;
  return panel("Attraction of items", "Estimated chance that a user who looks at an item clicks it. Triangles mark moments at which another order came to look best.",
    figure(chart(lines, { at: series.at, series: drawn, marks, label, format: "percent", height: 280 }), {
      legend: drawn.map((each) => [each.name, each.colour]),
      caption: ranked.length > DRAWN ? `The ${DRAWN} most attractive of ${ranked.length}.` : null,
      numbers: () => table("Attraction now", [["Item"], ["Attraction", "n"], ["Looks", "n"]],
        (items ?? []).map((each) => ({ key: each.item, cells: [name(each.item), percent(each.attraction), each.looks === null ? "–" : decimal(each.looks, 1)] })), { hide: true }),
    }));
}

function clicks({ series, changes }) {
  if (series.at.length < 2) return null;
  const values = series.impressions.map((shown, i) => (shown ? series.clicks[i] / shown : null));
  const smooth = values.map((_, i) => {
    const from = Math.max(0, i - 2), to = Math.min(values.length, i + 3);
    const shown = series.impressions.slice(from, to).reduce((a, b) => a + b, 0);
    return shown ? series.clicks.slice(from, to).reduce((a, b) => a + b, 0) / shown : null;
  });
  const marks = changes.map((change) => ({ at: change.at, text: change.kind }));
  return panel("Clicks per impression", "Smoothed over five points. A fall before a triangle and a rise after it show that a change was followed.",
    figure(chart(lines, { at: series.at, series: [{ name: "clicks per impression", colour: "blue", values: smooth }], marks, label: "Clicks per impression over time", format: "percent", height: 280 }), {
      numbers: () => table("Clicks per impression", [["Up to"], ["Impressions", "n"], ["Clicks", "n"]],
        series.at.map((moment, i) => ({ cells: [when(moment), count(series.impressions[i]), count(series.clicks[i])] })), { hide: true }),
    }));
}
