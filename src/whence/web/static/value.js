// A field for a value of a column, the same wherever one is asked for: empty is any value, and NULL is chosen, not typed.

import { h } from "./dom.js";
import { isNumber } from "./words.js";

/** What stands beside fields, so that nobody has to guess. */
export const CONVENTION = "An empty field is any value; NULL is chosen with its button.";

// How wide a field is, by the beginning of its type.
const WIDTHS = [["BOOLEAN", "tiny"], ["INT", "narrow"], ["SMALLINT", "narrow"], ["TINYINT", "narrow"], ["DATE", "medium"], ["BIGINT", "medium"],
  ["DOUBLE", "medium"], ["FLOAT", "medium"], ["DECIMAL", "medium"], ["TIMESTAMP", "broad"]];

/** `read()` gives undefined for any value, null for NULL, or the text; `changed` is called when it is another one. */
export class ValueField {
  constructor(column, { value, label, empty = "any", changed = () => undefined, kind = "text" }) {
    this.column = column;
    const isTruth = column.type === "BOOLEAN";
    const settings = { "aria-label": label, class: `mono ${isNumber(column.type) ? "number" : ""}`, oninput: () => changed() };
    this.input = isTruth
      ? h("select", settings, ...["", "true", "false"].map((word) => h("option", { value: word }, word || empty)))
      : h("input", { type: kind, placeholder: empty, autocomplete: "off", spellcheck: "false", ...settings });
    this.input.value = value === undefined || value === null ? "" : String(value);
    this.none = column.nullable
      ? h("button", { type: "button", class: "none", title: `${column.name} is NULL`, "aria-label": `${label}: NULL`, "aria-pressed": "false",
        onclick: () => { this.choose(!this.isNull); changed(); } }, "NULL")
      : null;
    this.place = h("span", { class: "value" }, this.input, this.none);
    this.choose(value === null && this.none !== null);
  }

  choose(isNull) {
    this.isNull = isNull;
    this.input.disabled = isNull;
    this.none?.setAttribute("aria-pressed", isNull);
  }

  set(value) {
    this.input.value = value === undefined || value === null ? "" : String(value);
    this.choose(value === null && this.none !== null);
  }

  read() {
    if (this.isNull) return null;
    return this.input.value === "" ? undefined : this.input.value;
  }
}

export function width(column) {
  return WIDTHS.find(([type]) => column.type.startsWith(type))?.[1] ?? "wide";
}
