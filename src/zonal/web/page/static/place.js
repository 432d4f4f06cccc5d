// Where somebody looks, in the address: a link shows the same picture to somebody else, and a reload keeps it.
const MODES = ["mean", "std", "chance"];

const whole = (text) => (/^\d{1,9}$/.test(text ?? "") ? Number(text) : undefined);

function numbers(text) {
  const found = (text ?? "").split(",").map(whole);
  return found.length === 2 && !found.includes(undefined) ? found : undefined;
}

/** The slice through further axes, {axis: [low, high]}; undefined if it is none. */
function sliced(text) {
  try {
    const found = JSON.parse(text ?? "null");
    const fits = (part) => Array.isArray(part) && part.length === 2 && part.every(Number.isFinite);
    return found && Object.values(found).length && Object.values(found).every(fits) ? found : undefined;
  } catch {
    return undefined;
  }
}

/** What an address says of the view; what it does not say, or says wrongly, is left out. */
export function readPlace(hash = location.hash) {
  const said = new URLSearchParams(hash.slice(1)),
    threshold = Number(said.get("threshold") ?? NaN);
  const place = {
    mode: MODES.includes(said.get("view")) ? said.get("view") : undefined,
    threshold: Number.isFinite(threshold) ? threshold : undefined,
    cells: { cells: true, function: false }[said.get("draw")],
    root: whole(said.get("zoom")),
    pair: numbers(said.get("pair")),
    slice: sliced(said.get("slice")),
  };
  return Object.fromEntries(Object.entries(place).filter(([, value]) => value !== undefined));
}

/** The address of a view: what differs from the usual. */
export function placeOf(view) {
  const said = new URLSearchParams();
  if (view.mode && view.mode !== view.usualMode) said.set("view", view.mode);
  if (view.mode === "chance" && view.threshold !== null) said.set("threshold", String(view.threshold));
  if (view.cells !== undefined) said.set("draw", view.cells ? "cells" : "function");
  if (view.root) said.set("zoom", String(view.root));
  if (view.pair) said.set("pair", view.pair.join(","));
  if (view.slice) said.set("slice", JSON.stringify(view.slice));
  const text = said.toString();
  return text ? `#${text}` : "";
}

export const writePlace = (view) =>
  history.replaceState(null, "", `${location.pathname}${location.search}${placeOf(view)}`);

/** The trial that an address leads to, null if it leads to none. */
export const trialOf = (hash) => whole(hash.match(/^#trial-(\d+)$/)?.[1]) ?? null;
