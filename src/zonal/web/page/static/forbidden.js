// What was forbidden since the study began: a list, each of which may be allowed again, and a form for another one.
import { dialogue, input } from "./dialog.js";
import { h, put } from "./dom.js";
import * as words from "./words.js";

export function forbidden(page) {
  const { head } = page.study,
    list = head.forbidden ?? [],
    fixed = head.state === "read-only";
  if (fixed && !list.length) return put("forbidden");
  const send = (typed) => page.send("forbid", { region: typed.region, note: typed.note });
  const add = () =>
    dialogue(
      "Forbid a region",
      "Nothing that overlaps it is asked for or recommended any more. What was measured there still counts, and questions pending there stay. It can be allowed again.",
      [
        input("region", "region", "", false, { placeholder: words.example(head.space) }),
        input("note", "why", "", true),
      ],
      "Forbid it",
      send,
    );
  const allow = (entry) => page.act("allow", { region: entry.region });
  put(
    "forbidden",
    list.length > 0 &&
      h(
        "table",
        {},
        h("caption", {}, "Forbidden since the study began"),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", {}, "region"),
            h("th", {}, "note"),
            h("th", {}, "by"),
            h("th", {}, h("span", { class: "unseen" }, "actions")),
          ),
        ),
        h(
          "tbody",
          {},
          list.map((entry) =>
            h(
              "tr",
              {},
              h("td", {}, entry.text),
              h("td", {}, entry.note),
              h("td", {}, words.who(entry.by)),
              h(
                "td",
                { class: "acts-cell" },
                !fixed &&
                  h(
                    "button",
                    {
                      class: "link",
                      type: "button",
                      "aria-label": `allow ${entry.text} again`,
                      onclick: () => allow(entry),
                    },
                    "allow",
                  ),
              ),
            ),
          ),
        ),
      ),
    !fixed &&
      h(
        "div",
        { class: "acts" },
        h("button", { class: "small", type: "button", id: "forbid", onclick: add }, "Forbid a region…"),
      ),
  );
}
