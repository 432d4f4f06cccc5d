// Trees without axes: what their pictures share.
import { inkOn } from "./colour.js";
import { h, put, s } from "./dom.js";
import { View, held } from "./frame.js";

export const FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

/** Both pictures: boxes by row, a canvas below, marks above, a way in and out. */
export class Nested extends View {
  constructor(host, study, report, view, what) {
    super(
      host,
      study,
      report,
      view,
      what,
      "All regions. Left and right move to the neighbour, down into a region, up to the one around, Enter looks closer, Escape back, B goes to the best.",
    );
    this.root = view.root < study.size ? view.root : 0;
    this.way = h("nav", { class: "way", "aria-label": "Where the picture looks" });
    host.prepend(this.way);
    this.host.addEventListener("dblclick", (event) => this.enter(this.at(event)));
  }
  /** @abstract @param {any} _field */
  draw(_field) {}
  keep(row) {
    super.keep(row);
    this.paths();
  }
  label(row) {
    const { study } = this,
      space = study.head.space;
    if (row === 0) return space.kind === "sequences" ? "all sequences" : "all";
    return space.kind === "sequences" ? study.shape.name[row].replace(/N+$/, "") : study.shape.name[row];
  }
  within(row) {
    for (let at = row; at >= 0; at = this.study.shape.parent[at]) if (at === this.root) return true;
    return false;
  }
  enter(row) {
    if (row === null || row === undefined) return;
    while (this.study.first[row] < 0 && row > 0) row = this.study.shape.parent[row];
    this.root = this.view.root = row;
    this.view.changed();
    this.draw(this.field);
  }
  paths() {
    const way = [];
    for (let at = this.root; at >= 0; at = this.study.shape.parent[at]) way.unshift(at);
    put(
      this.way,
      ...way.flatMap((row, i) => [
        i ? " › " : "",
        i === way.length - 1
          ? h("b", {}, this.label(row))
          : h("button", { class: "link", type: "button", onclick: () => this.enter(row) }, this.label(row)),
      ]),
      this.kept !== null && this.kept !== this.root && this.study.first[this.kept] >= 0
        ? h(
            "button",
            { class: "link hint", type: "button", onclick: () => this.enter(this.kept) },
            `look into ${this.label(this.kept)}`,
          )
        : h(
            "span",
            { class: "hint" },
            this.root
              ? ""
              : matchMedia("(hover: none)").matches
                ? "touch a region to look into it"
                : "double-click or Enter looks closer",
          ),
    );
  }
  text(context, ratio, row, x, y, w, tall, rgb, size = 11.5) {
    const words = this.label(row);
    context.font = `${size * ratio}px ${FONT}`;
    if (context.measureText(words).width > w - 6 * ratio || tall < (size + 3) * ratio) return false;
    context.fillStyle = inkOn(rgb);
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(words, x + w / 2, y + tall / 2);
    return true;
  }
  mark() {
    const { study } = this,
      marks = [];
    const clip = (b) => b && { x: b.x, y: b.y, width: Math.max(b.width, 2), height: b.height };
    for (const [row, trials] of study.pendingRows) {
      const b = clip(this.box(row));
      if (!b) continue;
      const wide = b.width < 8 ? { ...b, x: b.x - (8 - b.width) / 2, width: 8 } : b;
      marks.push(...this.pending(wide, trials));
      if (b.width > 34 && b.height > 30)
        marks.push(
          s("text", { x: b.x + 4, y: b.y + 12, class: "tag" }, trials.map((t) => `#${t}`).join(" ")),
        );
    }
    if (study.best) {
      for (let row = study.best.region.row; row > 0; row = study.shape.parent[row]) {
        const b = clip(this.box(row));
        if (b && this.framed(row))
          marks.push(
            s("rect", {
              ...b,
              class: `found${study.head.stands_out ? "" : " unsure"}${row === study.best.region.row ? "" : " thin"}`,
            }),
          );
      }
      const b = this.box(study.best.region.row);
      if (b) marks.push(this.star(Math.min(Math.max(this.starX(b), 10), this.width - 10), this.starY(b), 9));
    }
    this.put(...held(study, (row) => clip(this.box(row))), ...marks);
  }
  /** @param {number} _row @returns {boolean} whether its frame is drawn around the best region */
  framed(_row) {
    return true;
  }
  starX(b) {
    return b.x + b.width / 2;
  }
  starY(b) {
    return b.y + b.height / 2;
  }
  next(event) {
    const { study } = this,
      { parent } = study.shape,
      name = event.key;
    let row = this.focus ?? study.best?.region.row ?? this.root;
    if (name === "Enter") this.enter(row);
    else if (name === "Escape") this.enter((row = Math.max(0, parent[this.root])));
    else if (name.toLowerCase() === "b" && study.best) row = study.best.region.row;
    else if (name === "ArrowUp") row = Math.max(this.root, parent[row] < 0 ? 0 : parent[row]);
    else if (name === "ArrowDown") row = study.first[row] >= 0 ? study.first[row] : row;
    else if (name === "ArrowLeft" || name === "ArrowRight") {
      const next = row + (name === "ArrowRight" ? 1 : -1);
      if (next >= 0 && next < study.size && study.depth[next] === study.depth[row]) row = next;
    } else return undefined;
    if (!this.within(row)) this.enter(parent[row]);
    return row;
  }
}
