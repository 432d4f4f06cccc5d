// Hierarchies: nested tiles.
import { css, inkOn } from "./colour.js";
import { hatch } from "./frame.js";
import { FONT, Nested } from "./nested.js";

export class TilesView extends Nested {
  constructor(host, study, report, view) {
    super(host, study, report, view, "tiles of regions");
  }
  draw(field) {
    this.field = field;
    this.paths();
    const { context, ratio, white, colour } = this.open(
        Math.round(Math.max(380, Math.min(this.host.clientWidth * 0.6, 560))),
      ),
      { study, width, height } = this;
    const key = `${this.root} ${width} ${study.size}`;
    if (key !== this.key_) {
      this.key_ = key;
      this.boxes = new Map();
      this.lay(this.root, { x: 0, y: 0, width, height });
    }
    const px = (v) => Math.round(v * ratio);
    let pattern = null;
    for (const [row, b] of this.boxes) {
      const leaf = study.first[row] < 0 || b.flat,
        x0 = px(b.x),
        y0 = px(b.y),
        w = px(b.x + b.width) - x0,
        tall = px(b.y + b.height) - y0;
      const rgb = study.known ? field.row(row, white) : white;
      const gap = leaf && w > 5 * ratio && tall > 5 * ratio ? Math.max(1, Math.round(0.5 * ratio)) : 0;
      if (leaf || b.head) {
        context.fillStyle = css(rgb);
        context.fillRect(x0, y0, w - gap, leaf ? tall - gap : px(b.head));
        if (leaf && study.flags[row] & 1) {
          context.fillStyle = pattern ??= hatch(context, ratio, colour("--hatch"));
          context.fillRect(x0, y0, w - gap, tall - gap);
        }
      }
      const many = study.values.count[row];
      if (b.head) {
        context.save();
        context.beginPath();
        context.rect(x0, y0, w, px(b.head));
        context.clip();
        context.font = `600 ${11 * ratio}px ${FONT}`;
        context.textAlign = "left";
        context.textBaseline = "middle";
        context.fillStyle = inkOn(rgb);
        let words = this.label(row);
        const fits = w - (many ? 16 : 6) * ratio;
        while (words.length > 2 && context.measureText(words).width > fits)
          words = `${words.slice(0, -2).trimEnd()}…`;
        if (words.length > 5 || !words.endsWith("…"))
          context.fillText(words, x0 + 4 * ratio, y0 + px(b.head) / 2 + ratio / 2);
        context.restore();
      } else if (leaf) this.text(context, ratio, row, x0, y0, w, tall, rgb, 10.5);
      if (many && w > 5 * ratio) {
        const cx = b.head ? x0 + w - 8 * ratio : x0 + w - 5 * ratio,
          cy = b.head ? y0 + px(b.head) / 2 : y0 + 5 * ratio;
        context.fillStyle = colour("--dot");
        context.strokeStyle = colour("--dotrim");
        context.lineWidth = ratio;
        context.beginPath();
        context.arc(cx, cy, (b.head ? 3.4 : 2.4) * ratio, 0, 7);
        context.fill();
        context.stroke();
      }
    }
    this.mark();
  }
  lay(row, box) {
    const { study } = this,
      kids = study.children[row];
    this.boxes.set(row, box);
    if (!kids) return;
    if (row !== this.root && (box.width < 14 || box.height < 14)) {
      box.flat = true;
      return;
    }
    const deep = row !== this.root;
    const head = deep && box.height > 30 && box.width > 24 ? 16 : 0,
      rim = deep ? 1.5 : 0;
    box.head = head;
    const inner = {
      x: box.x + rim,
      y: box.y + head + (head ? 0 : rim),
      width: Math.max(1, box.width - 2 * rim),
      height: Math.max(1, box.height - head - 2 * rim),
    };
    const rows = Array.from({ length: kids }, (_, i) => study.first[row] + i).sort(
      (a, b) => study.shape.share[b] - study.shape.share[a],
    );
    squarify(
      rows,
      rows.map((row) => study.shape.share[row]),
      inner,
      (row, b) => this.lay(row, b),
    );
  }
  box(row) {
    return this.boxes.get(row) ?? null;
  }
  /** In a corner, where no label is, if there is room. */
  starX(b) {
    return b.width > 60 && b.height > 34 ? b.x + 12 : super.starX(b);
  }
  starY(b) {
    return b.width > 60 && b.height > 34 ? b.y + b.height - 12 : super.starY(b);
  }
  framed(row) {
    return row === this.study.best.region.row || this.study.shape.parent[row] === this.root;
  }
  rowAt(x, y) {
    const inside = (b) => b && x >= b.x && x < b.x + b.width && y >= b.y && y < b.y + b.height;
    const { study } = this;
    let row = this.root,
      next = row;
    while (next !== undefined) {
      row = next;
      const children = Array.from({ length: study.children[row] }, (_, i) => study.first[row] + i);
      next = children.find((child) => inside(this.boxes.get(child)));
    }
    return row;
  }
}

/** Tiles as square as can be (Bruls, Huizing and van Wijk). */
function squarify(rows, sizes, box, lay) {
  const total = sizes.reduce((a, b) => a + b, 0) || 1,
    scale = (box.width * box.height) / total;
  const areas = sizes.map((size) => size * scale);
  let { x, y, width, height } = box,
    at = 0;
  while (at < rows.length) {
    const side = Math.min(width, height);
    let sum = 0,
      worst = Infinity,
      end = at;
    while (end < rows.length) {
      const more = sum + areas[end],
        a = areas[at],
        b = areas[end],
        next = Math.max((side * side * a) / (more * more), (more * more) / (side * side * b));
      if (next > worst) break;
      worst = next;
      sum = more;
      end++;
    }
    const thick = sum / side || 0;
    let along = 0;
    for (; at < end; at++) {
      const long = areas[at] / (thick || 1);
      lay(
        rows[at],
        width >= height
          ? { x, y: y + along, width: thick, height: long }
          : { x: x + along, y, width: long, height: thick },
      );
      along += long;
    }
    if (width >= height) {
      x += thick;
      width -= thick;
    } else {
      y += thick;
      height -= thick;
    }
  }
}
