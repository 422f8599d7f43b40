// How attractive items were over time, with the changes that the policy saw.

import { COLOURS, lines } from "./charts.js";
import { h, name } from "./dom.js";
import { chart } from "./drawing.js";
import { count, decimal, percent, when } from "./format.js";
import { figure, panel, table } from "./parts.js";

const DRAWN = 6;
const AVERAGED = 120; // the curve of clicks averages twice a 120th of all points, and one more

export function followed(detail, history) {
  return h("div", { class: "columns" }, attractions(detail, history), clicks(history));
}

const WHAT = { first: ({ raised }) => `${raised} looks best`, listed: () => "production's list changed", reverted: () => "set back" };

const marksOf = (changes) => changes.map((change) => ({ at: change.at, text: WHAT[change.kind]?.(change) ?? change.kind }));

function attractions({ items }, { series, changes }) {
  const known = new Map((items ?? []).map((each) => [each.item, each.attraction ?? 0]));
  const ranked = [...series.items].sort((a, b) => (known.get(b.item) ?? 0) - (known.get(a.item) ?? 0));
  const drawn = ranked.slice(0, DRAWN).map((each, i) => ({ name: each.item, colour: COLOURS[i], values: each.attraction }));
  if (!drawn.length || series.at.length < 2) return panel("Attraction of items", null, h("p", { class: "quiet" }, "Too few lists have been learned from to draw a line."));
  const label = `Attraction over time of ${drawn.map((each) => each.name).join(", ")}`;
  return panel("Attraction of items", "Estimated chance that a user who looks at an item clicks it. A triangle marks when another item came to look best, and did so for at least 30 lists.",
    figure(chart(lines, { at: series.at, series: drawn, marks: marksOf(changes), label, format: "percent", height: 280 }), {
      legend: drawn.map((each) => [each.name, each.colour]),
      caption: ranked.length > DRAWN ? `The ${DRAWN} most attractive of ${ranked.length}.` : null,
      numbers: () => table("Attraction now", [["Item"], ["Attraction", "n"], ["Looks", "n"]],
        (items ?? []).map((each) => ({ key: each.item, cells: [name(each.item), percent(each.attraction), each.looks === null ? "–" : decimal(each.looks, 1)] })), { hide: true }),
    }));
}

function clicks({ series, changes }) {
  if (series.at.length < 2) return null;
  const { at, impressions, clicked } = series;
  const around = Math.max(1, Math.round(at.length / AVERAGED));
  const total = (values, i) => values.slice(Math.max(0, i - around), i + around + 1).reduce((a, b) => a + b, 0);
  const smooth = at.map((_, i) => (total(impressions, i) ? total(clicked, i) / total(impressions, i) : null));
  const about = (impressions.reduce((a, b) => a + b, 0) / at.length) * (2 * around + 1);
  return panel("Impressions with a click", `The share of impressions that were clicked, among about ${count(about)} around each point. It falls when tastes change, until the policy has followed.`,
    figure(chart(lines, { at, series: [{ name: "share with a click", colour: "blue", values: smooth }], marks: marksOf(changes), label: "Share of impressions with a click over time", format: "percent", height: 280 }), {
      numbers: () => table("Impressions with a click", [["Up to"], ["Impressions", "n"], ["With a click", "n"]],
        at.map((moment, i) => ({ cells: [when(moment), count(impressions[i]), count(clicked[i])] })), { hide: true }),
    }));
}
