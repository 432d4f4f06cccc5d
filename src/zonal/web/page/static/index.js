// All studies of the folder.
import { get, post } from "./api.js";
import { $, h, put, s } from "./dom.js";
import { calm, live } from "./live.js";
import { begin } from "./new_study.js";
import { show as showPerson } from "./person.js";
import { meter, pill } from "./progress.js";
import * as words from "./words.js";

function spark(values) {
  if (values.length < 2) return null;
  const low = Math.min(...values),
    high = Math.max(...values);
  const px = (i) => (4 + (392 * i) / Math.max(1, values.length - 1)).toFixed(1);
  const py = (v) => (50 - (44 * (v - low)) / (high - low || 1)).toFixed(1);
  return s(
    "svg",
    {
      class: "spark",
      viewBox: "0 0 400 56",
      role: "img",
      "aria-label": `${values.length} measured averages in order`,
    },
    s("path", { d: values.map((v, i) => `M${px(i)} ${py(v)}h0`).join(""), class: "dots" }),
  );
}

function best(study) {
  const {
    best: top,
    value: { unit },
  } = study;
  const extreme = study.direction === "maximize" ? "highest" : "lowest";
  if (!study.measured && !study.observed) return "Nothing measured yet.";
  if (!top)
    return study.spark.length
      ? `${words.count(study.measured, "measurement")}. Open the study to see the current best.`
      : "";
  const gap =
    top.gap === null || top.gap === undefined // its page has not been opened since the server began
      ? ""
      : top.gap < top.std / 20
        ? ", none likely to be better"
        : `, none better by more than ${words.unit(words.number(top.gap, top.std), unit)}`;
  return [
    study.stands_out
      ? "★ "
      : study.stands_out === false
        ? `No region stands out yet; ${extreme} so far `
        : `The ${extreme} so far: `, // how sure that is follows when somebody opens its page
    h(
      "b",
      { class: study.space.kind === "sequences" ? "mono" : null },
      words.region(study.space, top.region),
    ),
    h("br"),
    words.give(top.mean, top.std, unit),
    gap,
  ];
}

function card(study, at) {
  const top = h("div", { class: "top" }, h("h2", {}, study.name), pill(study.state, study.pending));
  const key = { "data-key": `study-${study.name}` };
  if (study.state === "bad")
    return h("div", { class: "card study", ...key }, top, h("p", { class: "best sub" }, study.error));
  const href = `/studies/${encodeURIComponent(study.name)}`;
  if (study.state === "opening")
    return h("a", { class: "card study", href, ...key }, top, h("p", { class: "sub" }, "Loading."));
  const way = study.pending ? `, ${study.pending} pending` : "";
  return h(
    "a",
    { class: "card study", href, ...key },
    top,
    h("p", { class: "sub" }, words.goal(study)),
    meter(
      study.spent / study.budget,
      study.cost ? 0 : study.pending / study.budget,
      `${words.gone(study)}${way}`,
      `stripes-${at}`,
    ),
    h("p", { class: "sub" }, `${words.gone(study)}${way} · ${study.last} ${words.ago(study.changed)}`),
    h("p", { class: "best" }, best(study)),
    spark(study.spark),
  );
}

const URGENCY = ["waiting", "ready", "new", "opening", "spent", "read-only", "bad"];
const ORDERS = {
  name: (a, b) => a.name.localeCompare(b.name),
  changed: (a, b) => (b.changed ?? "").localeCompare(a.changed ?? "") || ORDERS.name(a, b),
  state: (a, b) => URGENCY.indexOf(a.state) - URGENCY.indexOf(b.state) || ORDERS.changed(a, b),
};
let studies = [],
  listed = [], // names, in the order in which they are shown
  pressed = false, // whether a pointer is down: what it is on must stay until it is let go
  late = false; // whether something is to be shown then

/** The order in which studies are shown. Nothing moves under a pointer or a finger: it changes when nobody is there. */
function ordered() {
  const sorted = studies.toSorted(ORDERS[$("order").value] ?? ORDERS.name),
    held = $("list").matches(":hover, :focus-within");
  if (held) {
    const place = new Map(listed.map((name, at) => [name, at]));
    sorted.sort((a, b) => (place.get(a.name) ?? Infinity) - (place.get(b.name) ?? Infinity) || 0);
  }
  listed = sorted.map((study) => study.name);
  const wanted = $("find").value.trim().toLowerCase();
  return sorted.filter((study) => `${study.name} ${study.value?.name ?? ""}`.toLowerCase().includes(wanted));
}

function show() {
  late = pressed;
  if (pressed) return;
  const shown = ordered();
  $("sorting").hidden = studies.length < 2;
  const none = h(
    "div",
    { class: "card empty", "data-key": "none" },
    h("h2", {}, "No studies here yet"),
    h("p", {}, "Create one with the button above, or in a shell:"),
    h("p", { class: "mono" }, "zonal new dna.db --sequences ACGT,8 --budget 52"),
  );
  const unfound = h("p", { class: "sub", "data-key": "unfound" }, "No study has this in its name.");
  put("list", studies.length ? (shown.length ? shown.map(card) : unfound) : none);
}

const refresh = calm(async () => {
  const answer = await get("/api/v1/studies");
  const before = new Map(studies.map((study) => [study.name, study]));
  // while a journal is read again, its card stays as it was
  studies = answer.studies.map((study) =>
    study.state === "opening" ? (before.get(study.name) ?? study) : study,
  );
  const many = studies.length === 1 ? "1 study" : `${words.whole(studies.length)} studies`;
  put("where", `${many} in ${answer.folder}`);
  show();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
  if (answer.studies.some((study) => study.state === "opening")) setTimeout(refresh, 700); // its journal is still being read
}, 500);

/** The studies that were put aside, each of which can be brought back. */
const archived = calm(async () => {
  const { studies: aside } = await get("/api/v1/archive");
  const restore = (name) => async () => {
    await post(`/api/v1/archive/${encodeURIComponent(name)}/restore`);
    await archived();
    refresh();
  };
  const line = (name) =>
    h(
      "li",
      { "data-key": `aside-${name}` },
      `${name} `,
      h(
        "button",
        { class: "link", type: "button", "aria-label": `restore ${name}`, onclick: restore(name) },
        "restore",
      ),
    );
  $("archive").hidden = !aside.length;
  put(
    "archive",
    h("summary", {}, `Archived: ${aside.length === 1 ? "1 study" : `${aside.length} studies`}`),
    h("ul", {}, aside.map(line)),
  );
}, 100);

/** Show what came while a pointer was down, after its click. */
function released() {
  pressed = false;
  setTimeout(() => late && show());
}

addEventListener("pointerdown", () => (pressed = true), true);
addEventListener("pointerup", released, true);
addEventListener("pointercancel", released, true);
$("new").addEventListener("click", begin);
$("find").addEventListener("input", show);
$("order").addEventListener("change", () => {
  listed = [];
  show();
});
showPerson();
refresh();
archived();
live(() => "/api/v1/events", refresh);
