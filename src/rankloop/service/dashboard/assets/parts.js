// What several pages are made of.

import { h, name } from "./dom.js";
import { lines, sparkline, whisker } from "./charts.js";
import { chart } from "./drawing.js";
import { loopAddress } from "./frame.js";
import { count, decimal, duration, plural, points, when } from "./format.js";

export const heading = (title, { crumbs = [], badges = [], actions = [], lead } = {}) => [
  h("div", { class: "head" },
    crumbs.length ? h("nav", { class: "crumbs", "aria-label": "Where this page stands" }, crumbs.map(([to, text], i) => [i ? h("span", { "aria-hidden": "true" }, "/") : null, h("a", { href: to }, name(text))])) : null,
    h("h1", { tabindex: "-1" }, name(title)), badges,
    actions.length ? h("div", { class: "actions" }, actions) : null),
  lead ? h("p", { class: "lead" }, lead) : null,
];

export const panel = (title, note, ...content) =>
  h("section", { class: "panel" }, h("header", {}, h("h2", {}, title), note ? h("p", { class: "quiet" }, note) : null), content);

/** Numbers with what they mean. */
export const facts = (...entries) =>
  h("dl", { class: "facts" }, entries.filter(Boolean).map(([label, value, note]) =>
    h("div", {}, h("dt", {}, label), h("dd", { class: "big" }, value), note ? h("dd", { class: "quiet" }, note) : null)));

export const badge = (text, tone = "") => h("span", { class: `badge ${tone}` }, text);

export const at = (seconds) => h("time", { datetime: new Date(1000 * seconds).toISOString() }, when(seconds));

/** A table: columns are [title, class], rows are lists of cells; the first cell of a row is its heading. */
export const table = (caption, columns, rows, { hide = false } = {}) =>
  h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    h("table", {},
      h("caption", { class: hide ? "hidden" : null }, caption),
      h("thead", {}, h("tr", {}, columns.map(([title, kind]) => h("th", { scope: "col", class: kind }, title)))),
      h("tbody", {}, rows.map(({ key, cells, kind }) =>
        h("tr", { "data-key": key, class: kind }, cells.map((cell, i) =>
          i === 0 ? h("th", { scope: "row" }, cell) : h("td", { class: columns[i][1] }, cell)))))));

/** A chart with its caption, its legend and the same as a table. */
export const figure = (box, { caption, legend, numbers } = {}) =>
  h("figure", {},
    legend ? h("ul", { class: "legend" }, legend.map(([text, colour]) => h("li", { class: `c-${colour}` }, name(text)))) : null,
    box,
    caption ? h("figcaption", {}, caption) : null,
    numbers ? h("details", {}, h("summary", {}, "As a table"), numbers()) : null);

/** What the comparison with the holdout says, in a sentence, and how to draw it. */
export function verdict(uplift) {
  if (!uplift || uplift.difference === null) {
    return { text: "Nothing to compare yet: it takes impressions with the loop and in the holdout.", short: "–", colour: "grey" };
  }
  const { difference, low, high } = uplift;
  if (low === null) return { text: `${points(difference)} points so far; too few users for an interval.`, short: points(difference), colour: "grey" };
  const range = `${points(low)} to ${points(high)}`;
  if (low > 0) return { text: `The loop helps: ${points(difference)} points (${range}).`, short: points(difference), colour: "blue" };
  if (high < 0) return { text: `The loop costs clicks: ${points(difference)} points (${range}).`, short: points(difference), colour: "vermilion" };
  return { text: `Not decided: ${points(difference)} points (${range}).`, short: points(difference), colour: "grey" };
}

export const UPLIFT = "Uplift: the share of impressions with a click, minus that of the holdout, in percentage points. The interval may be read every day.";

/** The uplift as a dot with its interval around 0. */
export function upliftChart(uplift) {
  const { text, colour } = verdict(uplift);
  if (!uplift || uplift.difference === null) return null;
  const most = Math.max(0.01, ...[uplift.difference, uplift.low ?? 0, uplift.high ?? 0].map(Math.abs)) * 1.1;
  const end = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1].find((size) => size >= most) ?? 1;
  return chart(whisker, { value: uplift.difference, low: uplift.low, high: uplift.high, from: -end, to: end, label: text, colour });
}

