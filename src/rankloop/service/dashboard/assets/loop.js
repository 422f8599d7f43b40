// One loop: what all kinds have in common, and then what is special about each.

import { call, path, Trouble } from "./api.js";
import { ask } from "./dialog.js";
import { h, name } from "./dom.js";
import { loopAddress, say } from "./frame.js";
import { compact, count, duration, percent, plural } from "./format.js";
import { race } from "./evaluate.js";
import { keyData, keyParts, raceOf } from "./keyed.js";
import { at, badge, facts, happenings, health, heading, modeBadge, panel, perImpression, stillCounting, table, trafficChart, UPLIFT, upliftChart, verdict } from "./parts.js";

const PURPOSE = {
  evaluate: "Which ranker is best? Two at a time share a list, and clicks decide.",
  rerank: "Improves production's lists by exchanging neighbours, never breaking them.",
  follow: "Learns lists while tastes change, and forgets what was true long ago.",
  diversify: "Chooses lists that are relevant without being ten of the same, from what is known of items.",
};
const PER_PAGE = 25;
const MATCHES = 1_000; // keys that the service looks at in a search

export function loopPage(loop, options) {
  return {
    load: async ({ signal }) => {
      const all = await call("/v1/overview", { signal });
      const mine = all.loops.find((each) => each.loop === loop);
      if (!mine) throw new Trouble(404, `There is no loop “${loop}” that this key may see`);
      const found = { now: all.at, loops: all.loops, loop: mine, happenings: all.happenings.filter((each) => each.loop === loop) };
      const asked = new URLSearchParams({ limit: PER_PAGE, search: options.get("search") ?? "", after: options.get("after") ?? "" });
      for (const word of ["search", "after"]) if (!asked.get(word)) asked.delete(word);
      const keys = await call(`${path`/v1/loops/${loop}/keys`}?${asked}`, { signal });
      const first = asked.has("search") || asked.has("after") ? undefined : keys.keys[0]?.key;
      if (mine.kind === "evaluate") {
        const keyless = await raceOf(loop, "", signal);
        return { ...found, keys, soon: !keys.counted.complete, race: keyless.leader === null && first ? await raceOf(loop, first, signal) : keyless };
      }
      const busiest = first === undefined || mine.kind === "rerank" ? null : await keyData(loop, first, signal);
      return { ...found, keys, busiest, soon: Boolean(busiest?.soon) || !keys.counted.complete };
    },
    view: (data, context) => ({ title: loop, content: content(data, options, context) }),
  };
}

function content({ now, loop, race: found, keys, busiest, happenings: lately }, options, context) {
  const [tone, word, meaning] = health(loop, now);
  const badges = [badge(loop.kind), modeBadge(loop.mode), h("span", { class: `badge dot ${tone}` }, word)];
  const head = heading(loop.loop, { badges, actions: actions(loop, context), crumbs: [["#/", "Overview"]], lead: `${PURPOSE[loop.kind]} Policy: ${loop.policy}.` });
  if (!loop.impressions) return h("div", {}, head, waiting(loop));
  const more = meaning && tone ? h("p", { class: "quiet" }, meaning) : null;
  if (loop.kind === "evaluate") return h("div", {}, head, more, raced(loop, found, keys, lately, options, context));
  return h("div", {}, head, more, numbers(loop),
    h("div", { class: "columns stretch" }, help(loop), lived(loop)),
    busiest ? h("section", { class: "busiest" }, h("h2", {}, "The busiest key: ", h("a", { href: loopAddress(loop.loop, "keys", busiest.detail.key) }, name(busiest.detail.key))), keyParts(busiest)) : null,
    h("div", { class: "aside" },
      h("div", {}, keyTable(loop, keys, options, context)),
      h("div", {}, panel("Lately", null, happenings(lately.slice(0, 15), { loops: false })))));
}

/** The race, which is that of duels without a key if there are any, and the keys if duels have some. */
function raced(loop, found, keys, lately, options, context) {
  const happened = panel("Lately", null, happenings(lately.slice(0, 12), { loops: false }));
  const parts = race(found, ["Open impressions", compact(loop.open), "Their windows have not passed."]);
  if (!found.key && keys.total <= 1) return [parts, happened];
  return [
    h("p", { class: "inset" }, found.key
      ? ["Duels of this loop have keys, and each key has a race of its own. This is the race of the busiest key, ", h("a", { href: loopAddress(loop.loop, "keys", found.key) }, name(found.key)), "; the others are below."]
      : "Some duels of this loop have keys, and each key has a race of its own. This is the race of duels without a key; the others are below."),
    parts, keyTable(loop, keys, options, context), happened];
}

function numbers(loop) {
  return facts(
    ["Keys", compact(loop.keys), "Each has a learner of its own."],
    ["Impressions", compact(loop.impressions), `${compact(loop.per_hour)} in the last hour`],
    ["Clicks", compact(loop.clicks), `${perImpression(loop.clicks, loop.impressions)} per impression`],
    ["Open", compact(loop.open), "Their windows have not passed."],
    ["Learned from", compact(loop.learned), loop.lag ? `lag ${duration(loop.lag)}` : "nothing waits"],
    ["Traffic", percent(loop.traffic, 0), `holdout ${percent(loop.holdout_share, loop.holdout_share < 0.01 ? 1 : 0)}`]);
}

