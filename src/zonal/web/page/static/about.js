// The model, what to take away, and putting a study aside.
import { get, post } from "./api.js";
import { dialogue } from "./dialog.js";
import { h, put } from "./dom.js";
import * as words from "./words.js";

/** The noise of a measurement: a number, one that falls with the weight of a region, or user-defined. */
function noise(m, of) {
  if (m.noise !== null) {
    const spread = words.unit(words.number(m.noise), of);
    return m.noise_law ? `${spread} at the whole space, ${m.noise_law}` : spread;
  }
  return m.noise_per_weight === null
    ? "user-defined"
    : `${words.unit(words.number(m.noise_per_weight), of)} / √weight of the region`;
}

/** Say what the study goes by. */
export function model({ study }) {
  const { head } = study,
    m = head.model,
    of = head.value.unit;
  const facts = [
    ["policy", head.policy],
    ["a measurement sees", head.feedback],
  ];
  if (m) {
    facts.push(
      ["kernel", words.rounded(m.kernel)],
      [
        head.cost?.times.length
          ? `noise of a measurement of ${words.price(head, 1)}`
          : "noise of one measurement",
        noise(m, of),
      ],
      ["prior mean", words.unit(words.number(m.mean), of)],
      [
        "learned from",
        m.learned_from
          ? `${words.count(m.learned_from, "measurement")}; ${words.count(m.models, "weighted model")}`
          : "given",
      ],
    );
  }
  if (head.nodes) facts.push(["tree", words.count(head.nodes, "region")]);
  facts.push(["created", h("span", { title: words.universal(head.created) }, words.local(head.created))]);
  put(
    "model",
    h(
      "dl",
      {},
      facts.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]),
    ),
  );
}

const FILES = [
  ["report.html", "one page for a colleague, figures and methods"],
  ["trials.csv", "all trials, for a spreadsheet"],
  ["trials.json", "the same for programs"],
  ["study.db", "the study itself: copy it, open it with zonal"],
  ["events.jsonl", "settings and events, line by line"],
];

/** Offer the files. */
export function downloads({ study }) {
  const link = ([file, text]) => {
    const name = file === "study.db" ? `${study.name}.db` : `${study.name}-${file}`;
    return h(
      "li",
      {},
      h("a", { href: `${study.base}/export/${file}`, download: name }, name),
      h("span", {}, ` – ${text}`),
    );
  };
  put(
    "downloads",
    h("ul", { class: "files" }, FILES.map(link)),
    h(
      "p",
      { class: "sub" },
      "From Python: ",
      h("span", { class: "mono" }, `zn.connect("${location.origin}${location.pathname}")`),
    ),
    h(
      "details",
      { "data-key": "compare", id: "compare", ontoggle: others(study) },
      h("summary", {}, "Compare with another study"),
      h("div", { id: "comparable" }),
    ),
    h(
      "div",
      { class: "acts" },
      h("button", { class: "small", type: "button", onclick: () => archive(study) }, "Archive this study…"),
    ),
  );
}

/** List the studies over the same space, once somebody wants to see them. */
function others(study) {
  return async (event) => {
    if (!event.target.open) return;
    const { studies } = await get("/api/v1/studies");
    const space = JSON.stringify(study.head.space);
    const alike = studies.filter(
      ({ name, space: other }) => name !== study.name && JSON.stringify(other) === space,
    );
    const link = ({ name }) =>
      h(
        "li",
        {},
        h("a", { href: `/compare/${encodeURIComponent(study.name)}/${encodeURIComponent(name)}` }, name),
      );
    const none = h("p", { class: "sub" }, "No other study of this folder has the same space.");
    put("comparable", alike.length ? h("ul", { class: "files" }, alike.map(link)) : none);
  };
}

/** Put the study aside: nothing of it is lost. */
function archive(study) {
  const about =
    "It leaves the list, and nobody can measure it here. Nothing is lost: it can be restored from the list of studies.";
  dialogue(`Archive ${study.name}?`, about, [], "Archive", async () => {
    await post(`${study.base}/archive`);
    location.assign("/");
  });
}
