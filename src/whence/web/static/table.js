// Rows as a table.

import { h } from "./dom.js";
import { cell, isNumber } from "./words.js";

/** `columns` have a name and a type; `action` makes what stands at the end of a row, if anything does. */
export function table(columns, rows, { action = null, caption = null, filters = null } = {}) {
  const names = columns.map((column) =>
    h("th", { scope: "col", class: kind(column) }, column.name, h("small", {}, column.type)),
  );
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      caption === null ? null : h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, ...names, action ? h("th", {}, h("span", { class: "hidden" }, "Ask")) : null), filters),
      h("tbody", {}, ...rows.map((row) => line(columns, row, action))),
    ),
  );
}

export function line(columns, row, action = null) {
  const cells = row.map((value, at) => h("td", { class: kind(columns[at]) }, cell(value)));
  return h("tr", {}, ...cells, action ? h("td", { class: "action" }, action(row)) : null);
}

function kind(column) {
  return isNumber(column.type) ? "number" : null;
}
