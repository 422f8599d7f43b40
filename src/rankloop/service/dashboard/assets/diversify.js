// Topics covered down a list, the weights learned, and one list explained item by item.

import { COLOURS, lines, stacked, whisker } from "./charts.js";
import { h, name } from "./dom.js";
import { chart } from "./drawing.js";
import { decimal, percent, when } from "./format.js";
import { figure, panel, table } from "./parts.js";

const FEATURES = 30;

export function diversified({ explained }, { series }) {
  if (!explained) return panel("What was learned", null, h("p", { class: "quiet" }, "Nothing has been learned for this key yet, or its policy cannot be explained."));
  const { topics = [], relevance = [], list = [], covered = [] } = explained;
  return [
    h("div", { class: "columns" }, weights("Weights of topics", "How much covering a topic attracts clicks, with its standard error.", topics.map(({ topic, ...each }) => [topic, each])), coverage(topics, list, covered)),
    items(list),
    overTime(series),
    relevance.length ? weights("Weights of relevance features", "How much each feature of an item attracts clicks.", relevance.slice(0, FEATURES).map(({ feature, ...each }) => [`Feature ${feature + 1}`, each])) : null,
  ];
}

function weights(title, note, rows) {
  const most = Math.max(0.01, ...rows.map(([, { weight, error }]) => Math.abs(weight) + (error ?? 0))) * 1.05;
  if (!rows.length) return null;
  return panel(title, note,
    table(title, [["Name"], ["Weight and its error", "wide"], ["Weight", "n"]],
      rows.map(([label, { weight, error }]) => ({ key: label, cells: [
        name(label),
        chart(whisker, { value: weight, low: error === null ? null : weight - error, high: error === null ? null : weight + error, from: -most, to: most, colour: weight > 0 ? "blue" : "vermilion", label: decimal(weight, 3), ends: false, format: "decimal" }),
        error === null || error === undefined ? decimal(weight) : `${decimal(weight)} ± ${decimal(error)}`] })), { hide: true }));
}

function overTime({ at, topics }) {
  if (!topics.length || at.length < 2) return null;
  const last = ({ weight }) => Math.abs(weight.at(-1) ?? 0);
  const drawn = [...topics].sort((a, b) => last(b) - last(a)).slice(0, COLOURS.length).map(({ topic, weight }, i) => ({ name: topic, colour: COLOURS[i], values: weight }));
  return panel("Weights of topics over time", "How the estimates settled as lists were learned from.",
    figure(chart(lines, { at, series: drawn, label: `Weights over time of ${drawn.map((each) => each.name).join(", ")}`, format: "decimal", height: 240 }), {
      legend: drawn.map((each) => [each.name, each.colour]),
      caption: topics.length > drawn.length ? `The ${drawn.length} with the largest weights of ${topics.length}.` : null,
      numbers: () => table("Weights of topics over time", [["Up to"], ...drawn.map((each) => [name(each.name), "n"])], at.map((moment, i) => ({ cells: [when(moment), ...drawn.map((each) => decimal(each.values[i]))] })), { hide: true }),
    }));
}

function coverage(topics, list, covered) {
  if (!covered.length || !topics.length) return null;
  const shade = (share) => `cover s${Math.min(5, Math.round(5 * share))}`;
  return panel("Topics covered down the list", "How much of each topic is covered by this item and those above it.",
    table("Share of each topic covered, position by position", [["Position"], ...topics.map(({ topic }) => [name(topic), "n"])],
      covered.map((row, i) => ({ cells: [[`${i + 1}. `, list[i] ? name(list[i].item) : ""], ...row.map((share) => h("span", { class: shade(share) }, percent(share, 0)))] })), { hide: true }));
}

function items(list) {
  if (!list.length) return null;
  const most = Math.max(...list.map((each) => Math.max(0, each.relevance) + Math.max(0, each.novelty)));
  return panel("The list, item by item", "Attraction is what relevance (blue) and new topics (green) promise together; an item that repeats topics above it gains little from them.",
    table("Why each item stands where it stands", [["Item"], ["Topics"], ["Relevance and new topics", "wide"], ["Attraction", "n"], ["Relevance", "n"], ["New topics", "n"], ["Uncertainty", "n"]],
      list.map((each, i) => ({ cells: [
        [`${i + 1}. `, name(each.item)], each.topics.map((topic, k) => [k ? ", " : "", name(topic)]),
        chart(stacked, { parts: [{ value: each.relevance, colour: "blue" }, { value: each.novelty, colour: "green" }], most, label: `relevance ${decimal(each.relevance)}, new topics ${decimal(each.novelty)}` }),
        decimal(each.attraction), decimal(each.relevance), decimal(each.novelty), each.uncertainty === null ? "–" : decimal(each.uncertainty)] })), { hide: true }));
}
