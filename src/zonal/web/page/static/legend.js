// What the colours and the marks of the picture mean.
import { css, paper } from "./colour.js";
import { h, put, s } from "./dom.js";
import { side } from "./readout.js";
import * as words from "./words.js";

const key = (text, ...marks) =>
  h(
    "span",
    { class: "key" },
    s("svg", { width: 22, height: 14, viewBox: "0 0 22 14", "aria-hidden": "true" }, ...marks),
    text,
  );

function scale(page, field) {
  const { study, view } = page,
    { head } = study,
    of = head.value.unit,
    sheet = paper(document.body),
    faded = view.mode === "mean";
  const canvas = h("canvas", { width: 200, height: faded ? 36 : 14, "aria-hidden": "true" }),
    c = canvas.getContext("2d");
  const [low, high] = field.range;
  for (let i = 0; i < 200; i++) {
    const x = low + ((high - low) * i) / 199;
    for (let j = 0; j < (faded ? 4 : 1); j++) {
      c.fillStyle = css(
        faded
          ? field.of(x, 0, j / 3, sheet)
          : view.mode === "std"
            ? field.of(0, x, 0, sheet)
            : field.chanceColour(i / 199, sheet),
      );
      c.fillRect(i, 9 * j, 1, faded ? 9 : 14);
    }
  }
  const title = {
    mean: `mean of ${words.labelled(head.value.name, of)}`,
    std: `uncertainty: standard deviation of a region’s average${of ? ` [${of}]` : ""}`,
    chance: `probability that a region’s average is ${side(head)} ${words.unit(words.number(field.threshold), of)}`,
  }[view.mode];
  const ends =
    view.mode === "chance"
      ? ["< 1\u00a0%", "> 99\u00a0%"]
      : field.range.map((v) => words.number(Number(v.toPrecision(3))));
  return h(
    "div",
    { class: "scalebar" },
    h("span", { class: "title" }, title),
    canvas,
    faded && h("span", { class: "fade" }, h("span", {}, "certain"), h("span", {}, "uncertain")),
    h("span", { class: "ends" }, h("span", {}, ends[0]), h("span", {}, ends[1])),
  );
}

/** Draw the legend. */
export function legend(page, field) {
  const { study, picture, view } = page,
    place = page.places?.legend ?? "legend",
    { head } = study,
    keys = [];
  if (!picture || (!head.measured && !head.pending.length)) return put(place);
  if (head.picture === "line") {
    const { curves } = study.picture;
    if (picture.cells || !curves) {
      keys.push(
        key("mean of a cell", s("path", { d: "M1 7H21", class: "cellmean" })),
        key("its confidence interval", s("rect", { width: 22, height: 14, class: "confidence" })),
        key("plus the variation of f within it", s("rect", { width: 22, height: 14, class: "variation" })),
      );
    } else {
      keys.push(
        ...curves.map((curve, i) =>
          key(
            curves.length === 1 ? "f ± 2 standard deviations" : curve.name,
            s("rect", { width: 22, height: 14, class: `band c${i}` }),
            s("path", { d: "M1 7H21", class: `curve c${i}` }),
          ),
        ),
      );
    }
    keys.push(
      key(
        "a measured average, as wide as its region",
        s("path", { d: "M1 7H21", class: "bars" }),
        s("path", { d: "M11 7h0", class: "dots" }),
      ),
    );
  } else if (["shelves", "tiles", "scatter"].includes(head.picture)) {
    keys.push(
      key(
        "measured",
        s("circle", { cx: 11, cy: 7, r: 3.4, fill: "#fff", stroke: "#222", "stroke-width": 1.2 }),
      ),
    );
  } else keys.push(key("measured", s("rect", { x: 3, y: 1, width: 16, height: 12, class: "measured" })));
  if (study.best) {
    keys.push(
      key(
        head.stands_out
          ? "best region"
          : `${head.direction === "maximize" ? "highest" : "lowest"} so far; does not stand out`,
        s("rect", { x: 3, y: 1, width: 16, height: 12, class: `found${head.stands_out ? "" : " unsure"}` }),
      ),
    );
    if (study.best.region.window) {
      keys.push(key("best cell", s("rect", { x: 3, y: 1, width: 16, height: 12, class: "found cell" })));
    }
  }
  const limit =
    head.beyond && `${side(head)} ${words.unit(words.number(head.beyond.threshold), head.value.unit)}`;
  if (study.values.held?.length)
    keys.push(key(limit, s("rect", { x: 2, y: 1, width: 18, height: 12, class: "held" })));
  if (study.values.perhaps?.length)
    keys.push(key(`perhaps ${limit}`, s("rect", { x: 2, y: 1, width: 18, height: 12, class: "perhaps" })));
  const frame = (kind) => s("rect", { x: 2, y: 1.5, width: 18, height: 11, class: kind }),
    asked = head.pending.some(({ trial }) => trial === view.current);
  if (asked) keys.push(key("asked now", frame("pending now")));
  if (head.pending.length > Number(asked)) keys.push(key("pending", frame("pending")));
  const blocked = study.leaves.filter((row) => study.flags[row] & 1);
  if (blocked.length) {
    keys.push(
      key(
        blocked.some((row) => !(study.flags[row] & 2)) ? "forbidden, at least in part" : "forbidden",
        s("rect", { x: 1, y: 0, width: 20, height: 14, class: "blocked" }),
        s("path", { d: "M1 14L15 0M8 14L21 1M1 7L8 0M15 14L21 8", class: "hatched" }),
      ),
    );
  }
  put(place, study.known && scale(page, field), h("div", { class: "keys" }, keys));
}
