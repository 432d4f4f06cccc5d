// The next question in plain words, and a form for the answer; my questions apart from those of others.
import { counted, Mistyped, numeric } from "./dialog.js";
import { $, h, put } from "./dom.js";
import { introduced, me } from "./person.js";
import { reasons } from "./why.js";
import * as words from "./words.js";

const FRESH = { current: null, draft: null, message: null, sure: false };
export const fresh = () => ({ ...FRESH });

/** The pending trials that somebody at this page asked for, or took over. */
export const mine = (head) => head.pending.filter((trial) => me() && trial.by === me());

/** Draw the card of the question. `page` has the study, the view, and `act`, which posts and shows what came of it. */
export function question(page) {
  const { study, view } = page,
    { head } = study,
    box = $("question");
  box.hidden = head.state === "read-only";
  if (box.hidden) return put(box, h("h2", { id: "question-title" }));
  const own = mine(head),
    now = head.pending.find((trial) => trial.trial === view.current) ?? own[0];
  box.classList.toggle("quiet", !now);
  if (!now) {
    view.current = null;
    return put(box, ...resting(page));
  }
  view.current = now.trial;
  const at = own.indexOf(now) + 1;
  const title = own.length > 1 && at ? `Measurement ${at} of ${own.length}` : "Measure now";
  const cost = head.cost ? `It costs ${words.price(head, now.cost)}${words.stop(head.cost.unit)} ` : "";
  const first = now.replicate === 1 ? "; first measurement" : "";
  put(
    box,
    h("h2", { id: "question-title" }, `${title} · trial ${now.trial}`),
    asked(head, now),
    h(
      "p",
      { class: "sub" },
      `${words.size(head.space, now.region)}${first}. ${cost}`,
      `Asked ${words.ago(now.asked)} by ${now.by === me() ? "you" : words.who(now.by)}.`,
    ),
    form(page, now),
    reasons(study, "why-question", "Why here?", now.trial),
    !spent(head) &&
      h("div", { class: "acts more-acts", "data-key": "another" }, askButton(page, "Ask for another")),
  );
}

const spent = (head) => head.remaining <= 0;

function asked(head, now) {
  const { space } = head,
    long = head.cost?.times.length ? `, for ${words.price(head, now.time)}` : "",
    again = (now.replicate > 1 ? `, ${words.replicate(now.replicate)}` : "") + long;
  if (space.axes?.length > 2) {
    const parts = words.parts(space, now.region.part);
    return [
      h("p", { class: "ask" }, `Measure${again}`),
      h(
        "dl",
        { class: "asked" },
        parts.map(([name, part]) => [h("dt", {}, name), h("dd", {}, part)]),
      ),
    ];
  }
  const text = words.region(space, now.region);
  if (space.kind !== "sequences") return h("p", { class: "ask" }, `Measure ${text}${again}.`);
  return h("p", { class: "ask" }, "Measure the pool ", h("span", { class: "code" }, text), `${again}.`);
}

function form(page, now) {
  const { study, view } = page,
    { head } = study,
    bad = view.message?.kind === "error" ? view.message.field : null;
  const field = (name, label, extra, optional) =>
    h(
      "label",
      {},
      label,
      optional && h("span", { class: "opt" }, " (optional)"),
      h("input", {
        name,
        id: `field-${name}`,
        autocomplete: "off",
        autocapitalize: "off",
        spellcheck: "false",
        value: view.draft?.[name] ?? "",
        "aria-invalid": bad === name ? "true" : null,
        "aria-describedby": bad === name ? "refused" : null,
        ...extra,
      }),
    );
  const note = () => $("field-note").value;
  const end = (path, body) => () => page.act(`trials/${now.trial}/${path}`, { ...body, note: note() });
  const button = (text, title, onclick) => h("button", { type: "button", title, onclick }, text);
  return h(
    "form",
    { novalidate: true, "data-key": `trial-form-${now.trial}`, onsubmit: (event) => submit(page, event) },
    h(
      "div",
      { class: "row" },
      field("value", words.labelled(head.value.name, head.value.unit), {
        inputmode: "decimal",
        class: "value",
        required: true,
      }),
      study.head.likelihood
        ? field("exposure", "exposure, if another", { inputmode: "decimal" }, true)
        : field("sem", "standard error", { inputmode: "decimal" }, true),
    ),
    h(
      "div",
      { class: head.cost?.times.length ? "row" : "row one" },
      field("note", "note", {}, true),
      head.cost?.times.length > 0 &&
        field("time", words.labelled("time, if another", head.cost.unit), { inputmode: "decimal" }, true),
    ),
    head.offsets.length > 0 &&
      h(
        "div",
        { class: head.offsets.length > 1 ? "row" : "row one" },
        head.offsets.map((name, i) => {
          const before = view.draft?.[`label-${i}`] ?? now.labels[name] ?? labelled[name] ?? "";
          return field(`label-${i}`, name, { value: before, required: true, maxlength: 200 });
        }),
      ),
    view.message && h("p", { class: view.message.kind, id: "refused", role: "alert" }, view.message.text),
    h(
      "div",
      { class: "acts" },
      h("button", { class: "main" }, view.sure ? "Save anyway" : "Save"),
      button(
        "It failed",
        "It was tried and failed; its cost is refunded, and it may be asked for again",
        end("fail", { retry: true }),
      ),
      button(
        "Impossible",
        "This region can never be measured: it is not asked for again",
        end("fail", { retry: false }),
      ),
      button("Cancel this trial", "It was not tried; its cost is refunded", end("cancel", {})),
    ),
  );
}

