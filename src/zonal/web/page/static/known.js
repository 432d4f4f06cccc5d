// The picture of what is known: its switches, its legend, what is under the pointer, and the same as a table.
import { Field, css, paper } from "./colour.js";
import { $, h, put, s } from "./dom.js";
import { LineView } from "./line.js";
import { MapView } from "./map.js";
import { PanelsView } from "./panels.js";
import { PointsView } from "./points.js";
import { ShelvesView, TilesView } from "./shelves.js";
import * as words from "./words.js";

const VIEWS = { map: MapView, line: LineView, shelves: ShelvesView, tiles: TilesView, panels: PanelsView, scatter: PointsView };
const LISTED = 200; // rows of the table behind the picture

const side = (head) => (head.direction === "maximize" ? "above" : "below");

/** Begin the picture; a view of pairs is made anew when its panels have changed. */
export function begin(page) {
  const { study } = page, kind = study.head.picture, place = $("picture");
  const empty = !study.known && !["map", "line"].includes(kind), follows = { panels: "panels", scatter: "points" }[kind];
  if (empty || (follows && !study.picture[follows])) {
    page.picture = null;
    const { measured, observed } = study.head;
    const why = study.opening || study.known ? "The picture is being computed." : measured + observed ? "Nothing can be drawn without the study’s kernel." :
      "The picture begins with the first measurement.";
    return put(place, h("p", { class: "blank" }, why));
  }
  if (!page.picture || kind === "panels") page.picture = new VIEWS[kind](place, study, (row, cell) => readout(page, row, cell));
}

export function draw(page) {
  const { study, view } = page;
  if (!study.values || !$("picture").clientWidth) return; // drawn when there is space for it
  const field = new Field(study, view.mode, view.threshold);
  page.picture?.draw(field);
  legend(page, field);
}

export function switches(page) {
  const { study, view } = page, { head } = study, box = $("switches");
  if (!study.known) return put(box);
  const { means: [low, high] } = new Field(study, "mean", 0);
  if (view.threshold === null) view.threshold = head.beyond?.threshold ?? Number(((low + 2 * high) / 3).toPrecision(2));
  const withUnit = (x) => words.unit(words.number(x), head.value.unit);
  const choose = (mode) => () => {
    view.mode = mode;
    switches(page);
    box.querySelector(`[value=${mode}]`).focus();
    draw(page);
  };
  const radio = (mode, text) => h("label", {}, h("input", { type: "radio", name: "mode", value: mode, checked: view.mode === mode, onchange: choose(mode) }), text);
  const out = h("output", {}, withUnit(view.threshold));
  const slide = (event) => {
    view.threshold = Number(event.target.value);
    out.value = withUnit(view.threshold);
    event.target.setAttribute("aria-valuetext", out.value);
    page.drawSoon();
  };
  const step = 10 ** Math.floor(Math.log10((high - low) / 100));
  const ways = head.picture === "line" && study.picture.curves && page.picture && h("fieldset", { class: "segmented", "aria-label": "Draw" },
    ["function", "cells"].map((name) => h("label", {}, h("input", {
      type: "radio", name: "way", checked: page.picture.cells === (name === "cells"),
      onchange: () => { page.picture.cells = name === "cells"; draw(page); },
    }), name)));
  put(box, ways,
    h("fieldset", { class: "segmented", "aria-label": "Colour shows" }, radio("mean", "mean"), radio("std", "uncertainty"), radio("chance", `chance ${side(head)}`)),
    view.mode === "chance" && h("label", { class: "slider" }, out, h("input", {
      type: "range", min: low, max: high, step, value: view.threshold, "aria-label": "threshold", "aria-valuetext": withUnit(view.threshold), oninput: slide,
    })));
}

const key = (text, ...marks) => h("span", { class: "key" }, s("svg", { width: 22, height: 14, viewBox: "0 0 22 14", "aria-hidden": "true" }, ...marks), text);

function scale(page, field) {
  const { study, view } = page, { head } = study, of = head.value.unit, sheet = paper($("picture")), faded = view.mode === "mean";
  const canvas = h("canvas", { width: 200, height: faded ? 36 : 14, "aria-hidden": "true" }), c = canvas.getContext("2d");
  const [low, high] = field.range;
  for (let i = 0; i < 200; i++) {
    const x = low + (high - low) * i / 199;
    for (let j = 0; j < (faded ? 4 : 1); j++) {
      c.fillStyle = css(faded ? field.of(x, 0, j / 3, sheet) : view.mode === "std" ? field.of(0, x, 0, sheet) : field.chanceColour(i / 199, sheet));
      c.fillRect(i, 9 * j, 1, faded ? 9 : 14);
    }
  }
  const title = {
    mean: `mean of ${words.labelled(head.value.name, of)}`,
    std: `uncertainty: standard deviation of a region’s average${of ? ` [${of}]` : ""}`,
    chance: `chance that a region’s average is ${side(head)} ${words.unit(words.number(field.threshold), of)}`,
  }[view.mode];
  const ends = view.mode === "chance" ? ["< 1%", "> 99%"] : field.range.map((v) => words.number(Number(v.toPrecision(3))));
  return h("div", { class: "scalebar" }, h("span", { class: "title" }, title), canvas,
    faded && h("span", { class: "fade" }, h("span", {}, "well known"), h("span", {}, "hardly known")),
    h("span", { class: "ends" }, h("span", {}, ends[0]), h("span", {}, ends[1])));
}

