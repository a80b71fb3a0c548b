// The box for questions.

import { post } from "./api.js";
import { byId, h, show } from "./dom.js";
import { RowFields, relationChoice } from "./fields.js";
import { facts, proofTree } from "./proof.js";
import { sqlField } from "./sql.js";
import { on, state } from "./store.js";
import { table } from "./table.js";
import { during, nothing } from "./trouble.js";
import { sideBySide } from "./whatif.js";
import { CONVENTION } from "./value.js";
import { allRows, completeRow } from "./supposed.js";
import { amount, cut, fact } from "./words.js";

const KINDS = [
  { kind: "why", word: "Why?", help: "Why is a row in a view?" },
  { kind: "why-not", word: "Why not?", help: "Why is a row not in a view, and what is missing for it?" },
  { kind: "what-if", word: "What if?", help: "What would change if these rows came or went? Nothing is changed by asking." },
  { kind: "impact", word: "Impact", help: "What depends on a row of a table, and would vanish with it?" },
  { kind: "sql", word: "SQL", help: "A SELECT over tables and views. Names complete as you type; Ctrl-Enter asks." },
];
let current = { kind: "why", relation: null, row: [] };
let sqlText = "";
// What is typed so far goes into `current`, before the form is made anew.
let remember = () => undefined;
let drawnFor = "";

export function startAsk() {
  on("database", ({ relations }) => {
    // Nobody who is typing is disturbed by a commit that leaves the fields as they are.
    const shape = JSON.stringify(relations.map(({ name, kind, columns }) => [name, kind, columns]));
    if (shape === drawnFor) return;
    drawnFor = shape;
    remember();
    draw();
  });
}

function choose(kind) {
  remember();
  current = { ...current, kind };
  draw();
  // An answer to another question would be taken for one to this.
  show(byId("answer"));
  byId("question").querySelector("input[type=radio]:checked").focus();
}

/** Ask a question from somewhere else on the page, at once. */
export function ask(kind, relation, row) {
  current = { kind, relation, row };
  draw();
  byId("ask").scrollIntoView({ block: "nearest", behavior: "smooth" });
  byId("question").querySelector("form").requestSubmit();
}

/** Why a row came or went with a commit. */
export function askHistory(relation, row, version) {
  byId("ask").scrollIntoView({ block: "nearest", behavior: "smooth" });
  during(byId("answer"), async () => happened(await post("history", { relation, row, version })));
}

/** Fill in "what if", ready to be asked. */
export function suppose(changes) {
  current = { kind: "what-if", changes };
  draw();
  byId("question").querySelector("form").requestSubmit();
}

function draw() {
  if (!state.database.relations.length) {
    show(byId("question"), nothing("As soon as there are tables and views, they can be asked about here."));
    return;
  }
  const choices = KINDS.map(({ kind, word }) =>
    h("label", { class: "choice" },
      h("input", { type: "radio", name: "kind", value: kind, checked: kind === current.kind, onchange: () => choose(kind) }),
      h("span", {}, word)));
  const { help } = KINDS.find(({ kind }) => kind === current.kind);
  const { fields, submit } = forms[current.kind]();
  const asked = (event) => {
    event.preventDefault();
    during(byId("answer"), submit);
  };
  show(byId("question"), h("form", { onsubmit: asked },
    h("fieldset", { class: "kinds" }, h("legend", { class: "hidden" }, "Kind of question"), ...choices),
    h("p", { class: "help" }, help),
    ...fields,
    h("button", { type: "submit", class: "main" }, "Ask")));
}

const forms = {
  why: () => rowForm(["view", "table"], async (question) => {
    const answer = await post("why", question);
    return [h("h3", {}, `Why is this in ${answer.relation}?`), ...proofTree(answer, question)];
  }),
  "why-not": () => rowForm(["view", "table"], async (question) => whyNot(await post("why-not", question), question)),
  impact: () => rowForm(["table"], async (question) => impact(await post("impact", question))),
  "what-if": changesForm,
  sql: sqlForm,
};

function rowForm(kinds, answer) {
  const fields = new RowFields();
  const wanted = current.relation ?? state.selected;
  const take = (name, row = []) => {
    current = { ...current, relation: name, row };
    fields.choose(state.byName.get(name), row);
  };
  const choice = relationChoice(kinds, wanted, (name) => take(name));
  if (!choice.value) return { fields: [nothing("There is no table to ask about.")], submit: async () => null };
  take(choice.value, choice.value === wanted ? current.row : []);
  remember = () => { current = { ...current, relation: choice.value, row: fields.typed() }; };
  return {
    fields: [h("div", { class: "row" }, choice, fields.place), convention(CONVENTION)],
    submit: () => answer({ relation: choice.value, row: fields.read() }),
  };
}

function sqlForm() {
  const submit = () => byId("question").querySelector("form").requestSubmit();
  const example = sqlText || `SELECT * FROM ${quoted(state.selected)} LIMIT 10`;
  const { field, place } = sqlField(example, submit);
  remember = () => { if (field.value !== example) sqlText = field.value; };
  return {
    fields: [place],
    submit: async () => {
      sqlText = field.value;
      const answer = await post("query", { sql: field.value });
      const count = answer.more ? `More than ${amount(answer.rows.length, "row")}; these are the first.` : `${amount(answer.rows.length, "row")}.`;
      return [h("p", {}, count, answer.full ? " No more fit into one answer." : "", ` ${cut(answer.shortened)}`), answer.rows.length ? table(answer.columns, answer.rows, { caption: "The answer" }) : null];
    },
  };
}

