// What the page says to the server, and what comes back: JSON, or a problem with the library's own sentence.
class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail ?? `the server answered ${status}`);
    this.status = status;
    this.field = problem.field ?? null;
  }
}

async function answer(url, options) {
  let found, told;
  try {
    found = await fetch(url, options);
    told = found.status === 204 ? null : await found.text(); // the server may end in the middle of an answer
  } catch {
    throw new Refused(0, { detail: "The server cannot be reached. What you typed is still here." });
  }
  if (found.redirected && new URL(found.url).pathname === "/login") location.assign("/login");
  if (found.status === 401 && location.pathname !== "/login") location.assign("/login");
  if (!found.ok) throw new Refused(found.status, problem(told));
  return JSON.parse(told);
}

function problem(told) {
  try { return JSON.parse(told); } catch { return {}; }
}

export const get = (url) => answer(url, { cache: "no-cache" });

export const post = (url, body = {}, headers = {}) => answer(url, {
  method: "POST",
  headers: { "Content-Type": "application/json", ...headers },
  body: JSON.stringify(body),
});

/** The address of one study in the API. */
export const address = (name) => `/api/studies/${encodeURIComponent(name)}`;
