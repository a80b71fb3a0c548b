// A drawing that fits its place, and can be brought nearer: by buttons, by the wheel, by dragging, and by keys.

import { h } from "./dom.js";

const STEP = 1.3;
const NEAREST = 3;
// A pointer that moved less than this has clicked.
const CLICK = 4;
const PAN = 60;

/** Buttons for a drawing of this size. What is seen of it is its viewBox. */
export function zoomable(drawing, width, height) {
  let view = { x: 0, y: 0, scale: 1 };

  function apply() {
    // All of it at scale 1; further in, no further than its edges.
    view.scale = Math.min(Math.max(view.scale, 1), NEAREST * Math.max(1, width / (drawing.clientWidth || width), height / (drawing.clientHeight || height)));
    const [wide, high] = [width / view.scale, height / view.scale];
    view.x = Math.min(Math.max(view.x, 0), width - wide);
    view.y = Math.min(Math.max(view.y, 0), height - high);
    drawing.setAttribute("viewBox", `${view.x} ${view.y} ${wide} ${high}`);
  }

  /** Nearer to, or further from, a point of the drawing, which stays where it is. */
  function zoom(factor, at = { x: view.x + width / view.scale / 2, y: view.y + height / view.scale / 2 }) {
    const before = view.scale;
    view.scale *= factor;
    apply();
    const kept = before / view.scale;
    view.x = at.x - (at.x - view.x) * kept;
    view.y = at.y - (at.y - view.y) * kept;
    apply();
    return view.scale !== before;
  }

  function fit() {
    view = { x: 0, y: 0, scale: 1 };
    apply();
  }

  function move(x, y) {
    view.x += x;
    view.y += y;
    apply();
  }

  function point(event) {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing.getScreenCTM().inverse());
    return { x, y };
  }

  drawing.addEventListener("wheel", (event) => {
    // Where nothing is left to zoom, the page scrolls.
    if (zoom(event.deltaY < 0 ? STEP : 1 / STEP, point(event))) event.preventDefault();
  }, { passive: false });

  let drag = null;
  drawing.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, y: event.clientY, from: point(event), moved: false }; });
  drawing.addEventListener("pointermove", (event) => {
    if (!drag || event.buttons === 0) return;
    if (!drag.moved && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < CLICK) return;
    drag.moved = true;
    drawing.setPointerCapture(event.pointerId);
    const to = point(event);
    move(drag.from.x - to.x, drag.from.y - to.y);
  });
  // A drag that ends on a node does not choose it.
  drawing.addEventListener("click", (event) => { if (drag?.moved) event.stopPropagation(); drag = null; }, true);

  const keys = { "+": () => zoom(STEP), "=": () => zoom(STEP), "-": () => zoom(1 / STEP), 0: fit,
    ArrowLeft: () => move(-PAN, 0), ArrowRight: () => move(PAN, 0), ArrowUp: () => move(0, -PAN), ArrowDown: () => move(0, PAN) };
  drawing.addEventListener("keydown", (event) => {
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  drawing.addEventListener("focusin", (event) => {
    const node = event.target.closest("[data-name]");
    if (!node) return;
    const { e: x, f: y } = node.transform.baseVal.consolidate().matrix;
    const { width: wide, height: high } = node.getBBox();
    if (x < view.x || x + wide > view.x + width / view.scale) view.x = x + wide / 2 - width / view.scale / 2;
    if (y < view.y || y + high > view.y + height / view.scale) view.y = y + high / 2 - height / view.scale / 2;
    apply();
  });

  apply();
  const button = (word, title, act) => h("button", { type: "button", title, "aria-label": title, onclick: act }, word);
  return h("p", { class: "zoom", role: "group", "aria-label": "Size of the drawing" },
    button("+", "Nearer", () => zoom(STEP)), button("−", "Further away", () => zoom(1 / STEP)), button("Fit", "All of it", fit),
    h("small", {}, "Drag to move; with the keyboard + − 0 and arrows."));
}