/** Ask for trials; before the first, who is asking. */
async function ask(page, n) {
  const by = await introduced();
  if (by) await page.act("ask", { n, by, ...limits(page.view) });
}

const askButton = (page, text) =>
  h(
    "button",
    {
      id: "ask",
      type: "button",
      class: text === "Ask for another" ? null : "main",
      onclick: () => ask(page, 1),
    },
    text,
  );

/** What is there to do when no question of mine is pending. */
function resting(page) {
  const { study, view } = page,
    { head } = study,
    others = head.pending.length;
  const message = view.message && h("p", { class: view.message.kind, role: "alert" }, view.message.text);
  const title = h("h2", { id: "question-title" }, spent(head) ? "The budget is spent" : "Next measurement");
  if (spent(head) && !others) return [title, ...over(page, message)];
  const said = others
    ? `${words.count(others, "trial")} ${others === 1 ? "is" : "are"} pending with others.`
    : head.measured
      ? "Nothing is pending."
      : "Nothing has been measured yet.";
  if (spent(head)) {
    return [
      title,
      h("p", { class: "ask" }, said),
      h("p", { class: "sub" }, "The rest of the budget is theirs."),
      message,
    ];
  }
  return [
    title,
    h("p", { class: "ask" }, said),
    h(
      "p",
      { class: "sub" },
      "Zonal decides what to measure when you ask; each trial takes its part of the budget until it is measured or cancelled.",
    ),
    message,
    h(
      "div",
      { class: "acts" },
      askButton(page, head.measured ? "Ask what to measure next" : "Ask the first question"),
    ),
    several(page),
    possible(page),
  ];
}

function over(page, message) {
  const { head } = page.study;
  const said = head.cost
    ? `All of ${words.price(head, head.budget)} is spent.`
    : `All ${words.whole(head.budget)} measurements are made.`;
  return [
    h("p", { class: "ask" }, said),
    h("p", { class: "sub" }, "The answer is below. More can be added to the budget."),
    message,
    extension(page),
  ];
}

/** The form that adds to the budget. */
export function extension(page) {
  const { head } = page.study;
  const extend = (event) => {
    event.preventDefault();
    const read = head.cost ? numeric : counted;
    const { n } = event.target.elements;
    guarded(page, () => page.act("extend", { n: read(n.value, "What is added", null) }));
  };
  return h(
    "form",
    { class: "acts", "data-key": "extend", novalidate: true, onsubmit: extend },
    h(
      "label",
      {},
      head.cost ? words.labelled("to add", head.cost.unit) : "measurements to add ",
      h("input", { name: "n", value: "10", inputmode: "decimal", size: "5" }),
    ),
    h("button", { class: spent(head) ? "main" : null }, "Extend the budget"),
  );
}

/** Do something with what was typed, or say in the card what is wrong with it. */
function guarded(page, act) {
  try {
    act();
  } catch (problem) {
    if (!(problem instanceof Mistyped)) throw problem;
    page.view.message = { kind: "error", field: null, text: problem.message };
    question(page);
  }
}

function several(page) {
  const { head } = page.study;
  const submitted = (event) => {
    event.preventDefault();
    guarded(page, () => ask(page, counted(event.target.elements.n.value, "How many to ask for", null)));
  };
  return h(
    "details",
    { "data-key": "several" },
    h("summary", {}, "Ask for several at once"),
    h(
      "form",
      { class: "acts", novalidate: true, onsubmit: submitted },
      h(
        "label",
        {},
        "how many ",
        h("input", {
          name: "n",
          value: String(head.cost ? 4 : Math.min(4, head.remaining)),
          inputmode: "numeric",
          size: "4",
        }),
      ),
      h("button", {}, "Ask"),
    ),
  );
}

