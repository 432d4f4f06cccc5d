// What draws and reads without a browser: words, recipes, symbols, places, histories. Run by node --test.
import assert from "node:assert/strict";
import { test } from "node:test";

const STATIC = "../../../src/zonal/web/page/static";
const words = await import(`${STATIC}/words.js`);
const { combinations, covers, drawn, only } = await import(`${STATIC}/symbols.js`);
const { recipeOf, understood } = await import(`${STATIC}/recipe.js`);
const { placeOf, readPlace, trialOf } = await import(`${STATIC}/place.js`);
const { runs } = await import(`${STATIC}/history.js`);
const { Scale } = await import(`${STATIC}/frame.js`);
const { LineView } = await import(`${STATIC}/line.js`);
const { StudyData } = await import(`${STATIC}/data.js`);
const { asCsv, members } = await import(`${STATIC}/level_set.js`);

const AXES = [
  { name: "T", low: 20, high: 80, unit: "C" },
  { name: "solvent", symbols: ["water", "ethanol"] },
];
/** The whole, split by temperature, then by solvent: rows 0; 1, 2; 3, 4 (of 1); 5, 6 (of 2). */
const SHAPE = {
  from: 0,
  parent: [-1, 0, 0, 1, 1, 2, 2],
  share: [1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25],
  low: [[20, 20, 50, 20, 20, 50, 50]],
  high: [[80, 50, 80, 50, 50, 80, 80]],
  symbols: {
    solvent: [
      ["water", "ethanol"],
      ["water", "ethanol"],
      ["water", "ethanol"],
      ["water"],
      ["ethanol"],
      ["water"],
      ["ethanol"],
    ],
  },
};

function study() {
  const made = new StudyData("mixed");
  made.grow(structuredClone(SHAPE));
  return made;
}

test("a decimal comma is a decimal point, and what may be thousands is asked about", () => {
  assert.deepEqual(words.typed("20,5", "A value"), { value: 20.5 });
  assert.deepEqual(words.typed("\u22120,51", "A value"), { value: -0.51 });
  assert.deepEqual(words.typed("1,5e3", "A value"), { value: 1500 });
  assert.match(words.typed("1,234", "A value").error, /1\.234 or 1234/);
  assert.match(words.typed("1,2,3", "A value").error, /must be a number/);
  assert.match(words.typed("abc", "A value").error, /must be a number/);
  assert.deepEqual(words.typed("0,123", "A value"), { value: 0.123 });
});

test("a limit is written with its sign", () => {
  assert.deepEqual(words.reading("<0,5", "A value").measured, { below: 0.5 });
  assert.deepEqual(words.reading(" \u2265 7", "A value").measured, { above: 7 });
  assert.deepEqual(words.reading("0.7", "A value").measured, { value: 0.7 });
  assert.match(words.reading("<", "A value").error, /must be a number/);
});

test("each leaf is found under its own symbol", () => {
  const tree = study();
  assert.equal(tree.leafAt([30], { solvent: "water" }), 3);
  assert.equal(tree.leafAt([30], { solvent: "ethanol" }), 4);
  assert.equal(tree.leafAt([60], { solvent: "ethanol" }), 6);
});

test("a row is of one combination of symbols, or of several", () => {
  const every = combinations(AXES);
  assert.deepEqual(
    every.map(({ name }) => name),
    ["water", "ethanol"],
  );
  assert.equal(only(SHAPE, 6, every), 1);
  assert.equal(only(SHAPE, 1, every), -1);
  assert.ok(covers(SHAPE, 1, { solvent: "water" }));
  assert.deepEqual(combinations([AXES[0]]), [{ name: "", symbols: {} }]);
  assert.deepEqual(
    drawn(AXES, [{ name: "ethanol" }], 1).map(({ name }) => name),
    ["ethanol"],
  );
});

const row = (more) => ({
  name: "T",
  kind: "linear",
  low: "20,5",
  high: "80,5",
  unit: "C",
  smallest: "",
  symbols: "",
  ...more,
});
const typed = (more) => ({ kind: "axes", budget: "40", direction: "maximize", ...more });

