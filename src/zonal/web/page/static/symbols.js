// Combinations of symbols: what is drawn and read for each of them apart.

/** All combinations of the symbols of some axes: {name, symbols: {axis: symbol}}; one without symbols if none has. */
export function combinations(axes) {
  const symbolic = (axes ?? []).filter((axis) => axis.symbols);
  const every = symbolic.reduce(
    (before, axis) =>
      before.flatMap((symbols) => axis.symbols.map((symbol) => ({ ...symbols, [axis.name]: symbol }))),
    [{}],
  );
  return every.map((symbols) => ({ name: Object.values(symbols).join(", "), symbols }));
}

/** The combinations to draw: all, or those with a curve if there are too many. */
export function drawn(axes, curves, most) {
  const every = combinations(axes);
  if (every.length <= most) return every;
  const named = every.filter(({ name }) => curves?.some((curve) => curve.name === name));
  return named.length ? named : every.slice(0, most);
}

/** Whether a row of the tree has something of a combination. */
export const covers = (shape, row, symbols) =>
  Object.entries(symbols).every(([axis, symbol]) => shape.symbols[axis][row].includes(symbol));

/** The combination that a row of the tree is of, its index, or -1 if it is of several. */
export function only(shape, row, every) {
  const found = every.flatMap(({ symbols }, at) => (covers(shape, row, symbols) ? [at] : []));
  return found.length === 1 ? found[0] : -1;
}
