// Points with features: a scatter of them. One feature: along it, with what is known upwards.
import { css } from "./colour.js";
import { h, s } from "./dom.js";
import { Scale, View, axes, hatch, held, room } from "./frame.js";
import { labelled } from "./words.js";

export class PointsView extends View {
  constructor(host, study, report, view) {
    super(
      host,
      study,
      report,
      view,
      "scatter of points",
      "All points. Arrow keys move between them, P shows the region around, B goes to the best.",
    );
    const { names } = study.picture.points,
      choose = (at) => (event) => {
        this.pair[at] = Number(event.target.value);
        view.pair = this.pair;
        view.changed();
        this.draw(this.field);
      };
    this.pair = view.pair?.every((at) => at < names.length) ? [...view.pair] : [0, 1];
    const select = (at, text) =>
      h(
        "label",
        {},
        `${text} `,
        h(
          "select",
          { onchange: choose(at) },
          names.map((name, j) => h("option", { value: j, selected: j === this.pair[at] }, name)),
        ),
      );
    if (names.length > 2) host.prepend(h("div", { class: "way pair" }, select(0, "across"), select(1, "up")));
  }
  draw(field) {
    this.field = field;
    const { context, ratio, colour, white } = this.open(
        Math.round(Math.max(300, Math.min(this.host.clientWidth * 0.62, 520))),
      ),
      { study, width, height } = this;
    const { features, names, leaf } = study.picture.points,
      [j, k] = this.pair,
      flat = names.length === 1,
      { mean, std } = study.values,
      { head } = study;
    const upward = flat
      ? leaf.flatMap((row) => [mean[row] - 2 * std[row], mean[row] + 2 * std[row]])
      : features[k];
    const span = (numbers) => {
      const low = numbers.reduce((a, b) => Math.min(a, b)),
        high = numbers.reduce((a, b) => Math.max(a, b)),
        pad = 0.06 * (high - low) || 1;
      return [low - pad, high + pad];
    };
    const y = new Scale(...span(upward), height - 46, 26),
      x = new Scale(...span(features[j]), room(y), width - 12);
    this.places = features[j].map((at, i) => [x.px(at), y.px(flat ? mean[leaf[i]] : features[k][i])]);
    const size = Math.min(7, Math.max(2.5, 90 / Math.sqrt(leaf.length)));
    this.places.forEach(([px, py], i) => {
      const row = leaf[i],
        circle = (r) => {
          context.beginPath();
          context.arc(px * ratio, py * ratio, r * ratio, 0, 7);
        };
      context.strokeStyle = colour("--soft");
      context.lineWidth = ratio;
      if (flat) {
        context.beginPath();
        context.moveTo(px * ratio, y.px(mean[row] - 2 * std[row]) * ratio);
        context.lineTo(px * ratio, y.px(mean[row] + 2 * std[row]) * ratio);
        context.stroke();
      }
      circle(size);
      context.fillStyle =
        study.flags[row] & 1 ? hatch(context, ratio, colour("--hatch")) : css(field.row(row, white));
      context.fill();
      context.stroke();
      if (!study.values.count[row]) return;
      circle(Math.max(1.4, size / 3));
      Object.assign(context, { fillStyle: colour("--dot"), strokeStyle: colour("--dotrim") });
      context.fill();
      context.stroke();
    });
    const marks = [];
    if (study.best) {
      const b = this.box(study.best.region.row),
        sure = head.stands_out;
      marks.push(
        s("rect", { ...b, class: "found under" }),
        s("rect", { ...b, class: `found${sure ? "" : " unsure"}` }),
        this.star(b.x + b.width / 2, b.y, 9),
      );
    }
    for (const [row, trials] of study.pendingRows) {
      const b = this.box(row);
      marks.push(
        ...this.pending(b, trials),
        s(
          "text",
          {
            x: Math.min(Math.max(b.x + b.width / 2, x.from + 16), x.to - 16),
            y: b.y > 44 ? b.y - 5 : b.y + b.height + 14,
            "text-anchor": "middle",
            class: "tag",
          },
          trials.map((t) => `#${t}`).join(" "),
        ),
      );
    }
    this.put(
      axes(x, y, {
        xlabel: names[j],
        ylabel: flat ? labelled(head.value.name, head.value.unit) : names[k],
        grid: false,
      }),
      ...held(study, (row) => this.box(row)),
      ...marks,
    );
  }
  /** Whether a row of the tree has a leaf within it. */
  within(row, leaf) {
    while (leaf > row) leaf = this.study.shape.parent[leaf];
    return leaf === row;
  }
  box(row) {
    const places = this.places.filter((_, i) => this.within(row, this.study.picture.points.leaf[i])),
      xs = places.map(([x]) => x),
      ys = places.map(([, y]) => y);
    if (!places.length) return null;
    const x = Math.min(...xs) - 9,
      y = Math.min(...ys) - 9;
    return { x, y, width: Math.max(...xs) + 9 - x, height: Math.max(...ys) + 9 - y };
  }
  rowAt(x, y) {
    let nearest = null,
      least = Infinity;
    this.places.forEach(([px, py], i) => {
      const far = Math.hypot(px - x, py - y);
      if (far < least) [nearest, least] = [this.study.picture.points.leaf[i], far];
    });
    return nearest;
  }
  next(event) {
    const { study } = this,
      { leaf } = study.picture.points,
      name = event.key,
      axis = ["ArrowLeft", "ArrowRight"].includes(name) ? 0 : 1;
    const row = this.focus ?? study.best?.region.row ?? leaf[0];
    if (name === "Escape") return null;
    if (name.toLowerCase() === "p") return Math.max(0, study.shape.parent[row]);
    if (name.toLowerCase() === "b") return study.best?.region.row ?? row;
    if (!name.startsWith("Arrow")) return undefined;
    const order = leaf.map((_, i) => i).sort((a, b) => this.places[a][axis] - this.places[b][axis]);
    let at = order.findIndex((i) => this.within(row, leaf[i]));
    const step = ["ArrowRight", "ArrowDown"].includes(name) ? 1 : -1;
    while (order[at + step] !== undefined && leaf[order[at]] === row) at += step; // points of one region go together
    return leaf[order[at]];
  }
}