test("a recipe is what was typed, with decimal commas, scales and smallest parts", () => {
  const recipe = recipeOf(typed({ value: "yield", unit: "%" }), [
    row({ smallest: "0,5" }),
    row({ name: "c", kind: "log", low: "0.001", high: "1", unit: "" }),
    row({ name: "phase", kind: "ring", low: "0", high: "360", unit: "deg" }),
    row({ name: "layers", kind: "integer", low: "1", high: "12", unit: "" }),
    row({ name: "mixing speed", kind: "symbols", symbols: "slow, fast" }),
    row({ name: "constructor", low: "0", high: "1" }),
  ]);
  assert.deepEqual(recipe.axes.T, { low: 20.5, high: 80.5, unit: "C", smallest: 0.5 });
  assert.deepEqual(recipe.axes.c, { low: 0.001, high: 1, scale: "log", smallest: 3 / 8 });
  assert.equal(recipe.axes.phase.periodic, true);
  assert.deepEqual(recipe.axes.layers, { low: 1, high: 12, scale: "integer", smallest: 1 });
  assert.deepEqual(recipe.axes["mixing speed"], { symbols: ["slow", "fast"] });
  assert.deepEqual(recipe.axes.constructor, { low: 0, high: 1, unit: "C", smallest: 1 / 8 });
  assert.equal(recipe.budget, 40);
});

test("where one smallest part is given the other axes have the usual one", () => {
  const { axes } = recipeOf(typed({}), [
    row({ low: "0", high: "32", smallest: "5" }),
    row({ name: "c", kind: "log", low: "0.01", high: "1" }),
    row({ name: "n", kind: "integer", low: "1", high: "9" }),
    row({ name: "s", kind: "symbols", symbols: "a, b" }),
  ]);
  assert.equal(axes.T.smallest, 5);
  assert.equal(axes.c.smallest, 2 / 16);
  assert.equal(axes.n.smallest, 1);
  assert.equal(axes.s.smallest, undefined);
});

test("numbers with commas are never taken for symbols", () => {
  assert.throws(
    () => recipeOf(typed({}), [row({ kind: "symbols", symbols: "20,5 80,5 C" })]),
    /decimal commas/,
  );
  const recipe = recipeOf(typed({}), [row({ kind: "symbols", symbols: "0,5; 1,5" })]);
  assert.deepEqual(recipe.axes.T.symbols, ["0,5", "1,5"]);
});

test("what is wrong is said at its field", () => {
  const field = (fields, rows) => {
    try {
      recipeOf(typed(fields), rows);
    } catch (problem) {
      return problem.field;
    }
    return null;
  };
  assert.equal(field({}, [row({ high: "abc" })]), "axis-0-high");
  assert.equal(field({}, [row({ high: "3" })]), "axis-0-high");
  assert.equal(field({}, [row({}), row({})]), "axis-1-name");
  assert.equal(field({}, [row({ kind: "log", low: "0" })]), "axis-0-low");
  assert.equal(field({ budget: "abc" }, [row({})]), "budget");
  assert.equal(field({ budget: "2.5" }, [row({})]), "budget");
  assert.equal(field({ budget: "2.5", overhead: "1" }, [row({})]), null);
});

test("what was understood is a sentence", () => {
  const said = understood(
    recipeOf(typed({ value: "yield", unit: "%" }), [
      row({}),
      row({ name: "s", kind: "symbols", symbols: "a, b" }),
    ]),
  );
  assert.match(said, /highest average yield \[%\], with 40 measurements/);
  assert.match(said, /T from 20\.5 to 80\.5\u202fC, split down to about 0\.23\u202fC; s is a or b/);
});

