// What the page says to the server, and what comes back: JSON, or a problem with the library's own sentence.
class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail ?? `the server answered ${status}`);
    this.status = status;
    this.field = problem.field ?? null;
  }
}

async function answer(url, options) {
  let response, text;
  try {
    response = await fetch(url, options);
    text = response.status === 204 ? null : await response.text(); // the server may end in the middle of an answer
  } catch {
    throw new Refused(0, { detail: "The server cannot be reached. What you typed is still here." });
  }
  if (response.redirected && new URL(response.url).pathname === "/login") location.assign("/login");
  if (response.status === 401 && location.pathname !== "/login") location.assign("/login");
  if (!response.ok) throw new Refused(response.status, problem(text));
  return JSON.parse(text);
}

function problem(text) {
  try { return JSON.parse(text); } catch { return {}; }
}

export const get = (url) => answer(url, { cache: "no-cache" });

export const post = (url, body = {}, headers = {}) => answer(url, {
  method: "POST",
  headers: { "Content-Type": "application/json", ...headers },
  body: JSON.stringify(body),
});

/** The address of one study in the API. */
export const address = (name) => `/api/studies/${encodeURIComponent(name)}`;
