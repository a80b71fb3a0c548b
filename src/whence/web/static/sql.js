// A field for SQL that completes the names of relations and columns.

import { h, show } from "./dom.js";
import { state } from "./store.js";

const KEYWORDS = ["SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "JOIN", "LEFT JOIN", "ON", "AND", "OR", "NOT",
  "DISTINCT", "LIMIT", "COUNT(*)", "SUM", "MIN", "MAX", "AVG", "AS", "IN", "EXISTS", "WITH", "UNION", "IS NULL", "DESC"];
const MOST = 8;

/** The field and its list; `submit` is called by Ctrl-Enter. */
export function sqlField(text, submit) {
  const list = h("ul", { class: "completions", role: "listbox", id: "completions", hidden: true });
  const field = h("textarea", {
    rows: 4, class: "mono", spellcheck: "false", "aria-label": "SQL", placeholder: "SELECT * FROM …",
    role: "combobox", "aria-expanded": "false", "aria-controls": "completions", "aria-autocomplete": "list",
    oninput: () => offer(), onkeydown: (event) => keys(event), onblur: () => close(),
  });
  field.value = text;
  let offered = [];
  let at = 0;

  function offer() {
    const word = wordBefore(field);
    offered = word.length ? matches(word) : [];
    at = 0;
    draw();
  }

  function draw() {
    list.hidden = offered.length === 0;
    field.setAttribute("aria-expanded", !list.hidden);
    show(list, offered.map((each, number) =>
      h("li", {
        role: "option", id: `completion-${number}`, "aria-selected": number === at,
        // Before the field loses the focus, which closes the list.
        onmousedown: (event) => { event.preventDefault(); take(each.name); },
      }, h("span", { class: "mono" }, each.name), h("small", {}, each.kind))));
    if (list.hidden) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", `completion-${at}`);
  }

  function take(name) {
    const word = wordBefore(field);
    const start = field.selectionStart - word.length;
    field.setRangeText(name, start, field.selectionStart, "end");
    close();
  }

  function close() {
    offered = [];
    draw();
  }

  function keys(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      submit();
      return;
    }
    if (!offered.length) return;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) at = (at + steps[event.key] + offered.length) % offered.length;
    else if (event.key === "Tab" || event.key === "Enter") take(offered[at].name);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    draw();
  }

  return { field, place: h("div", { class: "sql" }, field, list) };
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
