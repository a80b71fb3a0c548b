// Questions to the server this page came from. What goes wrong is thrown as a Problem, with words to show.

export class Problem extends Error {
  constructor(message, text, status) {
    super(message);
    this.text = text;
    this.status = status;
  }
}

/** Ask for something: get("rows", {relation: "link"}). */
export function get(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return answer(`api/${path}${query ? `?${query}` : ""}`, {});
}

/** Ask a question that has a body. */
export function post(path, body) {
  return answer(`api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function answer(address, options) {
  let response;
  try {
    response = await fetch(address, options);
  } catch {
    const text = "The server does not answer. Is `whence serve` still running?";
    throw new Problem(text, text, 0);
  }
  let content;
  try {
    content = await response.json();
  } catch {
    const text = `The server answered in a way that this page does not understand (status ${response.status}).`;
    throw new Problem(text, text, response.status);
  }
  if (!response.ok) throw new Problem(content.error.message, content.error.text, response.status);
  return content;
}
