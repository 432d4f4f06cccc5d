// Studies that look for all regions beyond a threshold: which they are, which may be, and a file of both.
import { Field } from "./colour.js";
import { h } from "./dom.js";
import { side } from "./readout.js";
import { download } from "./save.js";
import * as words from "./words.js";

const LISTED = 100;

/** The regions beyond the threshold and those that perhaps are, the surest first: {row, chance, sure}. */
export function members(study) {
  const { held = [], perhaps = [], mean, std } = study.values ?? {},
    threshold = study.head.beyond?.threshold;
  if (threshold === undefined || !mean) return [];
  const field = new Field(study, "chance", threshold);
  const one = (sure) => (row) => ({ row, chance: field.chance(mean[row], std[row]), sure });
  return [...held.map(one(true)), ...perhaps.map(one(false))].sort(
    (a, b) => b.sure - a.sure || b.chance - a.chance,
  );
}

/** As CSV: the ends of each axis, or the name; mean, standard deviation, chance, whether it is sure. */
export function asCsv(study, found) {
  const { space } = study.head,
    { mean, std } = study.values;
  const axes = space.axes ?? [];
  const titles = axes.flatMap(({ name, symbols }) => (symbols ? [name] : [`${name} from`, `${name} to`]));
  const quoted = (cell) => {
    const text = String(cell),
      safe = /^[=+\-@\t]/.test(text) && !Number.isFinite(cell) ? `'${text}` : text; // no formulas
    return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const line = ({ row, chance, sure }) => {
    const region = study.region(row);
    const place = space.axes
      ? axes.flatMap((axis, j) => (axis.symbols ? [region.part[j].join(" or ")] : region.part[j]))
      : [region.name];
    return [...place, mean[row], std[row], Number(chance.toFixed(3)), sure ? "yes" : "perhaps"];
  };
  const head = [...(space.axes ? titles : ["region"]), "mean", "std", "probability", side(study.head)];
  return [head, ...found.map(line)].map((cells) => cells.map(quoted).join(",")).join("\n") + "\n";
}

/** The list of the regions found, with a file to take away; null where there is none. */
export function levelSet(study) {
  const found = members(study),
    { head } = study;
  if (!found.length) return null;
  const sure = found.filter((one) => one.sure).length,
    limit = `${side(head)} ${words.unit(words.number(head.beyond.threshold), head.value.unit)}`;
  const line = ({ row, chance, sure: certain }) =>
    h(
      "tr",
      { class: certain ? null : "gone", "data-key": `member-${row}` },
      h("td", {}, words.region(head.space, study.region(row))),
      h("td", { class: "num" }, words.give(study.values.mean[row], study.values.std[row])),
      h("td", { class: "num" }, words.percent(chance)),
    );
  const save = () => download(asCsv(study, found), "text/csv", `${study.name}-${side(head)}.csv`);
  const title = `${words.count(sure, "region")} surely ${limit}, ${words.whole(found.length - sure)} perhaps`;
  return h(
    "details",
    { "data-key": "set", id: "level-set" },
    h("summary", {}, title),
    h(
      "div",
      { class: "scroll tall", tabindex: "0", role: "region", "aria-label": title },
      h(
        "table",
        {},
        found.length > LISTED &&
          h("caption", {}, `The surest ${LISTED} of ${words.whole(found.length)}; the file has all.`),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}, "region"),
            h("th", { class: "num" }, words.labelled("mean", head.value.unit)),
            h("th", { class: "num" }, `P(${side(head)})`),
          ),
        ),
        h("tbody", {}, found.slice(0, LISTED).map(line)),
      ),
    ),
    h("button", { class: "small", type: "button", onclick: save }, "Save the list (CSV)"),
  );
}
