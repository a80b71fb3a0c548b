// A field for SQL that completes the names of relations and columns.

import { h } from "./dom.js";
import { Popup } from "./popup.js";
import { state } from "./store.js";

const KEYWORDS = ["SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "JOIN", "LEFT JOIN", "ON", "AND", "OR", "NOT",
  "DISTINCT", "LIMIT", "COUNT(*)", "SUM", "MIN", "MAX", "AVG", "AS", "IN", "EXISTS", "WITH", "UNION", "IS NULL", "DESC"];
const MOST = 8;

/** The field, with a line for completions that has its room below it; `submit` is called by Ctrl-Enter. */
export function sqlField(text, submit) {
  const field = h("textarea", {
    rows: 4, class: "mono", spellcheck: "false", "aria-label": "SQL", placeholder: "SELECT * FROM …",
    onkeydown: (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      submit();
    },
  });
  field.value = text;
  const popup = new Popup(field, {
    label: "Completions", css: "line", tab: true,
    find: () => {
      const word = wordBefore(field);
      return word.length ? matches(word) : [];
    },
    take: ({ name }) => field.setRangeText(name, field.selectionStart - wordBefore(field).length, field.selectionStart, "end"),
  });
  return { field, place: h("div", { class: "sql" }, field, popup.list) };
}

function wordBefore(field) {
  return /[\p{L}\p{N}_]*$/u.exec(field.value.slice(0, field.selectionStart))[0];
}

function matches(word) {
  const folded = word.toLowerCase();
  const found = [];
  const add = (name, kind) => {
    if (name.toLowerCase().startsWith(folded) && name.toLowerCase() !== folded && !found.some((each) => each.name === name)) {
      found.push({ name, kind });
    }
  };
  for (const relation of state.database.relations) add(relation.name, relation.kind);
  for (const relation of state.database.relations) {
    for (const column of relation.columns) add(column.name, `column of ${relation.name}`);
  }
  for (const keyword of KEYWORDS) add(keyword, "SQL");
  return found.slice(0, MOST);
}
