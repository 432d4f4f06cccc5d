// A recipe from what somebody typed into the form of a new study, and the sentence that says what was understood.
import { Mistyped, counted, numeric } from "./dialog.js";
import { and, number, unit, whole } from "./words.js";

// Parts of each axis of numbers without a smallest, by how many such axes there are, as the library splits them.
const PARTS = { 1: 256, 2: 32, 3: 16 };
const FEWER = 8;

const listed = (text) =>
  (text.includes(";") ? text.split(";") : text.split(",")).map((part) => part.trim()).filter(Boolean);

/** The symbols of an axis; numbers with decimal commas are never taken for symbols. */
function symbols(text, name, field) {
  if (/\d,\d/.test(text) && !text.includes(";")) {
    throw new Mistyped(
      `Axis ${name}: “${text}” may be numbers with decimal commas. Choose numbers, or separate symbols by semicolons.`,
      field,
    );
  }
  const found = listed(text);
  if (found.length < 2) {
    throw new Mistyped(`Axis ${name}: write two symbols at least, such as “water, ethanol”.`, field);
  }
  if (new Set(found).size < found.length) {
    throw new Mistyped(`Axis ${name}: a symbol is there twice. Write each once.`, field);
  }
  return { symbols: found };
}

/** One axis from its row of the form. */
function axis(row, at) {
  const field = (name) => `axis-${at}-${name}`,
    name = row.name.trim();
  if (!name) throw new Mistyped("Give the axis a name, such as temperature.", field("name"));
  if (row.kind === "symbols") return symbols(row.symbols, name, field("symbols"));
  const read = (key, what, needed = true) =>
    numeric(row[key], `${what} of ${name}`, field(key), needed, "20");
  const [low, high] = [read("low", "The lower end"), read("high", "The upper end")];
  if (!(low < high)) {
    throw new Mistyped(
      `Axis ${name}: its upper end must be above ${number(low)}; got ${row.high}.`,
      field("high"),
    );
  }
  if (row.kind === "log" && !(low > 0)) {
    throw new Mistyped(`Axis ${name}: a logarithmic axis begins above 0; got ${row.low}.`, field("low"));
  }
  if (row.kind === "integer" && !(Number.isInteger(low) && Number.isInteger(high))) {
    throw new Mistyped(
      `Axis ${name}: its ends must be whole numbers; got ${row.low} and ${row.high}.`,
      field("low"),
    );
  }
  const smallest = read("smallest", "The smallest part", false);
  if (smallest !== null && !(smallest > 0)) {
    throw new Mistyped(
      `Axis ${name}: the smallest part must be positive; got ${row.smallest}.`,
      field("smallest"),
    );
  }
  return {
    low,
    high,
    ...(row.unit.trim() && { unit: row.unit.trim() }),
    ...(["log", "integer"].includes(row.kind) && { scale: row.kind }),
    ...(row.kind === "ring" && { periodic: true }),
    ...(smallest !== null && { smallest }),
  };
}

function axes(rows) {
  const found = new Map();
  rows.forEach((row, at) => {
    const name = row.name.trim();
    if (found.has(name)) {
      throw new Mistyped(`There are two axes ${name}. Give each a name of its own.`, `axis-${at}-name`);
    }
    found.set(name, axis(row, at));
  });
  return completed(Object.fromEntries(found));
}

/** How many parts each axis of numbers has, unless its smallest is given. */
const partsOf = (axes) => PARTS[Object.values(axes).filter((axis) => !axis.symbols).length] ?? FEWER;
const span = (axis) => (axis.scale === "log" ? Math.log10(axis.high / axis.low) : axis.high - axis.low);

/** The library wants the smallest part of every axis of numbers, or of none: others get the usual one. */
function completed(axes) {
  if (!Object.values(axes).some((axis) => axis.smallest !== undefined)) return axes;
  const usual = (axis) => (axis.scale === "integer" ? 1 : span(axis) / partsOf(axes));
  const whole = (axis) => (axis.symbols ? axis : { ...axis, smallest: axis.smallest ?? usual(axis) });
  return Object.fromEntries(Object.entries(axes).map(([name, axis]) => [name, whole(axis)]));
}

function sequences(typed) {
  const alphabet = typed.alphabet.trim();
  if (alphabet.length < 2) throw new Mistyped("Write the letters of the alphabet, such as ACGT.", "alphabet");
  const smallest = numeric(
    typed["sequences-smallest"],
    "The fewest sequences of a pool",
    "sequences-smallest",
    false,
  );
  return {
    alphabet,
    length: counted(typed.length, "The length", "length"),
    ...(smallest !== null && { smallest }),
  };
}

