// Fields for a row: a relation to choose, and a field for each of its columns, with values to choose from.

import { get } from "./api.js";
import { h, show } from "./dom.js";
import { state } from "./store.js";

// Rows that are looked at for values to suggest.
const SAMPLE = 200;
let made = 0;

/** A choice of relations. `kinds` are those that make sense here. */
export function relationChoice(kinds, name, changed) {
  const known = state.database.relations.filter((relation) => kinds.includes(relation.kind));
  const chosen = known.some((relation) => relation.name === name) ? name : known[0]?.name;
  const choice = h(
    "select",
    { "aria-label": kinds.length > 1 ? "Table or view" : kinds[0] === "view" ? "View" : "Table", class: "mono", onchange: () => changed(choice.value) },
    ...known.map((relation) => h("option", { value: relation.name, selected: relation.name === chosen }, relation.name)),
  );
  return choice;
}

/** Fields for a row of a relation. `read()` gives the values by column; what is empty is left out. */
export class RowFields {
  constructor({ empty = "any" } = {}) {
    this.empty = empty;
    this.place = h("span", { class: "fields" });
    this.inputs = [];
  }

  choose(relation, row = []) {
    this.relation = relation;
    this.inputs = relation.columns.map((column, at) => input(column, row[at], this.empty));
    const labels = relation.columns.map((column, at) =>
      h("label", { class: "field" }, h("span", {}, column.name, h("small", {}, column.type)), this.inputs[at]));
    show(this.place, ...labels);
    suggest(relation, this.inputs);
  }

  read() {
    const values = {};
    this.relation.columns.forEach((column, at) => {
      const text = this.inputs[at].value;
      if (text === "NULL" && column.nullable) values[column.name] = null;
      else if (text !== "") values[column.name] = text;
    });
    return values;
  }

  /** The texts as they stand there, to be put into other fields. */
  typed() {
    return this.inputs.map((field) => field.value || undefined);
  }
}

function input(column, value, empty) {
  const given = value === undefined ? "" : value === null ? "NULL" : String(value);
  return h("input", { type: "text", value: given, placeholder: empty, autocomplete: "off", spellcheck: "false", class: "mono" });
}

/** Values that are there, as far as the first rows show them. */
async function suggest(relation, inputs) {
  let page;
  try {
    page = await get("rows", { relation: relation.name, limit: SAMPLE });
  } catch {
    // A field without suggestions is still a field.
    return;
  }
  inputs.forEach((field, at) => {
    const values = [...new Set(page.rows.map((row) => row[at]))].filter((value) => value !== null && !Array.isArray(value));
    made += 1;
    const list = h("datalist", { id: `values-${made}` }, ...values.slice(0, 100).map((value) => h("option", { value })));
    field.after(list);
    field.setAttribute("list", list.id);
  });
}
