// What people read: numbers with as many digits as their uncertainty leaves, regions and questions in plain words.
const MINUS = "\u2212",
  NARROW = "\u202f",
  PM = "\u00a0±\u00a0";
const sign = (text) => text.replace(/^-/, MINUS).replace(/e-/, `e${MINUS}`);

/** Two digits of the standard deviation, as `zonal.io.result_table.number`; five digits without one. */
export function number(value, std = 0) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!(std > 0)) return sign(String(Number(value.toPrecision(5))));
  const digits = 1 - Math.floor(Math.log10(std));
  if (digits > 12 || digits < -6) return sign(value.toPrecision(3));
  return sign(
    digits >= 0 ? value.toFixed(digits) : String(Math.round(value / 10 ** -digits) * 10 ** -digits),
  );
}
/** What a person measured: all its digits. */
export const exact = (value) => sign(String(Number(value.toPrecision(12))));
export const short = (value) => {
  const all = exact(value);
  return all.length > 10 ? sign(String(Number(value.toPrecision(7)))) : all;
};
export const unit = (text, of) => (of ? `${text}${NARROW}${of}` : text);
export const give = (mean, std, of = "") => unit(`${number(mean, std)}${PM}${number(std, std)}`, of);
/** The full stop after a number with its unit: "1.97 a.u." has one. */
export const stop = (of) => (of?.endsWith(".") ? "" : ".");
export const whole = (n) => n.toLocaleString("en");
export const count = (n, what) => `${whole(n)} ${what}${n === 1 ? "" : "s"}`;
/** How often. */
export const times = (n) => (n === 1 ? "once" : n === 2 ? "twice" : `${whole(n)} times`);
/** Chances come from draws and from a model: never 0 % or 100 %. */
export const percent = (p) =>
  p >= 0.995 ? "> 99\u00a0%" : p <= 0.005 ? "< 1\u00a0%" : `${Math.round(100 * p)}\u00a0%`;
/** A text from the library, its numbers with three digits. */
export const rounded = (text) =>
  text.replace(/\d+\.\d+(e[-+]\d+)?/g, (x) => String(Number(Number(x).toPrecision(3))));
const ORDINALS = [
  "",
  "first",
  "second",
  "third",
  "fourth",
  "fifth",
  "sixth",
  "seventh",
  "eighth",
  "ninth",
  "tenth",
];
export const replicate = (n) => `${ORDINALS[n] ?? `${n}th`} measurement`;
export const labelled = (name, of, remark) => (of ? `${name} [${of}]` : name) + (remark ? `, ${remark}` : "");

/** The edges of an interval, with as many digits as it takes to tell neighbours apart (`zonal.spaces.span`). */
export function edges(axis, low, high) {
  if (axis.log) {
    const decades = Math.log10(high / low) || 1e-3,
      digits = Math.max(3, 2 - Math.floor(Math.log10(decades)));
    return [low, high].map((x) => sign(String(Number(x.toPrecision(digits)))));
  }
  const size = high > low ? high - low : Math.max(Math.abs(low), 1) * 1e-3;
  const digits = Math.min(15, Math.max(0, 3 - Math.floor(Math.log10(size))));
  return [low, high].map((x) => sign(String(Number(x.toFixed(digits)))));
}
const either = (names) =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
export const and = (parts) =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;

/** One line an axis: [name, what of it]. */
export function parts(space, part) {
  return space.axes.map((axis, j) => {
    if (axis.symbols) return [axis.name, part[j].length === axis.symbols.length ? "any" : either(part[j])];
    const [low, high] = edges(axis, ...part[j]);
    if (axis.whole && low === high) return [axis.name, unit(low, axis.unit)];
    const all = part[j][0] <= axis.low && part[j][1] >= axis.high;
    return [axis.name, unit(`${low} to ${high}`, axis.unit) + (all ? " (all)" : "")];
  });
}
/** A region in plain words, within a sentence. */
export function region(space, what) {
  if (what.part) {
    return and(
      parts(space, what.part).map(([name, of]) =>
        of === "any" ? `any ${name}` : /\d to /.test(of) ? `${name} from ${of}` : `${name} ${of}`,
      ),
    );
  }
  if (space.kind === "sequences") return what.name;
  return what.name || "everything";
}
/** What else to say of the region to measure: how large it is. */
export function size(space, what) {
  if (space.kind === "sequences") {
    const fixed = what.name.replace(/N+$/, "");
    return what.members === 1
      ? "one sequence"
      : !fixed
        ? `all ${whole(what.members)} sequences, mixed`
        : `all ${whole(what.members)} sequences that begin with ${fixed}`;
  }
  if (what.members !== null && what.members !== undefined) {
    const [single, several] =
      space.kind === "points" ? ["one point", "points"] : ["one smallest area", "smallest areas"];
    const named = what.which?.length
      ? `: ${and(what.which.length < what.members ? [...what.which, "others"] : what.which)}`
      : "";
    return what.members === 1 ? single : `the average over its ${whole(what.members)} ${several}${named}`;
  }
  return `${share(what.share)} of the space`;
}
export function share(x) {
  if (x >= 0.995) return "all";
  const parts = Math.round(1 / x);
  return x >= 0.1 ? `${Math.round(100 * x)}\u00a0%` : `1 part in ${whole(parts)}`;
}
/** The threshold or the share that a study looks for, if it looks for a set of regions: {threshold, top}. */
export function level(head) {
  const [, threshold, top] = head.policy?.match(/^Above\(threshold=([^,]+), top=([^)]+)\)/) ?? [];
  if (threshold === undefined) return null;
  const given = (text) => (text === "None" ? null : Number(text));
  return { threshold: given(threshold), top: given(top) };
}

