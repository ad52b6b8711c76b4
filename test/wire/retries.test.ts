/** Which failed requests the clients of `createModel` send again, over HTTP, streaming and not. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { describe, expect, it } from "vitest";
import { type AgentEvent, createAgentGraph } from "../../src/index.js";
import { KEY, MADE_MODELS, makeModel } from "../support/clients.js";
import { MANNERS, MODES } from "../support/open-thread.js";
import {
  ANSWER,
  type Failure,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { hastenRetries, stopAtEnd } from "../support/test-tools.js";

const strict = stopAtEnd(await startStrictProvider());

const WAYS = {
  streaming: async (model: BaseChatModel) => {
    let text = "";
    for await (const chunk of await model.stream("hello")) text += chunk.text;
    return text;
  },
  "in one piece": async (model: BaseChatModel) => (await model.invoke("hello")).text,
} as const;

const CASES = MADE_MODELS.flatMap((made) =>
  Object.entries(WAYS).map(([way, ask]) => ({ ...made, way, ask })),
);

const QUOTA = { code: "insufficient_quota", message: "You exceeded your current quota." };

/** Exhausted quotas, recognised by the provider's code or text, and a wait that is too long. */
const EXHAUSTED: readonly Failure[] = [
  { status: 429, body: { ...QUOTA, error: QUOTA } },
  { status: 429, headers: { "retry-after": "3600" } },
];

describe.each(CASES)("$name, asked $way,", (made) => {
  const { ask } = made;

  it("is asked again after a 429 without `Retry-After` and after a 503, with growing waits", async () => {
    const waits = hastenRetries();
    const model = await makeModel(made, strict);
    strict.failNext({ status: 429 }, { status: 503 });
    expect(await ask(model)).toBe(ANSWER);
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
    expect(await ask(model)).toBe(ANSWER);
    expect(waits).toEqual([7000]);
  });

  it("is given up after five requests", async () => {
    hastenRetries();
    const model = await makeModel(made, strict);
    strict.failNext(...Array<Failure>(9).fill({ status: 500 }));
    await expect(ask(model)).rejects.toThrow(/500|Busy/);
    expect(strict.statuses).toEqual(Array(5).fill(500));
  });

  it.each([400, 401, 403, 404, 422])("is not asked again after a %i", async (status) => {
    hastenRetries();
    const model = await makeModel(made, strict);
    strict.failNext({ status });
    await expect(ask(model)).rejects.toThrow(new RegExp(`${status}|Busy`));
    expect(strict.statuses).toEqual([status]);
  });

  // Gemini's client keeps no headers.
  const exhausted = EXHAUSTED.filter(({ headers }) => made.dialect !== "gemini" || headers === undefined);
  it.each(exhausted)("is not asked again when waiting does not help: %o", async (failure) => {
    hastenRetries();
    const model = await makeModel(made, strict);
    strict.failNext(failure);
    await expect(ask(model)).rejects.toThrow(/429|quota/);
    expect(strict.statuses).toEqual([429]);
  });
});

// A run reports each failed request at once, while the model's client waits to send it again.

const input = { messages: [{ role: "user" as const, content: "hello" }] };

const RUNS = MADE_MODELS.flatMap((made) => MANNERS.map((manner) => ({ ...made, manner })));

describe.each(RUNS)("a run with $name, $manner,", ({ manner, ...made }) => {
  const retriesOf = async (...failures: readonly Failure[]) => {
    const model = await makeModel(made, strict);
    const graph = createAgentGraph({ model });
    strict.failNext(...failures);
    /** Each retry, with the number of requests that the provider had received by then. */
    const seen: (readonly [{ readonly attempt: number }, answered: number])[] = [];
    const begun = strict.statuses.length;
    const ended = (async () => {
      for await (const [mode, event] of await graph.stream(input, { streamMode: [...MODES[manner]] })) {
        if (mode !== "custom") continue;
        const { type, ...retry } = event as Extract<AgentEvent, { type: "model-retry" }>;
        if (type === "model-retry") seen.push([retry, strict.statuses.length - begun]);
      }
    })();
    const outcome = await ended.then(
      () => "answered",
      (error: Error) => error.message,
    );
    return { seen, outcome };
  };
  const busy = { attempt: expect.any(Number), maxAttempts: 5, reason: expect.stringMatching(/50\d|429/) };

  it("reports each failed request before it is sent again", async () => {
    hastenRetries();
    const { seen, outcome } = await retriesOf({ status: 429 }, { status: 503 });
    expect(outcome).toBe("answered");
    expect(seen).toMatchObject([
      [{ ...busy, attempt: 1 }, 1],
      [{ ...busy, attempt: 2 }, 2],
    ]);
  });

  it("does not report the last request, which ends the run", async () => {
    hastenRetries();
    const { seen, outcome } = await retriesOf(...Array<Failure>(5).fill({ status: 500 }));
    expect(outcome).toContain("500");
    expect(seen.map(([{ attempt }]) => attempt)).toEqual([1, 2, 3, 4]);
  });

  it("does not report a refusal, and never a key", async () => {
    hastenRetries();
    expect((await retriesOf({ status: 401 })).seen).toEqual([]);
    const body = { message: `Busy: ${KEY}`, error: { message: `Busy: ${KEY}` } };
    const { seen } = await retriesOf({ status: 503, body });
    expect(seen).toHaveLength(1);
    expect(JSON.stringify(seen)).not.toContain(KEY);
  });
});
