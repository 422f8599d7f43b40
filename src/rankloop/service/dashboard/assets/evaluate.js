// The race of rankers.

import { heatmap, lines, whisker } from "./charts.js";
import { h, name } from "./dom.js";
import { chart } from "./drawing.js";
import { compact, count, decimal, percent, plural } from "./format.js";
import { sentence } from "./frame.js";
import { at, badge, facts, figure, panel, table } from "./parts.js";

const NAMED = 12;
const ROWS = 15;
const SQUARE = 24;

/** Everything about one race; `last` is one more fact. */
export function race(found, last = null) {
  const surviving = found.batches.reduce((total, batch) => total + batch.length, 0);
  const { decision, regret, policy } = found;
  const unknown = `${policy} does not keep the outcomes of pairs`;
  return [
    facts(
      ["Rankers in the race", `${count(surviving)} of ${count(found.rankers)}`, found.winner ? ["Winner: ", h("strong", {}, name(found.winner))] : found.leader ? ["Leader: ", h("strong", {}, name(found.leader))] : "No leader yet"],
      ["Duels with a winner", found.duels === null ? "Not known" : compact(found.duels), found.ties === null ? null : `${plural(found.ties, "tie")}, from which nothing is learned`],
      ["Days until a decision", ...untilDecision(found)],
      ["Regret so far (estimate)", regret ? compact(regret.spent) : "Not known", regret ? regret.per_duel === null ? null : `${decimal(regret.per_duel, 3)} per duel` : unknown],
      last),
    h("div", { class: "columns stretch" }, batches(found, surviving), survivorsOverTime(found, surviving)),
    standings(found, surviving),
    h("div", { class: "columns" }, pairs(found), estimates(found)),
  ];
}

/** How long it still takes, and what that rests on. */
function untilDecision({ winner, decision, leader, policy }) {
  if (winner) return ["Decided", "One ranker is left."];
  if (!decision) return ["Not known", leader === null ? "No duel has been learned from yet." : `An estimate is made for MergeDTS and MergeRUCB, not for ${policy}.`];
  const { days, per_day: perDay } = decision;
  if (days === null) return ["Not known", "There was no duel with a winner in the last 24 hours."];
  return [days < 1 ? "under 1" : decimal(days, days < 10 ? 1 : 0), `at ${compact(perDay)} duels per day`];
}

function standings({ standings: rows, leader, left_out: leftOut, alpha, duels, policy }, surviving) {
  if (duels === null) return listed(rows, leader, leftOut, surviving, policy);
  const shown = rows.slice(0, ROWS);
  const rest = rows.slice(ROWS);
  const describe = (each) => ({
    key: each.ranker,
    kind: each.survives ? null : "out",
    cells: [
      [name(each.ranker), " ", each.ranker === leader ? badge("leader", "good") : null],
      `${count(each.wins)} : ${count(each.losses)}`,
      against(each),
      each.survives ? `batch ${each.batch + 1}`
        : [each.eliminated_at ? [at(each.eliminated_at), " "] : "out ", each.eliminated_by ? ["by ", name(each.eliminated_by)] : null],
    ],
  });
  const columns = [["Ranker"], ["Won : lost", "n"], ["Preferred to the leader", "wide"], ["Still in, or eliminated", "text"]];
  return panel("Standings",
    `Share of duels that a ranker wins against the leader. The interval (${percent(1 - alpha, 0)}) may be read at any time: one that ends below one half says that the ranker is worse.`,
    table("Rankers, those still in the race first", columns, shown.map(describe), { hide: true }),
    rest.length ? h("details", {}, h("summary", {}, `${count(rest.length)} more`), table("More rankers", columns, rest.map(describe), { hide: true })) : null,
    notListed(rows, leftOut, surviving));
}

/** Rankers of a policy that does not know who beat whom. */
function listed(rows, leader, leftOut, surviving, policy) {
  const describe = (each) => ({ key: each.ranker, kind: each.survives ? null : "out", cells: [[name(each.ranker), " ", each.ranker === leader ? badge("leader", "good") : null], each.survives ? "yes" : "no"] });
  const columns = [["Ranker"], ["In the race"]];
  const rest = rows.slice(ROWS);
  return panel("Standings", leader === null ? "No duel has been learned from yet." : `${policy} keeps weights of rankers, and not who beat whom: there is nothing to compare with the leader.`,
    table("Rankers, the leader first", columns, rows.slice(0, ROWS).map(describe), { hide: true }),
    rest.length ? h("details", {}, h("summary", {}, `${count(rest.length)} more`), table("More rankers", columns, rest.map(describe), { hide: true })) : null,
    notListed(rows, leftOut, surviving));
}

