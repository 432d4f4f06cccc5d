// The page of one study: it begins with the question, draws the rest as it comes, and goes on with every event.
import { downloads, model } from "./about.js";
import { answer } from "./answer.js";
import { post } from "./api.js";
import { StudyData } from "./data.js";
import { $, h, once, put } from "./dom.js";
import { forbidden } from "./forbidden.js";
import { HistoryView } from "./history.js";
import * as known from "./known.js";
import { calm, live, say } from "./live.js";
import { waiting } from "./pending.js";
import { me, show as showPerson } from "./person.js";
import { readPlace, trialOf } from "./place.js";
import { pill, meter } from "./progress.js";
import { extension, fresh, mine, question } from "./question.js";
import { moment, readout } from "./readout.js";
import { offer } from "./save.js";
import { suspects } from "./suspects.js";
import { showTrial, trials } from "./trials.js";
import * as words from "./words.js";

const study = new StudyData(decodeURIComponent(location.pathname.split("/").at(-1)));
/** @type {any} what this page shows */
const view = { mode: null, threshold: null, shown: 25, filter: "", ...readPlace(), ...fresh() };
const page = { study, view, picture: null, act, send, drawSoon: once(() => known.draw(page)) };
let endStream = () => {},
  history = null,
  historyOf = -1, // how many measurements the history that was read, or drawn since, has
  seen = -1;

function header() {
  const { head } = study,
    way = head.pending.length,
    bound = head.cost ? head.pending.reduce((sum, trial) => sum + trial.cost, 0) : way;
  document.title = `${head.name}: ${words.gone(head)} · Zonal`;
  put("crumb", head.name);
  put("name", head.name);
  put("goal", words.goal(head));
  put("state", pill(head.state, way));
  const [first, ...rest] = head.cost
    ? [
        `${words.price(head, head.spent)} of ${words.price(head, head.budget)}`,
        ` spent, ${words.whole(head.measured)} measured`,
      ]
    : [`${words.whole(head.measured)} of ${words.whole(head.budget)}`, " measured"];
  put(
    "progress",
    h(
      "div",
      { class: "words" },
      h("span", {}, h("b", {}, first), ...rest),
      h("span", {}, way ? `${way} pending · ` : "", `${words.price(head, head.remaining)} left`),
    ),
    meter(
      head.spent / head.budget,
      bound / head.budget,
      `${words.gone(head)}, ${way} pending, ${words.price(head, head.remaining)} left`,
    ),
    !head.read_only &&
      head.remaining > 0 &&
      h("details", { class: "extend", "data-key": "extend" }, h("summary", {}, "Extend"), extension(page)),
  );
  $("notice").hidden = !head.read_only;
  put("notice", head.read_only ? `This study is read-only: ${head.read_only}` : "");
}

/** Post, and show at once what came of it; the event that follows changes nothing more. */
async function send(path, body) {
  const of = view.current;
  const answer = await post(`${study.base}/${path}`, { by: me() || "the page", ...body });
  if (path === "ask" || path.startsWith(`trials/${of}/`)) Object.assign(view, fresh());
  view.message = null;
  await refresh();
  return answer;
}
async function act(path, body, refuse) {
  const buttons = () => $("question").querySelectorAll("button");
  for (const button of buttons()) button.disabled = true;
  try {
    await send(path, body);
    ($("field-value") ?? $("ask") ?? $("question")).focus({ preventScroll: true });
  } catch (problem) {
    if (problem.status === undefined) console.error(problem);
    if (refuse) return refuse(problem.field ?? "value", problem.message);
    view.message = { kind: "error", field: null, text: problem.message };
    question(page);
  } finally {
    for (const button of buttons()) button.disabled = false;
  }
}

/** What somebody types stays, and never moves into another question. */
function renewQuestion() {
  const { current } = view,
    form = $("question").querySelector("form")?.elements,
    typed = form?.value && ["value", "sem", "note"].some((name) => form[name]?.value);
  if (current !== null && !mine(study.head).some((trial) => trial.trial === current)) {
    const pending = study.head.pending.find((trial) => trial.trial === current);
    const became = pending ? `taken over by ${words.who(pending.by)}` : "ended by somebody else";
    const text = `Trial ${current} was ${became} meanwhile. What you had typed (${form?.value?.value || "no value"}) was not sent. This is another question.`;
    Object.assign(view, fresh(), typed ? { message: { kind: "warn", text } } : {});
  }
  const inside = $("question").contains(document.activeElement) && document.activeElement.id;
  question(page);
  if (inside && !$("question").contains(document.activeElement)) $(inside)?.focus({ preventScroll: true });
}

function show() {
  header();
  renewQuestion();
  waiting(page);
  answer(page);
  model(page);
  trials(page);
  suspects(page);
  forbidden(page);
}

