// One impression: what was shown to whom, why, what came back and what was learned.

import { call, path } from "./api.js";
import { h, name } from "./dom.js";
import { loopAddress } from "./frame.js";
import { count, decimal, plural } from "./format.js";
import { lists } from "./lists.js";
import { at, badge, facts, heading, panel, table } from "./parts.js";

const MOST = 25;
const CLICKED = () => h("span", { class: "badge good" }, h("span", { "aria-hidden": "true" }, "✓"), h("span", { class: "word" }, "clicked"));
const HEADINGS = { of: "Comparisons", "needs more than": "Lead needed", best: "Leader" };
const ARMS = {
  policy: "The policy chose.",
  holdout: "Production: the user is in the holdout.",
  outside: "Production: the user is outside of the loop's traffic.",
  off: "Production: the loop was off or paused.",
  shadow: "Production was shown; what the policy would have shown is recorded.",
  fallback: "Production: something failed.",
};

export function impressionPage(id) {
  return {
    load: ({ signal }) => call(path`/v1/impressions/${id}`, { signal }),
    view: (found) => ({ title: `Impression · ${found.loop}`, content: content(found, id) }),
  };
}

function content(found, id) {
  const { loop, kind, key } = found;
  const clicked = new Set(found.heard.filter((each) => each.item !== undefined && each.type !== "seen").map((each) => each.item));
  const crumbs = [["#/", "Overview"], [loopAddress(loop), loop]];
  if (key) crumbs.push([loopAddress(loop, "keys", key), key]);
  return h("div", {},
    heading("An impression", { crumbs, badges: [badge(kind), learnedBadge(found)] }),
    facts(
      ["Shown", at(found.shown_at), found.closed_at ? ["closed ", at(found.closed_at)] : "still open"],
      ["Shown to", `Bucket ${count(found.bucket)}`, found.arm === "holdout" ? "a user in the holdout" : found.arm === "policy" ? "a user with the loop, not in the holdout" : "a user who got production's list"],
      ["Decided by", found.arm, ARMS[found.arm] ?? ""],
      ["Policy", found.policy, found.propensity === null ? null : `this list had probability ${Number(found.propensity.toPrecision(3))}`],
      ["Events", count(found.heard.length), found.heard.length ? plural(clicked.size, "item clicked", "items clicked") : "none so far"]),
    h("p", { class: "quiet" }, "The user's name is not kept. A keyed hash of it gives one of 65,536 buckets, a random one where no user was named; the bucket decides who is in the holdout, and is all that is written down."),
    h("div", { class: "columns uneven" },
      panel("What was shown", null, kind === "evaluate"
        ? [h("ol", { class: "items" }, found.items.map((item) => h("li", {}, name(item), clicked.has(item) ? CLICKED() : null))),
          h("h3", {}, "Rankers at that moment"), h("ul", { class: "chips" }, found.production.slice(0, MOST).map((ranker) => h("li", {}, name(ranker))), found.production.length > MOST ? h("li", { class: "quiet" }, `and ${count(found.production.length - MOST)} more`) : null)]
        : lists(found.production, found.items, "Shown", (item) => (clicked.has(item) ? CLICKED() : null))),
      h("div", { class: "stack" },
        panel("Why", null, found.reasons.length ? h("ul", { class: "words" }, found.reasons.map((reason) => h("li", {}, h("bdi", {}, reason)))) : h("p", { class: "quiet" }, "The list that looked best was shown as it is.")),
        panel("What the user did, and what was learned", null,
          found.heard.length ? h("ol", { class: "events" }, found.heard.map(event)) : h("p", { class: "quiet" }, "No event has come."),
          h("p", {}, h("strong", {}, "Outcome: "), h("bdi", {}, found.outcome))))),
    evidence(found.evidence),
    h("p", { class: "quiet" }, "Id: ", h("code", {}, id)));
}

function event(each) {
  const what = each.type === "seen" ? `the first ${plural(each.positions, "position")} came into view`
    : each.item !== undefined && each.item !== null ? [`${each.type} on `, name(each.item), each.position === undefined ? null : ` at position ${each.position + 1}`] : each.type;
  return h("li", {}, at(each.at), h("div", {}, what));
}

function learnedBadge({ learned }) {
  if (learned === null || learned === undefined) return badge("open", "warn");
  return learned ? badge("learned from", "good") : badge("not learned from");
}

function evidence(rows) {
  if (!rows.length) return null;
  if (rows.length === 1 && "explanation" in rows[0]) return panel("What was known at that moment", null, h("pre", { tabindex: "0" }, rows[0].explanation));
  const columns = Object.keys(rows[0]);
  const text = (value) => (value === true ? "yes" : value === false ? "no" : typeof value === "number" ? decimal(value, Number.isInteger(value) ? 0 : 2) : h("bdi", {}, value));
  return panel("What was known at that moment", null,
    table("Evidence", columns.map((column, i) => [HEADINGS[column] ?? column.charAt(0).toUpperCase() + column.slice(1), i ? "n" : null]), rows.map((row) => ({ cells: columns.map((column) => text(row[column])) })), { hide: true }));
}
