// One study as the server tells it: head, shape of the tree (rows are only added), values (replaced), trials.
import { address, get } from "./api.js";
import { covers } from "./symbols.js";

/** A part of an axis; whole numbers are drawn half a step wider on both sides. */
const bounds = (axis, low, high) => (axis.whole ? [Math.ceil(low), Math.floor(high)] : [low, high]);

export class StudyData {
  constructor(name) {
    this.name = name;
    this.base = address(name);
    this.size = 0;
    this.leaves = [];
    this.picture = {};
    this.known = false;
    this.pendingRows = new Map();
  }
  /** Read the head; once there is a tree, `read` takes it in with all that belongs to it: others draw no mixture. */
  async begin() {
    this.latest = await get(this.base);
    if (this.opening || !this.shape) this.take(this.latest);
  }
  get opening() {
    return this.latest.state === "opening" || (this.latest.busy && !this.shape);
  }
  async readTrials() {
    this.trials = await get(`${this.base}/trials${this.shape ? "" : "?named=true"}`);
  }
  /** What changes with an event: the head, the values, new rows of the tree, the trials; taken in all at once. */
  async read() {
    const from = this.size;
    const rows = (size) => get(`${this.base}/shape?from=${size}`);
    const [head, first, early] = await Promise.all([get(this.base), rows(from), get(`${this.base}/values`)]);
    const parts = [first],
      trials = await get(`${this.base}/trials`);
    let values = early,
      size = from + first.parent.length;
    const named = [...head.pending, ...(head.best ?? [])].map((entry) => entry.region.row).concat(trials.row);
    const last = named.reduce((most, row) => Math.max(most, row ?? 0), 0);
    for (let tries = 1; values.count.length !== size || size <= last; tries++) {
      // somebody wrote between two answers
      if (tries % 5 === 0) {
        // or put another file in its place
        Object.assign(this, { shape: undefined, size: 0 });
        return this.read();
      }
      if (size < Math.max(values.count.length, last + 1)) {
        parts.push(await rows(size));
        size += parts.at(-1).parent.length;
      }
      if (values.count.length !== size) values = await get(`${this.base}/values`);
    }
    if (this.size !== from) return this.read(); // somebody else took rows in meanwhile
    parts.forEach((part) => this.grow(part));
    this.trials = trials;
    this.values = values;
    this.take(head);
  }
  /** Read what is drawn besides the tree; maps of pairs of axes hold the others where the slice says. */
  async readPicture(slice) {
    if (!["line", "panels", "scatter"].includes(this.head.picture)) return;
    const held =
      slice && this.head.picture === "panels" ? `?slice=${encodeURIComponent(JSON.stringify(slice))}` : "";
    try {
      this.picture = await get(`${this.base}/picture${held}`);
    } catch (problem) {
      if (!held || problem.status !== 422) throw problem;
      this.picture = await get(`${this.base}/picture`); // an address may name a slice that is none of this space
    }
  }
  async ahead() {
    const outlook = await get(`${this.base}/ahead`);
    return outlook.gain === null || outlook.gain === undefined || !this.best ? null : outlook;
  }
  async readHistory() {
    this.history = await get(`${this.base}/history`);
  }
  grow(shape) {
    if (shape.from !== this.size || (this.shape && !shape.parent.length)) return; // rows are taken in once
    if (!this.shape) this.shape = shape;
    else {
      const join = (columns, more) => {
        if (
          Array.isArray(columns) &&
          Array.isArray(columns[0]) &&
          columns.length === more.length &&
          typeof columns[0][0] === "number"
        ) {
          columns.forEach((column, j) => join(column, more[j]));
        } else if (Array.isArray(columns)) for (const entry of more) columns.push(entry);
        else for (const key of Object.keys(columns)) join(columns[key], more[key]);
      };
      for (const key of Object.keys(shape)) if (key !== "from") join(this.shape[key], shape[key]);
    }
    const { parent } = this.shape,
      n = parent.length;
    this.size = n;
    this.depth = new Uint8Array(n);
    this.first = new Int32Array(n).fill(-1);
    this.children = new Int32Array(n);
    for (let row = 1; row < n; row++) {
      const above = parent[row];
      this.depth[row] = this.depth[above] + 1;
      if (this.first[above] < 0) this.first[above] = row;
      this.children[above]++;
    }
    this.leaves = [];
    for (let row = 0; row < n; row++) if (this.first[row] < 0) this.leaves.push(row);
  }
  take(head) {
    this.head = { ...head, outlook: this.head?.outlook };
    this.flags = this.values?.flags ?? [];
    this.known = Boolean(this.values?.mean) && head.measured + head.observed > 0;
    this.pendingRows = new Map();
    for (const trial of head.pending) {
      const { row, window } = trial.region;
      if (window) continue;
      if (!this.pendingRows.has(row)) this.pendingRows.set(row, []);
      this.pendingRows.get(row).push(trial.trial);
    }
    this.best = head.best?.[0] ?? null;
  }
  /** Pending trials by the region that they measure: `[{row, window, trials}]`, where cells have no window. */
  get pendingPlaces() {
    const cells = [...this.pendingRows].map(([row, trials]) => ({ row, window: null, trials }));
    const windows = this.head.pending.filter(({ region }) => region.window);
    return cells.concat(windows.map(({ trial, region }) => ({ ...region, trials: [trial] })));
  }
  /** What the words need of the region of a trial, given its place in the columns. */
  regionOf(i) {
    const { trials } = this;
    return trials.window[trials.number[i]] ?? this.region(trials.row[i]);
  }
  /** What the words need of a row of the tree. */
  region(row) {
    const { shape, head } = this,
      { space } = head;
    const region = {
      row,
      share: shape.share[row],
      members: shape.members?.[row] ?? null,
      part: null,
      name: "",
    };
    if (space.axes) {
      let line = 0;
      region.part = space.axes.map((axis) =>
        axis.symbols
          ? shape.symbols[axis.name][row]
          : bounds(axis, shape.low[line][row], shape.high[line++][row]),
      );
    } else if (space.kind === "sequences") {
      region.name = shape.name[row];
      region.members = Math.round(shape.share[row] * space.alphabet.length ** space.length);
    } else if (space.kind === "points") region.name = row ? shape.name[row] : "";
    else {
      const way = [];
      for (let at = row; at > 0; at = shape.parent[at]) way.unshift(shape.name[at]);
      region.name = way.join(" > ");
    }
    return region;
  }
  /** The leaf at a place of continuous axes, of some symbols if they are given: {axis: symbol}. */
  leafAt(x, symbols = {}) {
    const { low, high } = this.shape;
    const within = (row) => x.every((value, j) => value >= low[j][row] && value <= high[j][row]);
    return this.leafWhere((row) => within(row) && covers(this.shape, row, symbols));
  }
  /** Go down the tree from the root, into the first child that fits, as far as one does. */
  leafWhere(fits) {
    let row = 0,
      next = 0;
    while (next >= 0) {
      row = next;
      next = -1;
      for (let i = 0; next < 0 && i < this.children[row]; i++) {
        if (fits(this.first[row] + i)) next = this.first[row] + i;
      }
    }
    return row;
  }
  /** The measurements of a row of the tree, the last ones first: places in the columns of trials. */
  measurementsOf(row) {
    const { trials } = this;
    return trials.number
      .map((_, i) => i)
      .filter((i) => trials.row[i] === row && trials.value[i] !== null && !trials.window[trials.number[i]])
      .reverse();
  }
}
