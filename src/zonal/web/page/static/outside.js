// Earlier measurements, and sheets that were filled in.
import { dialogue, input, measured, numeric } from "./dialog.js";
import { $, h, put } from "./dom.js";
import * as words from "./words.js";

/** Earlier measurements: a list, and a form for another one. */
export function observed(page) {
  const { study } = page,
    { head } = study,
    list = study.trials.observed,
    of = head.value.unit;
  if (head.state === "read-only" && !list.length) return put("observed");
  const send = (typed) =>
    page.send("observe", {
      region: typed.region,
      ...measured(typed.value, "value"),
      sem: numeric(typed.sem, "A standard error", "sem", false),
      note: typed.note,
      ...(head.labels.length ? { labels: labels(typed) } : {}),
    });
  const labels = (typed) =>
    Object.fromEntries(
      head.labels.map((name, i) => [name, typed[`label-${i}`]]).filter(([, text]) => text.trim()),
    );
  const noted = list.some((observation) => observation.note);
  const add = () =>
    dialogue(
      "An earlier measurement",
      "Any region that was measured before, or elsewhere. It costs no budget.",
      [
        input("region", "region", "", false, { placeholder: words.example(head.space) }),
        input("value", words.labelled(head.value.name, of), "", false, { inputmode: "decimal" }),
        input("sem", "standard error", "", true, { inputmode: "decimal" }),
        ...head.labels.map((name, i) => input(`label-${i}`, name, "", true)),
        input("note", "note", "", true),
      ],
      "Add it",
      send,
    );
  const undo = (at) => () =>
    dialogue(
      "Retract this measurement?",
      "The search goes on as if it had not been made. The journal keeps the value.",
      [input("note", "why", "", true)],
      "Retract it",
      (typed) => page.send(`trials/${at}/retract`, { observation: true, note: typed.note }),
    );
  put(
    "observed",
    list.length > 0 &&
      h(
        "table",
        { "data-key": "observations" },
        h("caption", {}, "Earlier measurements"),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}, "region"),
            h("th", { class: "num" }, words.labelled(head.value.name, of)),
            h("th", {}, "state"),
            noted && h("th", {}, "note"),
            h("th", {}, h("span", { class: "unseen" }, "actions")),
          ),
        ),
        h(
          "tbody",
          {},
          list.map((observation, at) =>
            h(
              "tr",
              { class: observation.state === "retracted" ? "gone" : null, "data-key": `observation-${at}` },
              h(
                "td",
                {},
                words.region(head.space, observation.region),
                observation.slope && `: slope along ${observation.slope}`,
                observation.minus && ` less ${observation.minus}`,
              ),
              h(
                "td",
                { class: "num" },
                h("b", { title: words.exact(observation.value) }, words.short(observation.value)),
              ),
              h("td", {}, observation.state),
              noted && h("td", { class: "note" }, observation.note),
              h(
                "td",
                { class: "acts-cell" },
                observation.state === "observed" &&
                  head.state !== "read-only" &&
                  h(
                    "button",
                    {
                      class: "link",
                      type: "button",
                      "aria-label": `retract observation ${at}`,
                      onclick: undo(at),
                    },
                    "retract",
                  ),
              ),
            ),
          ),
        ),
      ),
    head.state !== "read-only" &&
      h(
        "div",
        { class: "acts", "data-key": "acts" },
        h(
          "button",
          { class: "small", type: "button", id: "observe", onclick: add },
          "Add an earlier measurement…",
        ),
        h(
          "button",
          { class: "small", type: "button", id: "upload", onclick: () => upload(page) },
          "Upload a filled-in sheet…",
        ),
        h("span", { id: "taken", class: "sub", role: "status" }, $("taken")?.textContent ?? ""),
      ),
  );
}
/** Take in a sheet of questions that somebody filled in; all of it, or nothing and why. */
function upload(page) {
  const file = h(
    "label",
    {},
    "the sheet, as CSV",
    h("input", { name: "sheet", type: "file", accept: ".csv,.tsv,text/csv" }),
  );
  const also = h(
    "label",
    { class: "check" },
    h("input", { name: "correct", type: "checkbox" }),
    " also overwrite values entered earlier",
  );
  const old = h(
    "label",
    { class: "check" },
    h("input", { name: "changed", type: "checkbox" }),
    " also take rows of trials that changed meanwhile",
  );
  dialogue(
    "A sheet that was filled in",
    "Download pending trials as a sheet. Fill in its column “value”, and “sem” and “note” if you like; rows left empty stay pending.",
    [file, also, old],
    "Save",
    async (typed) => {
      const csv = decoded(await typed.sheet.arrayBuffer());
      const taken = await page.send("sheet", {
        csv,
        correct: typed.correct === "on",
        changed: typed.changed === "on",
      });
      const parts = [
        [taken.new, "measured"],
        [taken.corrected, "corrected"],
        [taken.known, "known already"],
        [taken.outdated.length, "left out"],
        [taken.empty, "left empty"],
        [taken.notes, "notes kept"],
      ];
      const left = taken.outdated.map(
        (row) => ` Row ${row.row} was left out: trial ${row.trial} ${row.how} after the sheet was written.`,
      );
      const unkept = taken.notes_left.map(
        (row) => ` Row ${row.row}: its note was left out, since trial ${row.trial} ${row.how}.`,
      );
      put(
        "taken",
        `The sheet: ${parts
          .filter(([n]) => n)
          .map(([n, what]) => `${n} ${what}`)
          .join(", ")}.${[...left, ...unkept].join("")}`,
      );
    },
  );
}

/** The text of a sheet: UTF-8, or else as Excel on Windows saves plain CSV. */
export function decoded(content) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    return new TextDecoder("windows-1252").decode(content);
  }
}
