// The page: reads the database once, and follows its changes from then on.

import { byId, h, show } from "./dom.js";
import { ask, askHistory, startAsk } from "./ask.js";
import { listen, startFeed } from "./feed.js";
import { startGraph } from "./graph.js";
import { startRelation } from "./relation.js";
import { on, refresh, state } from "./store.js";
import { problem } from "./trouble.js";

const THEME = "whence-theme";

function title(database) {
  document.title = `${database.title} · whence`;
  byId("title").textContent = database.title;
  version();
  show(byId("trouble"), ...database.notices.map((notice) => h("p", { class: "note" }, notice)));
}

function version() {
  byId("version").textContent = `version ${state.database.version}`;
}

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const apply = (name) => {
    document.documentElement.dataset.theme = name;
    byId("theme").textContent = name === "dark" ? "☀ light" : "☾ dark";
  };
  apply(localStorage.getItem(THEME) ?? (dark ? "dark" : "light"));
  byId("theme").addEventListener("click", () => {
    const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem(THEME, name);
    apply(name);
  });
}

async function start() {
  theme();
  state.selected = decodeURIComponent(location.hash.slice(1)) || null;
  on("database", title);
  on("commit", version);
  startGraph();
  startRelation(ask);
  startAsk();
  startFeed(askHistory);
  try {
    await refresh();
    listen();
  } catch (error) {
    show(byId("trouble"), problem(error), h("button", { type: "button", onclick: () => location.reload() }, "Try again"));
  }
}

start();
