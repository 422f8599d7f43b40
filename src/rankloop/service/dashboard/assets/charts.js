// The drawings: each takes its data and a width in pixels, and gives an SVG. Colours come from charts.css.

import { s } from "./dom.js";
import { count, decimal, onDay, percent, points, time, when } from "./format.js";

export const COLOURS = ["blue", "vermilion", "green", "purple", "gold", "slate"];

const svg = (width, height, label, ...content) =>
  s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, ...(label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" }) }, content);

const round = (x) => Math.round(10 * x) / 10;

/** Round numbers that span a range. */
export function ticks(low, high, about) {
  const span = high - low || 1;
  const rough = span / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * span; i += 1) found.push(i * step + 0);
  return found;
}

const HOURS = [60, 300, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400];

/** Times on the clock that span a range, each with its label. */
function timeTicks(from, to, about) {
  const rough = (to - from) / Math.max(1, about);
  const step = HOURS.find((size) => size >= rough) ?? 86_400 * Math.ceil(rough / 86_400);
  const zone = -60 * new Date(1000 * from).getTimezoneOffset();
  const found = [];
  for (let at = Math.ceil((from + zone) / step) * step - zone; at <= to; at += step) {
    found.push([at, step >= 86_400 || (at + zone) % 86_400 === 0 ? onDay(at) : time(at)]);
  }
  return found;
}

const path = (places) => places.map(([x, y], i) => `${i ? "L" : "M"}${round(x)} ${round(y)}`).join("");

/** A small line without axes. */
export function sparkline({ values, label }, width) {
  const height = 36;
  const most = Math.max(1, ...values);
  const x = (i) => (i / Math.max(1, values.length - 1)) * (width - 4) + 2;
  const y = (value) => height - 3 - (value / most) * (height - 8);
  const places = values.map((value, i) => [x(i), y(value)]);
  const last = places.at(-1) ?? [0, 0];
  return svg(width, height, label,
    s("g", { class: "c-blue" },
      s("path", { class: "band fill", d: `${path(places)}L${x(values.length - 1)} ${height}L${x(0)} ${height}Z` }),
      s("path", { class: "line stroke thin", d: path(places) }),
      s("circle", { class: "fill", cx: round(last[0]), cy: round(last[1]), r: 2.5 })));
}

/** A dot with its interval, against a value that would mean no difference. */
export function whisker({ value, low, high, from, to, zero = 0, label, colour, ends = true, format = "points" }, width) {
  const height = ends ? 40 : 22;
  const middle = 10;
  const side = ends ? 26 : 6;
  const x = (at) => side + ((Math.min(to, Math.max(from, at)) - from) / (to - from)) * (width - 2 * side);
  const text = { points: (n) => points(n, 1), percent: (n) => percent(n, 0), decimal: (n) => decimal(n, 2) }[format];
  return svg(width, height, label,
    s("line", { class: "axis", x1: side, x2: width - side, y1: middle, y2: middle }),
    s("line", { class: "zero", x1: x(zero), x2: x(zero), y1: middle - 8, y2: middle + 8 }),
    s("g", { class: `c-${colour}` },
      low === null || low === undefined ? null : [
        s("line", { class: "whisker stroke", x1: x(low), x2: x(high), y1: middle, y2: middle }),
        [low, high].map((end) => (end < from || end > to ? null : s("line", { class: "whisker stroke", x1: x(end), x2: x(end), y1: middle - 4, y2: middle + 4 })))],
      value === null ? null : s("circle", { class: "fill halo", cx: x(value), cy: middle, r: 5.5 })),
    ends && [from, zero, to].map((at) => s("text", { x: x(at), y: 36, "text-anchor": "middle" }, at === 0 ? "0" : text(at))));
}

/** Lines over time, with bands and marked moments. */
export function lines({ at, series, marks = [], label, height = 240, format = "count", steps = false }, width) {
  const text = { count, percent: (n) => percent(n, n && Math.abs(n) < 0.1 ? 1 : 0), decimal }[format];
  const known = series.flatMap(({ values, low, high }) => [...values, ...(low ?? []), ...(high ?? [])]).filter((value) => value !== null);
  const most = Math.max(...known, 0), least = Math.min(...known, 0);
  const left = 46, right = 12, above = 14, below = 24;
  const bottom = height - below;
  const levels = ticks(least, most > least ? most : least + 1, height / 55);
  const highest = Math.max(most, levels.at(-1)) || 1, lowest = Math.min(least, levels[0]);
  const first = at[0], last = at.at(-1) > at[0] ? at.at(-1) : at[0] + 1;
  const x = (moment) => left + ((moment - first) / (last - first)) * (width - left - right);
  const y = (value) => bottom - ((value - lowest) / (highest - lowest)) * (bottom - above);
  const runs = (values) => {
    const found = [[]];
    values.forEach((value, i) => {
      if (value === null) found.push([]);
      else {
        const run = found.at(-1);
        if (steps && run.length) run.push([x(at[i]), run.at(-1)[1]]);
        run.push([x(at[i]), y(value)]);
      }
    });
    return found.filter((run) => run.length);
  };
  return svg(width, height, label,
    levels.map((level) => [
      s("line", { class: "axis", x1: left, x2: width - right, y1: y(level), y2: y(level) }),
      s("text", { x: left - 8, y: y(level) + 4, "text-anchor": "end" }, text(level))]),
    timeTicks(first, last, width / 110).map(([moment, named]) =>
      s("text", { x: x(moment), y: height - 6, "text-anchor": x(moment) > width - 30 ? "end" : x(moment) < left + 15 ? "start" : "middle" }, named)),
    marks.filter((mark) => mark.at >= first && mark.at <= last).map((mark) =>
      s("g", {}, s("line", { class: "mark", x1: x(mark.at), x2: x(mark.at), y1: above, y2: bottom }),
        s("path", { class: "marker", d: `M${round(x(mark.at) - 5)} ${above - 9}h10l-5 8Z` }),
        s("title", {}, `${when(mark.at)}: ${mark.text}`))),
    series.map(({ values, low, high, colour, name }) =>
      s("g", { class: `c-${colour}` },
        s("title", {}, name),
        low && s("path", { class: "band fill", d: `${path(at.map((moment, i) => [x(moment), y(high[i])]))}${path(at.map((moment, i) => [x(moment), y(low[i])]).reverse()).replace("M", "L")}Z` }),
        runs(values).map((run) => (run.length === 1
          ? s("circle", { class: "fill", cx: run[0][0], cy: run[0][1], r: 2.5 })
          : s("path", { class: "line stroke", d: path(run) }))))));
}

