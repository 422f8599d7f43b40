// What re-ranking has decided, on what evidence, and what is guaranteed.

import { progress } from "./charts.js";
import { h, name } from "./dom.js";
import { chart } from "./drawing.js";
import { count, decimal, percent, plural, when } from "./format.js";
import { at, badge, panel, table } from "./parts.js";

const LABEL = 17; // columns of a receipt's labels

/** The receipt in words. */
export function receipt({ receipt: given, receipt_text: text }) {
  if (!given) return null;
  const told = [];
  for (const line of (text ?? "").split("\n")) {
    const label = line.slice(0, LABEL).trim();
    if (label) told.push([label, line.slice(LABEL)]);
    else if (told.length) told.at(-1)[1] += ` ${line.slice(LABEL)}`;
  }
  const words = told.filter(([label]) => !["production list", "base list now", "pairs", "exchanges"].includes(label));
  return panel("Receipt", "What BubbleRank has done to the list, and what it guarantees.",
    h("p", {}, given.exchanges.length
      ? `${plural(given.exchanges.length, "exchange")} of neighbours, each after proof that the lower one attracts more clicks.`
      : "No neighbours were exchanged for good so far."),
    h("dl", { class: "told" }, words.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, h("bdi", {}, value))))));
}

/** What is known about each pair of neighbours. */
export function neighbours({ receipt: given }) {
  if (!given) return null;
  return panel("Evidence about neighbours", "Who attracts more clicks, and how far the lead is from what a decision takes (the upright line). Vermilion: the lower one leads.",
    given.pairs.length
      ? table("Evidence about neighbours", [["Pair"], ["", "wide"], ["Lead", "n"], ["Lead needed", "n"], ["Comparisons", "n"], ["Decided", "n"]],
        given.pairs.map((pair) => ({ key: `${pair.upper}\n${pair.lower}`, cells: [
          [name(pair.upper), " over ", name(pair.lower)],
          chart(progress, { value: Math.abs(pair.lead), needs: pair.threshold, colour: pair.lead < 0 ? "vermilion" : pair.decided ? "blue" : "grey", label: `lead ${pair.lead}, needs more than ${decimal(pair.threshold, 1)}` }),
          decimal(pair.lead, 0), decimal(pair.threshold, 1), count(pair.observations),
          pair.decided ? badge("yes", "good") : h("span", { class: "quiet" }, "not yet")] })), { hide: true })
      : h("p", { class: "quiet" }, "No pair has been compared yet."));
}

/** Share of impressions with clicks on each side of a change. */
const share = (side) => (side && side.impressions ? `${percent(side.clicked / side.impressions)} of ${count(side.impressions)}` : "–");

/** What a change rests on. */
function evidence({ lead, of, needs, attractions }) {
  if (attractions) return `attraction ${percent(attractions[0])} against ${percent(attractions[1])}`;
  return lead === undefined ? "–" : `lead ${count(lead)} in ${plural(of, "comparison")}, needed more than ${decimal(needs, 1)}`;
}

const WHAT = {
  exchange: (change) => [name(change.raised), " took the place of ", name(change.lowered)],
  first: (change) => [name(change.raised), " looks best, where ", name(change.lowered), " did"],
  listed: (change) => ["production's list changed", change.added?.length ? [": new ", change.added.map((item, i) => [i ? ", " : "", name(item)])] : null, change.removed?.length ? [": gone ", change.removed.map((item, i) => [i ? ", " : "", name(item)])] : null],
  reverted: () => ["set back to production's list"],
};

/** Every change with its evidence, the newest first. */
export function changesTable({ changes, dropped, progress: done }) {
  const note = done.complete
    ? "Share of impressions with a click, from the change before to this one, and from this one to the next."
    : `The journal is being replayed, the oldest entries first: ${plural(done.entries, "entry", "entries")}${done.upto ? `, up to ${when(done.upto)}` : ""} so far.`;
  return panel("What changed, and why", note,
    changes.length
      ? table("Changes, the newest first", [["When"], ["What", "text"], ["Evidence", "text"], ["Clicked before", "n"], ["Clicked after", "n"]],
        [...changes].reverse().map((change, i) => ({ key: `${changes.length - i}`, cells: [
          at(change.at), WHAT[change.kind]?.(change) ?? change.kind,
          evidence(change), share(change.before), share(change.after)] })), { hide: true })
      : h("p", { class: "quiet" }, done.complete ? "Nothing has changed so far: the evidence does not suffice yet." : "No change has been found so far."),
    dropped ? h("p", { class: "quiet" }, `${plural(dropped, "older change")} not listed.`) : null);
}
