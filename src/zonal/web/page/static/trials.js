// The trials, newest first, with correct and retract; and earlier measurements.
import { dialogue, input, measured } from "./dialog.js";
import { $, h, put } from "./dom.js";
import { observed } from "./outside.js";
import { enterTrial, takeOver } from "./pending.js";
import { me } from "./person.js";
import * as words from "./words.js";

const GONE = ["failed", "cancelled", "retracted", "set aside"];

function where(study, i) {
  const { trials: t, head } = study;
  return study.shape ? words.region(head.space, study.regionOf(i)) : t.where[i];
}

/** Draw the table of trials. */
export function trials(page) {
  const { study, view } = page,
    { trials: t, head } = study,
    of = head.value.unit,
    fixed = head.state === "read-only";
  observed(page);
  if (!t.number.length)
    return put("trials", h("p", { class: "blank", "data-key": "none" }, "No trials yet."));
  const wanted = view.filter.trim().toLowerCase(),
    rows = [];
  const held = $("trials").matches(":hover, :focus-within"); // then newer trials push none out of the table
  const oldest = held ? (view.oldest ?? Infinity) : Infinity;
  let matching = 0;
  for (let i = t.number.length - 1; i >= 0; i--) {
    const n = t.number[i];
    if (
      wanted &&
      !`#${n} ${where(study, i)} ${t.state[i]} ${t.by[i]} ${t.told_by[i]} ${t.note[n] ?? ""}`
        .toLowerCase()
        .includes(wanted)
    )
      continue;
    if (matching++ < view.shown || n >= oldest) rows.push(i);
  }
  view.oldest = t.number[rows.at(-1)];
  const columns = { noisy: t.sem.some((sem) => sem !== null), noted: Object.keys(t.note).length > 0, fixed };
  const prices = [
    ["time", t.time],
    ["cost", t.cost],
  ].filter(([, column]) => column);
  const axes = study.shape && head.space.axes;
  const titles = axes
    ? axes.map((axis) =>
        h("th", { class: axis.symbols ? null : "num" }, words.labelled(axis.name, axis.unit)),
      )
    : [h("th", {}, "region")];
  const more = () => {
    view.shown += 100;
    trials(page);
  };
  put(
    "trials",
    h(
      "div",
      {
        "data-key": "table",
        class: "scroll",
        tabindex: "0",
        role: "region",
        "aria-label": "table of trials",
      },
      h(
        "table",
        { class: "trials" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { class: "num" }, "trial"),
            titles,
            h("th", { class: "num" }, words.labelled(head.value.name, of)),
            columns.noisy && h("th", { class: "num" }, "standard error"),
            prices.map(([name]) => h("th", { class: "num" }, words.labelled(name, head.cost.unit))),
            h("th", { class: "num" }, "replicate"),
            h("th", {}, "state"),
            h("th", {}, "who"),
            h("th", {}, "when"),
            columns.noted && h("th", {}, "note"),
            !fixed && h("th", {}, h("span", { class: "unseen" }, "actions")),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((i) => line(page, i, axes, prices, columns)),
        ),
      ),
    ),
    h(
      "div",
      { class: "more", "data-key": "more" },
      `${words.whole(rows.length)} of ${words.whole(matching)}${wanted ? " found" : ""}, newest first.`,
      matching > rows.length &&
        h("button", { class: "small", type: "button", onclick: more }, "Show 100 more"),
    ),
  );
}

/** Who asked for a trial, and who measured it if that was somebody else. */
function who(t, i) {
  const [asked, told] = [words.who(t.by[i]), t.told_by[i] && words.who(t.told_by[i])];
  return told && told !== asked ? `${told} (asked: ${asked})` : asked;
}

function line(page, i, axes, prices, columns) {
  const { study } = page,
    { trials: t, head } = study,
    n = t.number[i],
    state = t.state[i];
  const parts = axes
    ? words.parts(head.space, study.regionOf(i).part).map(([, part], j) =>
        h(
          "td",
          {
            class: axes[j].symbols ? "where" : "where num",
            "data-name": axes[j].name,
          },
          axes[j].unit ? part.replace(`\u202f${axes[j].unit}`, "") : part,
        ),
      )
    : [h("td", { class: head.space.kind === "sequences" ? "where mono" : "where" }, where(study, i))];
  const before = t.earlier[n]
    ?.map((value) => `${words.signOf(value.limit)}${words.exact(value.value)}`)
    .join(", ");
  return h(
    "tr",
    { class: GONE.includes(state) ? "gone" : null, id: `trial-${n}` },
    h("td", { class: "num no" }, h("span", { class: "hash" }, "#"), String(n)),
    parts,
    h(
      "td",
      { class: "num val" },
      t.value[i] !== null &&
        h("b", { title: words.exact(t.value[i]) }, `${words.signOf(t.limit?.[n])}${words.short(t.value[i])}`),
      t.exposure?.[n] && h("span", { class: "sub" }, ` of ${words.short(t.exposure[n])}`),
      t.minus[n] && h("span", { class: "sub" }, ` less ${t.minus[n]}`),
      before && h("del", { title: "before the correction" }, ` ${before}`),
    ),
    columns.noisy &&
      h(
        "td",
        { class: t.sem[i] === null ? "num nothing" : "num", "data-name": "standard error" },
        t.sem[i] === null ? "" : words.exact(t.sem[i]),
      ),
    prices.map(([name, column]) =>
      h("td", { class: "num", "data-name": name, title: words.exact(column[i]) }, words.number(column[i])),
    ),
    h("td", { class: "num", "data-name": "replicate" }, String(t.replicate[i])),
    h(
      "td",
      { class: state === "measured" ? "measured" : null },
      state === "pending"
        ? h("span", { class: "pill waiting" }, "pending")
        : head.failed?.[t.row[i]] && state === "failed"
          ? "failed for good"
          : before && state === "measured"
            ? "corrected"
            : state,
    ),
    h("td", { class: "who" }, who(t, i)),
    h(
      "td",
      { class: t.ended[i] ? "when" : "when nothing", title: words.universal(t.ended[i]) },
      words.local(t.ended[i]),
    ),
    columns.noted && h("td", { class: t.note[n] ? "note" : "note nothing" }, t.note[n] ?? ""),
    !columns.fixed && h("td", { class: "acts-cell" }, actions(page, i)),
  );
}

