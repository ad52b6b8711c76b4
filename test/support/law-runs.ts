/**
 * The number of cases of each law. Each run of the tests generates other cases, so half of them are enough by default.
 * `LAW_RUNS=20` tries twenty times the number, for a new law or new code.
 */
export function runs(count: number): { readonly numRuns: number } {
  return { numRuns: Math.ceil(count * Number(process.env["LAW_RUNS"] ?? 0.5)) };
}