function help(loop) {
  const { uplift } = loop;
  return panel("Does it help?", UPLIFT,
    h("p", {}, h("strong", {}, verdict(uplift).text)),
    upliftChart(uplift),
    uplift?.impressions
      ? table("Impressions with at least one click", [["Who"], ["Impressions", "n"], ["With a click", "n"]], [
        { cells: ["With the loop", count(uplift.impressions[0]), percent(uplift.loop, 2)] },
        { cells: ["Holdout", count(uplift.impressions[1]), percent(uplift.holdout, 2)] }], { hide: true })
      : null);
}

function lived(loop) {
  return panel("Traffic", "The last three hours, in steps of five minutes.", trafficChart(loop),
    h("p", { class: "quiet" }, `${plural(loop.duplicates, "duplicate")} and ${plural(loop.late, "late event")} were left out; ${plural(loop.recovered, "impression")} came back after a crash; ${plural(loop.fallbacks, "list")} fell back to production's.`));
}

function keyTable(loop, page, options, { go }) {
  const search = options.get("search") ?? "";
  const here = (more) => {
    const query = new URLSearchParams(more);
    for (const word of [...query.keys()]) if (!query.get(word)) query.delete(word);
    return `${loopAddress(loop.loop)}${query.size ? `?${query}` : ""}`;
  };
  const submit = (event) => {
    event.preventDefault();
    go(here({ search: new FormData(event.currentTarget).get("search").trim() }));
  };
  const skipped = options.get("after") ? Number(options.get("from")) || 0 : 0;
  const total = search ? page.matches ?? page.keys.length : page.total;
  return panel("Keys by traffic", null,
    h("form", { class: "search", role: "search", "aria-label": "Keys", onsubmit: submit },
      h("label", {}, "Find a key", h("input", { name: "search", type: "search", value: search, autocomplete: "off" })),
      h("button", { type: "submit" }, "Find")),
    page.keys.length
      ? table(search ? `Keys that contain “${search}”` : "Keys, those with most impressions first",
        [["Key"], ["Impressions", "n"], ["Clicks", "n"], ["Clicks per impression", "n spare"], ["Learned from", "n spare"], ["Last asked for", "n spare"]],
        page.keys.map((each) => ({ key: each.key, cells: [
          each.key ? h("a", { href: loopAddress(loop.loop, "keys", each.key) }, name(each.key)) : h("a", { href: loopAddress(loop.loop) }, "without a key"), count(each.impressions), count(each.clicks),
          perImpression(each.clicks, each.impressions), count(each.learned), each.last ? at(each.last) : "–"] })), { hide: true })
      : h("p", { class: "inset" }, search ? `No key contains “${search}”. Upper and lower case are different.` : "There are no more keys."),
    search && total >= MATCHES ? h("p", { class: "quiet" }, `At least ${count(MATCHES)} keys contain “${search}”: the ${count(MATCHES)} that were asked for first are shown. Type more of the key.`) : null,
    h("nav", { class: "pager", "aria-label": "Pages of keys" },
      options.get("after") ? h("a", { href: here({ search }) }, "First page") : null,
      h("span", {}, page.keys.length ? `${count(skipped + 1)} to ${count(skipped + page.keys.length)} of ${plural(total, "key")}` : ""),
      page.next ? h("a", { href: here({ search, after: page.next, from: skipped + page.keys.length }) }, "Next page") : null),
    stillCounting(page.counted));
}

function actions(loop, { isAdmin, refresh }) {
  if (!isAdmin) return [];
  const paused = loop.mode === "paused";
  const act = async () => {
    const sure = await ask({
      title: paused ? `Resume ${loop.loop}?` : `Pause ${loop.loop}?`,
      text: h("p", {}, paused
        ? "The policy chooses again from the next request on."
        : "Everybody gets production's list from the next request on, and nothing is learned from it. What is known is kept, and “Resume” goes on with it."),
      yes: paused ? "Resume" : "Pause",
      danger: !paused,
    });
    if (!sure) return;
    try {
      await call(path`/v1/loops/${loop.loop}/${paused ? "resume" : "pause"}`, { method: "POST" });
      say(paused ? "The loop was resumed." : "The loop was paused.");
    } catch (trouble) {
      say(`That did not work: ${trouble.message}`);
      await ask({ title: "That did not work", text: h("p", {}, trouble.message) });
    }
    await refresh();
  };
  return [h("button", { type: "button", onclick: act }, paused ? "Resume…" : "Pause…")];
}

function waiting(loop) {
  const how = loop.kind === "evaluate"
    ? [`duel = client.duel("${loop.loop}", user="u1")\n`, "shown = client.interleave(duel.id, lists)\n", "client.click(shown.id, shown.items[0])"]
    : [`shown = client.rank("${loop.loop}", "laptop", ["sku-9", "sku-2", "sku-7"], user="u1")\n`, "client.click(shown.id, shown.items[0])"];
  return h("div", { class: "inset" },
    h("h2", {}, "This loop has no traffic yet"),
    h("p", {}, "Nobody has asked it for a list. Call it where your program shows one:"),
    h("pre", { tabindex: "0" }, how),
    h("p", { class: "quiet" }, "This page shows impressions as soon as there are any. If there should be some, look whether the program uses this loop's name and this service's address."));
}
