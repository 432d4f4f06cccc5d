// The trials, newest first, with correct and retract; and measurements from outside.
import { $, h, put } from "./dom.js";
import { enterTrial } from "./question.js";
import * as words from "./words.js";

const GONE = ["failed", "cancelled", "retracted"];

function where(study, i) {
  const { trials: t, head } = study;
  return study.shape ? words.region(head.space, study.region(t.row[i])) : t.where[i];
}

/** Draw the table of trials. */
export function trials(page) {
  const { study, view } = page, { trials: t, head } = study, of = head.value.unit, fixed = head.state === "read-only";
  observed(page);
  if (!t.number.length) return put("trials", h("p", { class: "blank" }, "No trials yet."));
  const wanted = view.filter.trim().toLowerCase(), rows = [];
  let matching = 0;
  for (let i = t.number.length - 1; i >= 0; i--) {
    const n = t.number[i];
    if (wanted && !`#${n} ${where(study, i)} ${t.state[i]} ${t.note[n] ?? ""}`.toLowerCase().includes(wanted)) continue;
    if (matching++ < view.shown) rows.push(i);
  }
  const columns = { noisy: t.sem.some((sem) => sem !== null), noted: Object.keys(t.note).length > 0, fixed };
  const prices = [["time", t.time], ["cost", t.cost]].filter(([, column]) => column);
  const axes = study.shape && head.space.axes;
  const titles = axes ? axes.map((axis) => h("th", { class: axis.symbols ? null : "num" }, words.labelled(axis.name, axis.unit))) : [h("th", {}, "region")];
  const more = () => { view.shown += 100; trials(page); };
  put("trials",
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "trials-title" }, h("table", { class: "trials" },
      h("thead", {}, h("tr", {}, h("th", { class: "num" }, "trial"), titles, h("th", { class: "num" }, words.labelled(head.value.name, of)),
        columns.noisy && h("th", { class: "num" }, "standard error"), prices.map(([name]) => h("th", { class: "num" }, words.labelled(name, head.cost.unit))), h("th", { class: "num" }, "replicate"), h("th", {}, "state"), h("th", {}, "when"),
        columns.noted && h("th", {}, "note"), !fixed && h("th", {}, h("span", { class: "unseen" }, "actions")))),
      h("tbody", {}, rows.map((i) => line(page, i, axes, prices, columns))))),
    h("div", { class: "more" }, `${words.whole(rows.length)} of ${words.whole(matching)}${wanted ? " found" : ""}, newest first.`,
      matching > rows.length && h("button", { class: "small", type: "button", onclick: more }, "Show 100 more")));
}

function line(page, i, axes, prices, columns) {
  const { study } = page, { trials: t, head } = study, n = t.number[i], state = t.state[i];
  const parts = axes ? words.parts(head.space, study.region(t.row[i]).part).map(([, part], j) => h("td", {
    class: axes[j].symbols ? "where" : "where num", "data-name": axes[j].name,
  }, axes[j].unit ? part.replace(`\u202f${axes[j].unit}`, "") : part)) :
    [h("td", { class: head.space.kind === "sequences" ? "where mono" : "where" }, where(study, i))];
  const before = t.earlier[n]?.map((value) => words.exact(value.value)).join(", ");
  return h("tr", { class: GONE.includes(state) ? "gone" : null, id: `trial-${n}` },
    h("td", { class: "num no" }, h("span", { class: "hash" }, "#"), String(n)), parts,
    h("td", { class: "num val" }, t.value[i] !== null && h("b", { title: words.exact(t.value[i]) }, words.short(t.value[i])), t.minus[n] && h("span", { class: "sub" }, ` less ${t.minus[n]}`), before && h("del", { title: "before the correction" }, ` ${before}`)),
    columns.noisy && h("td", { class: t.sem[i] === null ? "num nothing" : "num", "data-name": "standard error" }, t.sem[i] === null ? "" : words.exact(t.sem[i])),
    prices.map(([name, column]) => h("td", { class: "num", "data-name": name, title: words.exact(column[i]) }, words.number(column[i]))),
    h("td", { class: "num", "data-name": "replicate" }, String(t.replicate[i])),
    h("td", { class: state === "measured" ? "measured" : null }, state === "pending" ? h("span", { class: "pill waiting" }, "pending") : head.failed?.[t.row[i]] && state === "failed" ? "failed for good" : before && state === "measured" ? "corrected" : state),
    h("td", { class: t.ended[i] ? "when" : "when nothing" }, t.ended[i].slice(0, 16).replace("T", " ")),
    columns.noted && h("td", { class: t.note[n] ? "note" : "note nothing" }, t.note[n] ?? ""),
    !columns.fixed && h("td", { class: "acts-cell" }, actions(page, i)));
}

