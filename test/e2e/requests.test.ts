import { describe, expect, it } from "vitest";
import { serve, type Thread, until } from "./served.js";

const served = serve();

describe("the schemas of the product's graph", () => {
  it("show a chat input and a form of settings, none of them required, and no private channel", async () => {
    const [assistant] = await served.client.assistants.search({ graphId: "agent" });
    const schemas = await served.client.assistants.getSchemas(assistant?.assistant_id ?? "");
    const messages = { messages: expect.objectContaining({ langgraph_type: "messages" }) };
    expect(schemas.input_schema).toMatchObject({ type: "object" });
    expect(schemas.input_schema?.properties).toEqual(messages);
    expect(schemas.input_schema?.required ?? []).toEqual([]);
    expect(schemas.output_schema?.properties).toEqual(messages);
    expect(schemas.state_schema?.properties).toEqual(messages);

    const { properties, required } = schemas.context_schema ?? {};
    const types = Object.entries(properties ?? {}).map(([name, field]) => [
      name,
      Reflect.get(Object(field), "type"),
    ]);
    expect(Object.fromEntries(types)).toEqual({
      model: "string",
      systemPrompt: "string",
      maxToolCallsFromHistory: "integer",
      maxTokensBeforeSummary: "integer",
      maxMessagesBeforeSummary: "integer",
      messagesToKeep: "integer",
      tokensToKeep: "integer",
      maxIterations: "integer",
      maxToolCalls: "integer",
      maxToolCallsPerThread: "integer",
      maxTokensPerTurn: "integer",
      maxTokensPerThread: "integer",
      maxConsecutiveErrors: "integer",
    });
    expect(required ?? []).toEqual([]);
    for (const field of Object.values(properties ?? {}))
      expect(field).toMatchObject({
        title: expect.stringMatching(/^[A-Z]/),
        description: expect.any(String),
      });
    expect(properties).toMatchObject({
      model: { title: "Model", default: "offline:", enum: ["offline:"] },
      maxToolCalls: { title: "Max tool calls", default: 64, maximum: 64 },
      messagesToKeep: { default: 20 },
    });
    expect(properties?.["maxTokensPerTurn"]).not.toHaveProperty("default");
    expect(JSON.stringify(properties)).not.toContain(String(Number.MAX_SAFE_INTEGER));
  });
});

// Many runs at once on one thread, with each way in which a server treats them. With `SLOW_TESTS=1` there are twenty.

const RUNS = process.env["SLOW_TESTS"] === "1" ? 20 : 6;
const STRATEGIES = ["enqueue", "interrupt", "rollback", "reject"] as const;
const requestOf = (index: number) => `call deaf {"label": "multitask-${index}", "ms": 20} and call deaf`;

/** Begins all runs at once, and returns those that the server took with what became of them. */
async function race(thread: Thread, strategy: (typeof STRATEGIES)[number]) {
  const { client, id } = thread;
  const begun = await Promise.allSettled(
    Array.from({ length: RUNS }, (_, index) =>
      thread.begin(requestOf(index), { multitaskStrategy: strategy }),
    ),
  );
  const isDone = async () =>
    (await client.runs.list(id, { limit: 100 })).every(({ status }) => !/pending|running/.test(status));
  await until(isDone);
  const runs = new Map((await client.runs.list(id, { limit: 100 })).map((run) => [run.run_id, run.status]));
  return begun.flatMap((outcome, index) =>
    outcome.status === "fulfilled" ? [{ index, status: runs.get(outcome.value) }] : [],
  );
}

describe.concurrent.each(STRATEGIES)("Runs at once on one served thread, with %s,", (strategy) => {
  it("leave a paired history with every message of a run that succeeded, and the thread goes on", async () => {
    const thread = await served.thread("probe");
    await thread.send("hello");
    const runs = await race(thread, strategy);
    const lines = await thread.script();
    const succeeded = runs.filter(({ status }) => status === "success").map(({ index }) => index);
    for (const index of succeeded) {
      expect(lines.filter((line) => line === `human: ${requestOf(index)}`)).toHaveLength(1);
      expect(lines).toContain(`tool: deaf done multitask-${index}`);
    }
    if (strategy === "enqueue") expect(succeeded).toHaveLength(RUNS);
    else expect(succeeded.length).toBeGreaterThan(0);
    if (strategy === "reject") expect(runs).toHaveLength(succeeded.length);
    // Takes the results of tools that ended after their runs were interrupted, in the places of their notices.
    await thread.send("hello again");
    await thread.expectToGoOn();
  });
});
