// A picture to take away, as SVG or PNG: what is on the page, with its title and its scale, and nothing else needed.
import { h, put, s } from "./dom.js";

const PROPERTIES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "paint-order",
  "font-size",
  "font-weight",
  "font-family",
];
const MARGIN = 14;
const SHARP = 2; // pixels of a PNG for one of the page

/** A copy of marks that carries its styles itself. */
function styled(node) {
  const copy = node.cloneNode(false),
    style = getComputedStyle(node);
  copy.removeAttribute("class");
  copy.removeAttribute("aria-hidden");
  if (!["svg", "g"].includes(node.localName)) {
    for (const name of PROPERTIES) copy.setAttribute(name, style.getPropertyValue(name));
  } else copy.setAttribute("opacity", style.opacity);
  copy.append(
    ...[...node.childNodes].map((child) =>
      child.nodeType === Node.ELEMENT_NODE ? styled(child) : child.cloneNode(),
    ),
  );
  return copy;
}

/** One drawing of everything: title, pictures, captions, scale. `pixels` has the canvas of each image of it. */
function composed(host, legend, title) {
  const frame = host.getBoundingClientRect(),
    ink = getComputedStyle(host).color,
    font = getComputedStyle(host).fontFamily,
    paper = getComputedStyle(host).getPropertyValue("--paper").trim(),
    pixels = new Map(),
    top = MARGIN + 24;
  const text = (x, y, words, size = 12.5, weight = 400) =>
    s(
      "text",
      { x, y, fill: ink, "font-size": `${size}px`, "font-weight": weight, "font-family": font },
      words,
    );
  const image = (canvas, x, y, width, height) => {
    const node = s("image", { x, y, width, height, "data-picture": pixels.size }); // loads nothing yet
    pixels.set(node, canvas);
    return node;
  };
  const parts = [text(MARGIN, MARGIN + 8, title, 14, 600)];
  for (const field of host.querySelectorAll(".field")) {
    const box = field.getBoundingClientRect(),
      x = MARGIN + box.left - frame.left,
      y = top + box.top - frame.top,
      canvas = field.querySelector("canvas"),
      caption = field.closest("figure")?.querySelector("figcaption");
    if (caption) parts.push(text(x, y - 6, caption.textContent));
    if (canvas) parts.push(image(canvas, x, y, box.width, box.height));
    const marks = styled(field.querySelector("svg"));
    parts.push(s("g", { transform: `translate(${x} ${y})` }, ...marks.childNodes));
  }
  let height = top + frame.height + 10;
  const scale = legend?.querySelector(".scalebar");
  if (scale) {
    const canvas = scale.querySelector("canvas"),
      [low, high] = [...scale.querySelectorAll(".ends span")].map((end) => end.textContent),
      tall = canvas.height;
    const said = ["certain", "uncertain"].filter(() => scale.querySelector(".fade"));
    parts.push(text(MARGIN, height + 12, scale.querySelector(".title").textContent));
    parts.push(image(canvas, MARGIN, height + 18, 200, tall));
    said.forEach((words, at) => parts.push(text(MARGIN + 208, height + 28 + at * (tall - 10), words, 11.5)));
    const end = text(MARGIN + 200, height + 32 + tall, high, 11.5);
    end.setAttribute("text-anchor", "end");
    parts.push(text(MARGIN, height + 32 + tall, low, 11.5), end);
    height += 40 + tall;
  }
  const width = frame.width + 2 * MARGIN;
  const root = s(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}` },
    s("rect", { width, height, fill: paper }),
    ...parts,
  );
  return { root, pixels, width, height };
}

const numberOf = (node, name) => parseFloat(node.getAttribute(name) ?? "0") || 0;

/** The outline of a mark. */
export function outline(node) {
  if (node.localName === "path") return new Path2D(node.getAttribute("d"));
  const path = new Path2D(),
    at = (name) => numberOf(node, name);
  if (node.localName === "rect") path.rect(at("x"), at("y"), at("width"), at("height"));
  if (node.localName === "circle") path.arc(at("cx"), at("cy"), at("r"), 0, 7);
  if (node.localName === "line") {
    path.moveTo(at("x1"), at("y1"));
    path.lineTo(at("x2"), at("y2"));
  }
  return path;
}

/** Draw a composed picture: browsers load no SVG into a canvas under this page's content-security policy. */
function paint(context, node, pixels) {
  const alpha = node.getAttribute("opacity") ?? "1",
    given = (name) => node.getAttribute(name) ?? "none";
  context.save();
  context.globalAlpha *= Number(alpha);
  const [, x, y] = given("transform").match(/translate\(([-\d.e]+) ([-\d.e]+)\)/) ?? [];
  if (x !== undefined) context.translate(Number(x), Number(y));
  const [, size] = given("transform").match(/scale\(([-\d.e]+)\)/) ?? [];
  if (size !== undefined) context.scale(Number(size), Number(size));
  if (node.localName === "image") {
    context.drawImage(pixels.get(node), ...["x", "y", "width", "height"].map((name) => numberOf(node, name)));
  } else if (!["svg", "g"].includes(node.localName)) {
    draw(context, node, given);
  }
  for (const child of node.children) paint(context, child, pixels);
  context.restore();
}

function draw(context, node, given) {
  const words = node.localName === "text",
    path = words ? null : outline(node);
  context.lineWidth = numberOf(node, "stroke-width") || 1;
  context.lineCap = node.getAttribute("stroke-linecap") ?? "butt";
  context.lineJoin = node.getAttribute("stroke-linejoin") ?? "miter";
  const dashes = given("stroke-dasharray");
  context.setLineDash(dashes === "none" ? [] : dashes.split(/[ ,]+/).map(parseFloat));
  if (words) {
    context.font = `${given("font-weight")} ${given("font-size")} ${given("font-family")}`;
    context.textAlign = { middle: "center", end: "right" }[node.getAttribute("text-anchor")] ?? "left";
  }
  const place = [node.textContent, numberOf(node, "x"), numberOf(node, "y")];
  const stroke = () => {
    if (given("stroke") === "none") return;
    context.strokeStyle = given("stroke");
    if (words) context.strokeText(...place);
    else context.stroke(path);
  };
  const fill = () => {
    if (given("fill") === "none") return;
    context.save();
    context.globalAlpha *= Number(node.getAttribute("fill-opacity") ?? 1);
    context.fillStyle = given("fill");
    if (words) context.fillText(...place);
    else context.fill(path);
    context.restore();
  };
  for (const step of given("paint-order").startsWith("stroke") ? [stroke, fill] : [fill, stroke]) step();
}

/** Hand a file to whoever sits here. */
export function download(content, kind, name) {
  const address = URL.createObjectURL(new Blob([content], { type: kind }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function saveSvg(host, legend, title, name) {
  const { root, pixels } = composed(host, legend, title),
    pictures = [...pixels.values()];
  const text = new XMLSerializer()
    .serializeToString(root)
    .replace(/data-picture="(\d+)"/g, (_, at) => `href="${pictures[at].toDataURL("image/png")}"`);
  download(text, "image/svg+xml", `${name}.svg`);
}

function savePng(host, legend, title, name) {
  const { root, pixels, width, height } = composed(host, legend, title),
    canvas = h("canvas", { width: Math.ceil(SHARP * width), height: Math.ceil(SHARP * height) }),
    context = canvas.getContext("2d");
  context.scale(SHARP, SHARP);
  paint(context, root, pixels);
  canvas.toBlob((blob) => download(blob, "image/png", `${name}.png`), "image/png");
}

/** Offer a picture as a file; `host` has it, `legend` its scale. */
export function offer(where, host, legend, title, name) {
  const button = (text, save) =>
    h("button", { class: "link", type: "button", onclick: () => save(host, legend, title, name) }, text);
  put(where, "Save this picture: ", button("SVG", saveSvg), " ", button("PNG", savePng));
}
