// The measurements in order, and how the average of the region recommended at each time stood.
import { h, s } from "./dom.js";
import { Scale, axes, room } from "./frame.js";
import { labelled } from "./words.js";

const NEAR = 12; // pixels beside a trial that are still read as it

/** Runs of moments between which nothing was measured: places in `moments` that may be joined. Where a computed moment
 * does not follow the last one, nothing is known of those between, and nothing is drawn there. */
export function runs(moments, measured) {
  const order = new Map(measured.map((number, at) => [number, at])),
    found = [];
  moments.forEach((number, i) => {
    const follows = i > 0 && order.get(number) === order.get(moments[i - 1]) + 1;
    if (follows) found.at(-1).push(i);
    else found.push([i]);
  });
  return found;
}

export class HistoryView {
  /** @type {Scale} */ x;
  kept = null; // the trial that was chosen: its place in the columns
  constructor(host, study, report) {
    this.study = study;
    this.host = host;
    this.marks = s("svg", { role: "img" });
    this.field = h("div", { class: "field" }, this.marks);
    host.replaceChildren(this.field);
    this.field.addEventListener("pointermove", (event) => report(this.trialAt(event) ?? this.kept));
    this.field.addEventListener("pointerleave", () => report(this.kept));
    this.field.addEventListener("click", (event) => report((this.kept = this.trialAt(event))));
  }
  /** The trial under the pointer, as its place in the columns; null where there is none near. */
  trialAt(event) {
    const at = event.clientX - this.field.getBoundingClientRect().left,
      far = (number) => Math.abs(this.x.px(number) - at);
    let nearest = null;
    this.study.trials.number.forEach((number, i) => {
      const near = nearest === null ? NEAR : far(this.study.trials.number[nearest]);
      if (far(number) < near) nearest = i;
    });
    return nearest;
  }
  /** What the marks mean. */
  keys() {
    const key = (text, ...marks) =>
      h(
        "span",
        { class: "key" },
        s("svg", { width: 22, height: 14, viewBox: "0 0 22 14", "aria-hidden": "true" }, ...marks),
        text,
      );
    return [
      key("a measured average", s("path", { d: "M11 7h0", class: "dots history" })),
      key(
        "average of the region that was recommended then, 2 standard deviations",
        s("rect", { width: 22, height: 14, class: "bestband" }),
        s("path", { d: "M1 7H21", class: "bestline" }),
      ),
      this.study.history?.every === false &&
        h(
          "span",
          {},
          `computed after ${this.study.history.number.length} of ${this.study.head.measured} measurements`,
        ),
      this.study.head.pending.length > 0 && key("pending", s("path", { d: "M11 2v10", class: "ticks" })),
    ];
  }
  draw() {
    const { study } = this,
      { trials, history, head } = study,
      width = this.field.clientWidth,
      height = 250;
    if (!width) return;
    this.field.style.height = `${height}px`;
    // of counts, the rates that they stand for
    const values = trials.value.map((v, i) =>
      v === null ? v : v / (trials.exposure?.[trials.number[i]] ?? 1),
    );
    this.marks.setAttribute("viewBox", `0 0 ${width} ${height}`);
    let low = Infinity,
      high = -Infinity;
    const take = (v) => {
      if (v < low) low = v;
      if (v > high) high = v;
    };
    const counts = (i) => values[i] !== null && trials.state[i] !== "set aside";
    values.forEach((v, i) => {
      if (counts(i)) {
        take(v - (trials.sem[i] ?? 0));
        take(v + (trials.sem[i] ?? 0));
      }
    });
    history.mean.forEach((m, i) => [m - 2 * history.std[i], m + 2 * history.std[i]].forEach(take));
    if (!(high > low)) {
      low -= 1;
      high += 1;
    }
    const pad = 0.06 * (high - low),
      y = new Scale(low - pad, high + pad, height - 44, 26);
    const x = new Scale(
      0,
      Math.max(
        10,
        trials.number.length +
          (head.remaining > 0 && !head.cost ? Math.min(head.remaining, 0.08 * head.budget) : 0),
      ),
      room(y),
      width - 12,
    );
    x.whole = true; // trials are counted
    this.x = x;
    const cut = (v) => Math.min(y.from, Math.max(y.to, y.px(v))).toFixed(1),
      marks = [];
    const numbers = trials.number.filter((_, i) => trials.value[i] !== null);
    const joined = history.every ? [history.number.map((_, i) => i)] : runs(history.number, numbers);
    for (const run of joined.filter((places) => places.length))
      marks.push(...this.recommended(run, (n) => x.px(n), cut));
    let errors = "",
      dots = "",
      ticks = "",
      crosses = "";
    trials.number.forEach((n, i) => {
      const px = x.px(n).toFixed(1);
      if (counts(i)) {
        dots += `M${px} ${cut(values[i])}h0`;
        if (trials.sem[i])
          errors += `M${px} ${cut(values[i] - trials.sem[i])}V${cut(values[i] + trials.sem[i])}`;
      } else if (trials.state[i] === "pending") ticks += `M${px} ${y.from - 9}v8`;
      else crosses += `M${x.px(n) - 3} ${y.from - 9}l6 6m0 -6l-6 6`;
    });
    marks.push(
      s("path", { d: errors, class: "errors" }),
      s("path", { d: dots, class: numbers.length > 600 ? "dots small" : "dots history" }),
      s("path", { d: ticks, class: "ticks" }),
      s("path", { d: crosses, class: "ticks" }),
    );
    const best = history.mean.at(-1);
    this.marks.setAttribute(
      "aria-label",
      `${numbers.length} measured averages in order` +
        (best === undefined ? "" : `; the average of the region recommended is now ${best}`),
    );
    this.marks.replaceChildren(
      axes(x, y, { xlabel: "trial", ylabel: labelled(head.value.name, head.value.unit) }),
      ...marks,
    );
  } /** What was recommended after each measurement of a run, until the next one: steps, and a band of 2 deviations. */
  recommended(run, px, cut) {
    const { number, mean, std } = this.study.history,
      at = (i) => px(Math.max(0, number[i])).toFixed(1);
    if (run.length === 1) {
      const [i] = run,
        [x, middle] = [at(i), cut(mean[i])];
      return [
        s("path", { d: `M${x} ${cut(mean[i] - 2 * std[i])}V${cut(mean[i] + 2 * std[i])}`, class: "bestbar" }),
        s("path", { d: `M${Number(x) - 4} ${middle}h8`, class: "bestline" }),
      ];
    }
    const steps = (off) => run.map((i) => [at(i), cut(mean[i] + off * std[i])]);
    const forth = (points) => points.map(([x, y], i) => (i ? `H${x}V${y}` : `M${x} ${y}`)).join("");
    const back = (points) =>
      points
        .reverse()
        .map(([x, y], i) => (i ? `V${y}H${x}` : `L${x} ${y}`))
        .join("");
    return [
      s("path", { d: `${forth(steps(2))}${back(steps(-2))}Z`, class: "bestband" }),
      s("path", { d: forth(steps(0)), class: "bestline" }),
    ];
  }
}
