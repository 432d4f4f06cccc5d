// Small helpers. Texts are always text nodes, styles never attributes: the content-security policy needs neither exception.
const SVG = "http://www.w3.org/2000/svg";
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const $ = (id) => document.getElementById(id);
export const put = (where, ...children) => (typeof where === "string" ? $(where) : where).replaceChildren(
  ...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
/** Draw once a frame, however often it is called. */
export function once(draw) {
  let waiting = 0;
  return () => { waiting ||= requestAnimationFrame(() => { waiting = 0; draw(); }); };
}
