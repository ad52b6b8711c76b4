/** Own keys of the state and the context, and teams of LangChain's packages, on a server. */

import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import type { OwnKeysGraph } from "../fixtures/agents/own-keys.js";
import { pairedScript, user } from "../support/thread.js";
import { serve } from "./served.js";

const served = serve();

/** The values of the state, as a client that knows the graph's type reads them. */
type Values = Awaited<ReturnType<OwnKeysGraph["invoke"]>>;
const typed = () => new Client<Values>({ apiUrl: served.url, apiKey: null });

async function schemasOf(graph: string) {
  const [assistant] = await served.client.assistants.search({ graphId: graph });
  return served.client.assistants.getSchemas(assistant?.assistant_id ?? "");
}

describe.concurrent("own keys of a served graph", () => {
  it("are in the schemas, beside the marks that clients look for", async () => {
    const { input_schema, output_schema, state_schema, context_schema } = await schemasOf("own_keys");
    const { context_schema: plain } = await schemasOf("agent");
    for (const schema of [input_schema, output_schema, state_schema]) {
      expect(schema?.properties).toMatchObject({
        messages: { langgraph_type: "messages" },
        plan: { type: "string", description: "What the agent is about to do." },
        count: { type: "number", default: 0 },
      });
      expect(schema?.required ?? []).not.toContain("plan");
    }
    expect(context_schema?.properties).toMatchObject({
      ...plain?.properties,
      userId: { type: "string", default: "nobody", description: "Whom the agent works for." },
    });
    expect(context_schema?.required ?? []).toEqual([]);
  });

  it("are written, read and returned", async () => {
    const { threads, runs } = typed();
    const { thread_id } = await threads.create();
    const send = (content: string, rest: object = {}) =>
      runs.wait(thread_id, "own_keys", { input: user(content), ...rest });
    const first = await send('call note {"plan": "walk"}', { context: { userId: "u1" } });
    expect(pairedScript(first).slice(0, 3)).toEqual([
      'human: call note {"plan": "walk"}',
      "ai> note",
      "tool: (no output)",
    ]);
    expect(first).toMatchObject({ plan: "walk for u1", count: 1 });
    await send('call note {"plan": "run"}');
    const { values } = await threads.getState<Values>(thread_id);
    expect([values.plan, values.count]).toEqual(["run for nobody", 2]);
    expect(values.messages.filter(({ type }) => type === "ai").map(({ name }) => name)).toEqual(
      Array(4).fill("noter"),
    );
    await threads.updateState(thread_id, { values: { plan: "rest" } });
    expect((await threads.getState<Values>(thread_id)).values.plan).toBe("rest");
  });

  it("are refused with a reason", async () => {
    const thread = await served.thread("own_keys");
    const input = { ...user("hi"), plan: 7 };
    await expect(served.client.runs.wait(thread.id, "own_keys", { input })).rejects.toThrow(
      "Expected `plan` to match `stateSchema`: Invalid input: expected string, received number.",
    );
    await expect(
      served.client.threads.updateState(thread.id, { values: { count: "many" } }),
    ).rejects.toMatchObject({ status: 422 });
    const run = served.client.runs.wait(thread.id, "own_keys", { input: user("hi"), context: { userId: 7 } });
    await expect(run).rejects.toThrow("Expected `context.userId` to match `contextSchema`");
  });
});

describe.concurrent("a team on a server", () => {
  it("works under a supervisor, turn after turn", async () => {
    const thread = await served.thread("supervisor");
    const turn = [
      "ai> transfer_to_math",
      "tool: Successfully transferred to math",
      "ai: it is 4",
      "ai> transfer_back_to_supervisor",
      "tool: Successfully transferred back to supervisor",
      "ai> transfer_to_poet",
      "tool: Successfully transferred to poet",
      "ai: a rose",
      "ai> transfer_back_to_supervisor",
      "tool: Successfully transferred back to supervisor",
      "ai: 4, and a rose",
    ];
    expect(await thread.send("hi")).toEqual(["human: hi", ...turn]);
    expect(await thread.send("again")).toEqual(["human: hi", ...turn, "human: again", ...turn]);
  });

  it("works as a swarm, and the active agent answers the next message", async () => {
    const thread = await served.thread("swarm");
    const lines = [
      "human: hi",
      "ai> deaf transfer_to_bob",
      "tool: deaf done -",
      "tool: Successfully transferred to bob",
      "ai: bob here",
    ];
    expect(await thread.send("hi")).toEqual(lines);
    expect(await thread.send("more")).toEqual([...lines, "human: more", "ai: bob here"]);
  });
});
