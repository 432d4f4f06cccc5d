// A table that somebody uploads, of points or areas: what its columns are. The server reads it again, and decides.
const LOOKED_AT = 200; // rows by which a column is taken for numbers
const NUMBER = /^[-+]?(\d+[.,]?\d*|[.,]\d+)(e[-+]?\d+)?$/i;
const PLACE = /^(lon|lat|long|longitude|latitude|easting|northing|[xyz])$/i;
const WEIGHT = /^(weights?|population|pop|people|inhabitants|households|n|count|area)$/i;

/** The cells of each line; quotation marks hold separators and line ends, and two of them are one. */
export function cells(text, separator) {
  const lines = [];
  let line = [],
    cell = "",
    quoted = false;
  for (let i = 0; i < text.length; i++) {
    const letter = text[i];
    if (quoted && letter === '"' && text[i + 1] === '"') cell += text[++i];
    else if (letter === '"') quoted = !quoted;
    else if (quoted || ![separator, "\n", "\r"].includes(letter)) cell += letter;
    else if (letter === separator) {
      line.push(cell);
      cell = "";
    } else if (letter === "\n") {
      lines.push([...line, cell]);
      [line, cell] = [[], ""];
    }
  }
  if (cell || line.length) lines.push([...line, cell]);
  return lines.filter((one) => one.some((part) => part.trim()));
}

/** What an uploaded table has: columns, which of them are numbers, how many rows; and what they may be meant for. */
export function tableOf(name, text) {
  const head = text.split("\n", 1)[0];
  const separator = ["\t", ";", ","].find((mark) => head.includes(mark)) ?? ",";
  const [titles = [], ...rows] = cells(text.replace(/^\ufeff/, ""), separator);
  const columns = titles.map((title) => title.trim()).filter(Boolean);
  const isNumeric = (at) => rows.slice(0, LOOKED_AT).every((row) => NUMBER.test((row[at] ?? "").trim()));
  const numeric = columns.filter((_, at) => rows.length && isNumeric(at));
  const places = numeric.filter((column) => PLACE.test(column));
  return {
    name,
    text,
    columns,
    numeric,
    rows: rows.length,
    coords: new Set(places),
    weight: numeric.find((column) => WEIGHT.test(column)) ?? "",
    levels: columns.filter((column) => !numeric.includes(column)).join(", "),
  };
}
