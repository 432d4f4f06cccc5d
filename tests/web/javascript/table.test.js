// What an uploaded table is taken for, and which field of the form an answer of the server is about.
import assert from "node:assert/strict";
import { test } from "node:test";

import { recipeOf, understood } from "../../../src/zonal/web/page/static/recipe.js";
import { cells, tableOf } from "../../../src/zonal/web/page/static/table.js";

test("quotation marks hold separators, line ends and quotation marks", () => {
  assert.deepEqual(cells('a,"b, c"\r\n"d\ne","f ""g"""\n\n', ","), [
    ["a", "b, c"],
    ["d\ne", 'f "g"'],
  ]);
});

test("columns of numbers are told from names, with any separator and decimal mark", () => {
  for (const text of ["\ufeffid;lon;lat\na;1,5;-2\nb;.5;3e2\n", "id\tlon\tlat\na\t1.5\t-2\n"]) {
    const table = tableOf("sites.csv", text);
    assert.deepEqual(table.columns, ["id", "lon", "lat"]);
    assert.deepEqual(table.numeric, ["lon", "lat"]);
    assert.deepEqual([...table.coords], ["lon", "lat"]);
    assert.equal(table.levels, "id");
  }
  assert.equal(tableOf("empty.csv", "a,b\n").rows, 0);
});

test("a recipe names the table, its columns and its weight, and says so", () => {
  const table = tableOf("sites.csv", "site,x,y,people\na,1,2,3\nb,2,3,4\n");
  const typed = { kind: "points", budget: "9", direction: "maximize", weight: table.weight };
  const recipe = recipeOf(typed, [], table);
  assert.deepEqual(recipe.points, { table: "sites.csv", coords: ["x", "y"], weight: "people" });
  assert.match(
    understood(recipe, table.rows),
    /the 2 points of sites\.csv, placed by x and y, weighed by people/,
  );
  const areas = recipeOf({ ...typed, kind: "hierarchy", levels: "site", weight: "" }, [], table);
  assert.deepEqual(areas.hierarchy, { table: "sites.csv", levels: ["site"], coords: ["x", "y"] });
});

test("what is missing is said at its field", () => {
  const table = tableOf("sites.csv", "site,n\na,3\n");
  const typed = { budget: "9", direction: "maximize" };
  const wrong = (kind, field, given = table, more = {}) =>
    assert.throws(() => recipeOf({ ...typed, kind, ...more }, [], given), { field });
  wrong("points", "table", null);
  wrong("points", "table", tableOf("empty.csv", "a,b\n"));
  wrong("points", "coords");
  wrong("hierarchy", "levels");
  wrong("hierarchy", "levels", table, { levels: "site, town" });
});
