// One table or view: its rows, its definition, and how it is kept up to date.

import { get } from "./api.js";
import { byId, h, show } from "./dom.js";
import { on, state } from "./store.js";
import { line, table } from "./table.js";
import { tabs } from "./tabs.js";
import { during, nothing, problem } from "./trouble.js";
import { ValueField, width } from "./value.js";
import { amount, cut, size } from "./words.js";

const PAGE = 50;
// A row of filters waits so long for the next letter.
const PAUSE = 250;

/** `asking` is what the buttons of a row lead to: a function of the kind of question, the relation and the row. */
export function startRelation(asking) {
  const open = () => shown(asking);
  on("database", open);
  on("selected", open);
  on("commit", (commit) => {
    const part = commit.relations.find((each) => each.relation === state.selected);
    if (part) outdated();
  });
}

function shown(asking) {
  const relation = state.byName.get(state.selected);
  if (!relation) {
    show(byId("relation"));
    return;
  }
  const about = get("relation", { name: relation.name });
  const columns = relation.columns.map((column) => column.name).join(", ");
  show(
    byId("relation"),
    h("h2", {}, h("span", { class: "mono" }, relation.name), h("small", {}, ` ${describe(relation)}`)),
    ...tabs("What to show of a relation", [
      { name: "Rows", make: (place) => rows(place, relation, asking) },
      { name: "Definition", make: (place) => during(place, async () => text((await about).definition, relation.name)) },
      { name: "Plan", make: (place) => during(place, async () => text((await about).plan, relation.name)) },
    ]),
  );
  // Whoever opens the tab is told what went wrong; until then it is no news.
  about.catch(() => undefined);
  byId("relation").setAttribute("aria-label", `${relation.name}(${columns})`);
}

function describe(relation) {
  const kind = relation.is_recursive ? `recursive ${relation.kind}` : relation.kind;
  const key = relation.key.length ? `, key ${relation.key.join(", ")}` : "";
  return `${kind}, ${size(relation)}${key}`;
}

function text(words, name) {
  return h("pre", { class: "definition", tabindex: "0", "aria-label": name }, words);
}

function outdated() {
  const place = byId("relation").querySelector(".note");
  if (place) show(place, "These rows have changed since. ", h("button", { type: "button", onclick: () => place.again() }, "Show them as they are now"));
}

function rows(place, relation, asking) {
  if (relation.waits) {
    show(place, h("pre", { class: "problem" }, relation.waits));
    return;
  }
  const where = {};
  const body = h("div", {});
  const note = h("p", { class: "note", role: "status" });
  let offset = 0;
  let asked = 0;
  let shortened = 0;
  const columns = relation.columns;
  const action = (row) => actions(relation, row, asking);
  const filters = h("tr", { class: "filters" }, ...columns.map((column) => h("td", { class: width(column) }, filter(column))), h("td", {}));
  const found = table(columns, [], { action, caption: `Rows of ${relation.name}`, filters });
  const lines = found.querySelector("tbody");
  const more = h("button", { type: "button", onclick: () => load() }, "Show more");
  show(place, found, body, note);

  function filter(column) {
    let timer;
    const changed = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const value = field.read();
        if (value === undefined) delete where[column.name];
        else where[column.name] = value;
        anew();
      }, PAUSE);
    };
    const field = new ValueField(column, { label: `Only rows where ${column.name} is`, kind: "search", changed });
    return field.place;
  }

  function anew() {
    offset = 0;
    load();
  }

  async function load() {
    asked += 1;
    const mine = asked;
    let page;
    try {
      page = await get("rows", { relation: relation.name, where: JSON.stringify(where), offset, limit: PAGE });
    } catch (error) {
      if (mine === asked) show(body, problem(error));
      return;
    }
    // A later question has been asked meanwhile, and its answer is the one that counts.
    if (mine !== asked) return;
    if (offset === 0) show(lines);
    lines.append(...page.rows.map((row) => line(columns, row, action)));
    offset += page.rows.length;
    shortened = (offset > page.rows.length ? shortened : 0) + page.shortened;
    show(note);
    if (offset === 0) {
      show(body, nothing(Object.keys(where).length ? "No row has these values." : `${relation.name} has no rows now.`));
    } else if (page.more) {
      show(body, h("p", { class: "more" }, `The first ${amount(offset, "row")}, in no particular order. ${cut(shortened)}`, more));
    } else {
      show(body, h("p", { class: "more" }, Object.keys(where).length ? `${amount(offset, "row")} with these values.` : "These are all.", ` ${cut(shortened)}`));
    }
  }

  note.again = anew;
  load();
}

function actions(relation, row, asking) {
  const button = (kind, word, title) =>
    h("button", { type: "button", class: "quiet", title, onclick: () => asking(kind, relation.name, row) }, word);
  return relation.kind === "view"
    ? button("why", "why?", "Why is this row here?")
    : h("span", {}, button("impact", "impact", "What depends on this row?"), " ",
      button("what-if", "if gone", "What would change if this row were gone?"));
}
