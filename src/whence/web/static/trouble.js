// What is shown when something is wrong, is on its way, or is not there.

import { h, show } from "./dom.js";
import { Problem } from "./api.js";

/** An error as the library prints it, carets included. */
export function problem(error) {
  if (!(error instanceof Problem)) {
    console.error(error);
    return h("p", { class: "problem", role: "alert" }, `This page has a mistake: ${error.message}`);
  }
  const [first, ...rest] = error.text.split("\n");
  return h(
    "div",
    { class: "problem", role: "alert" },
    h("p", {}, first),
    rest.length ? h("pre", {}, rest.join("\n")) : null,
  );
}

export function nothing(...words) {
  return h("p", { class: "nothing" }, ...words);
}

/** Do something that takes a while, and show its outcome or what went wrong. */
export async function during(place, work) {
  // A quick answer comes without a flicker.
  const timer = setTimeout(() => show(place, h("p", { class: "working", role: "status" }, "Working…")), 150);
  try {
    const outcome = await work();
    clearTimeout(timer);
    show(place, outcome);
  } catch (error) {
    clearTimeout(timer);
    show(place, problem(error));
  }
}
