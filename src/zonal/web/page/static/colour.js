// Colours of fields: viridis for means and chances (good is bright, nothing is grey), one blue ramp for uncertainty.
import { VIRIDIS } from "./ramp.js";

const parse = (text) =>
  text.match(/.{6}/g).map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
const STOPS = parse(VIRIDIS);

function ramp(stops) {
  const table = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (stops.length - 1),
      k = Math.min(stops.length - 2, Math.floor(at)),
      f = at - k;
    for (let c = 0; c < 3; c++) table[3 * i + c] = Math.round(stops[k][c] * (1 - f) + stops[k + 1][c] * f);
  }
  return table;
}
const MEAN = ramp(STOPS),
  LIFT = 0.2;

const clamp = (x, low = 0, high = 1) => Math.min(high, Math.max(low, x));

/** Share of a colour that is left when this much of the prior uncertainty is left: 1 known, 0.12 nothing known. */
const strength = (uncertainty) => 1 - 0.88 * clamp(uncertainty) ** 2;

/** Return [r, g, b]: a place on a ramp, faded to the paper. */
function mix(table, x, keep, paper) {
  const i = 3 * Math.round(255 * clamp(x)),
    lift = paper[0] < 80 ? LIFT : 0; // on dark paper known lows must not look unknown
  return [0, 1, 2].map((c) =>
    Math.round((table[i + c] + (255 - table[i + c]) * lift * (1 - x)) * keep + paper[c] * (1 - keep)),
  );
}
/** Uncertainty: strong where sure, the paper where nothing is known. */
function uncertain(x, paper) {
  const full = paper[0] < 80 ? [95, 180, 230] : [0, 72, 122],
    keep = 1 - 0.92 * clamp(x);
  return full.map((v, c) => Math.round(v * keep + paper[c] * (1 - keep)));
}
/** @param {number[]} rgb */
export const css = (rgb) => `rgb(${rgb.join(" ")})`;
const luminance = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
export const inkOn = (rgb) => (luminance(rgb) > 0.24 ? "#111" : "#fff");

/** The colour of the page under the picture, from the style sheet. */
export function paper(element) {
  const colours = getComputedStyle(element)
    .getPropertyValue("--paper")
    .trim()
    .match(/[0-9a-f]{2}/gi);
  return colours.map((hex) => parseInt(hex, 16));
}

/** Standard normal distribution function (error below 8e-8, by Abramowitz and Stegun 26.2.17). */
function normal(z) {
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const tail =
    Math.exp((-z * z) / 2) *
    0.3989422804 *
    t *
    (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return z > 0 ? 1 - tail : tail;
}

/** How a study's nodes are coloured: by "mean", "std" or "chance" beyond a threshold. */
export class Field {
  constructor(study, mode, threshold) {
    this.study = study;
    this.mode = mode;
    this.threshold = threshold;
    const { mean, std } = study.values,
      rows = study.leaves;
    let low = Infinity,
      high = -Infinity,
      least = Infinity,
      most = 0;
    if (mean)
      for (const row of rows) {
        // no means where the study's own kernel is missing
        if (study.flags[row] & 1) continue;
        low = Math.min(low, mean[row]);
        high = Math.max(high, mean[row]);
        least = Math.min(least, std[row]);
        most = Math.max(most, std[row]);
      }
    if (!Number.isFinite(low)) low = high = 0;
    if (!(high > low)) {
      const pad = Math.abs(low) * 0.05 || 1;
      low -= pad;
      high += pad;
    }
    this.range = mode === "mean" ? [low, high] : mode === "std" ? [0, most || 1] : [0, 1];
    this.means = [low, high];
  }
  of(mean, std, uncertainty, sheet) {
    const up = this.study.head.direction === "maximize";
    if (this.mode === "std") return uncertain(std / this.range[1], sheet);
    if (this.mode === "chance") return mix(MEAN, this.chance(mean, std), 1, sheet);
    const x = (mean - this.range[0]) / (this.range[1] - this.range[0]);
    return mix(MEAN, up ? x : 1 - x, strength(uncertainty), sheet);
  }
  row(row, sheet) {
    const { mean, std, prior } = this.study.values;
    return this.of(mean[row], std[row], prior ? std[row] / prior[row] : 0, sheet);
  }
  chanceColour(p, sheet) {
    return mix(MEAN, p, 1, sheet);
  }
  chance(mean, std) {
    const z = (mean - this.threshold) / Math.max(std, 1e-12);
    return normal(this.study.head.direction === "maximize" ? z : -z);
  }
}
