// The next question in plain words, and a form for the answer; several when a batch is pending.
import { post } from "./api.js";
import { $, h, put } from "./dom.js";
import * as words from "./words.js";

const FRESH = { current: null, draft: null, message: null, sure: false };
export const fresh = () => ({ ...FRESH });

/** Draw the card of the question. `page` has the study, the view, and `act`, which posts and shows what came of it. */
export function question(page) {
  const { study, view } = page, { head } = study, box = $("question");
  box.hidden = head.state === "read-only";
  if (box.hidden) return put(box, h("h2", { id: "question-title" }));
  const now = head.pending.find((trial) => trial.trial === view.current) ?? head.pending[0];
  box.classList.toggle("quiet", !now);
  if (!now) return put(box, ...resting(page));
  view.current = now.trial;
  const many = head.pending.length, at = head.pending.indexOf(now) + 1;
  put(box,
    h("h2", { id: "question-title" }, `${many > 1 ? `Question ${at} of ${many}` : "The question"} · trial ${now.trial}`),
    asked(head, now),
    h("p", { class: "sub" }, `${words.size(head.space, now.region)}${now.replicate === 1 ? "; first measurement" : ""}. ` +
      `${head.cost ? `It costs ${words.price(head, now.cost)}${words.stop(head.cost.unit)} ` : ""}Asked ${words.ago(now.asked)} by ${words.who(now.by)}.`),
    form(page, now));
}

function asked(head, now) {
  const { space } = head, long = head.cost?.times.length ? `, for ${words.price(head, now.time)}` : "";
  const again = (now.replicate > 1 ? `, ${words.replicate(now.replicate)}` : "") + long;
  if (space.axes?.length > 2) {
    const parts = words.parts(space, now.region.part).flatMap(([name, part]) => [h("dt", {}, name), h("dd", {}, part)]);
    return [h("p", { class: "ask" }, `Measure${again}`), h("dl", { class: "asked" }, parts)];
  }
  const text = words.region(space, now.region);
  if (space.kind !== "sequences") return h("p", { class: "ask" }, `Measure ${text}${again}.`);
  return h("p", { class: "ask" }, "Measure the pool ", h("span", { class: "code" }, text), `${again}.`);
}

function form(page, now) {
  const { study, view } = page, { head } = study;
  const bad = view.message?.kind === "error" ? view.message.field : null;
  const field = (name, label, extra, optional) => h("label", {}, label, optional && h("span", { class: "opt" }, " (optional)"),
    h("input", {
      name, id: `field-${name}`, autocomplete: "off", autocapitalize: "off", spellcheck: "false",
      value: view.draft?.[name] ?? "", "aria-invalid": bad === name ? "true" : null,
      "aria-describedby": bad === name ? "refused" : null, ...extra,
    }));
  const failed = (retry) => () => page.act(`trials/${now.trial}/fail`, { retry, note: $("field-note").value });
  const back = () => page.act(`trials/${now.trial}/cancel`, { note: $("field-note").value });
  return h("form", { novalidate: true, onsubmit: (event) => submit(page, event) },
    h("div", { class: "row" },
      field("value", words.labelled(head.value.name, head.value.unit), { inputmode: "decimal", class: "value", required: true }),
      field("sem", "standard error", { inputmode: "decimal" }, true)),
    h("div", { class: head.cost?.times.length ? "row" : "row one" }, field("note", "note", {}, true),
      head.cost?.times.length > 0 && field("time", words.labelled("time, if another", head.cost.unit), { inputmode: "decimal" }, true)),
    view.message && h("p", { class: view.message.kind, id: "refused", role: "alert" }, view.message.text),
    h("div", { class: "acts" },
      h("button", { class: "main" }, view.sure ? "Save anyway" : "Save"),
      h("button", { type: "button", title: "It was tried and failed; the budget gets it back, and it may be asked for again", onclick: failed(true) }, "It failed"),
      h("button", { type: "button", title: "This region can never be measured: it is not asked for again", onclick: failed(false) }, "Impossible"),
      h("button", { type: "button", title: "It was not tried; the budget gets it back", onclick: back }, "Cancel this trial")));
}