/** What is possible now, as it was typed: several regions are separated by semicolons. */
function limits(view) {
  const list = (text) =>
    (text ?? "")
      .split(";")
      .map((region) => region.trim())
      .filter(Boolean);
  const both = ["within", "avoid"].map((name) => [name, list(view[name])]);
  return Object.fromEntries(both.filter(([, regions]) => regions.length));
}

/** Fields for what is possible now; they keep what is in them for the next question. */
function possible({ study, view }) {
  const keep = (event) => {
    view[event.target.name] = event.target.value;
  };
  const field = (name, label) =>
    h(
      "label",
      {},
      label,
      h("span", { class: "opt" }, " (optional)"),
      h("input", {
        name,
        id: `ask-${name}`,
        value: view[name] ?? "",
        placeholder: words.example(study.head.space),
        autocomplete: "off",
        spellcheck: "false",
        oninput: keep,
      }),
    );
  const toggled = (event) => {
    view.limited = event.target.open;
  };
  return h(
    "details",
    { "data-key": "possible", open: Boolean(view.limited), ontoggle: toggled },
    h("summary", {}, "Only what is possible now"),
    h(
      "p",
      { class: "sub" },
      "The next measurement lies within the first and overlaps none of the second. Separate regions by semicolons.",
    ),
    h(
      "form",
      { onsubmit: (event) => event.preventDefault() },
      h("div", { class: "row" }, field("within", "only within"), field("avoid", "avoid")),
    ),
  );
}

/** The labels told last: the next reading is often of the same plate, or day. */
let labelled = {};

/** Read the form, or say what is wrong: {measured} or {field, text}. */
function read(draft, offsets) {
  const wrong = (field, text) => ({ field, text });
  const value = words.reading(draft.value, "A value");
  if (value.error) {
    return wrong(
      "value",
      draft.value.trim() ? value.error : "Write the measured value. If there is none, press “It failed”.",
    );
  }
  const sem = draft.sem?.trim() ? words.typed(draft.sem, "A standard error", "0.02") : { value: null };
  if (sem.error) return wrong("sem", sem.error);
  if (sem.value !== null && !(sem.value > 0)) {
    return wrong("sem", `A standard error must be positive; got ${draft.sem}.`);
  }
  const time = draft.time?.trim() ? words.typed(draft.time, "A time", "30") : { value: null };
  if (time.error) return wrong("time", time.error);
  const exposure = draft.exposure?.trim()
    ? words.typed(draft.exposure, "An exposure", "10")
    : { value: null };
  if (exposure.error) return wrong("exposure", exposure.error);
  const measured = { ...value.measured, sem: sem.value, note: draft.note, time: time.value };
  if (exposure.value !== null) measured.exposure = exposure.value;
  const labels = Object.fromEntries(offsets.map((name, i) => [name, draft[`label-${i}`].trim()]));
  const missing = offsets.findIndex((name) => !labels[name]);
  if (missing >= 0) return wrong(`label-${missing}`, `Write the ${offsets[missing]} of this reading.`);
  if (offsets.length) measured.labels = labels;
  return { measured };
}

async function submit(page, event) {
  event.preventDefault();
  const { study, view } = page,
    draft = Object.fromEntries(new FormData(event.target));
  const refuse = (field, text) => {
    Object.assign(view, { draft, message: { kind: "error", field, text }, sure: false });
    question(page);
    $(`field-${field}`)?.select();
  };
  const { measured, field, text } = read(draft, study.head.offsets);
  if (!measured) return refuse(field, text);
  const now = study.head.pending.find((trial) => trial.trial === view.current);
  if (!now) return;
  const plain = measured.value !== undefined && !study.head.likelihood; // neither a limit nor a count
  const off = plain ? unlikely(study, now.region.row, measured.value, measured.sem) : 0;
  if (off && !view.sure) {
    // what is very unlikely is asked about once: a slip of the point is the usual reason
    const far = off > 99 ? "very far" : `${Math.round(off)} standard deviations`;
    const warning = `${draft.value} is ${far} from what the measurements so far make likely. Check the point and the unit. If it is right, save it.`;
    Object.assign(view, { draft, sure: true, message: { kind: "warn", text: warning } });
    question(page);
    $("field-value").select();
    return;
  }
  view.draft = draft;
  labelled = measured.labels ?? labelled;
  if (await introduced()) await page.act(`trials/${now.trial}/tell`, measured, refuse);
}

function unlikely(study, row, value, sem) {
  if (!study.known || study.values.mean[row] === undefined) return 0;
  const spread = Math.hypot(study.values.std[row], sem ?? study.head.model?.noise ?? 0);
  const off = Math.abs(value - study.values.mean[row]) / spread;
  return off > 5 ? off : 0;
}
