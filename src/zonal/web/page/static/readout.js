// What is known of the region under the pointer, and the measurements behind it.
import { Field } from "./colour.js";
import { h, put } from "./dom.js";
import { showTrial } from "./trials.js";
import * as words from "./words.js";

const NAMED = 5; // measurements that are named
export const side = (head) => (head.direction === "maximize" ? "above" : "below");

/** Say what is known of a row of the tree, or of a cell of a map of predictions: {region, mean, std}. */
export function readout(page, row, cell = null) {
  const { study } = page,
    place = page.places?.readout ?? "readout";
  if (row === null && !cell) {
    const touch = matchMedia("(hover: none)").matches;
    const how = touch ? "Touch the picture" : "Point at the picture, or use the arrow keys on it,";
    return put(place, h("span", { class: "hint" }, `${how} to read a region.`));
  }
  const region = cell?.region ?? study.region(row),
    { space } = study.head;
  const name = h("b", { class: space.kind === "sequences" ? "mono" : null }, words.region(space, region));
  const size = region.share !== null && ` · ${words.size(space, region)}`;
  const rows = row === null ? ofCell(page, region) : ofRow(page, row);
  put(place, name, size, h("br"), ...average(page, row, cell), ...rows);
}

function average({ study, view }, row, cell) {
  const { head, values } = study,
    of = head.value.unit;
  if (row !== null && study.flags[row] & 1) return ["Forbidden: neither measured nor recommended."];
  if (!study.known) return ["Nothing is known of it yet."];
  const mean = cell?.mean ?? values.mean?.[row],
    std = cell?.std ?? values.std?.[row],
    said = [h("b", {}, words.give(mean, std, of))];
  if (view.mode === "chance") {
    const chance = new Field(study, "chance", view.threshold).chance(mean, std);
    said.push(` · ${side(head)} ${words.unit(words.number(view.threshold), of)}: ${words.percent(chance)}`);
  }
  return said;
}

function ofRow(page, row) {
  const { study } = page,
    measured = study.measurementsOf(row),
    pending = study.pendingRows.get(row);
  return [
    measured.length ? ` · measured ${words.times(measured.length)}` : " · not measured itself",
    study.best?.region.row === row &&
      (study.best.region.window
        ? " · the best region so far is here, off the grid"
        : " · the best region so far"),
    pending && ` · pending (#${pending.join(", #")})`,
    ...listed(page, measured, "Measured"),
  ];
}

/** Say what a trial of the history was, and what was recommended then. */
export function moment(page, i) {
  const { study } = page,
    { trials: t, head, history } = study;
  if (i === null) return put("history-readout", h("span", { class: "hint" }, "Point at a trial to read it."));
  const n = t.number[i],
    then = history?.number.indexOf(n) ?? -1,
    who = words.who(t.told_by[i] || t.by[i]);
  put(
    "history-readout",
    h("a", { href: `#trial-${n}`, onclick: go(page, n) }, `#${n}`),
    " ",
    t.value[i] === null ? t.state[i] : h("b", {}, words.unit(words.short(t.value[i]), head.value.unit)),
    ` · ${study.shape ? words.region(head.space, study.regionOf(i)) : t.where[i]} · ${who}`,
    t.ended[i] && ` · ${words.local(t.ended[i])}`,
    t.note[n] && ` · ${t.note[n]}`,
    then >= 0 && [
      h("br"),
      `The region recommended then averaged ${words.give(history.mean[then], history.std[then], head.value.unit)}.`,
    ],
  );
}

const go = (page, number) => (event) => {
  event.preventDefault();
  showTrial(page, number);
};

/** Measurements of regions that overlap a cell. */
function ofCell(page, { part }) {
  const { study } = page,
    { trials } = study;
  const overlaps = (one, other) =>
    typeof one[0] === "string"
      ? one.some((symbol) => other.includes(symbol))
      : one[0] < other[1] && one[1] > other[0];
  const behind = trials.number
    .map((_, i) => i)
    .filter((i) => trials.value[i] !== null)
    .filter((i) => study.regionOf(i).part.every((one, j) => overlaps(one, part[j])));
  const share = (i) => study.regionOf(i).share;
  behind.sort((a, b) => share(a) - share(b) || b - a); // the most local first
  return behind.length ? listed(page, behind, "Measured here") : [" · not measured here"];
}

function listed(page, places, title) {
  const { trials } = page.study;
  if (!places.length) return [];
  const link = (i) => {
    const n = trials.number[i];
    const where = page.link ? { href: page.link(n) } : { href: `#trial-${n}`, onclick: go(page, n) };
    return h("a", where, `#${n}: ${words.short(trials.value[i])}`);
  };
  const links = places.slice(0, NAMED).flatMap((i, at) => [at ? ", " : "", link(i)]);
  const more = places.length > NAMED && ` and ${places.length - NAMED} more`;
  return [h("br"), `${title}: `, ...links, more];
}