function actions(page, i) {
  const { trials: t } = page.study, n = t.number[i];
  const link = (text, label, onclick) => h("button", { class: "link", type: "button", "aria-label": `${label} ${n}`, onclick }, text);
  if (t.state[i] === "pending") return link("enter", "enter the value of trial", () => enterTrial(page, n));
  if (t.state[i] === "failed" && t.row[i] in (page.study.head.failed ?? {})) return link("allow", "take back the failure of trial", () => allow(page, i));
  if (t.state[i] !== "measured") return "";
  return [link("correct", "correct trial", () => change(page, i, false)), " ", link("retract", "retract trial", () => change(page, i, true))];
}

/** Ask in a dialog; `send` returns a promise, and what it is refused with is shown at the field. */
export function dialogue(title, about, fields, button, send) {
  const refusal = h("p", { class: "error", role: "alert", id: "dialog-refused", hidden: true });
  const refuse = (text, name) => {
    refusal.hidden = false;
    refusal.textContent = text;
    const input = box.querySelector(`[name="${name}"]`);
    input?.setAttribute("aria-invalid", "true");
    input?.setAttribute("aria-describedby", "dialog-refused");
    input?.focus();
  };
  const submit = async (event) => {
    event.preventDefault();
    for (const input of event.target.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
    try {
      await send(Object.fromEntries(new FormData(event.target)));
      box.close();
    } catch (problem) { refuse(problem.message, problem.field ?? "value"); }
  };
  const box = h("dialog", { "aria-labelledby": "dialog-title" }, h("form", { method: "dialog", novalidate: true, onsubmit: submit },
    h("h2", { id: "dialog-title", class: "verdict" }, title), h("p", { class: "sub" }, about), fields, refusal,
    h("div", { class: "acts" }, h("button", { class: "main" }, button), h("button", { type: "button", onclick: () => box.close() }, "Cancel"))));
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
  box.querySelector("input")?.select();
}

export class Mistyped extends Error {
  constructor(text, field) { super(text); this.field = field; }
}
/** A number that somebody typed, or an error at its field. */
export function numeric(text, what, field, needed = true) {
  if (!needed && !text.trim()) return null;
  const read = words.typed(text, what);
  if (read.error) throw new Mistyped(read.error, field);
  return read.value;
}
export const input = (name, label, value = "", optional = false, extra = {}) => h("label", {}, label, optional && h("span", { class: "opt" }, " (optional)"),
  h("input", { name, value, autocomplete: "off", spellcheck: "false", ...extra }));

/** Take back what was held against a region. */
function allow(page, i) {
  const { study } = page, { trials: t, head } = study, row = t.row[i];
  const now = head.failed[row] ? "It is not asked for any more." : "Failed three times in a row it would not be asked for any more.";
  dialogue("Allow it again?", `${where(study, i)} could not be measured. ${now} If that has changed, it may be asked for again.`, [], "Allow it",
    () => page.send("allow", { region: { row } }));
}

/** Take in a sheet of questions that somebody filled in; all of it, or nothing and why. */
function upload(page) {
  const file = h("label", {}, "the sheet, as CSV", h("input", { name: "sheet", type: "file", accept: ".csv,.tsv,text/csv" }));
  const also = h("label", { class: "check" }, h("input", { name: "correct", type: "checkbox" }), " also correct what was measured otherwise before");
  const old = h("label", { class: "check" }, h("input", { name: "changed", type: "checkbox" }), " also take rows of trials that changed since");
  dialogue("A sheet that was filled in", "The questions pending can be taken away as a sheet. Fill in its column “value”, and “sem” and “note” as you like; rows left empty wait.",
    [file, also, old], "Save", async (typed) => {
      const csv = decoded(await typed.sheet.arrayBuffer());
      const taken = await page.send("sheet", { csv, correct: typed.correct === "on", changed: typed.changed === "on" });
      const parts = [[taken.new, "measured"], [taken.corrected, "corrected"], [taken.known, "known already"],
        [taken.outdated.length, "left out"], [taken.empty, "left empty"], [taken.notes, "notes kept"]];
      const left = taken.outdated.map((row) => ` Row ${row.row} was left out: trial ${row.trial} ${row.how} after the sheet was written.`);
      const unkept = taken.notes_left.map((row) => ` Row ${row.row}: its note was left out, since trial ${row.trial} ${row.how}.`);
      put("taken", `The sheet: ${parts.filter(([n]) => n).map(([n, what]) => `${n} ${what}`).join(", ")}.${[...left, ...unkept].join("")}`);
    });
}

/** The text of a sheet: UTF-8, or else as Excel on Windows saves plain CSV. */
function decoded(content) {
  try { return new TextDecoder("utf-8", { fatal: true }).decode(content); } catch { return new TextDecoder("windows-1252").decode(content); }
}

/** Correct or retract a measured value; nothing is lost: the journal keeps the old one. */
function change(page, i, retract) {
  const { study } = page, { trials: t, head } = study, n = t.number[i], of = head.value.unit;
  const about = `${where(study, i)}, measured as ${words.unit(words.exact(t.value[i]), of)}${words.stop(of)} ` + (retract ?
    "The search goes on as if it had not been measured, and the budget gets it back. The journal keeps the value." :
    "The search goes on with the new value. The journal keeps the old one.");
  const value = !retract && input("value", words.labelled(head.value.name, of), String(t.value[i]), false, { class: "value", inputmode: "decimal" });
  dialogue(retract ? `Retract trial ${n}?` : `Correct trial ${n}`, about, [value, input("note", "why", "", true)], retract ? "Retract it" : "Save",
    (typed) => page.send(`trials/${n}/${retract ? "retract" : "correct"}`,
      retract ? { note: typed.note, by: "the page" } : { value: numeric(typed.value, "A value", "value"), note: typed.note, by: "the page" }));
}

/** Measurements from outside: a list, and a form for another one. */
function observed(page) {
  const { study } = page, { head } = study, list = study.trials.observed, of = head.value.unit;
  if (head.state === "read-only" && !list.length) return put("observed");
  const send = (typed) => page.send("observe", {
    region: typed.region, value: numeric(typed.value, "A value", "value"), sem: numeric(typed.sem, "A standard error", "sem", false), note: typed.note,
  });
  const noted = list.some((observation) => observation.note);
  const add = () => dialogue("A measurement from outside", "An earlier measurement of any region. It costs no budget.",
    [input("region", "region", "", false, { placeholder: words.example(head.space) }), input("value", words.labelled(head.value.name, of), "", false, { inputmode: "decimal" }),
      input("sem", "standard error", "", true, { inputmode: "decimal" }), input("note", "note", "", true)], "Add it", send);
  const undo = (at) => page.act(`trials/${at}/retract`, { observation: true, by: "the page" });
  put("observed", list.length > 0 && h("table", {}, h("caption", {}, "Measurements from outside"),
    h("thead", {}, h("tr", {}, h("th", {}, "region"), h("th", { class: "num" }, words.labelled(head.value.name, of)), h("th", {}, "state"), noted && h("th", {}, "note"), h("th", {}, h("span", { class: "unseen" }, "actions")))),
    h("tbody", {}, list.map((observation, at) => h("tr", { class: observation.state === "retracted" ? "gone" : null }, h("td", {}, words.region(head.space, observation.region), observation.slope && `: slope along ${observation.slope}`, observation.minus && ` less ${observation.minus}`),
      h("td", { class: "num" }, h("b", { title: words.exact(observation.value) }, words.short(observation.value))), h("td", {}, observation.state), noted && h("td", { class: "note" }, observation.note),
      h("td", { class: "acts-cell" }, observation.state === "observed" && head.state !== "read-only" &&
        h("button", { class: "link", type: "button", "aria-label": `retract observation ${at}`, onclick: () => undo(at) }, "retract")))))),
  head.state !== "read-only" && h("div", { class: "acts" }, h("button", { class: "small", type: "button", id: "observe", onclick: add }, "Add a measurement from outside…"),
    h("button", { class: "small", type: "button", id: "upload", onclick: () => upload(page) }, "Tell a filled-in sheet…"),
    h("span", { id: "taken", class: "sub", role: "status" }, $("taken")?.textContent ?? "")));
}
