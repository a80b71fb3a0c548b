// The drawing of tables and views: who reads whom, how many rows, and what changed last.

import { byId, h, s, show } from "./dom.js";
import { layout } from "./layers.js";
import { on, select, state } from "./store.js";
import { nothing } from "./trouble.js";
import { signed, size } from "./words.js";
import { zoomable } from "./zoom.js";

const LONGEST_NAME = 22;
// Smaller than this part of its size, the drawing scrolls instead.
const SMALLEST = 0.62;
// From so many relations on it is fitted into its place, and can be zoomed.
const MANY = 15;

export function startGraph() {
  on("database", draw);
  on("selected", mark);
  on("commit", follow);
}

function draw({ relations }) {
  if (!relations.length) {
    show(byId("graph"), nothing("There is nothing here yet: no table and no view."));
    show(byId("legend"));
    return;
  }
  const { places, low, edges, width, height } = layout(relations);
  const tip = s("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    s("path", { d: "M0,0 L8,4 L0,8 z", class: "tip" }));
  const drawing = s(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, class: low ? "crowded" : null, role: "group", "aria-label": "Tables and views, and who reads whom" },
    s("defs", {}, tip),
    ...edges.map((edge) => s("path", { d: edge.path, class: edgeClass(edge), "data-from": edge.from, "data-to": edge.to, "marker-end": "url(#tip)" },
      s("title", {}, edgeWords(edge)))),
    ...relations.map((relation) => node(relation, places.get(relation.name), low)),
  );
  const isLarge = relations.length >= MANY;
  byId("graph").classList.toggle("large", isLarge);
  if (isLarge) {
    show(byId("graph"), drawing);
    show(byId("zoom"), zoomable(drawing, width, height));
  } else {
    drawing.style.minWidth = `${Math.round(width * SMALLEST)}px`;
    drawing.style.maxWidth = `${width}px`;
    show(byId("graph"), drawing);
    show(byId("zoom"));
  }
  mark(state.selected);
  legend(relations);
}

function node(relation, { x, y, width, height }, low) {
  const choose = () => select(relation.name);
  const keys = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose();
  };
  return s(
    "g",
    {
      class: `node ${relation.kind}`, "data-name": relation.name, transform: `translate(${x},${y})`,
      tabindex: 0, role: "button", "aria-label": spoken(relation), onclick: choose, onkeydown: keys,
    },
    s("title", {}, relation.name),
    s("rect", { width, height, rx: relation.kind === "view" ? 14 : 3 }),
    s("text", { x: 14, y: low ? 17 : 23, class: "name" }, shortened(relation.name)),
    relation.is_recursive ? s("text", { x: width - 12, y: low ? 17 : 23, class: "recursive" }, "↻") : null,
    s("text", { x: 14, y: low ? 33 : 41, class: "size" }, size(relation)),
    s("text", low ? { x: width - 12, y: 33, class: "last right" } : { x: 14, y: 57, class: "last" }, low ? lastSigns(relation) : lastChange(relation)),
  );
}

function follow(commit) {
  for (const part of commit.relations) {
    const relation = state.byName.get(part.relation);
    const found = byId("graph").querySelector(`[data-name="${CSS.escape(part.relation)}"]`);
    found.querySelector(".size").textContent = size(relation);
    const last = found.querySelector(".last");
    last.textContent = last.classList.contains("right") ? lastSigns(relation) : lastChange(relation);
    found.setAttribute("aria-label", spoken(relation));
    found.classList.remove("changed");
    // Asking for a size makes the browser notice that the class was gone, so that the flash starts anew.
    found.getBBox();
    found.classList.add("changed");
  }
}

function mark(name) {
  for (const found of byId("graph").querySelectorAll(".node")) {
    const chosen = found.dataset.name === name;
    found.classList.toggle("selected", chosen);
    found.setAttribute("aria-pressed", chosen);
  }
  for (const edge of byId("graph").querySelectorAll(".edge")) {
    edge.classList.toggle("near", edge.dataset.from === name || edge.dataset.to === name);
  }
}

function lastChange(relation) {
  if (relation.waits) return relation.waits.split("\n")[0].slice(0, 28);
  if (!relation.last) return "no change lately";
  return `version ${relation.last.version}: ${signed(relation.last.inserted, relation.last.deleted)}`;
}

function lastSigns(relation) {
  return relation.last ? signed(relation.last.inserted, relation.last.deleted) : "";
}

function spoken(relation) {
  const recursive = relation.is_recursive ? "recursive " : "";
  return `${recursive}${relation.kind} ${relation.name}, ${size(relation)}, ${lastChange(relation)}`;
}

function edgeClass({ from, to }) {
  return state.byName.get(to).absent.includes(from) ? "edge absent" : "edge";
}

function edgeWords(edge) {
  const absent = state.byName.get(edge.to).absent.includes(edge.from);
  return absent ? `${edge.to} looks for what is not in ${edge.from}` : `${edge.to} reads ${edge.from}`;
}

function legend(relations) {
  const shown = [h("li", {}, sign("table"), "table"), h("li", {}, sign("view"), "view, kept up to date"),
    h("li", {}, sign("reads"), "is read by")];
  if (relations.some((relation) => relation.is_recursive)) shown.push(h("li", {}, h("b", {}, "↻ "), "refers to itself"));
  if (relations.some((relation) => relation.absent.length)) {
    shown.push(h("li", {}, sign("absent"), "is read for what is not there"));
  }
  show(byId("legend"), shown);
}

function sign(kind) {
  const line = kind === "reads" || kind === "absent";
  const shape = line
    ? s("path", { d: "M1,7 L25,7", class: `edge ${kind}`, "marker-end": "url(#tip)" })
    : s("rect", { x: 1, y: 1, width: 20, height: 12, rx: kind === "view" ? 5 : 1 });
  return s("svg", { width: 28, height: 14, class: line ? "" : `node ${kind}`, "aria-hidden": "true" }, shape);
}

function shortened(name) {
  return name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME - 1)}…`;
}