function resting(page) {
  const { study, view } = page, { head } = study, spent = head.remaining <= 0;
  const message = view.message && h("p", { class: view.message.kind, role: "alert" }, view.message.text);
  const ask = (n) => page.act("ask", { n, by: "the page", ...limits(view) }, { "Idempotency-Key": crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` });
  const several = (event) => { event.preventDefault(); ask(Number(event.target.elements.n.value)); };
  const extend = (event) => { event.preventDefault(); page.act("extend", { n: Number(event.target.elements.n.value) }); };
  const title = h("h2", { id: "question-title" }, spent ? "The budget is spent" : "Next question");
  if (spent) {
    return [title, h("p", { class: "ask" }, head.cost ? `All of ${words.price(head, head.budget)} is spent.` : `All ${words.whole(head.budget)} measurements are made.`),
      h("p", { class: "sub" }, "The answer is below. More can be added to the budget."), message,
      h("form", { class: "acts", onsubmit: extend },
        h("label", {}, head.cost ? words.labelled("to add", head.cost.unit) : "measurements to add ", h("input", { name: "n", value: 10, inputmode: "numeric", size: 5 })),
        h("button", { class: "main" }, "Extend the budget"))];
  }
  return [title, h("p", { class: "ask" }, head.measured ? "Nothing is pending." : "Nothing was measured yet."),
    h("p", { class: "sub" }, "Zonal decides what to measure when you ask; a question takes its part of the budget until it is measured or cancelled."),
    message,
    h("div", { class: "acts" }, h("button", { class: "main", id: "ask", type: "button", onclick: () => ask(1) },
      head.measured ? "Ask what to measure next" : "Ask the first question")),
    h("details", {}, h("summary", {}, "Ask for several at once"),
      h("form", { class: "acts", onsubmit: several },
        h("label", {}, "how many ", h("input", { name: "n", value: head.cost ? 4 : Math.min(4, head.remaining), inputmode: "numeric", size: 4 })),
        h("button", {}, "Ask"))),
    possible(page)];
}

/** What is possible now, as it was typed: several regions are separated by semicolons. */
function limits(view) {
  const list = (text) => (text ?? "").split(";").map((region) => region.trim()).filter(Boolean);
  return Object.fromEntries(["within", "avoid"].map((name) => [name, list(view[name])]).filter(([, regions]) => regions.length));
}

/** Fields for what is possible now; they keep what is in them for the next question. */
function possible({ study, view }) {
  const keep = (event) => { view[event.target.name] = event.target.value; };
  const field = (name, label) => h("label", {}, label, h("span", { class: "opt" }, " (optional)"), h("input", {
    name, id: `ask-${name}`, value: view[name] ?? "", placeholder: words.example(study.head.space), autocomplete: "off", spellcheck: "false", oninput: keep,
  }));
  return h("details", { open: Boolean(view.limited), ontoggle: (event) => { view.limited = event.target.open; } },
    h("summary", {}, "Only what is possible now"),
    h("p", { class: "sub" }, "The next question lies within the first and overlaps none of the second. Several regions: separated by semicolons."),
    h("form", { onsubmit: (event) => event.preventDefault() },
      h("div", { class: "row" }, field("within", "only within"), field("avoid", "avoid"))));
}

async function submit(page, event) {
  event.preventDefault();
  const { study, view } = page, { head } = study, draft = Object.fromEntries(new FormData(event.target));
  const refuse = (field, text) => {
    Object.assign(view, { draft, message: { kind: "error", field, text }, sure: false });
    question(page);
    $(`field-${field}`)?.select();
  };
  const value = words.typed(draft.value, "A value");
  if (value.error) return refuse("value", draft.value.trim() ? value.error : "Write the measured value. If there is none, press “It failed”.");
  const sem = draft.sem.trim() ? words.typed(draft.sem, "A standard error", "0.02") : { value: null };
  if (sem.error) return refuse("sem", sem.error);
  if (sem.value !== null && !(sem.value > 0)) return refuse("sem", `A standard error must be positive; got ${draft.sem}.`);
  const time = draft.time?.trim() ? words.typed(draft.time, "A time", "30") : { value: null };
  if (time.error) return refuse("time", time.error);
  const now = head.pending.find((trial) => trial.trial === view.current);
  if (!now) return;
  const off = unlikely(study, now.region.row, value.value, sem.value);
  if (off && !view.sure) { // what is very unlikely is asked about once: a slip of the point is the usual reason
    const far = off > 99 ? "very far" : `${Math.round(off)} standard deviations`;
    const text = `${draft.value} is ${far} from what the measurements so far make likely. Check the point and the unit. If it is right, save it.`;
    Object.assign(view, { draft, sure: true, message: { kind: "warn", text } });
    question(page);
    $("field-value").select();
    return;
  }
  const measured = { value: value.value, sem: sem.value, note: draft.note, time: time.value };
  view.draft = draft;
  await page.act(`trials/${now.trial}/tell`, measured, {}, refuse);
}

function unlikely(study, row, value, sem) {
  if (!study.known || study.values.mean[row] === undefined) return 0;
  const spread = Math.hypot(study.values.std[row], sem ?? study.head.model?.noise ?? 0);
  const off = Math.abs(value - study.values.mean[row]) / spread;
  return off > 5 ? off : 0;
}

/** The trials pending, when there are several. */
export function waiting(page) {
  const { study, view } = page, { head } = study, box = $("waiting");
  box.hidden = head.pending.length < 2 || head.state === "read-only";
  if (box.hidden) return put(box, h("h2", { id: "waiting-title" }));
  const enter = (trial) => () => enterTrial(page, trial.trial);
  put(box, h("h2", { id: "waiting-title" }, `Pending: ${words.count(head.pending.length, "trial")}`),
    h("ol", { class: "waitlist", tabindex: "0", "aria-labelledby": "waiting-title" }, head.pending.map((trial) => {
      const here = trial.trial === view.current;
      return h("li", { class: here ? "now" : null, "aria-current": here ? "true" : null },
        h("span", { class: "sub" }, `#${trial.trial}`),
        h("span", { class: head.space.kind === "sequences" ? "mono" : null },
          words.region(head.space, trial.region), trial.replicate > 1 ? `, ${words.replicate(trial.replicate)}` : ""),
        h("button", { class: "link", type: "button", onclick: enter(trial), "aria-label": `enter the value of trial ${trial.trial}` }, "enter"));
    })),
    h("div", { class: "acts" }, h("a", { href: `${study.base}/export/questions.csv`, download: `${study.name}-questions.csv` }, "As a sheet to fill in (CSV)")));
}

/** Go to the form of another trial pending. */
export function enterTrial(page, number) {
  Object.assign(page.view, FRESH, { current: number });
  question(page);
  waiting(page);
  $("field-value")?.focus();
}