function notListed(rows, leftOut, surviving) {
  if (!leftOut) return null;
  const still = surviving - rows.filter((each) => each.survives).length;
  return h("p", { class: "quiet" }, `${plural(leftOut, "further ranker is", "further rankers are")} not listed: ${count(still)} still in the race, ${count(leftOut - still)} eliminated.`);
}

function against({ against_leader: found }) {
  if (!found) return h("span", { class: "quiet" }, "–");
  const colour = found.high < 0.5 ? "vermilion" : found.low > 0.5 ? "blue" : "grey";
  const label = `${percent(found.preference, 0)} (${percent(found.low, 0)} to ${percent(found.high, 0)}), ${found.wins} won and ${found.losses} lost`;
  return h("div", { class: "measure" }, chart(whisker, { value: found.preference, low: found.low, high: found.high, from: 0, to: 1, zero: 0.5, label, colour, ends: false, format: "percent" }),
    h("span", { class: "value" }, percent(found.preference, 0)));
}

function batches({ batches: groups, winner }, surviving) {
  const list = (names) => [names.slice(0, NAMED).map((each) => h("li", {}, name(each))), names.length > NAMED ? h("li", { class: "quiet" }, `and ${count(names.length - NAMED)} more`) : null];
  const shown = groups.slice(0, NAMED);
  return panel("Survivors by batch", groups.length > 1 ? "Rankers are compared within a batch; batches merge as rankers are eliminated." : "All survivors are compared with each other.",
    winner && surviving === 1 ? h("p", {}, "Only ", h("strong", {}, name(winner)), " is left.") : null,
    h("ol", { class: "batches" }, shown.map((group, i) => h("li", {}, h("span", { class: "quiet" }, groups.length > 1 ? `Batch ${i + 1}` : "In the race"), h("ul", { class: "chips" }, list(group))))),
    groups.length > NAMED ? h("p", { class: "quiet" }, `and ${count(groups.length - NAMED)} more batches`) : null);
}

function survivorsOverTime({ standings: rows }, surviving) {
  const gone = rows.map((each) => each.eliminated_at).filter((moment) => moment !== null && moment !== undefined).sort((a, b) => a - b);
  if (gone.length < 2) return null;
  const moments = [gone[0], ...gone];
  const values = moments.map((_, i) => surviving + gone.length - i);
  const label = `Rankers in the race: from ${count(values[0])} to ${count(surviving)}, ${plural(gone.length, "elimination")}`;
  return panel("Rankers in the race", null,
    figure(chart(lines, { at: moments, series: [{ name: "in the race", colour: "blue", values }], label, height: 160, steps: true }),
      { numbers: () => table("Eliminations", [["Ranker"], ["When"], ["By"]], rows.filter((each) => each.eliminated_at).map((each) => ({ key: each.ranker, cells: [name(each.ranker), at(each.eliminated_at), each.eliminated_by ? name(each.eliminated_by) : "–"] })), { hide: true }) }));
}

function estimates({ decision, regret }) {
  if (!decision && !regret) return null;
  return panel("How this is estimated", null,
    h("ul", { class: "words" },
      decision ? [
        h("li", {}, h("strong", {}, "Days until a decision: "), sentence(decision.how), decision.duels_left ? ` About ${compact(decision.duels_left)} duels are left; the smallest gap is ${decimal(decision.gap, 3)}.` : ""),
        h("li", {}, "This assumes that ", decision.assumes.map((each, i) => [i ? "; that " : "", each]), ".")] : null,
      regret ? h("li", {}, h("strong", {}, "Regret: "), sentence(regret.how)) : null));
}

function pairs({ pairs: found }) {
  const n = Math.min(SQUARE, found.rankers.length);
  if (n < 2) return null;
  const cut = (matrix) => matrix.slice(0, n).map((row) => row.slice(0, n));
  const rankers = found.rankers.slice(0, n);
  const data = { rankers, duels: cut(found.duels), wins: cut(found.wins), label: `Who beat whom, for ${plural(n, "ranker")}; the table below has the numbers` };
  const rows = [];
  for (let i = 0; i < n; i += 1) for (let j = i + 1; j < n; j += 1) if (data.duels[i][j]) rows.push([i, j]);
  return panel("Pairs", "Each square is a pair: blue where the ranker of the row wins more often, vermilion where it loses; grey pairs never met. Columns are numbered as the rows are.",
    figure(chart(heatmap, data), {
      caption: found.rankers.length > n ? `The first ${n} of the standings.` : null,
      numbers: () => table("Pairs that met", [["Pair"], ["Duels", "n"], ["First won", "n"], ["Second won", "n"]],
        rows.map(([i, j]) => ({ cells: [[name(rankers[i]), " and ", name(rankers[j])], count(data.duels[i][j]), count(data.wins[i][j]), count(data.wins[j][i])] })), { hide: true }),
    }));
}
