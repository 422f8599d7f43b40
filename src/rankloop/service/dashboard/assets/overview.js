// All loops at a glance, and what happened lately.

import { call } from "./api.js";
import { stacked } from "./charts.js";
import { h, name } from "./dom.js";
import { chart } from "./drawing.js";
import { loopAddress } from "./frame.js";
import { bytes, compact, count, duration, plural } from "./format.js";
import { badge, facts, happenings, health, heading, modeBadge, panel, stillCounting, traffic, UPLIFT, upliftChart, verdict } from "./parts.js";

export function overviewPage() {
  return {
    load: async ({ signal }) => {
      const found = await call("/v1/overview", { signal });
      return { ...found, soon: !found.counted.complete };
    },
    view: (data) => ({ title: "Overview", content: data.loops.length ? overview(data) : beginning() }),
  };
}

function overview({ at: now, loops, store, happenings: lately, counted }) {
  const sum = (word) => loops.reduce((total, loop) => total + loop[word], 0);
  const ill = loops.filter((loop) => ["bad", "warn"].includes(health(loop, now)[0]));
  return h("div", {},
    heading("Overview"),
    facts(
      ["Loops", count(loops.length), plural(sum("keys"), "key")],
      ["Impressions", compact(sum("impressions")), `${compact(sum("per_hour"))} in the last hour`],
      ["Clicks", compact(sum("clicks")), plural(sum("duplicates"), "duplicate left out", "duplicates left out")],
      ["Open impressions", compact(sum("open")), "Their windows have not passed."],
      ["Learning lag", duration(Math.max(...loops.map((loop) => loop.lag))), "How long windows that have passed wait."],
      ["Health", ill.length ? plural(ill.length, "loop needs a look", "loops need a look") : "All is well",
        store ? [`${compact(store.entries)} entries, ${bytes(store.bytes)}, in `, name(store.name)] : "Of the loops that this key is for."]),
    h("div", { class: "aside" },
      h("div", {},
        h("section", { class: "loops", "aria-labelledby": "loops" },
          h("h2", { id: "loops" }, "Loops"),
          h("p", { class: "quiet" }, UPLIFT),
          h("ul", { class: "loops" }, loops.map((loop) => loopCard(loop, now))))),
      h("div", {}, panel("Lately", "Exchanges, eliminations, reverts, fallbacks and changes, newest first.", happenings(lately.slice(0, 30)), stillCounting(counted)))));
}

function loopCard(loop, now) {
  const [tone, word, meaning] = health(loop, now);
  return h("li", { class: "loop", "data-key": loop.loop },
    h("div", { class: "who" },
      h("h3", {}, h("a", { href: loopAddress(loop.loop) }, name(loop.loop))),
      h("div", { class: "tags" }, badge(loop.kind), modeBadge(loop.mode), h("span", { class: `badge dot ${tone}`, title: meaning || null }, word))),
    h("div", { class: "traffic" }, traffic(loop), h("span", { class: "label" }, `${plural(loop.per_hour, "impression")} in the last hour`)),
    h("div", { class: "number" }, h("strong", {}, compact(loop.open)), h("span", { class: "label" }, "open")),
    h("div", { class: "number" }, h("strong", {}, duration(loop.lag)), h("span", { class: "label" }, "learning lag")),
    h("div", { class: "verdict" }, loop.race ? race(loop) : uplift(loop.uplift)));
}

function uplift(found) {
  return [upliftChart(found), h("p", {}, verdict(found).text)];
}

function race({ keys, race: { rankers, survivors, best, winner } }) {
  if (keys && best === null) return h("p", {}, keys === 1 ? "Its duels have a key: the race stands on the loop's page." : `Each of ${plural(keys, "key")} has a race of its own.`);
  const told = `${count(survivors)} of ${plural(rankers, "ranker")} are still in the race`;
  return [
    chart(stacked, { parts: [{ value: survivors, colour: "blue" }], most: rankers, label: told }),
    h("p", {}, winner ? [h("strong", {}, name(winner)), ` is the best of ${plural(rankers, "ranker")}.`]
      : [told, best ? ["; ", h("strong", {}, name(best)), " looks best."] : "."]),
  ];
}

/** What a store without loops shows. */
export function beginning() {
  return h("div", { class: "notice" },
    h("h1", { tabindex: "-1" }, "This store has no loop yet"),
    h("p", {}, "A loop is one problem in production: lists to improve, rankers to compare. Three lines begin one, in Python:"),
    h("pre", { tabindex: "0" },
      `client = rl.Client("${location.origin}", key="…")\n`,
      'client.create("search", kind="rerank")\n',
      'shown = client.rank("search", "laptop", ["sku-9", "sku-2", "sku-7"], user="u1")'),
    h("p", {}, "or from a shell, with a key in ", h("code", {}, "$KEY"), ":"),
    h("pre", { tabindex: "0" },
      `curl -X PUT ${location.origin}/v1/loops/search -H "Authorization: Bearer $KEY" -d '{"kind": "rerank"}'\n`,
      `curl ${location.origin}/v1/loops/search/rank -H "Authorization: Bearer $KEY" \\\n  -d '{"key": "laptop", "items": ["sku-9", "sku-2", "sku-7"], "user": "u1"}'`),
    h("p", { class: "quiet" }, "This page shows the loop as soon as it is there."));
}