function legend(page, field) {
  const { study, picture } = page, { head } = study, keys = [];
  if (!picture || (!head.measured && !head.pending.length)) return put("legend");
  if (head.picture === "line") {
    const { curves } = study.picture;
    if (picture.cells || !curves) {
      keys.push(key("mean of a cell", s("path", { d: "M1 7H21", class: "cellmean" })), key("confidence in it", s("rect", { width: 22, height: 14, class: "confidence" })),
        key("plus variation of f within", s("rect", { width: 22, height: 14, class: "variation" })));
    } else {
      keys.push(...curves.map((curve, i) => key(curves.length === 1 ? "f, give or take 2 standard deviations" : curve.name,
        s("rect", { width: 22, height: 14, class: `band c${i}` }), s("path", { d: "M1 7H21", class: `curve c${i}` }))));
    }
    keys.push(key("a measured average, as wide as its region", s("path", { d: "M1 7H21", class: "bars" }), s("path", { d: "M11 7h0", class: "dots" })));
  } else if (["shelves", "tiles", "scatter"].includes(head.picture)) {
    keys.push(key("measured", s("circle", { cx: 11, cy: 7, r: 3.4, fill: "#fff", stroke: "#222", "stroke-width": 1.2 })));
  } else keys.push(key("measured (larger: larger region)", s("circle", { cx: 11, cy: 7, r: 4.5, class: "measured" })));
  if (study.best) {
    keys.push(key(head.stands_out ? "best region" : `${head.direction === "maximize" ? "highest" : "lowest"} so far; does not stand out`,
      s("rect", { x: 3, y: 1, width: 16, height: 12, class: `found${head.stands_out ? "" : " unsure"}` })));
    if (study.best.region.window) keys.push(key("cell of the tree there", s("rect", { x: 3, y: 1, width: 16, height: 12, class: "found cell" })));
  }
  const limit = head.beyond && `${side(head)} ${words.unit(words.number(head.beyond.threshold), head.value.unit)}`;
  if (study.values.held?.length) keys.push(key(limit, s("rect", { x: 2, y: 1, width: 18, height: 12, class: "held" })));
  if (study.values.perhaps?.length) keys.push(key(`perhaps ${limit}`, s("rect", { x: 2, y: 1, width: 18, height: 12, class: "perhaps" })));
  if (head.pending.length) keys.push(key("pending", s("rect", { x: 2, y: 1.5, width: 18, height: 11, class: "pending" })));
  const blocked = study.leaves.filter((row) => study.flags[row] & 1);
  if (blocked.length) {
    keys.push(key(blocked.some((row) => !(study.flags[row] & 2)) ? "forbidden, at least in part" : "forbidden",
      s("rect", { x: 1, y: 0, width: 20, height: 14, class: "blocked" }), s("path", { d: "M1 14L15 0M8 14L21 1M1 7L8 0M15 14L21 8", class: "hatched" })));
  }
  put("legend", study.known && scale(page, field), h("div", { class: "keys" }, keys));
}

/** Say what is known of a row of the tree, or of a cell of a map of predictions. */
export function readout(page, row, cell) {
  const { study, view } = page, { head } = study, of = head.value.unit;
  if (row === null && !cell) {
    return put("readout", h("span", { class: "hint" }, matchMedia("(hover: none)").matches ? "Touch the picture to read a region." :
      "Point at the picture, or use the arrow keys on it, to read a region."));
  }
  const region = cell?.region ?? study.region(row), mean = cell?.mean ?? study.values.mean?.[row], std = cell?.std ?? study.values.std?.[row];
  const bits = [h("b", { class: head.space.kind === "sequences" ? "mono" : null }, words.region(head.space, region))];
  if (region.share !== null) bits.push(` · ${words.size(head.space, region)}`);
  bits.push(h("br"));
  if (row !== null && study.flags[row] & 1) bits.push("Forbidden: neither measured nor recommended.");
  else if (study.known) {
    bits.push(h("b", {}, words.give(mean, std, of)));
    const chance = new Field(study, "chance", view.threshold).chance(mean, std);
    if (view.mode === "chance") bits.push(` · ${side(head)} ${words.unit(words.number(view.threshold), of)}: ${words.percent(chance)}`);
  } else bits.push("Nothing is known of it yet.");
  if (row !== null) {
    const n = study.values.count[row], way = study.pendingRows.get(row);
    bits.push(n ? ` · measured ${n === 1 ? "once" : `${n} times`}` : " · not measured itself");
    if (way) bits.push(` · pending (#${way.join(", #")})`);
    if (study.best?.region.row === row) bits.push(study.best.region.window ? " · the best region so far is here, off the grid" : " · the best region so far");
  }
  put("readout", ...bits);
}

/** The table behind the picture: the smallest regions there are, the best first. It is made when it is opened. */
export function regions({ study }) {
  const box = $("regions"), { head } = study;
  box.hidden = !study.known;
  if (!box.open || !study.known) return;
  const { mean, std, count } = study.values, sign = head.direction === "maximize" ? -1 : 1;
  const rows = study.leaves.filter((row) => !(study.flags[row] & 1)).sort((a, b) => sign * (mean[a] - mean[b]));
  const line = (row) => h("tr", {}, h("td", {}, words.region(head.space, study.region(row))),
    h("td", { class: "num" }, words.give(mean[row], std[row])), h("td", { class: "num" }, String(count[row])));
  put(box.querySelector(".scroll"), h("table", {}, h("caption", {}, rows.length > LISTED ? `The best ${LISTED} of ${words.whole(rows.length)} regions.` : "All regions."),
    h("thead", {}, h("tr", {}, h("th", {}, "region"), h("th", { class: "num" }, words.labelled("mean", head.value.unit)), h("th", { class: "num" }, "measurements"))),
    h("tbody", {}, rows.slice(0, LISTED).map(line))));
}
