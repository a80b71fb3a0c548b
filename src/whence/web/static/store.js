// What the page knows of the database, and who wants to hear when that changes.

import { get } from "./api.js";

export const state = { database: null, selected: null };

const listeners = { database: [], commit: [], selected: [] };

/** "database" when everything was read anew, "commit" for each commit, "selected" for the relation that is shown. */
export function on(kind, listener) {
  listeners[kind].push(listener);
}

function tell(kind, news) {
  for (const listener of listeners[kind]) listener(news);
}

export async function refresh() {
  state.database = await get("database");
  const { relations } = state.database;
  state.byName = new Map(relations.map((relation) => [relation.name, relation]));
  for (const relation of relations) {
    const last = state.database.commits.find((commit) => commit.relations.some((part) => part.relation === relation.name));
    relation.last = last ? change(last, relation.name) : null;
  }
  if (!state.byName.has(state.selected)) {
    const first = relations.find((relation) => relation.kind === "view") ?? relations[0];
    state.selected = first ? first.name : null;
  }
  tell("database", state.database);
}

export function select(name) {
  state.selected = name;
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
  tell("selected", name);
}

/** Take in a commit: sizes follow by what came and went, nothing is counted again. */
export async function follow(commit) {
  const known = commit.relations.every((part) => state.byName.has(part.relation));
  if (!known) {
    await refresh();
    return;
  }
  state.database.version = commit.version;
  state.database.commits.unshift(commit);
  state.database.commits.length = Math.min(state.database.commits.length, 200);
  for (const part of commit.relations) {
    const relation = state.byName.get(part.relation);
    if (relation.size !== null) relation.size += part.inserted - part.deleted;
    relation.last = change(commit, part.relation);
  }
  tell("commit", commit);
}

function change(commit, name) {
  const part = commit.relations.find((each) => each.relation === name);
  return { version: commit.version, timestamp: commit.timestamp, inserted: part.inserted, deleted: part.deleted };
}