function quoted(name) {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name}\``;
}

function changesForm() {
  const lines = [];
  const list = h("div", { class: "changes" });
  const tables = state.database.relations.filter((relation) => relation.kind === "table");
  if (!tables.length) return { fields: [nothing("There is no table whose rows could change.")], submit: async () => null };

  const add = (change, relation, row) => {
    const fields = new RowFields();
    const what = h("select", { "aria-label": "What happens to the row" },
      h("option", { value: "delete", selected: change === "delete" }, "delete from"),
      h("option", { value: "insert", selected: change === "insert" }, "insert into"));
    const choice = relationChoice(["table"], relation, (name) => fields.choose(state.byName.get(name)));
    fields.choose(state.byName.get(choice.value), choice.value === relation ? row : []);
    const entry = { what, choice, fields };
    const remove = h("button", { type: "button", class: "quiet", title: "Leave this change out", "aria-label": "Leave this change out",
      onclick: () => { lines.splice(lines.indexOf(entry), 1); entry.place.remove(); } }, "×");
    entry.place = h("div", { class: "row" }, what, choice, remove, fields.place);
    lines.push(entry);
    list.append(entry.place);
  };

  const read = async () => {
    const changes = { insert: {}, delete: {} };
    for (const { what, choice, fields } of lines) {
      const rows = what.value === "insert" ? [completeRow(fields)] : await allRows(fields);
      (changes[what.value][choice.value] ??= []).push(...rows);
    }
    return changes;
  };

  const given = current.changes ?? (current.row?.length ? [{ change: "delete", relation: current.relation, row: current.row }] : []);
  if (given.length) for (const { change, relation, row } of given) add(change, relation, row);
  else add("delete", state.byName.get(state.selected)?.kind === "table" ? state.selected : tables[0].name, []);
  remember = () => {
    const changes = lines.map(({ what, choice, fields }) => ({ change: what.value, relation: choice.value, row: fields.typed() }));
    current = { ...current, changes };
  };
  const more = h("button", { type: "button", class: "quiet", onclick: () => add("insert", tables[0].name, []) }, "+ another change");
  return {
    fields: [list, convention(`${CONVENTION} All rows with these values are deleted; an inserted row needs every value.`), h("p", {}, more)],
    submit: async () => {
      const changes = await read();
      const answer = await post("what-if", changes);
      return [sideBySide(answer.relations), state.database.allow_changes && answer.relations.length ? apply(changes) : null].flat();
    },
  };
}

function convention(words) {
  return h("p", { class: "convention" }, words);
}

function apply(changes) {
  const done = async () => {
    const { version } = await post("changes", changes);
    return h("p", { class: "note" }, `Done: this is version ${version}.`);
  };
  return h("p", { class: "tools" }, h("button", { type: "button", class: "danger", onclick: () => during(byId("answer"), done) }, "Make these changes"));
}

function whyNot(answer, question) {
  const missing = answer.missing;
  const supposed = () => suppose(missing.map(({ relation, row }) => ({ change: "insert", relation, row })));
  return [
    h("h3", {}, `Why is this not in ${answer.relation}?`),
    missing && missing.length
      ? h("div", {}, h("p", {}, missing.length === 1 ? "One row is missing:" : `${amount(missing.length, "row")} are missing together:`), h("p", {}, ...facts(missing)),
        h("p", { class: "tools" }, h("button", { type: "button", onclick: supposed }, missing.length === 1 ? "What if it came?" : "What if they came?")))
      : null,
    h("pre", { class: "definition", tabindex: "0", "aria-label": fact(answer.relation, Object.values(question.row)) }, answer.text),
  ];
}

function happened(answer) {
  const causes = answer.causes.map(({ relation, row, count }) =>
    h("span", { class: `fact mono chip ${count > 0 ? "came" : "went"}` }, `${count > 0 ? "+" : "−"} ${fact(relation, row)}`));
  return [
    h("h3", {}, `Why did this row of ${answer.relation} ${answer.came ? "come" : "go"}?`),
    causes.length ? h("p", {}, "Because of: ", ...causes) : null,
    h("pre", { class: "definition drawn", tabindex: "0", "aria-label": "What happened" }, answer.text),
  ];
}

function impact(answer) {
  const vanish = answer.vanish.filter(({ count }) => count > 0);
  const depend = answer.depend.filter(({ count }) => count > 0);
  return [
    h("h3", {}, "What this row means to others"),
    vanish.length ? h("p", {}, "Without it these rows would vanish:") : nothing("No row of a view would vanish without it."),
    ...vanish.map(({ relation, count, rows }) =>
      h("details", { open: rows.length <= 20 },
        h("summary", {}, h("span", { class: "mono" }, relation), ` ${amount(count, "row")}`),
        table(state.byName.get(relation).columns, rows, { caption: `Rows of ${relation} that would vanish` }))),
    depend.length ? h("p", {}, "Rows derived by way of it, and perhaps in other ways, too: ",
      ...depend.map(({ relation, count, more }) => h("span", { class: "chip" }, h("span", { class: "mono" }, relation), ` ${more ? "at least " : ""}${amount(count, "row")}`))) : null,
  ];
}
