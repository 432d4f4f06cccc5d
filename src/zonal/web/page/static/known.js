// The picture of what is known: its switches, and the same as a table.
import { Field } from "./colour.js";
import { $, h, put } from "./dom.js";
import { legend } from "./legend.js";
import { LineView } from "./line.js";
import { MapView } from "./map.js";
import { PanelsView } from "./panels.js";
import { writePlace } from "./place.js";
import { PointsView } from "./points.js";
import { readout, side } from "./readout.js";
import { offer } from "./save.js";
import { ShelvesView } from "./shelves.js";
import { TilesView } from "./tiles.js";
import * as words from "./words.js";

const VIEWS = {
  map: MapView,
  line: LineView,
  shelves: ShelvesView,
  tiles: TilesView,
  panels: PanelsView,
  scatter: PointsView,
};
const LISTED = 200; // rows of the table behind the picture

/** Begin the picture, as soon as there is something to draw. */
export function begin(page) {
  const { study, view } = page,
    kind = study.head.picture,
    place = $(page.places?.picture ?? "picture");
  const empty = !study.known && !["map", "line"].includes(kind),
    follows = { panels: "panels", scatter: "points" }[kind];
  if (empty || (follows && !study.picture[follows])) {
    page.picture = null;
    const { measured, observed } = study.head;
    const why =
      study.opening || study.known
        ? "The picture is being computed."
        : measured + observed
          ? "Nothing can be drawn without the study’s kernel."
          : "The picture begins with the first measurement.";
    return put(place, h("p", { class: "blank" }, why));
  }
  view.changed ??= () => writePlace(view);
  page.picture ??= new VIEWS[kind](place, study, (row, cell) => readout(page, row, cell), view);
}

export function draw(page) {
  const { study, view } = page;
  if (!study.values || !$("picture").clientWidth) return; // drawn when there is space for it
  const field = new Field(study, view.mode ?? "mean", view.threshold);
  page.picture?.draw(field);
  legend(page, field);
  $("save").hidden = !page.picture;
  const title = `${study.head.name}: what is known after ${words.count(study.head.measured, "measurement")}`;
  offer("save", $("picture"), $("legend"), title, study.name);
  const { focus } = page.picture ?? {};
  if (Number.isInteger(focus)) readout(page, focus); // what is known of it may have changed
}

export function switches(page) {
  const { study, view } = page,
    { head } = study,
    box = $("switches");
  view.usualMode = words.level(head) ? "chance" : "mean"; // a study of a set is about who belongs to it
  view.mode ??= view.usualMode;
  if (!study.known) return put(box);
  const redraw = page.redraw ?? (() => draw(page));
  const {
    means: [low, high],
  } = page.fields?.()[0] ?? new Field(study, "mean", 0);
  if (view.threshold === null)
    view.threshold = head.beyond?.threshold ?? Number(((low + 2 * high) / 3).toPrecision(2));
  const withUnit = (x) => words.unit(words.number(x), head.value.unit);
  const choose = (mode) => () => {
    view.mode = mode;
    view.changed();
    switches(page);
    redraw();
  };
  const radio = (mode, text) =>
    h(
      "label",
      {},
      h("input", {
        type: "radio",
        name: "mode",
        value: mode,
        checked: view.mode === mode,
        onchange: choose(mode),
      }),
      text,
    );
  const slide = (event) => {
    view.threshold = Number(event.target.value);
    view.changed();
    switches(page);
    page.drawSoon();
  };
  const step = 10 ** Math.floor(Math.log10((high - low) / 100));
  const ways =
    head.picture === "line" &&
    study.picture.curves &&
    !page.places &&
    page.picture &&
    h(
      "fieldset",
      { class: "segmented", "aria-label": "Draw" },
      ["function", "cells"].map((name) =>
        h(
          "label",
          {},
          h("input", {
            type: "radio",
            name: "way",
            checked: page.picture.cells === (name === "cells"),
            onchange: () => {
              page.picture.cells = view.cells = name === "cells";
              view.changed();
              redraw();
            },
          }),
          name,
        ),
      ),
    );
  put(
    box,
    ways,
    h(
      "fieldset",
      { class: "segmented", "aria-label": "Colour shows" },
      radio("mean", "mean"),
      radio("std", "uncertainty"),
      radio("chance", `probability ${side(head)}`),
    ),
    view.mode === "chance" &&
      h(
        "label",
        { class: "slider" },
        h("output", {}, withUnit(view.threshold)),
        h("input", {
          type: "range",
          min: low,
          max: high,
          step,
          value: view.threshold,
          "aria-label": "threshold",
          "aria-valuetext": withUnit(view.threshold),
          oninput: slide,
        }),
      ),
  );
}

/** The table behind the picture: the smallest regions there are, the best first. It is made when it is opened. */
export function regions({ study }) {
  const box = $("regions"),
    { head } = study;
  box.hidden = !study.known;
  if (!box.open || !study.known) return;
  const { mean, std, count } = study.values,
    sign = head.direction === "maximize" ? -1 : 1;
  const rows = study.leaves
    .filter((row) => !(study.flags[row] & 1))
    .sort((a, b) => sign * (mean[a] - mean[b]));
  const line = (row) =>
    h(
      "tr",
      {},
      h("td", {}, words.region(head.space, study.region(row))),
      h("td", { class: "num" }, words.give(mean[row], std[row])),
      h("td", { class: "num" }, String(count[row])),
    );
  put(
    box.querySelector(".scroll"),
    h(
      "table",
      {},
      h(
        "caption",
        {},
        rows.length > LISTED ? `The best ${LISTED} of ${words.whole(rows.length)} regions.` : "All regions.",
      ),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", {}, "region"),
          h("th", { class: "num" }, words.labelled("mean", head.value.unit)),
          h("th", { class: "num" }, "measurements"),
        ),
      ),
      h("tbody", {}, rows.slice(0, LISTED).map(line)),
    ),
  );
}
