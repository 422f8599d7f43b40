// The race of rankers.

import { heatmap, lines, whisker } from "./charts.js";
import { h, name } from "./dom.js";
import { chart } from "./drawing.js";
import { compact, count, decimal, percent, plural } from "./format.js";
import { sentence } from "./frame.js";
import { at, badge, facts, figure, happenings, panel, table } from "./parts.js";

const NAMED = 12;
const ROWS = 15;
const SQUARE = 24;

/** Everything about one race. */
export function race(found, loop, lately) {
  const surviving = found.batches.reduce((total, batch) => total + batch.length, 0);
  const { decision, regret } = found;
  return [
    facts(
      ["Rankers in the race", `${count(surviving)} of ${count(found.rankers)}`, found.winner ? ["Winner: ", h("strong", {}, name(found.winner))] : found.leader ? ["Leader: ", h("strong", {}, name(found.leader))] : "No leader yet"],
      ["Duels", compact(found.duels), `${count(found.ties)} ties, from which nothing is learned`],
      ["Days until a decision", found.winner ? "Decided" : decision.days === null ? "Not known" : decision.days < 1 ? "under 1" : decimal(decision.days, decision.days < 10 ? 1 : 0),
        `at ${compact(decision.per_day)} duels per day`],
      ["Regret so far (estimate)", compact(regret.spent), `${decimal(regret.per_duel, 3)} per duel`],
      ["Open impressions", compact(loop.open), "Their windows have not passed."]),
    h("div", { class: "columns stretch" }, batches(found, surviving), survivorsOverTime(found, surviving)),
    standings(found),
    h("div", { class: "columns" }, pairs(found), h("div", { class: "stack" }, estimates(found), panel("Lately", null, happenings(lately.slice(0, 12), { loops: false })))),
  ];
}

function standings({ standings: rows, leader, left_out: leftOut, alpha }) {
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
    leftOut ? h("p", { class: "quiet" }, `${plural(leftOut, "further ranker")} that left the race long ago ${leftOut === 1 ? "is" : "are"} not listed.`) : null);
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
  return panel("How this is estimated", null,
    h("ul", { class: "words" },
      h("li", {}, h("strong", {}, "Decision: "), sentence(decision.how), decision.duels_left ? ` About ${compact(decision.duels_left)} duels are left.` : ""),
      (decision.assumes ?? []).map((each) => h("li", {}, "Assumes: ", sentence(each))),
      h("li", {}, h("strong", {}, "Regret: "), sentence(regret.how))));
}

function pairs({ pairs: found }) {
  const n = Math.min(SQUARE, found.rankers.length);
  if (n < 2) return null;
  const cut = (matrix) => matrix.slice(0, n).map((row) => row.slice(0, n));
  const rankers = found.rankers.slice(0, n);
  const data = { rankers, duels: cut(found.duels), wins: cut(found.wins), label: `Who beat whom, for ${plural(n, "ranker")}; the table below has the numbers` };
  const rows = [];
  for (let i = 0; i < n; i += 1) for (let j = i + 1; j < n; j += 1) if (data.duels[i][j]) rows.push([i, j]);
  return panel("Pairs", "Each square is a pair: blue where the ranker of the row wins more often, vermilion where it loses; grey pairs never met. Columns have the numbers of rows.",
    figure(chart(heatmap, data), {
      caption: found.rankers.length > n ? `The ${n} that are ahead.` : null,
      numbers: () => table("Pairs that met", [["Pair"], ["Duels", "n"], ["First won", "n"], ["Second won", "n"]],
        rows.map(([i, j]) => ({ cells: [[name(rankers[i]), " and ", name(rankers[j])], count(data.duels[i][j]), count(data.wins[i][j]), count(data.wins[j][i])] })), { hide: true }),
    }));
}
