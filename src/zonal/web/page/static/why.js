// Why this answer, and why this question: the server's sentences, read when somebody opens them.
import { get } from "./api.js";
import { $, h, put } from "./dom.js";

const shown = new Map(); // by fold: what was asked, after which event, and the sentences

/** A fold with reasons: of a trial, or of the answer if `trial` is null. While it is open they follow every event. */
export function reasons(study, id, title, trial = null) {
  const url = `${study.base}/why${trial === null ? "" : `?trial=${trial}`}`,
    { event } = study.head,
    before = shown.get(id)?.url === url ? shown.get(id).sentences : [];
  const isRead = () => shown.get(id)?.url === url && shown.get(id).event === event;
  const read = async () => {
    if (!$(id)?.open || isRead()) return;
    shown.set(id, { url, event, sentences: before });
    const sentences = await get(url).then(
      (why) => why.sentences,
      (problem) => [problem.message],
    );
    if (!isRead()) return; // something happened meanwhile, and is being read
    shown.set(id, { url, event, sentences });
    if ($(id)) put(`${id}-sentences`, paragraphs(sentences));
  };
  queueMicrotask(read); // it may be open from before
  return h(
    "details",
    { id, ontoggle: read },
    h("summary", {}, title),
    h("div", { id: `${id}-sentences`, "aria-live": "polite" }, paragraphs(before)),
  );
}

const paragraphs = (sentences) => sentences.map((sentence) => h("p", { class: "sub" }, sentence));
