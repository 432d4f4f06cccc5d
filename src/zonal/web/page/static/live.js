// One stream a page, closed while nobody looks: browsers open only six connections to a server.
import { $ } from "./dom.js";

/** Say whether the page is connected. */
export function say(text, off) {
  $("live").textContent = text;
  $("live").classList.toggle("off", off);
}

/** Call `news` with every event, and with null when the stream is there again, or refused. `address` is asked for anew
 * on each connection. Returns what ends it. */
export function live(address, news) {
  let source = null,
    again = 0,
    lost = false,
    ended = false;
  function open() {
    if (source || ended || document.hidden) return;
    source = new EventSource(address());
    source.onopen = () => {
      say("live", false);
      if (lost) news(null);
      lost = false;
    };
    source.onmessage = (event) => news(JSON.parse(event.data));
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) news(null); // it was answered: perhaps the study is gone
      say("connection lost; trying again", true);
      lost = true;
      close();
      clearTimeout(again);
      again = setTimeout(open, 1000);
    };
  }
  function close() {
    source?.close();
    source = null;
  }
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) return open();
    close();
    lost = true;
    say("paused", true);
  });
  open();
  return () => {
    ended = true;
    close();
  };
}

const AGAIN = 2000; // milliseconds after which work is tried again that the server did not answer

/** Run `work` at most once in so many milliseconds, the last call wins, one at a time. */
export function calm(work, pause) {
  let running = false,
    wanted = false;
  return async function run() {
    wanted = true;
    if (running) return;
    running = true;
    while (wanted) {
      wanted = false;
      try {
        await work();
      } catch (problem) {
        if (problem.status === undefined) console.error(problem);
        else if (problem.status === 0 || problem.status >= 500) setTimeout(run, AGAIN);
      }
      await new Promise((done) => setTimeout(done, pause));
    }
    running = false;
  };
}
