// Numbers, values and times as people read them.

import { h } from "./dom.js";

const numbers = new Intl.NumberFormat("en-US");

export function number(n) {
  return numbers.format(n);
}

/** "no rows", "1 row", "1,332 rows". */
export function amount(n, noun) {
  return `${n === 0 ? "no" : number(n)} ${noun}${n === 1 ? "" : "s"}`;
}

export function size(relation) {
  if (relation.size === null) return "waits for a function";
  return relation.exact ? amount(relation.size, "row") : `about ${amount(relation.size, "row")}`;
}

/** A value for a cell of a table. */
export function cell(value) {
  if (value === null) return h("span", { class: "null" }, "NULL");
  return document.createTextNode(written(value));
}

export function written(value) {
  if (value === null) return "NULL";
  if (isAny(value)) return "any";
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  return String(value);
}

export function isAny(value) {
  return typeof value === "object" && value !== null && value.any === true;
}

/** What is said where cells are too long to be shown whole. */
export function cut(cells) {
  return cells ? `${amount(cells, "cell")} ${cells === 1 ? "is" : "are"} shortened, and end${cells === 1 ? "s" : ""} with “…”. ` : "";
}

/** A row as a fact: link("a", "b", 1). */
export function fact(relation, row) {
  const values = row.map((value) => (typeof value === "string" ? `'${value}'` : written(value)));
  return `${relation}(${values.join(", ")})`;
}

export function isNumber(type) {
  return /^(INT|BIGINT|DOUBLE|DECIMAL|int|double|decimal|float)/.test(type);
}

/** The time of a commit: today only the time, else the day too. */
export function moment(timestamp) {
  const date = new Date(timestamp);
  const time = date.toLocaleTimeString("en-GB");
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString("en-CA")} ${time}`;
}

/** "+3 −1", with a real minus. */
export function signed(inserted, deleted) {
  const parts = [];
  if (inserted) parts.push(`+${number(inserted)}`);
  if (deleted) parts.push(`−${number(deleted)}`);
  return parts.join(" ");
}
