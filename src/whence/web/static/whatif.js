// What would change, side by side: what is there now and would go, and what would come in its place.

import { h } from "./dom.js";
import { state } from "./store.js";
import { nothing } from "./trouble.js";
import { amount, cell, isNumber, number } from "./words.js";

/** The answer to "what if", a part for each table and view that would change. */
export function sideBySide(relations) {
  if (!relations.length) return nothing("Nothing would change.");
  const order = new Map(state.database.relations.map((relation, at) => [relation.name, at]));
  const sorted = [...relations].sort((one, other) => order.get(one.relation) - order.get(other.relation));
  const views = sorted.filter((each) => state.byName.get(each.relation)?.kind === "view");
  const untouched = state.database.relations.filter((each) => each.kind === "view" && !relations.some((r) => r.relation === each.name));
  return [
    h("p", { class: "note" }, `${amount(views.length, "view")} would change. Nothing has been changed.`),
    ...sorted.map(part),
    untouched.length ? h("p", {}, "As before: ", h("span", { class: "mono" }, untouched.map((each) => each.name).join(", "))) : null,
  ];
}

function part(change) {
  const relation = state.byName.get(change.relation);
  const before = relation.size;
  const after = before === null ? null : before + change.inserted - change.deleted;
  const about = relation.exact ? "" : "about ";
  const columns = relation.columns;
  const head = (word, count) =>
    h("th", { colspan: columns.length, scope: "colgroup" }, `${word}: ${about}${count === null ? "?" : amount(count, "row")}`);
  const pairs = paired(change.rows);
  const names = [...columns, ...columns].map((column) => h("th", { scope: "col", class: kind(column) }, column.name));
  const left = change.inserted + change.deleted - change.rows.reduce((sum, row) => sum + Math.abs(row.count), 0);
  return h(
    "section",
    { class: "change" },
    h("h3", {}, h("span", { class: "mono" }, change.relation), h("small", {}, ` ${relation.kind}, `),
      h("span", { class: "went" }, change.deleted ? `−${number(change.deleted)}` : ""), " ",
      h("span", { class: "came" }, change.inserted ? `+${number(change.inserted)}` : "")),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Changes of ${change.relation}` },
      h("table", { class: "sides" }, h("thead", {}, h("tr", {}, head("Now", before), head("Then", after)), h("tr", {}, ...names)),
        h("tbody", {}, ...pairs.map((pair) => line(columns, pair))))),
    left > 0 ? h("p", {}, `and ${amount(left, "row")} more`) : null,
  );
}

function line(columns, { gone, come }) {
  const side = (row, other, sign) =>
    columns.map((column, at) =>
      h("td", { class: [kind(column), row ? sign : "blank", row && other && differs(row, other, at) ? "differs" : ""].filter(Boolean).join(" ") },
        row ? cell(row[at]) : ""));
  return h("tr", {}, ...side(gone, come, "went"), ...side(come, gone, "came"));
}

/** A row that goes beside the one that differs from it in one column; what has no such partner stands alone. */
function paired(rows) {
  const copies = (row, count) => Array.from({ length: Math.abs(count) }, () => row);
  const gone = rows.filter(({ count }) => count < 0).flatMap(({ row, count }) => copies(row, count));
  const come = rows.filter(({ count }) => count > 0).flatMap(({ row, count }) => copies(row, count));
  const byRest = new Map();
  const rest = (row, without) => JSON.stringify(row.map((value, at) => (at === without ? "*" : value)).concat(without));
  come.forEach((row, number) => row.forEach((_, at) => {
    const key = rest(row, at);
    byRest.set(key, [...(byRest.get(key) ?? []), number]);
  }));
  const taken = new Set();
  const pairs = gone.map((row) => {
    // The last columns of a row are most often what follows from the others.
    for (let at = row.length - 1; at >= 0; at -= 1) {
      const free = (byRest.get(rest(row, at)) ?? []).find((number) => !taken.has(number));
      if (free !== undefined && row.length > 1) {
        taken.add(free);
        return { gone: row, come: come[free] };
      }
    }
    return { gone: row, come: null };
  });
  return [...pairs, ...come.filter((_, number) => !taken.has(number)).map((row) => ({ gone: null, come: row }))];
}

function differs(one, other, at) {
  return JSON.stringify(one[at]) !== JSON.stringify(other[at]);
}

function kind(column) {
  return isNumber(column.type) ? "number" : "";
}
