// Fields for a row: a relation to choose, rows to pick from by their key, and a field for each column.

import { get } from "./api.js";
import { h, show } from "./dom.js";
import { Popup } from "./popup.js";
import { state } from "./store.js";
import { ValueField, width } from "./value.js";
import { written } from "./words.js";

// Rows that are looked at for values to suggest, and rows that are offered at a time.
const SAMPLE = 200;
const OFFERED = 12;
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
  constructor() {
    this.found = h("div", {});
    this.columns = h("div", { class: "fields" });
    this.place = h("div", { class: "about" }, this.found, this.columns);
    this.fields = [];
  }

  choose(relation, row = []) {
    this.relation = relation;
    this.fields = relation.columns.map((column, at) => new ValueField(column, { value: row[at], label: column.name }));
    this.sample = get("rows", { relation: relation.name, limit: SAMPLE }).then((page) => page.rows, () => []);
    const labels = relation.columns.map((column, at) =>
      h("div", { class: `field ${width(column)}` },
        h("span", {}, h("span", {}, column.name), h("small", {}, column.type)), this.fields[at].place));
    show(this.found, relation.columns.length > 1 ? this.picker() : null);
    show(this.columns, ...labels);
    this.suggest();
  }

  read() {
    const values = {};
    this.fields.forEach((field) => {
      const value = field.read();
      if (value !== undefined) values[field.column.name] = value;
    });
    return values;
  }

  /** The values as they stand there, to be put into other fields. */
  typed() {
    return this.fields.map((field) => field.read());
  }

  /** A row that is there, found by its key: by all columns where there is none. */
  picker() {
    const { relation } = this;
    const key = relation.key.length ? relation.key : relation.columns.map((column) => column.name);
    const words = relation.key.length ? `by ${key.join(", ")}` : "by its values";
    const field = h("input", { type: "search", class: "mono", autocomplete: "off", spellcheck: "false",
      "aria-label": `Find a row of ${relation.name} ${words}`, placeholder: `find a row ${words}` });
    const popup = new Popup(field, {
      label: "Rows", css: "rows", find: (text) => this.find(text, key),
      take: ({ row }) => {
        field.value = "";
        this.fields.forEach((each, at) => each.set(row[at]));
      },
    });
    field.addEventListener("focus", () => popup.offer());
    return h("div", { class: "picker" }, field, popup.list);
  }

  /** Rows whose key has all the words: among the first ones, and any that has the text as the first value of its key. */
  async find(text, key) {
    const { relation } = this;
    const at = key.map((name) => relation.columns.findIndex((column) => column.name === name));
    const words = text.toLowerCase().split(/[\s,]+/).filter(Boolean);
    const has = (row, wanted) => wanted.every((word) => at.some((number) => written(row[number]).toLowerCase().includes(word)));
    let rows = (await this.sample).filter((row) => has(row, words));
    const first = text.split(",")[0].trim();
    if (first && rows.length < OFFERED) {
      const where = JSON.stringify({ [key[0]]: first });
      // A text that is no value of that column finds nothing.
      const exact = await get("rows", { relation: relation.name, where, limit: SAMPLE }).then((page) => page.rows, () => []);
      const known = new Set(rows.map((row) => JSON.stringify(row)));
      const rest = words.slice(first.split(/\s+/).length);
      rows = rows.concat(exact.filter((row) => !known.has(JSON.stringify(row)) && has(row, rest)));
    }
    const others = relation.columns.map((_, number) => number).filter((number) => !at.includes(number));
    return rows.slice(0, OFFERED).map((row) => ({
      row, name: at.map((number) => written(row[number])).join(", "), kind: others.map((number) => written(row[number])).join(", "),
    }));
  }

  /** Values that are there, as far as the first rows show them. */
  async suggest() {
    const { fields } = this;
    const rows = await this.sample;
    fields.forEach(({ input }, at) => {
      if (input.tagName !== "INPUT") return;
      const values = [...new Set(rows.map((row) => row[at]))].filter((value) => value !== null && !Array.isArray(value));
      made += 1;
      const list = h("datalist", { id: `values-${made}` }, ...values.slice(0, 100).map((value) => h("option", { value })));
      input.after(list);
      input.setAttribute("list", list.id);
    });
  }
}
