// The answer so far, and how sure it is.
import { $, h, put } from "./dom.js";
import { levelSet } from "./level_set.js";
import { reasons } from "./why.js";
import * as words from "./words.js";

const named = (space, region) =>
  space.kind === "sequences" ? h("span", { class: "mono" }, region.name) : words.region(space, region);

/** Draw the card of the answer. */
export function answer({ study }) {
  const { head } = study,
    best = head.best?.[0],
    of = head.value.unit,
    box = $("answer");
  const title = h("h2", { id: "answer-title" }, head.state === "spent" ? "The answer" : "The answer so far");
  if (!best) {
    const [verdict, sub] = study.opening
      ? [
          "The posterior is being computed.",
          "The next measurement and the trials are here already; the answer follows.",
        ]
      : head.measured + head.observed
        ? ["Nothing is known without the study’s kernel.", "The measurements are below."]
        : [
            "Nothing is known yet.",
            "After about ten measurements the page says which region is best, and how sure that is.",
          ];
    return put(box, title, h("p", { class: "verdict" }, verdict), h("p", { class: "sub" }, sub));
  }
  const all = best.region.share > 0.999,
    high = head.direction === "maximize" ? "highest" : "lowest";
  const verdict = !head.stands_out &&
    !head.beyond && [
      h("p", { class: "verdict" }, "No region stands out yet."),
      h(
        "p",
        { class: "sub" },
        `The ${high} so far could be luck: the whole space averages ${words.give(head.whole.mean, head.whole.std, of)}${words.stop(of)}`,
      ),
    ];
  put(
    box,
    title,
    head.beyond && h("p", { class: "beyond verdict", "data-key": "beyond" }, `${head.beyond.words}.`),
    verdict,
    h(
      "p",
      { class: `found-name${head.stands_out ? "" : " unsure"}` },
      all ? "the whole space, so far" : named(head.space, best.region),
    ),
    h("p", { class: "big" }, words.give(best.mean, best.std), of && h("small", {}, ` ${of}`)),
    h(
      "div",
      { class: "facts" },
      sure(best, of),
      measurements(best),
      h("p", { id: "outlook" }, words.outlook(head)),
    ),
    levelSet(study),
    reasons(study, "why-answer", "Why this answer?"),
    others(head),
  );
  $("outlook").hidden = !words.outlook(head);
}

function sure(best, of) {
  if (best.gap === null) return null;
  const none = best.gap < best.std / 20;
  return h(
    "p",
    {},
    none
      ? "With 90 % probability, no other region is better"
      : [
          "With 90 % probability, no smallest region is better by more than ",
          h("b", {}, words.unit(words.number(best.gap, best.std), of)),
        ],
    `${none ? "." : words.stop(of)} It is the best of all with probability `,
    h("b", {}, words.percent(best.probability_best)),
    ", under the model.",
  );
}

function measurements(best) {
  return h(
    "p",
    {},
    best.measurements
      ? `It was itself measured ${words.times(best.measurements)}.`
      : "It was not measured itself: its average is inferred from regions around it.",
  );
}

function others(head) {
  const rest = head.best.slice(1),
    of = head.value.unit;
  if (!rest.length) return null;
  const rows = rest.map((rival) =>
    h(
      "tr",
      {},
      h("td", {}, named(head.space, rival.region)),
      h("td", { class: "num" }, words.give(rival.mean, rival.std)),
      h("td", { class: "num" }, rival.probability_best === null ? "" : words.percent(rival.probability_best)),
    ),
  );
  return h(
    "details",
    { "data-key": "others" },
    h("summary", {}, `The next ${rest.length} best`),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "The next best regions" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}, "region"),
            h("th", { class: "num" }, words.labelled("mean", of)),
            h("th", { class: "num" }, "P(best)"),
          ),
        ),
        h("tbody", {}, rows),
      ),
    ),
  );
}
