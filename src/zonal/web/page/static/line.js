// One axis: f or the cells with what is known of them, the measurements, and below, on the same axis, the tree; with
// symbols, a strip of cells for each of them.
import { css } from "./colour.js";
import { s } from "./dom.js";
import { Scale, View, axes, hatch, held, room } from "./frame.js";
import { covers, drawn, only } from "./symbols.js";
import { labelled } from "./words.js";

const COLOURS = 6; // classes c0 to c5
const MOST_STRIPS = 12;
const STRIP = 22; // pixels of height of a symbol's strip
const MOST_BARS = 400;
const LABEL = 7; // pixels of width of a letter beside a strip
const LONGEST_LABEL = 130;

export class LineView extends View {
  /** @type {any} */ axis = null;
  top = 0; // of the strips
  constructor(host, study, report, view) {
    const keys = "Left and right move between cells, P shows the cell around, B goes to the best.";
    super(host, study, report, view, "picture along one axis", `The axis with what is known. ${keys}`);
    this.cells = view.cells ?? study.head.policy.startsWith("GPOO");
  }
  /** What lies below the curves: a strip for each combination of symbols, or one level of the tree below the other. */
  layStrips() {
    const { study } = this,
      { axes: every } = study.head.space;
    this.symbolic = every.some((axis) => axis.symbols);
    this.combinations = drawn(every, study.picture.curves, MOST_STRIPS);
    this.colourOf = this.combinations.map(({ name }, at) => {
      const curve = study.picture.curves?.findIndex((one) => one.name === name) ?? at;
      return (curve < 0 ? at : curve) % COLOURS;
    });
    this.levels = this.symbolic ? this.combinations.length : Math.max(...study.depth) + 1;
    this.each = this.symbolic ? STRIP : Math.min(11, 110 / this.levels);
    this.strip = study.known ? this.each * this.levels : 0;
  }
  /** The levels of the strip that a row of the tree is on. */
  levelsOf(row) {
    const { study } = this;
    if (!this.symbolic) return [study.depth[row]];
    return this.combinations.flatMap(({ symbols }, at) => (covers(study.shape, row, symbols) ? [at] : []));
  }
  draw(field) {
    this.field = field;
    this.layStrips();
    const { study, strip } = this,
      axis = study.head.space.axes.find((one) => !one.symbols),
      tall = Math.max(300, Math.min(this.host.clientWidth * 0.5, 430)),
      paint = this.open(Math.round(tall + strip)),
      bottom = this.height - 46 - strip - (strip ? 8 : 0),
      y = new Scale(...this.range(), bottom, 26),
      { low, high } = study.shape;
    const names = this.symbolic ? this.combinations.map(({ name }) => name.length * LABEL + 14) : [];
    const left = Math.max(room(y), 46, Math.min(LONGEST_LABEL, Math.max(0, ...names)));
    const x = new Scale(low[0][0], high[0][0], left, this.width - 12, axis.log);
    x.whole = axis.whole;
    this.x = x;
    this.y = y;
    this.axis = axis;
    this.top = bottom + 8;
    if (strip) this.paintStrips(paint);
    this.hatchBlocked(paint, bottom);
    this.mark();
  }
  /** The least and the greatest value that is drawn, with some room. */
  range() {
    const { study } = this;
    let low = Infinity,
      high = -Infinity;
    const take = (v) => {
      low = Math.min(low, v);
      high = Math.max(high, v);
    };
    for (const value of study.trials.value) if (value !== null) take(value);
    if (study.known && this.drawsCells()) for (const row of study.leaves) take(study.values.mean[row]);
    else if (study.known) {
      for (const { mean, std } of study.picture.curves) {
        mean.forEach((m, i) => [m - 2 * std[i], m + 2 * std[i]].forEach(take));
      }
    }
    if (!(high > low)) {
      low = (Number.isFinite(low) ? low : 0) - 1;
      high = low + 2;
    }
    const pad = (this.cells ? 0.18 : 0.05) * (high - low);
    return [low - pad, high + pad];
  }
  drawsCells() {
    return this.cells || !this.study.picture.curves;
  }
  paintStrips({ context, ratio, white, colour }) {
    const { study, x, each } = this,
      rows = this.symbolic ? study.leaves : study.depth.keys();
    for (const row of rows) {
      const x0 = Math.round(x.px(study.shape.low[0][row]) * ratio),
        x1 = Math.round(x.px(study.shape.high[0][row]) * ratio),
        gap = x1 - x0 > 5 * ratio ? Math.round(ratio) : 0;
      for (const level of this.levelsOf(row)) {
        const y0 = Math.round((this.top + each * level) * ratio),
          tall = Math.round((this.top + each * (level + 1)) * ratio) - y0;
        context.fillStyle = css(this.field.row(row, white));
        context.fillRect(x0, y0, x1 - x0 - gap, tall - Math.round(ratio));
        if (this.symbolic && study.flags[row] & 1) {
          context.fillStyle = hatch(context, ratio, colour("--hatch"));
          context.fillRect(x0, y0, x1 - x0 - gap, tall - Math.round(ratio));
        }
        if (!study.values.count[row] || x1 - x0 <= 3 * ratio) continue;
        context.fillStyle = colour("--dot");
        context.beginPath();
        context.arc((x0 + x1) / 2, y0 + (tall - ratio) / 2, Math.min(2.2 * ratio, tall / 3), 0, 7);
        context.fill();
      }
    }
  }
  /** Hatch what is forbidden, up to the top; with symbols that is done in their strips. */
  hatchBlocked({ context, ratio, colour }, bottom) {
    const { study, x } = this,
      { low, high } = study.shape,
      blocked = study.leaves.filter((row) => study.flags[row] & 1);
    if (!blocked.length || this.symbolic) return;
    context.fillStyle = hatch(context, ratio, colour("--hatch"));
    for (const row of blocked) {
      const from = x.px(low[0][row]) * ratio;
      context.fillRect(from, 26 * ratio, x.px(high[0][row]) * ratio - from, (bottom - 26) * ratio);
    }
  }
  span(row) {
    const { x } = this,
      { low, high } = this.study.shape,
      from = x.px(low[0][row]);
    return { x: from, width: Math.max(1, x.px(high[0][row]) - from) };
  }
  /** Where the best region is: the window, two bands if it lies across the cut of a ring, or the cell. */
  bands() {
    const { study } = this;
    if (!study.best) return [];
    return this.spans(study.best.region.window, study.best.region.row);
  }
  /** The bands of a window, or of a cell. */
  spans(window, row) {
    const { x } = this,
      band = ([[low, high]]) => ({ x: x.px(low), width: Math.max(1, x.px(high) - x.px(low)) });
    return window?.map(band) ?? [this.span(row)];
  }
  cut(value) {
    return Math.min(this.y.from, Math.max(this.y.to, this.y.px(value)));
  }
  mark() {
    const { study, x, y } = this,
      marks = [];
    const [top, bottom] = [y.to, y.from],
      sure = study.head.stands_out ? "" : " unsure";
    for (const band of this.bands()) {
      marks.push(s("rect", { ...band, y: top, height: bottom - top, class: `foundband${sure}` }));
    }
    if (study.best?.region.window) {
      const cell = this.span(study.best.region.row);
      marks.push(s("rect", { ...cell, y: top, height: bottom - top, class: "found cell" }));
    }
    for (const { row, window, trials } of study.pendingPlaces) {
      const bands = this.spans(window, row),
        [b] = bands,
        tag = trials.map((t) => `#${t}`).join(" "),
        now = trials.includes(this.view.current) ? " now" : "";
      marks.push(
        ...bands.map((band) =>
          s("rect", { ...band, y: top, height: bottom - top, class: `pendingband${now}` }),
        ),
        s("text", { x: b.x + b.width / 2, y: bottom - 6, "text-anchor": "middle", class: "tag" }, tag),
      );
    }
    if (study.known) marks.push(...(this.drawsCells() ? this.cellMarks() : this.curveMarks()));
    marks.push(...this.bars(), ...this.bestMarks());
    const limit = this.field.mode === "chance" ? this.field.threshold : study.head.beyond?.threshold;
    if (limit !== undefined && limit !== null) {
      const at = this.cut(limit);
      marks.push(s("line", { x1: x.from, x2: x.to, y1: at, y2: at, class: "threshold" }));
    }
    const under = held(study, (row) => ({ ...this.span(row), y: bottom - 8, height: 8 }));
    this.put(this.frame(), ...under, ...marks);
  }
  cellMarks() {
    const { study } = this;
    if (!this.symbolic) return this.cellsOf(study.leaves, "");
    return this.combinations.flatMap(({ symbols }, at) =>
      this.cellsOf(
        study.leaves.filter((row) => covers(study.shape, row, symbols)),
        ` own c${this.colourOf[at]}`,
      ),
    );
  }
  cellsOf(rows, colour) {
    const { study, x } = this,
      { confidence, variation } = study.picture,
      { mean, std } = study.values;
    let wide = "",
      near = "",
      line = "";
    for (const row of rows) {
      const a = x.px(study.shape.low[0][row]).toFixed(1),
        b = x.px(study.shape.high[0][row]).toFixed(1),
        c = confidence?.[row] ?? 2 * std[row];
      const band = (half) =>
        `M${a} ${this.cut(mean[row] + half).toFixed(1)}H${b}V${this.cut(mean[row] - half).toFixed(1)}H${a}Z`;
      wide += band(c + (variation?.[row] ?? 0));
      near += band(c);
      line += `M${a} ${this.cut(mean[row]).toFixed(1)}H${b}`;
    }
    return [
      s("path", { d: wide, class: `variation${colour}` }),
      s("path", { d: near, class: `confidence${colour}` }),
      s("path", { d: line, class: `cellmean${colour}` }),
    ];
  }
  curveMarks() {
    const { x } = this;
    return this.study.picture.curves.flatMap((curve, k) => {
      const at = (i, off) =>
        `${x.px(curve.x[i]).toFixed(1)} ${this.cut(curve.mean[i] + off * curve.std[i]).toFixed(1)}`;
      const along = (off) => curve.x.map((_, i) => at(i, off));
      const colour = `c${k % COLOURS}`;
      return [
        s("path", { d: `M${[...along(2), ...along(-2).reverse()].join("L")}Z`, class: `band ${colour}` }),
        s("path", { d: `M${along(0).join("L")}`, class: `curve ${colour}` }),
      ];
    });
  }
  /** The measurements, as wide as their regions, in the colour of their symbol if they are of one. */
  bars() {
    const { study, x, y } = this,
      { value, row, number, window } = study.trials,
      { low, high } = study.shape,
      paths = new Map();
    for (let i = Math.max(0, value.length - MOST_BARS); i < value.length; i++) {
      if (value[i] === null) continue;
      const at = this.symbolic ? only(study.shape, row[i], this.combinations) : -1,
        colour = at < 0 ? "" : ` own c${this.colourOf[at]}`,
        places = window[number[i]]?.window ?? [[[low[0][row[i]], high[0][row[i]]]]],
        py = y.px(value[i]).toFixed(1);
      for (const [edges] of places) {
        const [a, b] = edges.map((edge) => x.px(edge)),
          [bars, dots] = paths.get(colour) ?? ["", ""];
        paths.set(colour, [
          `${bars}M${a.toFixed(1)} ${py}H${b.toFixed(1)}`,
          `${dots}M${((a + b) / 2).toFixed(1)} ${py}h0`,
        ]);
      }
    }
    return [...paths].flatMap(([colour, [bars, dots]]) => [
      s("path", { d: bars, class: `bars${colour}` }),
      s("path", { d: dots, class: `dots${colour}` }),
    ]);
  }
  /** The best region: a star at the top, or a frame and a star in the strip of its symbol. */
  bestMarks() {
    const { study, y } = this;
    if (!study.best) return [];
    const { row } = study.best.region,
      bands = this.bands(),
      b = bands.reduce((widest, band) => (band.width > widest.width ? band : widest)),
      middle = b.x + b.width / 2;
    if (!this.symbolic || !this.strip) return [this.star(middle, y.to + 10, 8)];
    const levels = this.levelsOf(row),
      sure = study.head.stands_out ? "" : " unsure";
    const frames = levels.flatMap((level) => {
      return bands.flatMap((band) => {
        const part = { ...band, y: this.top + this.each * level, height: this.each - 1 };
        return [s("rect", { ...part, class: "found under" }), s("rect", { ...part, class: `found${sure}` })];
      });
    });
    return [...frames, levels.length > 0 && this.star(middle, this.top + this.each * (levels[0] + 0.5), 8)];
  }
  /** The axes; the numbers of the horizontal one stand below the strips. */
  frame() {
    const { study, x, y, axis, strip, top } = this,
      { value, pending } = study.head,
      left = x.from,
      below = top + strip,
      frame = axes(x, y, { ylabel: labelled(value.name, value.unit) });
    const text = (attributes, words) =>
      s("text", { "text-anchor": "middle", class: "label", ...attributes }, words);
    if (!study.known && !study.trials.value.some((one) => one !== null)) {
      frame
        .querySelectorAll(`.grid, text[text-anchor=end], line[x2="${left}"]`)
        .forEach((mark) => mark.remove());
      const why = pending.length
        ? "Nothing is known yet: the first value is awaited."
        : "The picture begins with the first measurement.";
      frame.append(text({ x: (left + x.to) / 2, y: (y.to + y.from) / 2 }, why));
    }
    if (strip) {
      frame
        .querySelectorAll("text:not([text-anchor=end]):not(.label)")
        .forEach((t) => t.setAttribute("y", below + 16));
      frame.querySelectorAll(`line[y1="${y.from}"]:not(.grid)`).forEach((tick) => {
        tick.setAttribute("y1", below - 1);
        tick.setAttribute("y2", below + 3);
      });
      frame.append(...this.stripLabels(left));
    }
    frame.append(
      text({ x: (left + x.to) / 2, y: this.height - 8 }, labelled(axis.name, axis.unit, axis.remark)),
    );
    return frame;
  }
  stripLabels(left) {
    const { top, strip, each } = this,
      label = (y, words) => s("text", { x: left - 8, y, "text-anchor": "end" }, words);
    if (!this.symbolic)
      return [label(top + 10, "large"), ...(strip > 24 ? [label(top + strip - 2, "small")] : [])];
    const most = Math.floor((left - 14) / LABEL) + 1;
    return this.combinations.map(({ name }, at) =>
      label(top + each * (at + 0.5) + 4, name.length > most ? `${name.slice(0, most - 1)}…` : name),
    );
  }
  ring() {
    const { focus: row, y, each } = this;
    if (row === null) return this.layer?.replaceChildren();
    const b = this.span(row),
      cells = this.strip
        ? this.levelsOf(row).map((at) => ({ ...b, y: this.top + each * at, height: each - 1 }))
        : [];
    this.layer?.replaceChildren(
      s("rect", { ...b, y: y.to, height: y.from - y.to, class: "focusband" }),
      ...cells.flatMap((cell) => ["focus under", "focus"].map((name) => s("rect", { ...cell, class: name }))),
    );
  }
  /** The combination of symbols at a height: that of the strip, or that of the nearest curve. */
  combinationAt(px, py) {
    const { study, x, y } = this;
    if (!this.symbolic) return {};
    if (this.strip && py > this.top) {
      const at = Math.min(this.levels - 1, Math.floor((py - this.top) / this.each));
      return this.combinations[at].symbols;
    }
    let nearest = null,
      least = Infinity;
    for (const curve of study.picture.curves ?? []) {
      const at = curve.x.findIndex((place) => place >= x.at(px)),
        far = Math.abs(y.px(curve.mean[at < 0 ? curve.mean.length - 1 : at]) - py);
      if (far < least) [nearest, least] = [curve.name, far];
    }
    const { symbols } = this.combinations.find(({ name }) => name === nearest) ?? this.combinations[0];
    return symbols;
  }
  rowAt(px, py) {
    const { x, study } = this;
    if (px < x.from || px > x.to) return null;
    let row = study.leafAt([x.at(px)], this.combinationAt(px, py));
    if (!this.symbolic && this.strip && py > this.top && py < this.top + this.strip) {
      const wanted = Math.floor((py - this.top) / this.each);
      while (study.depth[row] > wanted) row = study.shape.parent[row];
    }
    return row;
  }
  next(event) {
    const { study, focus } = this,
      [low, high] = [study.shape.low[0], study.shape.high[0]],
      name = event.key.toLowerCase();
    const row = focus ?? study.best?.region.row ?? study.leaves[0],
      eps = 1e-6 * (high[0] - low[0]),
      level = this.symbolic ? Math.max(0, this.levelsOf(row)[0] ?? 0) : 0;
    const at = (place, step = 0) => {
      const to = Math.min(this.levels - 1, Math.max(0, level + step));
      return study.leafAt([place], this.symbolic ? this.combinations[to].symbols : {});
    };
    if (name === "p") return Math.max(0, study.shape.parent[row]);
    if (name === "b" && study.best) return study.best.region.row;
    if (name === "escape") return null;
    if (!name.startsWith("arrow")) return undefined;
    if (focus === null) return row;
    if (name === "arrowright") return at(high[row] < high[0] ? high[row] + eps : this.turn(low[0], high[0]));
    if (name === "arrowleft") return at(low[row] > low[0] ? low[row] - eps : this.turn(high[0], low[0]));
    const step = name === "arrowdown" ? 1 : -1;
    if (this.symbolic) return at((low[row] + high[row]) / 2, step);
    return step < 0 ? Math.max(0, study.shape.parent[row]) : row;
  }
  /** Beyond the end of a ring is its other end; any other axis ends there. */
  turn(other, end) {
    return this.axis.remark?.includes("periodic") ? other : end;
  }
}
