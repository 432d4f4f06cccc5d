// The form of a new study: axes row by row, sequences, or a whole recipe; and what was understood, before it begins.
import { post } from "./api.js";
import { Mistyped, choice, dialogue, input } from "./dialog.js";
import { h, put } from "./dom.js";
import { decoded } from "./outside.js";
import { me } from "./person.js";
import { recipeOf, understood } from "./recipe.js";
import { tableOf } from "./table.js";

const KINDS = [
  ["linear", "numbers"],
  ["log", "numbers, logarithmic"],
  ["integer", "whole numbers"],
  ["ring", "periodic: its ends meet"],
  ["symbols", "symbols"],
];
const PASTED = `budget = 60

[axes]
l = { low = -180, high = 180, unit = "deg", periodic = true }
sin_b = { low = -1, high = 1, smallest = 0.03125 }`;

/** One axis of the form; what of it is asked for depends on its kind. */
function axisRow(at, row, changed) {
  const set = (key) => (event) => {
    row[key] = event.target.value;
    if (key === "kind") changed();
  };
  const field = (key, label, extra = {}) =>
    input(`axis-${at}-${key}`, label, row[key], false, { oninput: set(key), ...extra });
  const decimal = { inputmode: "decimal" };
  const numbers = [
    field("low", "from", decimal),
    field("high", "to", decimal),
    field("unit", "unit", { placeholder: "none" }),
    row.kind !== "integer" &&
      field("smallest", row.kind === "log" ? "smallest part (decades)" : "smallest part", {
        ...decimal,
        placeholder: "by default",
        title: "The smallest part of this axis that is worth measuring by itself",
      }),
  ];
  return h(
    "fieldset",
    { class: "axis", "data-key": `axis-${at}`, "aria-label": `axis ${at + 1}` },
    field("name", "axis", { placeholder: at ? "solvent" : "temperature" }),
    choice(`axis-${at}-kind`, "kind", KINDS, { onchange: set("kind") }),
    row.kind === "symbols"
      ? field("symbols", "its symbols, separated by commas or semicolons", {
          placeholder: "water, ethanol, toluene",
        })
      : numbers,
  );
}

const emptyRow = () => ({ name: "", kind: "linear", low: "", high: "", unit: "", smallest: "", symbols: "" });

/** The part of the form that says where one can measure. */
function space(state, changed) {
  if (state.kind === "recipe") {
    return h(
      "label",
      { "data-key": "recipe" },
      "the recipe, as “zonal new --template” prints one",
      h("textarea", { name: "recipe", rows: "10", spellcheck: "false", placeholder: PASTED, class: "mono" }),
    );
  }
  if (state.kind === "sequences") {
    return h(
      "div",
      { class: "row three", "data-key": "sequences" },
      input("alphabet", "letters", "ACGT"),
      input("length", "length", "8", false, { inputmode: "numeric" }),
      input("sequences-smallest", "smallest pool", "", true, { inputmode: "numeric" }),
    );
  }
  if (state.kind !== "axes") return tableFields(state, changed);
  const add = () => {
    state.rows.push(emptyRow());
    changed();
  };
  const remove = () => {
    state.rows.pop();
    changed();
  };
  return h(
    "div",
    { "data-key": "axes" },
    state.rows.map((row, at) => axisRow(at, row, changed)),
    h(
      "div",
      { class: "acts" },
      h("button", { class: "small", type: "button", onclick: add }, "Add an axis"),
      state.rows.length > 1 &&
        h("button", { class: "small", type: "button", onclick: remove }, "Remove the last"),
    ),
  );
}

/** An uploaded table of points or areas, and what its columns are. */
function tableFields(state, changed) {
  const { table, kind } = state,
    areas = kind === "hierarchy";
  const take = async (event) => {
    const [file] = event.target.files;
    state.table = file ? tableOf(file.name, decoded(await file.arrayBuffer())) : null;
    changed();
  };
  const file = h(
    "label",
    { "data-key": "file" },
    `a table with a row for each ${areas ? "area" : "point"}, as CSV`,
    h("input", { name: "table", type: "file", accept: ".csv,.tsv,.txt,text/csv", onchange: take }),
  );
  if (!table) return h("div", { "data-key": kind }, file);
  const toggled = (column) => (event) => {
    table.coords[event.target.checked ? "add" : "delete"](column);
  };
  const box = (column) =>
    h(
      "label",
      { class: "check" },
      h("input", {
        type: "checkbox",
        name: "coords",
        value: column,
        checked: table.coords.has(column),
        onchange: toggled(column),
      }),
      ` ${column}`,
    );
  const weights = [["", "all the same"], ...table.numeric.map((column) => [column, column])];
  const marks = [
    ["", "as found"],
    [".", "a point"],
    [",", "a comma"],
  ];
  return h(
    "div",
    { "data-key": kind },
    file,
    h("p", { class: "sub" }, `${table.rows} rows; columns ${table.columns.join(", ")}.`),
    areas && input("levels", "columns from the coarsest area to the finest", table.levels),
    h(
      "fieldset",
      { class: "checks" },
      h("legend", {}, areas ? "where an area is (optional)" : "where a point is"),
      table.numeric.length ? table.numeric.map(box) : "no column has numbers alone",
    ),
    h(
      "div",
      { class: "row three", "data-key": `columns-${table.name}` },
      choice("weight", "weight of a row", weights, {}, table.weight),
      input("members-smallest", "least weight of a region", "", true, { inputmode: "decimal" }),
      choice("decimal", "decimal mark", marks),
    ),
  );
}

