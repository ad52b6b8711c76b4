/** A run reports each failed request at once, while the model's client waits to send it again. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AgentEvent, createAgentGraph } from "../../src/index.js";
import { hastenRetries } from "../support/hasten-retries.js";
import { KEY, MADE_MODELS, makeModel } from "../support/made-models.js";
import {
  type Failure,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";

let strict: StrictProvider;
beforeAll(async () => {
  strict = await startStrictProvider();
});
afterAll(() => strict.stop());

const input = { messages: [{ role: "user" as const, content: "hello" }] };

describe.each(MADE_MODELS)("a run with $name", (made) => {
  const retriesOf = async (...failures: readonly Failure[]) => {
    const model = await makeModel(made, strict);
    const graph = createAgentGraph({ model });
    strict.failNext(...failures);
    /** Each retry, with the number of requests that the provider had received by then. */
    const seen: (readonly [{ readonly attempt: number }, answered: number])[] = [];
    const begun = strict.statuses.length;
    const ended = (async () => {
      for await (const event of await graph.stream(input, { streamMode: "custom" })) {
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
    expect(seen).toEqual([
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
