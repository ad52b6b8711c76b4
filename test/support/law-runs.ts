/**
 * The number of cases of each law. Each run of the tests generates other cases, so half of them are enough by default.
 * `LAW_RUNS=20` tries twenty times the number, for a new law or new code.
 */
export function runs(count: number): { readonly numRuns: number } {
  return { numRuns: Math.ceil(count * LAW_RUNS) };
}

const LAW_RUNS = Number(process.env["LAW_RUNS"] ?? 0.5);

/**
 * The operations of a run at which a process dies, from 1 on without an end: by default every second one, the odd or
 * the even ones, and with `LAW_RUNS=1` each.
 */
export function* operations(): Generator<number> {
  const step = LAW_RUNS < 1 ? 2 : 1;
  for (let at = 1 + Math.floor(Math.random() * step); ; at += step) yield at;
}
