/**
 * How many cases a law is tried with. Each run of the tests tries other ones, so a few each time are enough;
 * `LAW_RUNS=20` tries so many times as many, for a law or for code that is new.
 */
export function runs(count: number): { readonly numRuns: number } {
  return { numRuns: Math.ceil(count * Number(process.env["LAW_RUNS"] ?? 1)) };
}
