// What the page says to the server, and what comes back: JSON, or a problem with the library's own sentence.
export class Refused extends Error {
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
  const signIn = () =>
    location.assign(`/login?next=${encodeURIComponent(location.pathname + location.hash)}`);
  if (response.redirected && new URL(response.url).pathname === "/login") signIn();
  if (response.status === 401 && location.pathname !== "/login") signIn();
  if (!response.ok) throw new Refused(response.status, parsed(text));
  return parsed(text);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

export const get = (url) => answer(url, { cache: "no-cache" });

const newKey = () => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
const keys = new Map(); // of requests whose answers never came, by what they said
const sending = new Map();

/** Post; the same said twice at once is sent once, and said again after the connection broke it has the same
 * Idempotency-Key, so that nothing is done twice. */
export function post(url, body = {}) {
  const text = JSON.stringify(body),
    said = `${url} ${text}`;
  if (!sending.has(said))
    sending.set(
      said,
      send(url, text, said).finally(() => sending.delete(said)),
    );
  return sending.get(said);
}

async function send(url, text, said) {
  const key = keys.get(said) ?? newKey();
  keys.set(said, key);
  const headers = { "Content-Type": "application/json", "Idempotency-Key": key };
  try {
    const result = await answer(url, { method: "POST", headers, body: text });
    keys.delete(said);
    return result;
  } catch (problem) {
    if (problem.status) keys.delete(said); // it was answered: another attempt is another request
    throw problem;
  }
}

/** The address of one study in the API. */
export const address = (name) => `/api/v1/studies/${encodeURIComponent(name)}`;
