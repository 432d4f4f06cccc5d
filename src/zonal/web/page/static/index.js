// All studies of the folder, and a form for a new one.
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

function best(one) {
  const { best: found, value: { unit } } = one;
  if (!one.measured && !one.observed) return "Nothing measured yet.";
  if (!found) return one.spark.length ? `${words.count(one.measured, "measurement")}; the answer is on its page.` : "";
  const gap = found.gap === null ? "" : found.gap < found.std / 20 ? ", none likely to be better" :
    `, none better by more than ${words.unit(words.number(found.gap, found.std), unit)}`;
  return [one.stands_out ? "★ " : `No region stands out yet; ${one.direction === "maximize" ? "highest" : "lowest"} so far `,
    h("b", { class: one.space.kind === "sequences" ? "mono" : null }, words.region(one.space, found.region)), h("br"),
    words.give(found.mean, found.std, unit), gap];
}

function card(one) {
  const top = h("div", { class: "top" }, h("h2", {}, one.name), pill(one.state, one.pending));
  if (one.state === "bad") return h("div", { class: "card study" }, top, h("p", { class: "best sub" }, one.error));
  const href = `/studies/${encodeURIComponent(one.name)}`;
  if (one.state === "opening") return h("a", { class: "card study", href }, top, h("p", { class: "sub" }, "Its journal is being read."));
  const way = one.pending ? `, ${one.pending} pending` : "";
  return h("a", { class: "card study", href }, top, h("p", { class: "sub" }, words.goal(one)),
    meter(one.spent / one.budget, one.cost ? 0 : one.pending / one.budget, `${words.gone(one)}${way}`),
    h("p", { class: "sub" }, `${words.gone(one)}${way} · ${one.last} ${words.ago(one.changed)}`),
    h("p", { class: "best" }, best(one)), spark(one.spark));
}

const refresh = calm(async () => {
  const { folder, studies } = await get("/api/studies");
  put("where", `${studies.length === 1 ? "1 study" : `${words.whole(studies.length)} studies`} in ${folder}`);
  put("list", studies.length ? studies.map(card) : h("div", { class: "card empty" }, h("h2", {}, "No studies here yet"),
    h("p", {}, "Begin one with the button above, or in a shell:"), h("p", { class: "mono" }, "zonal new dna.db --sequences ACGT,8 --budget 52")));
  document.documentElement.dataset.ready = Math.round(performance.now());
  if (studies.some((one) => one.state === "opening")) setTimeout(refresh, 700); // its journal is still being read
}, 500);

const EXAMPLE = "temperature 20 80 C\nsolvent water, ethanol, toluene";
/** Axes as somebody types them, one a line: "temperature 20 80 C" or "temperature 20..80 C", "solvent water, ethanol". */
function axes(text) {
  const found = {}, lines = text.split("\n").map((own) => own.trim()).filter(Boolean);
  if (!lines.length) throw new Mistyped("Write one axis at least, such as “temperature 20 80 C”.", "axes");
  for (const line of lines) {
    const [name] = line.split(/\s+/), rest = line.slice(name.length).trim();
    if (found[name]) throw new Mistyped(`There are two axes ${name}. Give each a name of its own.`, "axes");
    if (rest.includes(",")) {
      found[name] = { symbols: rest.split(",").map((own) => own.trim()).filter(Boolean) };
      continue;
    }
    const [low, high, unit, scale, ...more] = rest.replace(/\.\.| to /, " ").split(/\s+/);
    if (!high || more.length) throw new Mistyped(`Axis ${name}: write its two ends, its unit and its scale, as in “temperature 20 80 C” or “dose 0.01 10 mM log”, or its symbols, as in “solvent water, ethanol”.`, "axes");
    found[name] = { low: numeric(low, `The lower end of ${name}`, "axes"), high: numeric(high, `The upper end of ${name}`, "axes"), ...(unit && { unit }), ...(scale && { scale }) };
  }
  return found;
}

function begin() {
  const fields = [
    input("name", "name of the study", "", false, { placeholder: "ink-3" }),
    h("label", {}, "where to look: one axis a line, with its ends and unit, or its symbols",
      h("textarea", { name: "axes", rows: 3, spellcheck: "false", placeholder: EXAMPLE })),
    input("budget", "how many measurements may be made", "40", false, { inputmode: "numeric" }),
    input("value", "what is measured", "", true, { placeholder: "yield" }), input("unit", "in which unit", "", true, { placeholder: "%" }),
    input("noise", "standard deviation of one measurement", "", true, { inputmode: "decimal", placeholder: "learned" }),
    h("label", {}, "look for", h("select", { name: "direction" }, h("option", { value: "maximize" }, "the highest average"), h("option", { value: "minimize" }, "the lowest average"))),
  ];
  dialogue("A new study", "Zonal asks which region to measure, and finds the one of the highest average.", fields, "Begin it", async (said) => {
    const measurement = {};
    if (said.value) measurement.name = said.value;
    if (said.unit) measurement.unit = said.unit;
    const noise = numeric(said.noise, "A standard deviation", "noise", false);
    if (noise !== null) measurement.noise = noise;
    const recipe = { budget: numeric(said.budget, "A budget", "budget"), direction: said.direction, axes: axes(said.axes), measurement };
    const { name } = await post("/api/studies", { name: said.name, recipe });
    location.assign(`/studies/${encodeURIComponent(name)}`);
  });
}

$("new").addEventListener("click", begin);
refresh();
live(() => "/api/events", refresh);
