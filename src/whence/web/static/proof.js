// A proof as a tree that opens step by step. What is far down is fetched when it is opened.

import { get, post } from "./api.js";
import { h, show } from "./dom.js";
import { during, problem } from "./trouble.js";
import { amount, fact, number } from "./words.js";

const KINDS = {
  base: ["table row", "This row is in a table: here a proof ends."],
  rule: ["follows", "This row follows from the rows below it."],
  aggregate: ["aggregate", "This row is made of the rows below it."],
  sum: ["adds up", "This row is there as often as the uses of rules below it say."],
  member: ["one member", "These rows together are one member of the group."],
  absent: ["absent", "Nothing like this is there, and that is what is needed."],
  again: ["shown elsewhere", "The steps of this row are shown at another place of this proof."],
  open: ["not followed", "A limit was reached before this row was looked at."],
};

export function proofTree(answer, question) {
  const name = answer.proof;
  const tree = h("ul", { class: "proof", role: "tree", "aria-label": `Why rows of ${answer.relation} are there` },
    ...answer.roots.map((step) => item(step, name, 1, answer.roots.length === 1)));
  tree.addEventListener("keydown", keys);
  const first = tree.querySelector("[role=treeitem]");
  if (first) first.tabIndex = 0;
  const aside = h("div", { class: "aside" });
  return [
    answer.complete ? null : h("p", { class: "note" }, incomplete(answer)),
    tree,
    tools(name, question, aside, answer),
    aside,
  ];
}

function incomplete(answer) {
  return answer.roots.length > 1
    ? `More rows match than are shown: these are the first ${number(answer.roots.length)}.`
    : "A limit was reached, and some steps were not followed to their end.";
}

function item(step, name, level, isOpen) {
  const [word, title] = KINDS[step.kind];
  const openable = step.all > 0;
  const below = h("ul", { role: "group" });
  const toggle = openable ? h("span", { class: "toggle", "aria-hidden": "true" }) : null;
  const badge = step.kind === "again" ? `as at ${step.again}` : word;
  const self = h(
    "li",
    { role: "treeitem", "aria-level": level, tabindex: -1, "data-label": step.label, "aria-expanded": openable ? "false" : null },
    h("div", { class: `step ${step.kind}`, onclick: () => turn(self) },
      toggle,
      h("span", { class: "label" }, step.label),
      h("span", { class: "fact mono" }, step.title),
      h("span", { class: "badge", title }, badge),
      by(step)),
    openable ? below : null,
  );
  self.step = { step, name, level, below, filled: false };
  if (isOpen && openable) open(self);
  return self;
}

function by(step) {
  if (!step.rule || !["rule", "aggregate", "sum", "member"].includes(step.kind)) return null;
  const words = step.kind === "aggregate" ? "of" : "by";
  return h("span", { class: "by" }, `${words} `, h("code", {}, step.rule), step.place ? h("small", {}, ` ${step.place}`) : null);
}

function turn(self) {
  self.focus();
  if (self.getAttribute("aria-expanded") === "false") open(self);
  else if (self.getAttribute("aria-expanded") === "true") close(self);
}

function close(self) {
  self.setAttribute("aria-expanded", "false");
}

async function open(self) {
  self.setAttribute("aria-expanded", "true");
  const known = self.step;
  if (known.filled) return;
  known.filled = true;
  try {
    if (known.step.children === null) {
      show(known.below, h("li", { class: "working", role: "none" }, "Working…"));
      known.step = await get(`proofs/${known.name}/step`, { label: known.step.label });
    }
    fill(known, known.step.children);
  } catch (error) {
    known.filled = false;
    show(known.below, h("li", { role: "none" }, problem(error)));
  }
}

function fill(known, children) {
  known.below.querySelectorAll(":scope > [role=none]").forEach((note) => note.remove());
  known.below.append(...children.map((child) => item(child, known.name, known.level + 1, false)));
  const left = known.step.all - known.below.children.length;
  if (left > 0) {
    const more = async () => {
      const next = await get(`proofs/${known.name}/step`, { label: known.step.label, start: known.below.children.length - 1 });
      fill(known, next.children);
    };
    known.below.append(h("li", { role: "none" }, h("button", { type: "button", class: "quiet", onclick: more }, `${amount(left, "more row")}: show the next`)));
  } else if (known.step.partial) {
    known.below.append(h("li", { role: "none" }, h("span", { class: "nothing" }, "and more that were not looked for: a limit was reached")));
  }
}

/** Arrows go up, down, in and out, as in every tree. */
function keys(event) {
  const self = event.target.closest("[role=treeitem]");
  if (!self || event.target !== self) return;
  const visible = [...event.currentTarget.querySelectorAll("[role=treeitem]")].filter((each) => each.offsetParent !== null);
  const at = visible.indexOf(self);
  const expanded = self.getAttribute("aria-expanded");
  let next = null;
  if (event.key === "ArrowDown") next = visible[at + 1];
  else if (event.key === "ArrowUp") next = visible[at - 1];
  else if (event.key === "Home") next = visible[0];
  else if (event.key === "End") next = visible.at(-1);
  else if (event.key === "ArrowRight" && expanded === "false") open(self);
  else if (event.key === "ArrowRight" && expanded === "true") next = visible[at + 1];
  else if (event.key === "ArrowLeft" && expanded === "true") close(self);
  else if (event.key === "ArrowLeft") next = self.parentElement.closest("[role=treeitem]");
  else if (event.key === "Enter" || event.key === " ") turn(self);
  else return;
  event.preventDefault();
  if (next) {
    self.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}

function tools(name, question, aside, answer) {
  const button = (word, title, make) =>
    h("button", { type: "button", title, onclick: () => during(aside, make) }, word);
  return h("p", { class: "tools" },
    button("Smallest reasons", "Sets of table rows, each enough for this row, smallest first", async () =>
      reasons((await get(`proofs/${name}/supports`)).supports)),
    button("Critical rows", "Table rows whose loss alone would delete this row", async () =>
      critical((await post("critical", question)).rows)),
    button("As text", "The proof as the terminal shows it", async () => h("pre", { class: "definition", tabindex: "0" }, answer.text)),
    button("As a picture", "The proof drawn, with every row once", async () =>
      h("div", { class: "scroll picture", tabindex: "0" }, h("img", { src: `api/proofs/${name}/as/svg`, alt: "The proof as a drawing; the text has the same" }))),
  );
}

function reasons(supports) {
  const words = supports.length === 1
    ? "These table rows are enough for it, and there is no other way:"
    : `Each of these ${number(supports.length)} sets of table rows is enough for it, the smallest first:`;
  return h("div", {}, h("p", {}, supports.length ? words : "It needs no table row at all."),
  h("ol", { class: "reasons" }, ...supports.map((rows) => h("li", {}, ...facts(rows)))));
}

function critical(rows) {
  if (!rows.length) return h("p", {}, "No single table row is critical: whichever goes, the others are enough.");
  return h("div", {}, h("p", {}, "If any one of these table rows goes, so does this row:"), h("ul", { class: "reasons" }, h("li", {}, ...facts(rows))));
}

export function facts(rows) {
  return rows.map(({ relation, row }) => h("span", { class: "fact mono chip" }, fact(relation, row)));
}
