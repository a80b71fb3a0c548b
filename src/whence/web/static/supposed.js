// Rows that are supposed to come or go, out of fields of which some are empty.

import { Problem, get } from "./api.js";

// More rows than this are not what somebody meant.
const MOST = 1000;

/** A row to be inserted: nothing is any value there. */
export function completeRow(fields) {
  const empty = fields.fields.filter((field) => field.read() === undefined).map((field) => field.column.name);
  if (empty.length) throw problem(`${empty.join(", ")}: an inserted row needs a value`, "type one, or choose NULL");
  return fields.typed();
}

/** The rows to be deleted: the one that is given whole, or all that have these values. */
export async function allRows(fields) {
  const typed = fields.typed();
  if (!typed.includes(undefined)) return [typed];
  const { name } = fields.relation;
  const page = await get("rows", { relation: name, where: JSON.stringify(fields.read()), limit: MOST });
  if (!page.rows.length) throw problem(`no row of ${name} has these values`, "leave a field empty for any value");
  if (page.more) throw problem(`more than ${MOST.toLocaleString("en-US")} rows of ${name} have these values`, "give more of them");
  return page.rows;
}

function problem(message, hint) {
  return new Problem(message, `${message}\nhint: ${hint}`, 400);
}
