// The change feed: commits as they come, and whether the line is up.

import { byId, h, show } from "./dom.js";
import { follow, on, refresh, state } from "./store.js";
import { nothing } from "./trouble.js";
import { amount, moment, signed, written } from "./words.js";

const SHOWN = 30;

let asking = () => undefined;

/** `ask` is what the buttons of a row lead to: a function of a relation, a row and a version. */
export function startFeed(ask) {
  asking = ask;
  on("database", ({ commits }) => draw(commits));
  on("commit", (commit) => {
    const list = byId("feed").querySelector("ol");
    if (!list) {
      draw(state.database.commits);
      return;
    }
    list.prepend(entry(commit));
    while (list.children.length > SHOWN) list.lastChild.remove();
  });
}

export function listen() {
  const source = new EventSource(`api/events?since=${state.database.version}`);
  // One after the other: a commit that brings new relations makes the page read everything anew.
  let work = Promise.resolve();
  const inTurn = (task) => { work = work.then(task).catch(() => live("off")); };
  source.addEventListener("hello", (event) => {
    live("on");
    inTurn(async () => {
      // The server began anew, maybe with another database.
      if (JSON.parse(event.data).version < state.database.version) await refresh();
    });
  });
  source.addEventListener("commit", (event) => {
    inTurn(async () => {
      const commit = JSON.parse(event.data);
      if (commit.version > state.database.version) await follow(commit);
    });
  });
  source.addEventListener("version", (event) => {
    inTurn(async () => {
      if (JSON.parse(event.data).version > state.database.version) await refresh();
    });
  });
  source.addEventListener("missed", (event) => {
    const { after, before } = JSON.parse(event.data);
    inTurn(async () => {
      await refresh();
      byId("feed").prepend(h("p", { class: "note" }, `There were more changes than this page can follow between version ${after} and ${before}; they are not listed.`));
    });
  });
  source.addEventListener("error", () => live("off"));
}

function live(how) {
  const place = byId("live");
  place.className = `live ${how}`;
  show(place, how === "on" ? "live" : "not connected; trying again");
}

function draw(commits) {
  if (!commits.length) {
    show(byId("feed"), nothing("Nothing has changed yet. Changes show up here as they happen."));
    return;
  }
  show(byId("feed"), h("ol", { class: "commits" }, ...commits.slice(0, SHOWN).map(entry)));
}

function entry(commit) {
  const words = commit.relations.map((part) =>
    h("span", { class: "part" }, h("span", { class: "mono" }, part.relation), ` ${signed(part.inserted, part.deleted)}`));
  return h(
    "li",
    {},
    h("details", {},
      h("summary", {}, h("b", {}, `Version ${commit.version}`), h("time", { datetime: commit.timestamp }, moment(commit.timestamp)), ...words),
      ...commit.relations.map((part) => rows(part, commit.version))),
  );
}

function rows(part, version) {
  const all = part.inserted + part.deleted;
  if (!part.rows.length) return h("p", {}, `${part.relation}: ${amount(all, "row")}, too many to list.`);
  const why = (row) =>
    h("button", { type: "button", class: "quiet", title: "What made this row come or go?", onclick: () => asking(part.relation, row, version) }, "why?");
  const isView = state.byName.get(part.relation)?.kind === "view";
  const lines = part.rows.map(({ sign, row, whole }) =>
    h("li", { class: sign === "+" ? "came" : "went" }, `${sign === "+" ? "+" : "−"} ${row.map(written).join(", ")} `, isView && whole ? why(row) : null));
  const more = all - part.rows.length;
  return h("div", { class: "rows" }, h("h3", { class: "mono" }, part.relation), h("ul", {}, ...lines),
    more > 0 ? h("p", {}, `and ${amount(more, "row")} more`) : null);
}