const letters = new Intl.Segmenter();

/** A name with few letters; those of several parts, such as flags, stay whole. */
function shorten(text, room) {
  const parts = [...letters.segment(text)].map((each) => each.segment);
  return parts.length > room ? `${parts.slice(0, room - 1).join("")}…` : text;
}

/** Who beat whom: a square of shares, blue where the row wins and vermilion where it loses. */
export function heatmap({ rankers, duels, wins, label }, width) {
  const n = rankers.length;
  const side = (width - 84) / n < 10 ? 0 : Math.min(190, Math.max(84, width * 0.34)); // narrow: squares alone
  const size = Math.max(4, Math.min(26, (width - side - 4) / n));
  const top = side && size >= 12 ? 20 : 0;
  const cells = [];
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j < n; j += 1) {
      const place = { x: round(side + j * size), y: round(top + i * size), width: round(size - 1), height: round(size - 1) };
      if (i === j || !duels[i][j]) {
        cells.push(s("rect", { class: i === j ? "same" : "never", ...place }));
        continue;
      }
      const share = (wins[i][j] + 0.5 * (duels[i][j] - wins[i][j] - wins[j][i])) / duels[i][j];
      cells.push(s("g", { class: share >= 0.5 ? "c-blue" : "c-vermilion" },
        s("rect", { class: "fill", ...place, "fill-opacity": round(10 * (0.08 + 0.92 * Math.min(1, 2.5 * Math.abs(share - 0.5)))) / 10 }),
        s("title", {}, `${rankers[i]} beat ${rankers[j]} in ${count(wins[i][j])} of ${count(duels[i][j])} duels (${percent(share, 0)})`)));
    }
  }
  return svg(width, top + n * size, label,
    top > 0 && rankers.map((_, j) => s("text", { x: side + (j + 0.5) * size, y: 13, "text-anchor": "middle" }, j + 1)),
    side > 0 && rankers.map((name, i) =>
      [s("text", { class: "name", x: side - 28, y: top + (i + 0.5) * size + 4, "text-anchor": "end" }, s("title", {}, name), shorten(name, Math.floor((side - 30) / 6.7))),
        s("text", { x: side - 8, y: top + (i + 0.5) * size + 4, "text-anchor": "end" }, i + 1)]),
    cells);
}

/** How far a number has come towards what it needs. */
export function progress({ value, needs, label, colour }, width) {
  const height = 16;
  const goal = 0.72 * width;
  const x = (at) => Math.max(0, Math.min(width, (at / needs) * goal));
  return svg(width, height, label,
    s("rect", { class: "track", x: 0, y: 4, width, height: 8, rx: 4 }),
    value > 0 && s("rect", { class: `c-${colour} fill`, x: 0, y: 4, width: round(Math.max(4, x(value))), height: 8, rx: 4 }),
    s("line", { class: "goal", x1: goal, x2: goal, y1: 0, y2: height }));
}

/** Parts of a whole, side by side. */
export function stacked({ parts, most, label }, width) {
  let from = 0;
  return svg(width, 16, label,
    s("rect", { class: "track", x: 0, y: 3, width, height: 10, rx: 2 }),
    parts.map(({ value, colour }) => {
      const size = Math.max(0, (value / (most || 1)) * width);
      from += size;
      return s("rect", { class: `c-${colour} fill`, x: round(from - size), y: 3, width: round(size), height: 10 });
    }));
}

/** Lines between the places of the same items in two lists. */
export function moves({ before, after, label }, width) {
  const rows = Math.max(before.length, after.length);
  const places = new Map(after.map((item, i) => [item, i]));
  return s("svg", { viewBox: `0 0 ${width} ${rows}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    before.map((item, i) => {
      const to = places.get(item);
      if (to === undefined) return null;
      const colour = to < i ? "blue" : to > i ? "vermilion" : "grey";
      return s("path", { class: `c-${colour} stroke line`, "vector-effect": "non-scaling-stroke",
        d: `M0 ${i + 0.5}C${width / 2} ${i + 0.5} ${width / 2} ${to + 0.5} ${width} ${to + 0.5}` });
    }));
}