/** A space, in a few words. */
export function place(space) {
  if (space.kind === "sequences") return `${space.length}-letter sequences of ${space.alphabet.join("")}`;
  if (space.kind === "hierarchy") return `${whole(space.size)} areas`;
  if (space.kind === "points") return `${whole(space.size)} points`;
  return and(space.axes.map((axis) => axis.name));
}

/** What a study is to find. */
export function goal(head) {
  const { name, unit: of } = head.value,
    up = head.direction === "maximize",
    where = place(head.space),
    set = level(head);
  if (set?.threshold !== undefined && set?.threshold !== null) {
    return `All regions whose average ${name} is ${up ? "above" : "below"} ${unit(number(set.threshold), of)}, over ${where}`;
  }
  if (set)
    return `The ${up ? "highest" : "lowest"} ${percent(set.top)} of regions by average ${labelled(name, of)}, over ${where}`;
  return `The region of the ${up ? "highest" : "lowest"} average ${labelled(name, of)}, over ${where}`;
}
/** What measurements cost, or how many there are: with its unit where it has one. */
export const price = (head, x) => (head.cost ? unit(number(x), head.cost.unit) : whole(x));
/** How much of the budget is gone, in words: measurements made, or what they cost. */
export const gone = (head) =>
  head.cost
    ? `${price(head, head.spent)} of ${price(head, head.budget)} spent, ${head.measured} measured`
    : `${whole(head.measured)} of ${whole(head.budget)} measured`;
export function outlook(head) {
  const o = head.outlook;
  if (!o) return null;
  const std = head.best[0].std,
    of = head.value.unit,
    two = (x) => number(Number(x.toPrecision(2)));
  if (o.gain < std / 20)
    return `${o.n} more measurements are not expected to find a better one, under the model.`;
  if (two(o.low) === two(o.high))
    return `${o.n} more measurements would improve it by about ${unit(two(o.gain), of)} on average, most likely not at all, under the model.`;
  return `${o.n} more measurements would improve it by about ${unit(two(o.gain), of)} (90 % range: ${two(o.low)} to ${two(o.high)}), under the model.`;
}
/** Who asked: a process is named by its host alone. */
export const who = (by) => (/^[^:]+:\d+:/.test(by) ? by.split(":")[0] : by) || "somebody";
export const ago = (when, now = Date.now()) => {
  const seconds = Math.max(0, (now - Date.parse(when)) / 1000);
  for (const [name, size] of Object.entries({ day: 86400, hour: 3600, minute: 60 })) {
    if (seconds >= size) return `${count(Math.floor(seconds / size), name)} ago`;
  }
  return "just now";
};
/** Read a number as a person types one, with a decimal point or comma, or say what is wrong with it. */
export function typed(text, what, example = "0.73") {
  const plain = text.trim().replace(MINUS, "-"); // as pasted from a paper or from this page
  const wrong = (fix) => ({ error: `${what} must be a number; got “${text}”. ${fix}` });
  if (/^[-+]?[1-9]\d{0,2},\d{3}$/.test(plain)) {
    const [point, none] = [plain.replace(",", "."), plain.replace(",", "")];
    return wrong(`Is it ${point} or ${none}? Write one of these.`);
  }
  const pointed = /^[-+]?\d+,\d+(e[-+]?\d+)?$/i.test(plain) ? plain.replace(",", ".") : plain;
  if (/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(pointed)) return { value: Number(pointed) };
  return wrong(`Write a number such as ${example}.`);
}

/** A reading that somebody typed: a number, or a limit such as "<0.5" that it lies beyond. {measured} or {error}. */
export function reading(text, what) {
  const sign = /^\s*([<>≤≥])=?/.exec(text);
  const read = typed(sign ? text.slice(sign[0].length) : text, what);
  if (read.error) return read;
  const name = sign ? ("<≤".includes(sign[1]) ? "below" : "above") : "value";
  return { measured: { [name]: read.value }, value: read.value, limit: sign ? name : "" };
}
/** The sign of a limit. */
export const signOf = (limit) => ({ below: "<\u202f", above: ">\u202f" })[limit] ?? "";

/** A moment in the reader's own time, to the minute; what comes from the server is in UTC. */
export function local(when) {
  if (!when) return "";
  const date = new Date(/Z|[-+]\d\d:\d\d$/.test(when) ? when : `${when}Z`);
  const two = (n) => String(n).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
/** The same moment in UTC, for those who ask. */
export const universal = (when) => (when ? `${when.slice(0, 19).replace("T", " ")} UTC` : "");

/** A region as somebody may type it. */
export function example(space) {
  if (space.kind === "sequences") return `${space.alphabet[0]}${"N".repeat(space.length - 1)}`;
  if (space.kind === "points") return "0 3 17";
  if (!space.axes) return "State > County";
  const [axis] = space.axes;
  return axis.symbols ? `${axis.name}=${axis.symbols[0]}` : `${axis.name}=${axis.low}..${axis.high}`;
}