function drawAll() {
  known.begin(page);
  known.switches(page);
  known.draw(page);
  known.regions(page);
  if (!page.picture) readout(page, null);
  drawHistory();
}

function drawHistory() {
  if (!study.head.measured) return put("history", h("p", { class: "blank" }, "No measurements yet."));
  if (!history) history = new HistoryView($("history"), study, (i) => moment(page, i));
  const { best, trials: t } = study,
    now = t.number.findLast((_, i) => t.value[i] !== null);
  study.history ??= { number: [], mean: [], std: [] };
  const { number, mean, std } = study.history;
  if (study.head.measured === historyOf + 1) historyOf += 1; // others were missed: it is read again
  if (best && now !== undefined && !(number.at(-1) > now)) {
    // what is the best now; moments before it come from the server
    if (number.at(-1) === now) [number, mean, std].forEach((column) => column.pop());
    number.push(now);
    mean.push(best.mean);
    std.push(best.std);
  }
  history.draw();
  put("history-legend", ...history.keys());
  const title = `${study.head.name}: how it went, ${words.count(study.head.measured, "measurement")}`;
  offer("history-save", $("history"), null, title, `${study.name}-history`);
}

let turn = Promise.resolve();
/** One after the other, whoever asks: two that grow the tree at once would take in rows twice. */
function refresh() {
  turn = turn
    .catch(() => {})
    .then(renew)
    .catch((problem) => {
      if (problem.status === 404) fail(problem); // it was archived meanwhile
      throw problem;
    });
  return turn;
}
async function renew() {
  await study.begin();
  if (study.opening) {
    await study.readTrials();
    show();
    known.begin(page);
    setTimeout(update, 700);
    return;
  }
  await study.read();
  const start = performance.now();
  show();
  drawAll();
  document.documentElement.dataset.drawn = String(Math.round(performance.now() - start));
  if (study.head.event !== seen) delete document.documentElement.dataset.settled;
  if (study.head.busy) setTimeout(update, 700);
  slowly();
}
const update = calm(refresh, 150);
/** Curves, maps of pairs, the outlook and the history take the server longer: they follow. */
const slowly = calm(async () => {
  const { event } = study.head;
  if (event === seen) return;
  await study.readPicture(view.slice);
  if (historyOf !== study.head.measured) {
    const { measured } = study.head;
    await study.readHistory();
    historyOf = measured;
  }
  await turn.catch(() => {}); // never while rows and values of the tree are taken in
  drawAll();
  const outlook = await study.ahead();
  study.head.outlook = outlook;
  answer(page);
  if (study.head.busy) return; // without its answer yet: it is read again soon
  seen = event;
  if (event === study.head.event) document.documentElement.dataset.settled = event;
}, 1500);

function fail(problem) {
  endStream();
  $("live").hidden = true;
  $("study").hidden = true;
  $("failure").hidden = false;
  put(
    "failure",
    h("h1", {}, problem.status === 404 ? "There is no such study" : "This study cannot be shown"),
    h("p", {}, problem.message),
    h("p", {}, h("a", { href: "/" }, "All studies")),
  );
}

/** What people need first: the question and the answer. While there is no server, it is tried again. */
async function start() {
  try {
    await study.begin();
    await study.readTrials();
  } catch (problem) {
    if (problem.status !== 0) throw problem;
    say("connection lost; trying again", true);
    await new Promise((done) => setTimeout(done, 1000));
    return start();
  }
  show();
  downloads(page);
  $("study").hidden = false;
  showPerson();
  readout(page, null);
  moment(page, null);
}

function listen() {
  if (matchMedia("(hover: hover)").matches) $("field-value")?.focus({ preventScroll: true });
  $("filter").addEventListener("input", (event) => {
    view.filter = event.target.value;
    trials(page);
  });
  $("regions").addEventListener("toggle", () => known.regions(page));
  new ResizeObserver(
    once(() => {
      known.draw(page);
      if (study.head.measured && history) history.draw();
    }),
  ).observe($("picture"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", page.drawSoon);
  endStream = live(
    () => `${study.base}/events?after=${study.head.event - 1}`,
    (news) => {
      if (news === null || news.number >= study.head.event) update();
    },
  );
}

try {
  await start();
  listen();
  await refresh().catch((problem) => {
    if (problem.status === undefined) throw problem;
    update(); // what is shown stays, and the rest comes when the server is back
  });
  const followed = () => trialOf(location.hash) !== null && showTrial(page, trialOf(location.hash));
  addEventListener("hashchange", followed);
  followed();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
} catch (problem) {
  fail(problem);
  if (problem.status === undefined) console.error(problem);
}
