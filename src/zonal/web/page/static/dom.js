// Elements, and updates in place. Texts are always text nodes, styles never attributes: the content-security
// policy needs neither exception.
const SVG = "http://www.w3.org/2000/svg";

/** What listens to an element, by event: handlers can be replaced while the element stays. */
const HANDLERS = Symbol("handlers");
const call = (event) => event.currentTarget[HANDLERS]?.[event.type]?.(event);

const shown = (child) => child !== null && child !== undefined && child !== false;

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (!shown(value)) continue;
    if (name.startsWith("on")) listen(node, name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(3).filter(shown));
  return node;
}

function listen(node, type, handler) {
  if (!node[HANDLERS]?.[type]) node.addEventListener(type, call);
  node[HANDLERS] = { ...node[HANDLERS], [type]: handler };
}

/** @returns {any} an HTML element; attributes that begin with "on" are handlers of events */
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
/** @returns {any} an SVG element */
export const s = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);
/** @returns {any} the element of this id */
export const $ = (id) => document.getElementById(id);

/** Make what is inside an element the same as these children, with as few changes as possible: an element stays the
 * one it was if it has the same key (`data-key` or id), or else the same tag in the same place. So focus, clicks
 * that have begun, open details and what somebody types survive. */
export function put(where, ...children) {
  const node = typeof where === "string" ? $(where) : where;
  const wanted = document.createElement("template");
  wanted.append(...children.flat(3).filter(shown));
  reconcile(node, [...wanted.childNodes]);
}

const keyOf = (node) => node.dataset?.key ?? (node.id || null);
const alike = (old, fresh) => old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);

function reconcile(parent, wanted) {
  const keyed = new Map();
  for (const child of parent.childNodes) if (keyOf(child)) keyed.set(keyOf(child), child);
  const kept = new Set(wanted.map((fresh) => keyed.get(keyOf(fresh))));
  let at = parent.firstChild;
  for (const fresh of wanted) {
    const key = keyOf(fresh);
    while (at && keyOf(at) && !kept.has(at)) at = removed(at);
    const old = key ? keyed.get(key) : at;
    if (!old || !alike(old, fresh)) {
      parent.insertBefore(fresh, at);
      continue;
    }
    if (old === at) at = at.nextSibling;
    else move(parent, old, at);
    update(old, fresh);
  }
  while (at) at = removed(at);
}

function removed(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

/** Move a child; `moveBefore` keeps its focus where browsers have it. */
function move(parent, node, before) {
  if (parent.moveBefore) parent.moveBefore(node, before);
  else parent.insertBefore(node, before);
}

function update(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !isOfUser(old, name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) === value || isOfUser(old, name)) continue;
    old.setAttribute(name, value);
    if (name === "value" && "value" in old) old.value = value; // another value than before, not what is typed
    if (name === "checked") old.checked = true;
  }
  for (const [type, handler] of Object.entries(fresh[HANDLERS] ?? {})) listen(old, type, handler);
  for (const type of Object.keys(old[HANDLERS] ?? {})) {
    if (!fresh[HANDLERS]?.[type]) old[HANDLERS] = { ...old[HANDLERS], [type]: undefined };
  }
  if (old instanceof HTMLCanvasElement)
    old.replaceWith(fresh); // its pixels are in no attribute
  else if (!(old instanceof HTMLTextAreaElement)) reconcile(old, [...fresh.childNodes]);
}

/** Whether an attribute says what somebody did: opened details, or looks of a picture drawn by itself. */
const isOfUser = (node, name) => name === "open" && node instanceof HTMLDetailsElement;

/** Draw once a frame, however often it is called. */
export function once(draw) {
  let waiting = 0;
  return () => {
    waiting ||= requestAnimationFrame(() => {
      waiting = 0;
      draw();
    });
  };
}
