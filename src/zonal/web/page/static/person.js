// Who sits at this page: a name, asked for once and kept by the browser. It is no account, and gives no rights.
import { dialogue, input, Mistyped } from "./dialog.js";
import { $, h, put } from "./dom.js";

const KEPT = "zonal-name";
const LONGEST = 60;
let unkept = ""; // where a browser keeps nothing

export function me() {
  try {
    return localStorage.getItem(KEPT) ?? unkept;
  } catch {
    return unkept;
  }
}

function keep(name) {
  unkept = name;
  try {
    localStorage.setItem(KEPT, name);
  } catch {
    // the name lasts as long as this page
  }
  show();
}

/** Ask who somebody is, if that is not known yet. Returns a promise of the name, "" if none was given. */
export async function introduced(again = false) {
  if (me() && !again) return me();
  await dialogue(
    "Your name",
    "It is written beside what you ask for, measure and correct, so that others see who did what. This browser remembers it.",
    [input("name", "name", me(), false, { autocomplete: "name", maxlength: LONGEST })],
    "Continue",
    async ({ name }) => {
      if (!name.trim())
        throw new Mistyped("Write your name, or what this place is called, such as bench 2.", "name");
      keep(name.trim());
    },
  );
  return me();
}

/** The button in the bar that says who sits here. */
export function show() {
  const name = me();
  const again = () => introduced(true);
  if (!$("person")) return;
  put(
    "person",
    h(
      "button",
      { class: "link", type: "button", id: "me", onclick: again },
      name ? `${name} (change)` : "Who are you?",
    ),
  );
}
