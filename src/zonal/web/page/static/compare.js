// Two studies of one space side by side: their pictures in the same colours, and what each says of the other's answer.
import { get, post } from "./api.js";
import { Field } from "./colour.js";
import { StudyData } from "./data.js";
import { $, h, once, put } from "./dom.js";
import * as known from "./known.js";
import { legend } from "./legend.js";
import { calm, live } from "./live.js";
import { show as showPerson } from "./person.js";
import { readPlace, writePlace } from "./place.js";
import { readout } from "./readout.js";
import * as words from "./words.js";

const names = location.pathname.split("/").slice(-2).map(decodeURIComponent);
/** @type {any} what both pictures show */
const view = { mode: null, threshold: null, ...readPlace(), current: null };
const drawSoon = once(draw);
view.changed = () => {
  writePlace(view);
  slices();
};
const pages = names.map((name, at) => ({
  study: new StudyData(name),
  view,
  picture: null,
  places: { picture: `picture-${at}`, readout: `readout-${at}`, legend: `legend-${at}` },
  link: (number) => `/studies/${encodeURIComponent(name)}#trial-${number}`,
  fields,
  redraw: draw,
  drawSoon,
}));
let sliced = JSON.stringify(view.slice), // through which the maps were read last
  rivals = [null, null]; // what each study says of the other's best region

/** Why two studies cannot be compared; "" if they can. */
async function obstacle(one, other) {
  if (JSON.stringify(one.head.space) !== JSON.stringify(other.head.space))
    return `${one.head.name} is over ${words.place(one.head.space)}, ${other.head.name} over ${words.place(other.head.space)}.`;
  if (one.head.space.axes || one.head.space.kind === "sequences") return "";
  const [first, second] = await Promise.all([one, other].map(({ base }) => get(`${base}/settings`)));
  const same = JSON.stringify(first.settings.space) === JSON.stringify(second.settings.space);
  return same ? "" : `${one.head.name} and ${other.head.name} have different ${words.place(one.head.space)}.`;
}

/** How both are coloured: on one scale where they measure the same in the same unit. */
function fields() {
  const both = pages.map(({ study }) => new Field(study, view.mode ?? "mean", view.threshold));
  const [one, other] = both,
    of = pages.map(({ study }) => JSON.stringify(study.head.value));
  if (of[0] !== of[1] || !pages.every(({ study }) => study.known)) return both;
  const joined = (a, b) => [Math.min(a[0], b[0]), Math.max(a[1], b[1])];
  const means = joined(one.means, other.means),
    range = joined(one.range, other.range);
  for (const field of both) Object.assign(field, { means, range, isShared: true });
  return both;
}

function draw() {
  const both = fields();
  pages.forEach((page, at) => {
    known.begin(page);
    if (page.study.values) page.picture?.draw(both[at]);
    legend(page, both[at]);
    readout(page, Number.isInteger(page.picture?.focus) ? page.picture.focus : null);
  });
}

/** Maps of both are cut at the same place. */
const slices = calm(async () => {
  const now = JSON.stringify(view.slice);
  if (now === sliced) return;
  await Promise.all(pages.map(({ study }) => study.readPicture(view.slice)));
  sliced = now;
  draw();
}, 50);

/** What each of two studies says of the region that the other recommends: {mean, std}, or null. */
async function judged() {
  const best = await Promise.all(
    pages.map(({ study }) => (study.best ? get(`${study.base}/recommend`) : [])),
  );
  const asked = pages.map(async ({ study }, at) => {
    const region = best[1 - at][0]?.region;
    if (!region || !study.best) return null;
    const place = region.node ? { node: region.node } : { ...region.bounds, ...region.symbols };
    const { mean, std } = await post(`${study.base}/predict`, { regions: [place] });
    return { mean: mean[0], std: std[0] };
  });
  return Promise.all(asked.map((answer) => answer.catch(() => null))); // a policy may know of its own nodes only
}

function table() {
  const heads = pages.map(({ study }) => study.head);
  const best = ({ study }) =>
    study.best
      ? [
          h("b", {}, words.region(study.head.space, study.best.region)),
          !study.head.stands_out && h("span", { class: "sub" }, ", does not stand out"),
        ]
      : "nothing is known yet";
  const give = (answer, head) => (answer ? words.give(answer.mean, answer.std, head.value.unit) : "–");
  /** @type {[string, any[]][]} */
  const rows = [
    ["progress", heads.map(words.gone)],
    ["what is measured", heads.map(({ value }) => words.labelled(value.name, value.unit))],
    ["sought", heads.map(({ direction }) => (direction === "maximize" ? "the highest" : "the lowest"))],
    ["best region", pages.map(best)],
    ["its average", pages.map(({ study }) => give(study.best, study.head))],
    ["the other’s best region has here", rivals.map((rival, at) => give(rival, heads[at]))],
    [
      "no region is better by more than",
      pages.map(({ study: { best: top, head } }) =>
        top && top.gap !== null ? words.unit(words.number(top.gap, top.std), head.value.unit) : "–",
      ),
    ],
    ["policy", heads.map(({ policy }) => policy)],
    ["a measurement sees", heads.map(({ feedback }) => feedback)],
    ["kernel", heads.map(({ model }) => (model ? words.rounded(model.kernel) : "–"))],
    ["last", heads.map(({ last, changed }) => `${last} ${words.ago(changed)}`)],
  ];
  put(
    "table",
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "the two studies as a table" },
      h(
        "table",
        { class: "compared" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("td", {}),
            heads.map((head) => h("th", { scope: "col" }, head.name)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map(([what, both]) =>
            h(
              "tr",
              { "data-key": `fact-${what}` },
              h("th", { scope: "row" }, what),
              both.map((fact) => h("td", {}, fact)),
            ),
          ),
        ),
      ),
    ),
  );
}

function show() {
  const [one, other] = pages.map(({ study }) => study.head);
  document.title = `${one.name} and ${other.name} · Zonal`;
  put("title", `${one.name} and ${other.name}`);
  put("goal", `Both over ${words.place(one.space)}.`);
  pages.forEach(({ study: { head } }, at) =>
    put(`name-${at}`, h("a", { href: `/studies/${encodeURIComponent(head.name)}` }, head.name)),
  );
  known.switches(pages.find(({ study }) => study.known) ?? pages[0]);
  table();
  draw();
}

const refresh = calm(async () => {
  await Promise.all(
    pages.map(async ({ study }) => {
      await study.begin();
      if (study.opening) throw Object.assign(new Error("its posterior is being computed"), { status: 503 }); // again
      await study.read();
      await study.readPicture(view.slice);
    }),
  );
  const why = await obstacle(pages[0].study, pages[1].study);
  if (why) return fail("These studies have different spaces", why);
  rivals = await judged();
  $("compared").hidden = false;
  show();
  document.documentElement.dataset.ready = "true";
}, 500);

function fail(title, why) {
  $("compared").hidden = true;
  $("failure").hidden = false;
  document.documentElement.dataset.ready = "true";
  put("failure", h("h1", {}, title), h("p", {}, why), h("p", {}, h("a", { href: "/" }, "All studies")));
}

try {
  await Promise.all(pages.map(({ study }) => study.begin()));
  refresh();
  showPerson();
  new ResizeObserver(once(() => pages.every(({ study }) => study.values) && draw())).observe($("picture-0"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawSoon);
  live(
    () => "/api/v1/events",
    (news) => (news === null || names.includes(news.study)) && refresh(),
  );
} catch (problem) {
  fail(problem.status === 404 ? "There is no such study" : "These studies cannot be shown", problem.message);
  if (problem.status === undefined) console.error(problem);
}
