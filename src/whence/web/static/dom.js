// Elements from plain data. Text is always text: nothing that comes from a database is read as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element: h("button", {type: "button", onclick: f}, "text", other). */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for the elements of a drawing. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** Put these in the place of whatever is in there. */
export function show(place, ...children) {
  place.replaceChildren(...children.flat().filter((child) => child !== null));
}

export function byId(id) {
  return document.getElementById(id);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}
