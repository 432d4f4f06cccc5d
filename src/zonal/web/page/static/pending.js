// The trials pending: mine when there are several, and those of others, which can be taken over.
import { $, h, put } from "./dom.js";
import { introduced, me } from "./person.js";
import { fresh, mine, question } from "./question.js";
import * as words from "./words.js";

/** Draw the card of what is pending. */
export function waiting(page) {
  const { study, view } = page,
    { head } = study,
    box = $("waiting"),
    own = mine(head),
    others = head.pending.filter((trial) => !own.includes(trial));
  box.hidden = !(own.length > 1 || others.length) || head.state === "read-only";
  if (box.hidden) return put(box, h("h2", { id: "waiting-title" }));
  const list = (trials, label, link) =>
    trials.length > 0 &&
    h(
      "ol",
      { class: "waitlist", tabindex: "0", "aria-label": label, "data-key": label },
      trials.map((trial) => waitingTrial(head, view, trial, link(trial))),
    );
  const enter = (trial) =>
    link("enter", `enter the value of trial ${trial.trial}`, () => enterTrial(page, trial.trial));
  const take = (trial) =>
    link("take over", `take over trial ${trial.trial} from ${words.who(trial.by)}`, () =>
      takeOver(page, trial.trial),
    );
  put(
    box,
    h("h2", { id: "waiting-title" }, `Pending: ${words.count(head.pending.length, "trial")}`),
    own.length > 1 && list(own, "your trials", enter),
    others.length > 0 && h("p", { class: "sub", "data-key": "others" }, "With others:"),
    list(others, "trials with others", take),
    h(
      "div",
      { class: "acts", "data-key": "sheet" },
      h(
        "a",
        { href: `${study.base}/export/questions.csv`, download: `${study.name}-questions.csv` },
        "As a sheet to fill in (CSV)",
      ),
    ),
  );
}

const link = (text, label, onclick) =>
  h("button", { class: "link", type: "button", onclick, "aria-label": label }, text);

function waitingTrial(head, view, trial, act) {
  const here = trial.trial === view.current,
    by = trial.by === me() ? "" : `, ${words.who(trial.by)}`;
  return h(
    "li",
    { class: here ? "now" : null, "aria-current": here ? "true" : null, "data-key": `waits-${trial.trial}` },
    h("span", { class: "sub" }, `#${trial.trial}`),
    h(
      "span",
      { class: head.space.kind === "sequences" ? "mono" : null },
      words.region(head.space, trial.region),
      trial.replicate > 1 ? `, ${words.replicate(trial.replicate)}` : "",
      h("span", { class: "sub" }, by),
    ),
    act,
  );
}

/** Make a trial of somebody else mine, and go to its form. */
export async function takeOver(page, number) {
  const by = await introduced();
  if (!by) return;
  await page.act(`trials/${number}/claim`, { by });
  enterTrial(page, number);
}

/** Go to the form of another trial pending. */
export function enterTrial(page, number) {
  Object.assign(page.view, fresh(), { current: number });
  page.drawSoon();
  question(page);
  waiting(page);
  $("field-value")?.focus();
}