const inSteps = (values, size) => Array.from({ length: Math.ceil(values.length / size) }, (_, i) => values.slice(i * size, (i + 1) * size).reduce((a, b) => a + b, 0));

/** Traffic of the last hours as a small line. */
export function traffic({ series: { impressions, step } }) {
  const values = inSteps(impressions, 5);
  const total = values.reduce((a, b) => a + b, 0);
  return chart(sparkline, { values, label: `${plural(total, "impression")} in the last ${duration(impressions.length * step)}` }, { class: "spark" });
}

/** The same with axes, and clicks. */
export function trafficChart({ series: { from, step, impressions, clicks } }) {
  const shown = inSteps(impressions, 5), clicked = inSteps(clicks, 5);
  const moments = shown.map((_, i) => from + 5 * step * i);
  return figure(chart(lines, {
    at: moments, height: 150, label: `Impressions and clicks of the last ${duration(impressions.length * step)}`,
    series: [{ name: "impressions", colour: "blue", values: shown }, { name: "clicks", colour: "green", values: clicked }],
  }), {
    legend: [["Impressions", "blue"], ["Clicks", "green"]],
    numbers: () => table("Traffic", [["From"], ["Impressions", "n"], ["Clicks", "n"]], moments.map((moment, i) => ({ cells: [when(moment), count(shown[i]), count(clicked[i])] })), { hide: true }),
  });
}

const TONES = { live: "good", shadow: "warn", paused: "warn", off: "" };

export const modeBadge = (mode) => badge(mode, `${TONES[mode] ?? ""}`);

const SLOW = 60;
const LATELY = 3_600;

/** What is the matter with a loop now, in a word or two, and in a sentence. */
export function health(loop, now) {
  if (loop.fell_back !== null && now - loop.fell_back < LATELY) return ["bad", "fallbacks", "Within the last hour, lists were production's because something failed: the service's log says what."];
  if (loop.lag > SLOW) return ["warn", `learning lags ${duration(loop.lag)}`, "Windows that have passed wait to be learned from."];
  if (!loop.impressions) return ["", "no traffic yet", "Nobody has asked for a list."];
  if (!loop.per_hour) return ["", "quiet", "No list was asked for in the last hour."];
  return ["good", "healthy", ""];
}

const SAID = {
  exchange: ["exchange", "good"], eliminated: ["eliminated", "good"], winner: ["winner", "good"], reverted: ["reverted", "warn"],
  fallbacks: ["fallback", "bad"], paused: ["paused", "warn"], resumed: ["resumed", ""], created: ["created", ""], changed: ["changed", ""], started: ["started", ""],
};

/** What happened lately. */
export function happenings(list, { loops = true } = {}) {
  if (!list.length) return h("p", { class: "quiet" }, "Nothing yet. Exchanges, eliminations, reverts and fallbacks are listed here.");
  return h("ol", { class: "events" }, list.map((each) => {
    const [word, tone] = SAID[each.kind] ?? [each.kind, ""];
    return h("li", {}, at(each.at),
      h("div", {}, badge(word, tone),
        loops && each.loop ? [h("a", { href: loopAddress(each.loop) }, name(each.loop)), each.key ? [" / ", h("a", { href: loopAddress(each.loop, "keys", each.key) }, name(each.key))] : null, ": "]
          : each.key ? [h("a", { href: loopAddress(each.loop, "keys", each.key) }, name(each.key)), ": "] : null,
        h("bdi", {}, each.text)));
  }));
}

/** A remark while the journal is still being counted. */
export const stillCounting = (counted) =>
  counted && !counted.complete
    ? h("p", { class: "quiet" }, counted.since ? ["Entries back to ", at(counted.since), " have been counted so far; older ones follow."] : "The journal is being counted.")
    : null;

/** Clicks per impression: of lists that are clicked several times there may be more than one. */
export const perImpression = (clicks, impressions) => (impressions ? decimal(clicks / impressions) : "–");

