// One key of a loop: production's list and today's, the evidence, and what has changed when.

import { call, path } from "./api.js";
import { ask } from "./dialog.js";
import { diversified } from "./diversify.js";
import { h, name } from "./dom.js";
import { race } from "./evaluate.js";
import { followed } from "./follow.js";
import { loopAddress, say } from "./frame.js";
import { compact, plural } from "./format.js";
import { lists } from "./lists.js";
import { at, badge, facts, heading, panel, perImpression, stillCounting } from "./parts.js";
import { changesTable, neighbours, receipt } from "./rerank.js";

/** What is known of a key. */
export async function keyData(loop, key, signal) {
  const detail = await call(path`/v1/loops/${loop}/keys/${key}`, { signal });
  if (detail.kind === "evaluate") return { detail, race: await raceOf(loop, key, signal), soon: !detail.counted.complete };
  const history = await call(path`/v1/loops/${loop}/keys/${key}/history`, { signal });
  return { detail, history, soon: !history.progress.complete || !detail.counted.complete };
}

/** The race in the duels of a key; "" is that of duels without one. */
export const raceOf = (loop, key, signal) =>
  call(`${path`/v1/loops/${loop}/race`}${key ? `?${new URLSearchParams({ key })}` : ""}`, { signal });

export function keyedPage(loop, key) {
  return {
    load: ({ signal }) => keyData(loop, key, signal),
    view: (data, context) => ({ title: `${key} · ${loop}`, content: content(data, context) }),
  };
}

function content(data, context) {
  const { detail } = data;
  const { loop, key } = detail;
  const badges = [badge(detail.kind), isReverted(data) ? badge("reverted", "warn") : null];
  return h("div", {},
    heading(key, { badges, actions: actions(detail, context), crumbs: [["#/", "Overview"], [loopAddress(loop), loop]] }),
    facts(
      ["Impressions", compact(detail.impressions), detail.last ? ["last ", at(detail.last)] : "none yet"],
      ["Clicks", compact(detail.clicks), `${perImpression(detail.clicks, detail.impressions)} per impression`],
      ["Learned from", compact(detail.learned), "lists whose windows have passed"],
      ["Policy", detail.policy, `${detail.kind} loop`]),
    stillCounting(detail.counted),
    isReverted(data) ? setBack(data) : null,
    keyParts(data));
}

const isReverted = ({ detail, history }) =>
  Boolean(detail.reverted) && !history?.changes.some((change) => change.at > detail.reverted && ["exchange", "first"].includes(change.kind));

const setBack = ({ detail }) =>
  h("div", { class: "inset" },
    h("h2", {}, "This key was set back to production's list"),
    h("p", {}, "On ", at(detail.reverted), " all evidence was forgotten, and lists shown before are not learned from. It begins anew, as a new key would: nothing has to be done."));

/** The parts of the page that depend on the kind of loop. */
export function keyParts({ detail, history, race: found }) {
  if (detail.kind === "evaluate") return race(found);
  if (detail.kind === "diversify") return diversified(detail, history);
  if (detail.kind === "follow") return [followed(detail, history), todays(detail), changesTable(history)];
  return [h("div", { class: "columns" }, todays(detail), receipt(detail)), changesTable(history), neighbours(detail)];
}

function todays({ production, best }) {
  if (!best?.length) return panel("Lists", null, h("p", { class: "quiet" }, "The policy has shown no list for this key yet."));
  return panel("Production's list, and today's", null, lists(production, best, "Today"));
}

function actions({ loop, key, impressions }, { isAdmin, refresh }) {
  if (!isAdmin) return [];
  const revert = async () => {
    const sure = await ask({
      title: "Set this key back?",
      text: [
        h("p", {}, name(key), ` goes back to production's list, and all evidence from ${plural(impressions, "impression")} is forgotten. This cannot be undone.`),
        h("p", {}, "The journal keeps what happened. The key begins to learn anew with the next list."),
      ],
      yes: "Set it back",
    });
    if (!sure) return;
    try {
      await call(path`/v1/loops/${loop}/revert`, { method: "POST", body: { key } });
      say("The key was set back to production's list.");
    } catch (trouble) {
      await ask({ title: "That did not work", text: h("p", {}, trouble.message) });
    }
    await refresh();
  };
  return [h("button", { type: "button", onclick: revert }, "Revert…")];
}
