// One axis: f or the cells with what is known of them, the measurements, and the tree underneath.
import { css } from "./colour.js";
import { s } from "./dom.js";
import { Scale, View, axes, hatch, held, room, star } from "./frame.js";
import { labelled } from "./words.js";

const OTHERS = ["c0", "c1", "c2", "c3", "c4", "c5"];
export class LineView extends View {
  constructor(host, study, report) {
    super(host, study, report, "picture along one axis", "The axis with what is known. Left and right move between cells, P shows the cell around, B goes to the best.");
    this.cells = study.head.policy.startsWith("GPOO");
  }
  draw(field) {
    this.field = field;
    const { study } = this, axis = study.head.space.axes.find((axis) => !axis.symbols);
    const deep = Math.max(...study.depth) + 1, strip = study.known ? Math.min(11, 110 / deep) * deep : 0;
    const { context, ratio, white, colour } = this.open(Math.round(Math.max(300, Math.min(this.host.clientWidth * 0.5, 430)) + strip)), { width, height } = this;
    const measured = study.trials.value.map((v, i) => [v, i]).filter(([v]) => v !== null);
    let low = Infinity, high = -Infinity;
    const take = (v) => { if (v < low) low = v; if (v > high) high = v; };
    measured.forEach(([v]) => take(v));
    if (study.known) {
      if (this.cells || !study.picture.curves) for (const row of study.leaves) take(study.values.mean[row]);
      else for (const c of study.picture.curves) c.mean.forEach((m, i) => { take(m - 2 * c.std[i]); take(m + 2 * c.std[i]); });
    }
    if (!(high > low)) { low = (Number.isFinite(low) ? low : 0) - 1; high = low + 2; }
    const pad = (this.cells ? 0.18 : 0.05) * (high - low);
    const bottom = height - 46 - strip - (strip ? 8 : 0);
    const y = new Scale(low - pad, high + pad, bottom, 26), left = Math.max(room(y), 46);
    const { low: [[least]], high: [[most]] } = study.shape, x = new Scale(least, most, left, width - 12, axis.log);
    x.whole = axis.whole;
    Object.assign(this, { x, y, strip, deep, axis });
    // the tree below, on the same axis: coloured as the switch says
    this.top = bottom + 8;
    const each = strip / deep, { low: [lows], high: [highs] } = study.shape;
    if (strip) {
      for (let row = 0; row < study.size; row++) {
        const x0 = Math.round(x.px(lows[row]) * ratio), x1 = Math.round(x.px(highs[row]) * ratio), y0 = Math.round((this.top + each * study.depth[row]) * ratio);
        const tall = Math.round((this.top + each * (study.depth[row] + 1)) * ratio) - y0, gap = x1 - x0 > 5 * ratio ? Math.round(ratio) : 0;
        context.fillStyle = css(field.row(row, white));
        context.fillRect(x0, y0, x1 - x0 - gap, tall - Math.round(ratio));
        if (study.values.count[row] && x1 - x0 > 3 * ratio) {
          context.fillStyle = colour("--dot");
          context.beginPath(); context.arc((x0 + x1) / 2, y0 + (tall - ratio) / 2, Math.min(2.2 * ratio, tall / 3), 0, 7); context.fill();
        }
      }
    }
    const blocked = study.leaves.filter((row) => study.flags[row] & 1);
    if (blocked.length) {
      const pattern = hatch(context, ratio, colour("--hatch"));
      for (const row of blocked) { context.fillStyle = pattern; const a = x.px(lows[row]) * ratio; context.fillRect(a, 26 * ratio, x.px(highs[row]) * ratio - a, (bottom - 26) * ratio); }
    }
    this.mark();
  }
  mark() {
    const { study, x, y, axis } = this, { low: [lows], high: [highs] } = study.shape, marks = [], v = study.values;
    const [left, right, top, bottom] = [x.from, x.to, y.to, y.from];
    const cut = (value) => Math.min(bottom, Math.max(top, y.px(value)));
    const span = (row) => ({ x: x.px(lows[row]), width: Math.max(1, x.px(highs[row]) - x.px(lows[row])) });
    // the window, or the cell: a window across the cut of a ring is two bands
    const bands = study.best ? study.best.region.window?.map(([[low, high]]) => ({ x: x.px(low), width: Math.max(1, x.px(high) - x.px(low)) })) ?? [span(study.best.region.row)] : [];
    for (const band of bands) marks.push(s("rect", { ...band, y: top, height: bottom - top, class: `foundband${study.head.stands_out ? "" : " unsure"}` }));
    if (study.best?.region.window) marks.push(s("rect", { ...span(study.best.region.row), y: top, height: bottom - top, class: "found cell" }));
    for (const [row, trials] of study.pendingRows) {
      marks.push(s("rect", { ...span(row), y: top, height: bottom - top, class: "pendingband" }));
      const b = span(row);
      marks.push(s("text", { x: b.x + b.width / 2, y: bottom - 6, "text-anchor": "middle", class: "tag" }, trials.map((t) => `#${t}`).join(" ")));
    }
    if (study.known && (this.cells || !study.picture.curves)) {
      const { confidence, variation } = study.picture;
      let wide = "", near = "", line = "";
      for (const row of study.leaves) {
        const a = x.px(lows[row]).toFixed(1), b = x.px(highs[row]).toFixed(1), c = confidence?.[row] ?? 2 * v.std[row], d = c + (variation?.[row] ?? 0);
        wide += `M${a} ${cut(v.mean[row] + d).toFixed(1)}H${b}V${cut(v.mean[row] - d).toFixed(1)}H${a}Z`;
        near += `M${a} ${cut(v.mean[row] + c).toFixed(1)}H${b}V${cut(v.mean[row] - c).toFixed(1)}H${a}Z`;
        line += `M${a} ${cut(v.mean[row]).toFixed(1)}H${b}`;
      }
      marks.push(s("path", { d: wide, class: "variation" }), s("path", { d: near, class: "confidence" }), s("path", { d: line, class: "cellmean" }));
    } else if (study.known) {
      study.picture.curves.forEach((c, k) => {
        const up = c.x.map((at, i) => `${x.px(at).toFixed(1)} ${cut(c.mean[i] + 2 * c.std[i]).toFixed(1)}`);
        const down = c.x.map((at, i) => `${x.px(at).toFixed(1)} ${cut(c.mean[i] - 2 * c.std[i]).toFixed(1)}`).reverse();
        marks.push(s("path", { d: `M${[...up, ...down].join("L")}Z`, class: `band ${OTHERS[k]}` }));
        marks.push(s("path", { d: `M${c.x.map((at, i) => `${x.px(at).toFixed(1)} ${cut(c.mean[i]).toFixed(1)}`).join("L")}`, class: `curve ${OTHERS[k]}` }));
      });
    }
    let bars = "", dots = "";
    const { value, row } = study.trials;
    for (let i = Math.max(0, value.length - 400); i < value.length; i++) {
      if (value[i] === null) continue;
      const a = x.px(lows[row[i]]), b = x.px(highs[row[i]]), py = y.px(value[i]).toFixed(1);
      bars += `M${a.toFixed(1)} ${py}H${b.toFixed(1)}`; dots += `M${((a + b) / 2).toFixed(1)} ${py}h0`;
    }
    marks.push(s("path", { d: bars, class: "bars" }), s("path", { d: dots, class: "dots" }));
    if (study.best) { const b = bands.reduce((most, band) => (band.width > most.width ? band : most)); marks.push(star(b.x + b.width / 2, top + 10, 8, study.head.stands_out)); }
    const limit = this.field.mode === "chance" ? this.field.threshold : study.head.beyond?.threshold;
    if (limit !== undefined) marks.push(s("line", { x1: left, x2: right, y1: cut(limit), y2: cut(limit), class: "threshold" }));
    const empty = !study.known && !study.trials.value.some((value) => value !== null);
    const shifted = axes(x, y, { ylabel: labelled(study.head.value.name, study.head.value.unit) });
    if (empty) {
      shifted.querySelectorAll(".grid, text[text-anchor=end]").forEach((mark) => mark.remove());
      shifted.querySelectorAll(`line[x2="${left}"]`).forEach((mark) => mark.remove());
      shifted.append(s("text", { x: (left + right) / 2, y: (top + bottom) / 2, "text-anchor": "middle", class: "label" }, study.head.pending.length ? "Nothing is known yet: the first value is awaited." : "The picture begins with the first measurement."));
    }
    if (this.strip) { // the numbers of the axis stand below the tree
      shifted.querySelectorAll("text:not([text-anchor=end]):not(.label)").forEach((t) => t.setAttribute("y", this.top + this.strip + 16));
      shifted.querySelectorAll(`line[y1="${bottom}"]:not(.grid)`).forEach((l) => { l.setAttribute("y1", this.top + this.strip - 1); l.setAttribute("y2", this.top + this.strip + 3); });
      shifted.append(s("text", { x: left - 8, y: this.top + 10, "text-anchor": "end" }, "large"), this.strip > 24 ? s("text", { x: left - 8, y: this.top + this.strip - 2, "text-anchor": "end" }, "small") : "");
    }
    shifted.append(s("text", { x: (left + right) / 2, y: this.height - 8, "text-anchor": "middle", class: "label" }, labelled(axis.name, axis.unit, axis.remark)));
    this.put(shifted, ...held(study, (row) => ({ ...span(row), y: bottom - 8, height: 8 })), ...marks);
  }
  ring() {
    const row = this.focus, { x, y, study } = this, { low: [lows], high: [highs] } = study.shape, each = this.strip / this.deep;
    if (row === null) return this.layer?.replaceChildren();
    const b = { x: x.px(lows[row]), width: Math.max(1, x.px(highs[row]) - x.px(lows[row])) }, cell = { ...b, y: this.top + each * study.depth[row], height: each - 1 };
    this.layer?.replaceChildren(s("rect", { ...b, y: y.to, height: y.from - y.to, class: "focusband" }), ...(this.strip ? ["focus under", "focus"].map((name) => s("rect", { ...cell, class: name })) : []));
  }
  at(event) {
    const [px, py] = this.px(event), { x } = this;
    if (px < x.from || px > x.to) return null;
    let row = this.study.leafAt(x.at(px));
    if (this.strip && py > this.top && py < this.top + this.strip) {
      const wanted = Math.floor((py - this.top) / (this.strip / this.deep));
      while (this.study.depth[row] > wanted) row = this.study.shape.parent[row];
    }
    return row;
  }
  next(event) {
    const { study } = this, { low: [lows], high: [highs] } = study.shape;
    let row = this.focus ?? study.best?.region.row ?? study.leaves[0];
    const eps = 1e-6 * (highs[0] - lows[0]), name = event.key.toLowerCase();
    if (this.focus !== null && name === "arrowright") row = study.leafAt(Math.min(highs[0], highs[row] + eps));
    else if (this.focus !== null && name === "arrowleft") row = study.leafAt(Math.max(lows[0], lows[row] - eps));
    else if (name === "p" || name === "arrowup") row = Math.max(0, study.shape.parent[row]);
    else if (name === "b" && study.best) row = study.best.region.row;
    else if (name === "escape") row = null;
    else if (!name.startsWith("arrow")) return undefined;
    return row;
  }
}
