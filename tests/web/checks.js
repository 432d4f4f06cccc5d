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
    if (!text.textContent.trim() || !shown(e) || e.closest("svg, noscript, .unseen, .skip, button:disabled")) continue;
    const style = getComputedStyle(e), size = parseFloat(style.fontSize);
    const [high, low] = [light(rgb(style.color)), light(ground(e))].sort((a, b) => b - a), ratio = (high + 0.05) / (low + 0.05);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) wrong.push(`contrast ${ratio.toFixed(2)}: ${text.textContent.trim().slice(0, 40)}`);
  }
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) wrong.push(`sideways: ${wide} > ${innerWidth}`);
  return wrong;
}
