// Dialogs, their fields, and numbers as people type them.
import { h } from "./dom.js";
import * as words from "./words.js";

/** Ask in a dialog; `send` returns a promise, and what it is refused with is shown at the field. Returns a promise of
 * whether it was sent. While it sends, it cannot be sent again. */
export function dialogue(title, about, fields, button, send, { wide = false, typing = null } = {}) {
  const refusal = h("p", { class: "error", role: "alert", id: "dialog-refused", hidden: true });
  const sendButton = h("button", { class: "main" }, button);
  const accept = () => {
    refusal.hidden = true;
    for (const field of box.querySelectorAll("[aria-invalid]")) {
      field.removeAttribute("aria-invalid");
      field.removeAttribute("aria-describedby");
    }
  };
  const refuse = (text, name) => {
    refusal.hidden = false;
    refusal.textContent = text;
    const field = name && box.querySelector(`[name="${CSS.escape(name)}"]`);
    field?.setAttribute("aria-invalid", "true");
    field?.setAttribute("aria-describedby", "dialog-refused");
    field?.focus();
  };
  const working = (yes) => {
    sendButton.disabled = yes;
    sendButton.textContent = yes ? "Sending…" : button;
    box.setAttribute("aria-busy", String(yes));
  };
  let sent = false;
  const submit = async (event) => {
    event.preventDefault();
    if (sendButton.disabled) return;
    accept();
    working(true);
    try {
      await send(Object.fromEntries(new FormData(event.target)));
      sent = true;
      box.close();
    } catch (problem) {
      if (problem.status === undefined && !(problem instanceof Mistyped)) console.error(problem);
      refuse(problem.message, problem.field);
    } finally {
      working(false);
    }
  };
  const form = h(
    "form",
    { method: "dialog", novalidate: true, onsubmit: submit, oninput: () => typing?.(form) },
    h("h2", { id: "dialog-title", class: "verdict" }, title),
    about && h("p", { class: "sub" }, about),
    fields,
    refusal,
    h(
      "div",
      { class: "acts" },
      sendButton,
      h("button", { type: "button", onclick: () => box.close() }, "Cancel"),
    ),
  );
  const box = h("dialog", { class: wide ? "wide-dialog" : null, "aria-labelledby": "dialog-title" }, form);
  document.body.append(box);
  typing?.(form);
  box.showModal();
  box.querySelector("input, textarea")?.select?.();
  return new Promise((done) => {
    box.addEventListener("close", () => {
      box.remove();
      done(sent);
    });
  });
}

export class Mistyped extends Error {
  constructor(text, field) {
    super(text);
    this.field = field;
  }
}

/** A number that somebody typed, or an error at its field. */
export function numeric(text, what, field, needed = true, example = undefined) {
  if (!needed && !text?.trim()) return null;
  const read = words.typed(text ?? "", what, example);
  if (read.error) throw new Mistyped(read.error, field);
  return read.value;
}

/** What somebody typed as a reading, as fields to send, or an error at its field. */
export function measured(text, field) {
  const read = words.reading(text ?? "", "A value");
  if (read.error) throw new Mistyped(read.error, field);
  return read.measured;
}

/** A whole number from 1 on, or an error at its field. */
export function counted(text, what, field) {
  const n = numeric(text, what, field, true, "4");
  if (!Number.isInteger(n) || n < 1) {
    throw new Mistyped(
      `${what} must be a whole number from 1 on; got “${text}”. Write 4, for example.`,
      field,
    );
  }
  return n;
}

export const input = (name, label, value = "", optional = false, extra = {}) =>
  h(
    "label",
    {},
    label,
    optional && h("span", { class: "opt" }, " (optional)"),
    h("input", { name, value, autocomplete: "off", spellcheck: "false", ...extra }),
  );

export const choice = (name, label, options, extra = {}, chosen = null) =>
  h(
    "label",
    {},
    label,
    h(
      "select",
      { name, ...extra },
      options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
    ),
  );
