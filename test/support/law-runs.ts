/**
 * The number of cases of each law. Each run of the tests generates other cases, so a few are enough. `LAW_RUNS=20`
 * tries twenty times as many, for a new law or new code.
 */
export function runs(count: number): { readonly numRuns: number } {
  return { numRuns: Math.ceil(count * Number(process.env["LAW_RUNS"] ?? 1)) };
}