/** What every study has, and what few have. */
function rest() {
  return [
    h(
      "div",
      { class: "row three" },
      input("value", "what is measured", "", true, { placeholder: "yield" }),
      input("unit", "its unit", "", true, { placeholder: "%" }),
      input("noise", "its standard deviation", "", true, { inputmode: "decimal", placeholder: "learned" }),
    ),
    h(
      "div",
      { class: "row" },
      choice("direction", "find", [
        ["maximize", "the highest average"],
        ["minimize", "the lowest average"],
      ]),
      input("budget", "number of measurements", "40", false, { inputmode: "decimal" }),
    ),
    h(
      "details",
      {},
      h("summary", {}, "A threshold, forbidden regions, costs"),
      h(
        "div",
        { class: "row" },
        input("threshold", "all regions beyond this average", "", true, { inputmode: "decimal" }),
        input("forbidden", "never to measure; separated by semicolons", "", true, {
          placeholder: "temperature=70..80, solvent=water",
        }),
      ),
      h(
        "div",
        { class: "row three" },
        input("times", "possible times of a measurement", "", true, { placeholder: "1 2 4 8" }),
        input("overhead", "further cost of each", "", true, { inputmode: "decimal" }),
        input("cost_unit", "unit of cost", "", true, { placeholder: "s" }),
      ),
      h("p", { class: "sub" }, "With times or costs the budget is the total cost that may be spent."),
    ),
  ];
}

/** What was understood, or what is still missing. */
function sentence(form, state) {
  const typed = { ...Object.fromEntries(new FormData(form)), kind: state.kind };
  if (state.kind === "recipe") return "";
  try {
    return understood(recipeOf(typed, state.rows, state.table), state.table?.rows);
  } catch (problem) {
    if (!(problem instanceof Mistyped)) throw problem;
    return "";
  }
}

const OTHER_FIELDS = {
  "measurement.name": "value",
  "sequences.smallest": "sequences-smallest",
  "points.smallest": "members-smallest",
  "hierarchy.smallest": "members-smallest",
};
const FIELDS = ["forbidden", "budget", "noise", "threshold", "times", "overhead", "cost_unit", "unit"];

/** The field of the form that an answer of the server is about: it names the key of the recipe, or the message does. */
export function blamed({ field, message }, rows, has = (_name) => true) {
  const key = field?.replace(/^recipe\.?/, "") ?? "";
  const at = rows.findIndex(({ name }) => name.trim() && `${key}.`.startsWith(`axes.${name.trim()}.`));
  if (at >= 0) {
    const part = `axis-${at}-${key.slice(`axes.${rows[at].name.trim()}.`.length)}`;
    return has(part) ? part : `axis-${at}-name`;
  }
  const known = [OTHER_FIELDS[key], key, key.split(".").at(-1)].find((name) => name && has(name));
  return known ?? FIELDS.find((name) => message.includes(name) && has(name)) ?? field;
}

/** Ask for a new study, and go to its page. */
export function begin() {
  const state = { kind: "axes", rows: [emptyRow()], table: null };
  const place = h("div"),
    common = h("div", {}, ...rest()),
    said = h("p", { class: "understood", id: "understood", role: "status" });
  const changed = () => {
    put(place, space(state, changed));
    common.hidden = state.kind === "recipe";
    const form = place.closest("form");
    if (form) typing(form);
  };
  const typing = (form) => {
    const text = sentence(form, state);
    said.hidden = !text;
    said.textContent = text;
  };
  const kinds = choice(
    "kind",
    "the space",
    [
      ["axes", "axes of numbers or symbols"],
      ["sequences", "sequences of letters"],
      ["points", "points, from a table"],
      ["hierarchy", "areas, from a table"],
      ["recipe", "a recipe, pasted"],
    ],
    {
      onchange: (event) => {
        state.kind = event.target.value;
        changed();
      },
    },
  );
  const send = async (typed) => {
    if (!typed.name.trim()) throw new Mistyped("Give the study a name, such as ink-3.", "name");
    const recipe = state.kind === "recipe" ? typed.recipe : recipeOf(typed, state.rows, state.table);
    const table = recipe.points || recipe.hierarchy ? { table: state.table.text } : {};
    const has = (field) => Boolean(document.querySelector(`dialog [name="${CSS.escape(field)}"]`));
    const sent = { name: typed.name.trim(), recipe, ...table, by: me() || null };
    const { name } = await post("/api/v1/studies", sent).catch((problem) => {
      problem.field =
        state.kind === "recipe" && problem.field !== "name" ? "recipe" : blamed(problem, state.rows, has);
      throw problem;
    });
    location.assign(`/studies/${encodeURIComponent(name)}`);
  };
  const fields = [
    h(
      "div",
      { class: "row" },
      input("name", "name of the study", "", false, { placeholder: "ink-3" }),
      kinds,
    ),
    place,
    common,
    said,
  ];
  changed();
  return dialogue("A new study", "", fields, "Create", send, { wide: true, typing });
}
