// How far a study is: a word, and a bar.
import { h, s } from "./dom.js";
import { count } from "./words.js";

const PILLS = {
  waiting: ["waiting", (n) => `waits for ${count(n, "value")}`],
  ready: ["ready", () => "ready to ask"],
  new: ["ready", () => "new"],
  spent: ["", () => "budget spent"],
  "read-only": ["", () => "read only"],
  opening: ["", () => "opening"],
  bad: ["bad", () => "cannot be opened"],
};
export function pill(state, pending) {
  const [kind, text] = PILLS[state];
  return h("span", { class: `pill ${kind}` }, text(pending));
}

export function meter(measured, pending, label, id = "stripes") {
  return s(
    "svg",
    { viewBox: "0 0 400 10", preserveAspectRatio: "none", role: "img", "aria-label": label },
    s(
      "defs",
      {},
      s(
        "pattern",
        { id, width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        s("line", { x1: 2, x2: 2, y1: 0, y2: 8, class: "stripe" }),
      ),
    ),
    s("rect", { width: 400, height: 10, class: "meter-all" }),
    s("rect", { width: 400 * Math.min(1, measured), height: 10, class: "meter-measured" }),
    s("rect", { x: 400 * measured, width: 400 * pending, height: 10, fill: `url(#${id})` }),
  );
}
