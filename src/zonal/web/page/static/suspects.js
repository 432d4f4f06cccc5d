// Every reading beside what all others expect of it, the likeliest mistakes first: computed when somebody asks.
import { get } from "./api.js";
import { h, put } from "./dom.js";
import * as words from "./words.js";

const LISTED = 8;

/** Draw the button, and what came of it while no event has made it out of date. */
export function suspects(page) {
  const { study, view } = page,
    { head } = study;
  if (!head.measured) return put("suspects");
  const check = async () => {
    const { event } = study.head;
    try {
      view.suspects = { event, ...(await get(`${study.base}/suspects`)) };
    } catch (problem) {
      view.suspects = { event, refused: problem.message };
    }
    suspects(page);
  };
  const listed = view.suspects?.event === head.event ? view.suspects : null;
  put(
    "suspects",
    listed && (listed.refused ? h("p", { role: "status" }, listed.refused) : table(head, listed)),
    !listed &&
      h(
        "div",
        { class: "acts", "data-key": "acts" },
        h(
          "button",
          { class: "small", type: "button", id: "check", onclick: check },
          "Which readings may be mistakes?",
        ),
      ),
  );
}

function table(head, listed) {
  const of = head.value.unit,
    columns = listed.columns,
    [value, expected, std] = [head.value.name, "expected", "std"].map(
      (name) => columns[words.labelled(name, of)],
    );
  const numeric = (cells, at) =>
    h("td", { class: "num" }, cells?.[at] === null ? "" : words.short(cells[at]));
  return [
    h(
      "p",
      { role: "status", "data-key": "hangs" },
      listed.hangs_on.length
        ? `Without any one of these readings the answer would move: ${listed.hangs_on.join(", ")}.`
        : "The answer survives the deletion of any one reading.",
    ),
    h(
      "table",
      { "data-key": "readings" },
      h("caption", {}, listed.title),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", {}, "reading"),
          h("th", {}, "region"),
          h("th", { class: "num" }, words.labelled(head.value.name, of)),
          h("th", { class: "num" }, "expected"),
          h("th", { class: "num" }, "±"),
          h("th", { class: "num" }, "standard deviations off"),
          h("th", {}, "state"),
        ),
      ),
      h(
        "tbody",
        {},
        columns.state
          .slice(0, LISTED)
          .map((state, at) =>
            h(
              "tr",
              {},
              h(
                "td",
                {},
                columns.number[at] === null ? `outside ${columns.observation[at]}` : `#${columns.number[at]}`,
              ),
              h("td", {}, columns.region[at]),
              numeric(value, at),
              numeric(expected, at),
              numeric(std, at),
              numeric(columns.sigmas, at),
              h("td", {}, state),
            ),
          ),
      ),
    ),
  ];
}
