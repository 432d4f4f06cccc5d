// All studies of the folder, and a form for a new study.
import { get, post } from "./api.js";
import { $, h, put, s } from "./dom.js";
import { calm, live } from "./live.js";
import { meter, pill } from "./progress.js";
import { Mistyped, dialogue, input, numeric } from "./trials.js";
import * as words from "./words.js";

function spark(values) {
  if (values.length < 2) return null;
  const low = Math.min(...values), high = Math.max(...values);
  const px = (i) => (4 + 392 * i / Math.max(1, values.length - 1)).toFixed(1);
  const py = (v) => (50 - 44 * (v - low) / (high - low || 1)).toFixed(1);
  return s("svg", { class: "spark", viewBox: "0 0 400 56", role: "img", "aria-label": `${values.length} measured averages in order` },
    s("path", { d: values.map((v, i) => `M${px(i)} ${py(v)}h0`).join(""), class: "dots" }));
}

function best(study) {
  const { best: top, value: { unit } } = study;
  if (!study.measured && !study.observed) return "Nothing measured yet.";
  if (!top) return study.spark.length ? `${words.count(study.measured, "measurement")}; the answer is on its page.` : "";
  const gap = top.gap === null ? "" : top.gap < top.std / 20 ? ", none likely to be better" :
    `, none better by more than ${words.unit(words.number(top.gap, top.std), unit)}`;
  return [study.stands_out ? "★ " : `No region stands out yet; ${study.direction === "maximize" ? "highest" : "lowest"} so far `,
    h("b", { class: study.space.kind === "sequences" ? "mono" : null }, words.region(study.space, top.region)), h("br"),
    words.give(top.mean, top.std, unit), gap];
}

function card(study) {
  const top = h("div", { class: "top" }, h("h2", {}, study.name), pill(study.state, study.pending));
  if (study.state === "bad") return h("div", { class: "card study" }, top, h("p", { class: "best sub" }, study.error));
  const href = `/studies/${encodeURIComponent(study.name)}`;
  if (study.state === "opening") return h("a", { class: "card study", href }, top, h("p", { class: "sub" }, "Its journal is being read."));
  const way = study.pending ? `, ${study.pending} pending` : "";
  return h("a", { class: "card study", href }, top, h("p", { class: "sub" }, words.goal(study)),
    meter(study.spent / study.budget, study.cost ? 0 : study.pending / study.budget, `${words.gone(study)}${way}`),
    h("p", { class: "sub" }, `${words.gone(study)}${way} · ${study.last} ${words.ago(study.changed)}`),
    h("p", { class: "best" }, best(study)), spark(study.spark));
}

const refresh = calm(async () => {
  const { folder, studies } = await get("/api/studies");
  put("where", `${studies.length === 1 ? "1 study" : `${words.whole(studies.length)} studies`} in ${folder}`);
  put("list", studies.length ? studies.map(card) : h("div", { class: "card empty" }, h("h2", {}, "No studies here yet"),
    h("p", {}, "Begin one with the button above, or in a shell:"), h("p", { class: "mono" }, "zonal new dna.db --sequences ACGT,8 --budget 52")));
  document.documentElement.dataset.ready = Math.round(performance.now());
  if (studies.some((study) => study.state === "opening")) setTimeout(refresh, 700); // its journal is still being read
}, 500);

const EXAMPLE = "temperature 20 80 C\nsolvent water, ethanol, toluene";
/** Axes as somebody types them, one a line: "temperature 20 80 C" or "temperature 20..80 C", "solvent water, ethanol". */
function axes(text) {
  const axes = {}, lines = text.split("\n").map((text) => text.trim()).filter(Boolean);
  if (!lines.length) throw new Mistyped("Write one axis at least, such as “temperature 20 80 C”.", "axes");
  for (const line of lines) {
    const [name] = line.split(/\s+/), rest = line.slice(name.length).trim();
    if (axes[name]) throw new Mistyped(`There are two axes ${name}. Give each a name of its own.`, "axes");
    if (rest.includes(",")) {
      axes[name] = { symbols: rest.split(",").map((text) => text.trim()).filter(Boolean) };
      continue;
    }
    const [low, high, unit, scale, ...more] = rest.replace(/\.\.| to /, " ").split(/\s+/);
    if (!high || more.length) throw new Mistyped(`Axis ${name}: write its two ends, its unit and its scale, as in “temperature 20 80 C” or “dose 0.01 10 mM log”, or its symbols, as in “solvent water, ethanol”.`, "axes");
    axes[name] = { low: numeric(low, `The lower end of ${name}`, "axes"), high: numeric(high, `The upper end of ${name}`, "axes"), ...(unit && { unit }), ...(scale && { scale }) };
  }
  return axes;
}

function begin() {
  const fields = [
    input("name", "name of the study", "", false, { placeholder: "ink-3" }),
    h("label", {}, "the space: one axis a line, with its ends and unit, or its symbols",
      h("textarea", { name: "axes", rows: 3, spellcheck: "false", placeholder: EXAMPLE })),
    input("budget", "how many measurements may be made", "40", false, { inputmode: "numeric" }),
    input("value", "what is measured", "", true, { placeholder: "yield" }), input("unit", "in which unit", "", true, { placeholder: "%" }),
    input("noise", "standard deviation of one measurement", "", true, { inputmode: "decimal", placeholder: "learned" }),
    h("label", {}, "find", h("select", { name: "direction" }, h("option", { value: "maximize" }, "the highest average"), h("option", { value: "minimize" }, "the lowest average"))),
  ];
  dialogue("A new study", "Zonal asks which region to measure, and finds the one of the highest average.", fields, "Create", async (typed) => {
    const measurement = {};
    if (typed.value) measurement.name = typed.value;
    if (typed.unit) measurement.unit = typed.unit;
    const noise = numeric(typed.noise, "A standard deviation", "noise", false);
    if (noise !== null) measurement.noise = noise;
    const recipe = { budget: numeric(typed.budget, "A budget", "budget"), direction: typed.direction, axes: axes(typed.axes), measurement };
    const { name } = await post("/api/studies", { name: typed.name, recipe });
    location.assign(`/studies/${encodeURIComponent(name)}`);
  });
}

$("new").addEventListener("click", begin);
refresh();
live(() => "/api/events", refresh);
