() => {
  const wrong = [];
  const shown = (e) => e.getClientRects().length && getComputedStyle(e).visibility !== "hidden";
  const all = (what) => [...document.querySelectorAll(what)];
  const named = (e) => (e.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join("");
  const name = (e) => [e.getAttribute("aria-label"), e.labels?.[0]?.textContent, e.textContent, e.title, named(e)].some((own) => own?.trim());
  for (const e of all("a[href], button, input, select, textarea, summary, [tabindex='0']")) {
    if (shown(e) && !name(e)) wrong.push(`no name: ${e.outerHTML.slice(0, 120)}`);
  }
  for (const e of all("img:not([alt]), svg:not([aria-hidden]):not([role])")) {
    if (!e.closest("[aria-hidden]") && shown(e)) wrong.push(`no alternative: ${e.outerHTML.slice(0, 120)}`);
  }
  if (all("main").length !== 1) wrong.push("not one main");
  if (all("h1").length < 1) wrong.push("no h1");
  const ids = all("[id]").map((e) => e.id);
  for (const id of new Set(ids)) if (ids.filter((own) => own === id).length > 1) wrong.push(`id twice: ${id}`);
  for (const e of all("[aria-labelledby], [aria-describedby]")) {
    const meant = [e.getAttribute("aria-labelledby"), e.getAttribute("aria-describedby")].filter(Boolean).join(" ").split(" ");
    for (const id of meant) if (!document.getElementById(id)) wrong.push(`no such id: ${id}`);
  }
  const ROLES = ["alert", "application", "dialog", "img", "region", "status"];
  for (const e of all("[role]")) if (!ROLES.includes(e.getAttribute("role"))) wrong.push(`role: ${e.getAttribute("role")}`);
  for (const e of all("[role=application], [role=region], [role=img], dialog, section, fieldset, nav")) {
    if (shown(e) && !(e.getAttribute("aria-label") ?? named(e)).trim()) wrong.push(`no name: ${e.outerHTML.slice(0, 80)}`);
  }
  const STATES = { invalid: ["true"], hidden: ["true"], live: ["polite"], current: ["true"] };
  for (const [name, known] of Object.entries(STATES)) {
    for (const e of all(`[aria-${name}]`)) if (!known.includes(e.getAttribute(`aria-${name}`))) wrong.push(`aria-${name}: ${e.outerHTML.slice(0, 80)}`);
  }
  for (const e of all("[aria-hidden=true] :is(a[href], button, input, select, textarea, [tabindex])")) wrong.push(`focus in what is hidden: ${e.outerHTML.slice(0, 80)}`);
  for (const e of all("[tabindex]")) if (Number(e.getAttribute("tabindex")) > 0) wrong.push("tabindex above 0");
  let level = 0; // headings do not skip one
  for (const e of all("h1, h2, h3, h4").filter(shown)) {
    const own = Number(e.tagName[1]);
    if (own > level + 1) wrong.push(`h${own} after h${level}: ${e.textContent.slice(0, 40)}`);
    level = own;
  }
  for (const e of all("table")) if (shown(e) && !e.querySelector("th")) wrong.push("a table without headers");
  if (!document.documentElement.lang || !document.title.trim()) wrong.push("no language or title");
  for (const e of all("button, select, [type=range], input:not([type=radio], [type=checkbox], [type=file])")) {
    if (shown(e) && e.getBoundingClientRect().height < 20 && !e.classList.contains("link")) wrong.push(`too small to touch: ${e.outerHTML.slice(0, 80)}`);
  }
  for (const e of all("th")) if (shown(e) && !e.textContent.trim()) wrong.push("empty th");
  const rgb = (text) => text.match(/[\d.]+/g).map(Number);
  const linear = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const own = rgb(getComputedStyle(at).backgroundColor);
      if ((own[3] ?? 1) > 0.99) return own;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const e = text.parentElement;
    if (!text.textContent.trim() || !shown(e) || e.closest("noscript, .unseen, .skip, button:disabled, .tag")) continue;
    const style = getComputedStyle(e), size = parseFloat(style.fontSize), ink = e.closest("svg") ? style.fill : style.color;
    const [high, low] = [light(rgb(ink)), light(ground(e))].sort((a, b) => b - a), ratio = (high + 0.05) / (low + 0.05);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) wrong.push(`contrast ${ratio.toFixed(2)}: ${text.textContent.trim().slice(0, 40)}`);
  }
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) wrong.push(`sideways: ${wide} > ${innerWidth}`);
  return wrong;
}
