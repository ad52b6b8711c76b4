import fc from "fast-check";
import { expect, it } from "vitest";

const LAW_RUNS = Number(process.env["LAW_RUNS"] ?? 0.5);

/**
 * The number of cases of each law. Each run of the tests generates other cases, so half of them are enough by default.
 * `LAW_RUNS=20` tries twenty times the number, for a new law or new code.
 */
export function runs(count: number): { readonly numRuns: number } {
  return { numRuns: Math.ceil(count * LAW_RUNS) };
}

/** The test of a law. `check` fails for values for which it does not hold. */
export function law<Values extends [unknown, ...unknown[]]>(
  title: string,
  count: number,
  values: { readonly [Index in keyof Values]: fc.Arbitrary<Values[Index]> },
  check: (...given: Values) => unknown,
): void {
  it(title, async () => {
    const property = fc.asyncProperty(fc.tuple<Values>(...values), async (given) => {
      await check(...given);
    });
    await fc.assert(property, runs(count));
  });
}

/**
 * Plays a run that dies at an operation, from the first one on until one lives: by default at every third operation,
 * from a random one on, and with `LAW_RUNS=1` at each.
 *
 * @param least The run has more operations than this.
 */
export async function dieAnywhere(
  least: number,
  play: (diesAt: number) => Promise<"died" | "lived">,
): Promise<void> {
  const step = LAW_RUNS < 1 ? 3 : 1;
  let diesAt = 1 + Math.floor(Math.random() * step);
  while ((await play(diesAt)) === "died") diesAt += step;
  expect(diesAt - step).toBeGreaterThan(least);
}
