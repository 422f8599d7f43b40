// What re-ranking has decided, on what evidence, and what is guaranteed.

import { progress } from "./charts.js";
import { h, name } from "./dom.js";
import { chart } from "./drawing.js";
import { count, decimal, percent, plural } from "./format.js";
import { at, badge, panel, table } from "./parts.js";

const LABEL = 17; // columns of a receipt's labels

/** The receipt in words, and the evidence about each pair. */
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
    h("dl", { class: "told" }, words.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, h("bdi", {}, value))))),
    given.pairs.length
      ? [h("h3", {}, "Evidence about neighbours"), h("p", { class: "quiet" }, "Who attracts more clicks, and how far the lead is from what a decision takes (the upright line). Vermilion: the lower one leads."),
        table("Evidence about neighbours", [["Pair"], ["Lead", "wide"], ["Of", "n"], ["Decided", "n"]],
        given.pairs.map((pair) => ({ key: `${pair.upper}\n${pair.lower}`, cells: [
          [name(pair.upper), " over ", name(pair.lower)],
          chart(progress, { value: Math.abs(pair.lead), needs: pair.threshold, colour: pair.lead < 0 ? "vermilion" : pair.decided ? "blue" : "grey", label: `lead ${pair.lead}, needs more than ${decimal(pair.threshold, 1)}` }),
          `${decimal(pair.lead, 0)} of ${count(pair.observations)}`,
          pair.decided ? badge("decided", "good") : h("span", { class: "quiet" }, `needs ${decimal(pair.threshold, 1)}`)] })), { hide: true })]
      : h("p", { class: "quiet" }, "No pair has been compared yet."));
}

/** Share of impressions with clicks on each side of a change. */
const share = (side) => (side && side.impressions ? `${percent(side.clicks / side.impressions)} of ${count(side.impressions)}` : "–");

const WHAT = {
  exchange: (change) => [name(change.raised), " took the place of ", name(change.lowered)],
  best: (change) => ["another order looks best: ", change.best.slice(0, 5).map((item, i) => [i ? ", " : "", name(item)])],
  listed: (change) => ["production's list changed", change.added?.length ? [": new ", change.added.map((item, i) => [i ? ", " : "", name(item)])] : null, change.removed?.length ? [": gone ", change.removed.map((item, i) => [i ? ", " : "", name(item)])] : null],
  reverted: () => ["set back to production's list"],
};

/** Every change with its evidence, the newest first. */
export function changesTable({ changes, dropped, progress: done }) {
  const note = done.complete ? "Clicks per impression before and after each change, up to the next one." : "The journal is being replayed: more follows.";
  return panel("What changed, and why", note,
    changes.length
      ? table("Changes, the newest first", [["When"], ["What", "text"], ["Evidence", "text"], ["Clicks per impression before", "n"], ["After", "n"]],
        [...changes].reverse().map((change, i) => ({ key: `${changes.length - i}`, cells: [
          at(change.at), WHAT[change.kind]?.(change) ?? change.kind,
          change.lead === undefined || change.lead === null ? "–" : `lead ${count(change.lead)} of ${count(change.of)}, needed more than ${decimal(change.needs, 1)}`,
          share(change.before), share(change.after)] })), { hide: true })
      : h("p", { class: "quiet" }, "Nothing has changed so far: the evidence does not suffice yet."),
    dropped ? h("p", { class: "quiet" }, `${plural(dropped, "older change")} not listed.`) : null);
}
