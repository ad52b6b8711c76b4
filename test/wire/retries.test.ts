/** Which failed requests the clients of `createModel` send again, over HTTP, streaming and not. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hastenRetries } from "../support/hasten-retries.js";
import { MADE_MODELS, makeModel } from "../support/made-models.js";
import {
  ANSWER,
  type Failure,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";

let strict: StrictProvider;
beforeAll(async () => {
  strict = await startStrictProvider();
});
afterAll(() => strict.stop());

const WAYS = {
  streaming: async (model: BaseChatModel) => {
    let text = "";
    for await (const chunk of await model.stream("hello")) text += chunk.text;
    return text;
  },
  "in one piece": async (model: BaseChatModel) => (await model.invoke("hello")).text,
} as const;

const CASES = MADE_MODELS.flatMap((made) =>
  (Object.keys(WAYS) as (keyof typeof WAYS)[]).map((way) => ({ ...made, way })),
);

const QUOTA = { code: "insufficient_quota", message: "You exceeded your current quota." };
/** By the code or the words of the provider, and by a wait that nobody has. */
const EXHAUSTED: readonly Failure[] = [
  { status: 429, body: { ...QUOTA, error: QUOTA } },
  { status: 429, headers: { "retry-after": "3600" } },
];

describe.each(CASES)("$name, asked $way,", (made) => {
  const { way } = made;

  it("is asked again after a 429 without `Retry-After` and after a 503, at growing distances", async () => {
    const waits = hastenRetries();
    const model = await makeModel(made, strict);
    strict.failNext({ status: 429 }, { status: 503 });
    expect(await WAYS[way](model)).toBe(ANSWER);
    expect(strict.statuses).toEqual([429, 503, 200]);
    const [first = 0, second = 0] = waits;
    expect(first).toBeGreaterThanOrEqual(1000);
    expect(first).toBeLessThanOrEqual(2000);
    expect(second).toBeGreaterThanOrEqual(2000);
    expect(second).toBeLessThanOrEqual(4000);
  });

  it("waits as long as the provider says", async () => {
    const waits = hastenRetries();
    const model = await makeModel(made, strict);
    const busy = { message: "Please retry in 7s.", error: { message: "Please retry in 7s." } };
    strict.failNext({ status: 429, headers: { "retry-after": "7" }, body: busy });
    expect(await WAYS[way](model)).toBe(ANSWER);
    expect(waits).toEqual([7000]);
  });

  it("is given up after five requests", async () => {
    hastenRetries();
    const model = await makeModel(made, strict);
    strict.failNext(...Array<Failure>(9).fill({ status: 500 }));
    await expect(WAYS[way](model)).rejects.toThrow(/500|Busy/);
    expect(strict.statuses).toEqual(Array(5).fill(500));
  });

  it.each([400, 401, 403, 404, 422])("is not asked again after a %i", async (status) => {
    hastenRetries();
    const model = await makeModel(made, strict);
    strict.failNext({ status });
    await expect(WAYS[way](model)).rejects.toThrow(new RegExp(`${status}|Busy`));
    expect(strict.statuses).toEqual([status]);
  });

  // Gemini's client keeps no headers.
  const exhausted = EXHAUSTED.filter(({ headers }) => made.dialect !== "gemini" || headers === undefined);
  it.each(exhausted)("is not asked again when waiting does not help: %o", async (failure) => {
    hastenRetries();
    const model = await makeModel(made, strict);
    strict.failNext(failure);
    await expect(WAYS[way](model)).rejects.toThrow(/429|quota/);
    expect(strict.statuses).toEqual([429]);
  });
});
