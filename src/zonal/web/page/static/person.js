// Who sits at this page: a name, asked for once and kept by the browser. It is no account, and gives no rights.
import { post } from "./api.js";
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

/** Have the browser forget what it was given for the token. */
async function signOut() {
  await post("/logout");
  location.assign("/login");
}

/** The button in the bar that says who sits here, and, where there is a token, the one that signs out. */
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
    document.documentElement.dataset.signedIn !== undefined &&
      h("button", { class: "link", type: "button", id: "sign-out", onclick: signOut }, "Sign out"),
  );
}