/** Points or areas, a row of an uploaded table each. */
function members(typed, table) {
  if (!table)
    throw new Mistyped("Choose the table: a CSV file with a header and a row for each of them.", "table");
  if (!table.rows) throw new Mistyped(`${table.name} has no rows below its header.`, "table");
  const words = { table: table.name },
    coords = [...table.coords];
  if (typed.kind === "hierarchy") {
    words.levels = listed(typed.levels ?? "");
    const strange = words.levels.find((column) => !table.columns.includes(column));
    if (strange) {
      const has = table.columns.join(", ");
      throw new Mistyped(`${table.name} has no column ${strange}. It has ${has}.`, "levels");
    }
    if (!words.levels.length)
      throw new Mistyped(
        "Name the columns from the coarsest to the finest, such as state, county.",
        "levels",
      );
  } else if (!coords.length) {
    throw new Mistyped("Choose the columns of numbers that say where a point is.", "coords");
  }
  if (coords.length) words.coords = coords;
  if (typed.weight) words.weight = typed.weight;
  if (typed.decimal) words.decimal = typed.decimal;
  const smallest = numeric(typed["members-smallest"], "The least weight", "members-smallest", false);
  return { ...words, ...(smallest !== null && { smallest }) };
}

/** The recipe of a new study: from the fields of the form, the rows of the axes, and what was uploaded. */
export function recipeOf(typed, rows, table = null) {
  const measurement = {},
    recipe = {
      budget: numeric(typed.budget, "The budget", "budget", true, "40"),
      direction: typed.direction,
    };
  if (typed.kind === "sequences") recipe.sequences = sequences(typed);
  else if (["points", "hierarchy"].includes(typed.kind)) recipe[typed.kind] = members(typed, table);
  else recipe.axes = axes(rows);
  if (typed.value?.trim()) measurement.name = typed.value.trim();
  if (typed.unit?.trim()) measurement.unit = typed.unit.trim();
  const noise = numeric(typed.noise, "A standard deviation", "noise", false);
  if (noise !== null) measurement.noise = noise;
  if (Object.keys(measurement).length) recipe.measurement = measurement;
  const threshold = numeric(typed.threshold, "The threshold", "threshold", false);
  if (threshold !== null) recipe.policy = { name: "above", threshold };
  const forbidden = (typed.forbidden ?? "")
    .split(";")
    .map((region) => region.trim())
    .filter(Boolean);
  if (forbidden.length) recipe.forbidden = forbidden;
  const times = (typed.times ?? "").split(/[;\s]+/).filter(Boolean);
  if (times.length) recipe.times = times.map((time) => numeric(time, "A time", "times", true, "30"));
  const overhead = numeric(typed.overhead, "A cost", "overhead", false, "5");
  if (overhead !== null) recipe.overhead = overhead;
  if (typed.cost_unit?.trim()) recipe.cost_unit = typed.cost_unit.trim();
  const isPriced = times.length > 0 || overhead !== null;
  if (!isPriced) recipe.budget = counted(typed.budget, "The budget", "budget");
  return recipe;
}

function axisSentence(name, axis, parts) {
  if (axis.symbols) return `${name} is ${axis.symbols.slice(0, -1).join(", ")} or ${axis.symbols.at(-1)}`;
  const range = `${number(axis.low)} to ${unit(number(axis.high), axis.unit)}`;
  if (axis.scale === "integer") return `${name} in whole numbers from ${range}`;
  const kind = axis.periodic ? ", a ring" : axis.scale === "log" ? " on a logarithmic scale" : "";
  const smallest = axis.smallest ?? Number((span(axis) / parts).toPrecision(2));
  const size = axis.scale === "log" ? `${number(smallest)} decades` : unit(number(smallest), axis.unit);
  return `${name} from ${range}${kind}, split down to about ${size}`;
}

/** Where one can measure, in words. */
function placeSentence(recipe, rows) {
  const { axes, sequences: words, points, hierarchy } = recipe;
  if (axes) {
    const parts = partsOf(axes);
    return Object.entries(axes)
      .map(([name, axis]) => axisSentence(name, axis, parts))
      .join("; ");
  }
  if (words) return `all sequences of ${words.length} letters of ${words.alphabet}`;
  const weighed = (of) => (of.weight ? `, weighed by ${of.weight}` : "");
  if (points)
    return `the ${whole(rows)} points of ${points.table}, placed by ${and(points.coords)}${weighed(points)}`;
  const nested = hierarchy.levels.join(" > ");
  return `the ${whole(rows)} areas of ${hierarchy.table}, nested as ${nested}${weighed(hierarchy)}`;
}

/** What a recipe of the form means, in a sentence for whoever filled it in; `rows` are those of its table. */
export function understood(recipe, rows = 0) {
  const { name = "value", unit: of = "" } = recipe.measurement ?? {},
    up = recipe.direction !== "minimize";
  const where = placeSentence(recipe, rows);
  const goal = recipe.policy
    ? `all regions whose average ${name} is ${up ? "above" : "below"} ${unit(number(recipe.policy.threshold), of)}`
    : `the region of the ${up ? "highest" : "lowest"} average ${name}${of ? ` [${of}]` : ""}`;
  const priced = recipe.times || recipe.overhead !== undefined;
  const budget = priced
    ? `a total cost of ${unit(number(recipe.budget), recipe.cost_unit ?? "")}`
    : `${number(recipe.budget)} measurements`;
  const noise = recipe.measurement?.noise;
  const spread = noise === undefined ? "" : `, each with a standard deviation of ${unit(number(noise), of)}`;
  return `Find ${goal}, with ${budget}${spread}. The space: ${where}.`;
}
