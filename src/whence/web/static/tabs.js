// Tabs that the keyboard can use: arrows go from one to the next.

import { h, show } from "./dom.js";

/** `pages` are {name, make}, where `make(place)` fills the place; the chosen one is remembered by `label`. */
const chosen = new Map();

export function tabs(label, pages) {
  const place = h("div", { role: "tabpanel", class: "panel" });
  const buttons = pages.map((page, at) =>
    h("button", { type: "button", role: "tab", onclick: () => choose(at), onkeydown: (event) => move(event, at) }, page.name),
  );
  const choose = (at) => {
    chosen.set(label, pages[at].name);
    buttons.forEach((button, other) => {
      button.setAttribute("aria-selected", other === at);
      button.tabIndex = other === at ? 0 : -1;
    });
    show(place);
    pages[at].make(place);
  };
  const move = (event, at) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = (at + step + pages.length) % pages.length;
    choose(next);
    buttons[next].focus();
  };
  choose(Math.max(0, pages.findIndex((page) => page.name === chosen.get(label))));
  return [h("div", { role: "tablist", "aria-label": label, class: "tabs" }, ...buttons), place];
}
