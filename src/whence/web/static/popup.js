// A list of choices below a field: arrows go through it, Enter takes one, Escape closes it.

import { h, show } from "./dom.js";

let made = 0;

/** `field` keeps the focus. `find(text)` gives choices, each {name, kind}; `take(choice)` is called with the one that was taken.
 *  With `tab`, the Tab key takes one too; elsewhere it goes on to the next field. */
export class Popup {
  constructor(field, { find, take, label, css = "", tab = false }) {
    made += 1;
    this.id = `choices-${made}`;
    this.field = field;
    this.find = find;
    this.take = take;
    this.tab = tab;
    this.choices = [];
    this.at = 0;
    this.list = h("ul", { class: `choices ${css}`, role: "listbox", id: this.id, "aria-label": label });
    const settings = { role: "combobox", "aria-expanded": "false", "aria-controls": this.id, "aria-autocomplete": "list" };
    for (const [name, value] of Object.entries(settings)) field.setAttribute(name, value);
    field.addEventListener("input", () => this.offer());
    field.addEventListener("keydown", (event) => this.keys(event));
    field.addEventListener("blur", () => this.close());
    this.close();
  }

  async offer() {
    const asked = this.field.value;
    const found = await this.find(asked);
    // What was typed meanwhile has its own choices.
    if (asked !== this.field.value || document.activeElement !== this.field) return;
    this.choices = found;
    this.at = 0;
    this.draw();
  }

  close() {
    this.choices = [];
    this.draw();
  }

  draw() {
    const open = this.choices.length > 0;
    this.list.classList.toggle("closed", !open);
    this.field.setAttribute("aria-expanded", open);
    show(this.list, this.choices.map((choice, number) =>
      h("li", {
        role: "option", id: `${this.id}-${number}`, "aria-selected": String(number === this.at),
        // Before the field loses the focus, which closes the list.
        onmousedown: (event) => { event.preventDefault(); this.choose(number); },
      }, h("span", { class: "mono" }, choice.name), h("small", {}, choice.kind))));
    if (open) this.field.setAttribute("aria-activedescendant", `${this.id}-${this.at}`);
    else this.field.removeAttribute("aria-activedescendant");
    this.list.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  choose(number) {
    const choice = this.choices[number];
    this.close();
    this.take(choice);
  }

  keys(event) {
    if (!this.choices.length || event.ctrlKey || event.metaKey) return;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) {
      this.at = (this.at + steps[event.key] + this.choices.length) % this.choices.length;
      this.draw();
    } else if (event.key === "Enter" || (this.tab && event.key === "Tab")) this.choose(this.at);
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
  }
}