test("a view survives in the address, and nonsense in it does no harm", () => {
  const view = {
    mode: "chance",
    usualMode: "mean",
    threshold: 0.6,
    root: 7,
    pair: [0, 2],
    slice: { x: [0.1, 0.2] },
    cells: true,
  };
  const { mode, threshold, root, pair, slice, cells } = readPlace(placeOf(view));
  assert.deepEqual(
    { mode, threshold, root, pair, slice, cells },
    {
      mode: "chance",
      threshold: 0.6,
      root: 7,
      pair: [0, 2],
      slice: { x: [0.1, 0.2] },
      cells: true,
    },
  );
  assert.deepEqual(readPlace("#view=evil&threshold=x&zoom=-1&pair=1&slice={"), {});
  assert.equal(placeOf({ mode: "mean", usualMode: "mean", threshold: 1 }), "");
  assert.equal(trialOf("#trial-12"), 12);
  assert.equal(trialOf("#trial-x"), null);
});

test("nothing is drawn between moments that do not follow each other", () => {
  assert.deepEqual(runs([0, 1, 2], [0, 1, 2]), [[0, 1, 2]]);
  assert.deepEqual(runs([0, 2999], [0, 1, 2, 2999]), [[0], [1]]);
  assert.deepEqual(runs([0, 2, 5], [0, 2, 4, 5]), [[0, 1], [2]]);
});

test("ticks are round and scales turn back", () => {
  const scale = new Scale(0, 1, 100, 500);
  assert.deepEqual(
    scale.ticks(5).map((x) => Number(x.toFixed(6))),
    [0, 0.2, 0.4, 0.6, 0.8, 1],
  );
  assert.equal(scale.at(scale.px(0.3)), 0.3);
  const log = new Scale(0.001, 1, 0, 300, true);
  assert.equal(Math.round(log.px(0.01)), 100);
});

test("the list of a level set is a table without formulas", () => {
  const made = study();
  made.take({
    direction: "maximize",
    measured: 3,
    observed: 0,
    pending: [],
    beyond: { threshold: 0.5 },
    space: { kind: "box", axes: AXES },
  });
  made.values = { mean: [0, 0, 0, 0.9, 0.6, 0, 0], std: [1, 1, 1, 0.1, 0.2, 1, 1], held: [3], perhaps: [4] };
  const found = members(made);
  assert.deepEqual(
    found.map(({ row, sure }) => [row, sure]),
    [
      [3, true],
      [4, false],
    ],
  );
  const lines = asCsv(made, found).split("\n");
  assert.equal(lines[0], "T from,T to,solvent,mean,std,probability,above");
  assert.equal(lines[1], "20,50,water,0.9,0.1,1,yes");
  assert.match(lines[2], /^20,50,ethanol,0\.6,0\.2,0\.69\d*,perhaps$/);
});

test("the aim of a study is said as it is", () => {
  const head = { value: { name: "yield", unit: "%" }, direction: "maximize", space: { axes: AXES } };
  assert.equal(
    words.goal({ ...head, policy: "KnowledgeGradient()" }),
    "The region of the highest average yield [%], over T and solvent",
  );
  assert.match(
    words.goal({ ...head, policy: "Above(threshold=0.6, top=None)" }),
    /^All regions whose average yield is above 0\.6/,
  );
  assert.match(
    words.goal({ ...head, policy: "Above(threshold=None, top=0.2)" }),
    /^The highest 20\u00a0% of regions/,
  );
});

test("times are local", () => {
  process.env.TZ = "Australia/Sydney";
  assert.equal(words.local("2026-11-18T02:47:09"), "2026-11-18 13:47");
  assert.equal(words.universal("2026-11-18T02:47:09+00:00"), "2026-11-18 02:47:09 UTC");
});

test("a window across the cut of a ring is drawn at both ends", () => {
  /** @type {any} */ const page = globalThis;
  const before = page.document;
  page.document = {
    createElementNS: () => {
      const kept = {};
      return { kept, setAttribute: (name, value) => (kept[name] = value), append: () => {} };
    },
  };
  const study = {
    trials: {
      value: [0.5],
      row: [0],
      number: [7],
      window: { 7: { window: [[[170, 180]], [[-180, -170]]] } },
    },
    shape: { low: [[-180]], high: [[180]] },
  };
  const same = { px: (at) => at };
  const [bars] = LineView.prototype.bars.call({ study, x: same, y: same, symbolic: false });
  page.document = before;
  assert.equal(bars.kept.d, "M170.0 0.5H180.0M-180.0 0.5H-170.0");
});