function actions(page, i) {
  const { trials: t } = page.study,
    n = t.number[i];
  const link = (text, label, onclick) =>
    h("button", { class: "link", type: "button", "aria-label": `${label} ${n}`, onclick }, text);
  if (t.state[i] === "pending") {
    const { by } = page.study.head.pending.find((trial) => trial.trial === n) ?? {};
    return by === me()
      ? link("enter", "enter the value of trial", () => enterTrial(page, n))
      : link("take over", "take over trial", () => takeOver(page, n));
  }
  if (t.state[i] === "failed" && t.row[i] in (page.study.head.failed ?? {}))
    return link("allow", "allow again what failed: trial", () => allow(page, i));
  if (t.state[i] === "set aside")
    return link("reinstate", "reinstate trial", () => judge(page, i, "reinstate"));
  if (t.state[i] !== "measured") return "";
  return [
    link("correct", "correct trial", () => change(page, i, false)),
    " ",
    link("retract", "retract trial", () => change(page, i, true)),
    " ",
    link("set aside", "set aside trial", () => judge(page, i, "set-aside")),
  ];
}

/** Let a reading no longer count, as a gross error, or count again. */
function judge(page, i, what) {
  const n = page.study.trials.number[i],
    aside = what === "set-aside";
  dialogue(
    aside ? `Set trial ${n} aside?` : `Reinstate trial ${n}?`,
    aside
      ? "Its reading stays in the table and no longer counts. Its measurement stays paid for."
      : "Its reading counts again, and is believed from then on.",
    [input("note", "why", "", true)],
    aside ? "Set it aside" : "Reinstate it",
    (typed) => page.send(`trials/${n}/${what}`, { note: typed.note }),
  );
}

/** Take back what was held against a region. */
function allow(page, i) {
  const { study } = page,
    { trials: t, head } = study,
    row = t.row[i];
  const now = head.failed[row]
    ? "It is not asked for any more."
    : "Failed three times in a row it would not be asked for any more.";
  dialogue(
    "Allow it again?",
    `${where(study, i)} could not be measured. ${now} If that has changed, it may be asked for again.`,
    [],
    "Allow it",
    () => page.send("allow", { region: { row } }),
  );
}

/** Correct or retract a measured value; nothing is lost: the journal keeps the old one. */
function change(page, i, retract) {
  const { study } = page,
    { trials: t, head } = study,
    n = t.number[i],
    of = head.value.unit;
  const about =
    `${where(study, i)}, measured as ${words.unit(words.exact(t.value[i]), of)}${words.stop(of)} ` +
    (retract
      ? "The search goes on as if it had not been measured, and its cost is refunded. The journal keeps the value."
      : "The search goes on with the new value. The journal keeps the old one.");
  const value =
    !retract &&
    input("value", words.labelled(head.value.name, of), `${words.signOf(t.limit?.[n])}${t.value[i]}`, false, {
      class: "value",
      inputmode: "decimal",
    });
  dialogue(
    retract ? `Retract trial ${n}?` : `Correct trial ${n}`,
    about,
    [value, input("note", "why", "", true)],
    retract ? "Retract it" : "Save",
    (typed) =>
      page.send(
        `trials/${n}/${retract ? "retract" : "correct"}`,
        retract ? { note: typed.note } : { ...measured(typed.value, "value"), note: typed.note },
      ),
  );
}

/** Show a trial in the table, however old it is, and go there. */
export function showTrial(page, number) {
  const { view, study } = page;
  view.filter = $("filter").value = "";
  view.shown = Math.max(view.shown, study.trials.number.at(-1) - number + 1);
  trials(page);
  const row = $(`trial-${number}`);
  row?.scrollIntoView({ block: "center" });
  row?.setAttribute("tabindex", "-1");
  row?.focus({ preventScroll: true });
}
