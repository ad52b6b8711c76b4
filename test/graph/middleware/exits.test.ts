/** The exits of a middleware, in each layer, invoked and streamed. `test/e2e/models.test.ts` has them served. */

import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createExitsGraph, type Wish } from "../../fixtures/middleware/exits-graph.js";
import { EXIT_CASES } from "../../fixtures/middleware/exits-table.js";
import { PlainClient, shown } from "../../support/stream-faults.js";
import { titled } from "../../support/test-tools.js";
import { pairedMessagesOf, script, user } from "../../support/thread.js";

const MODES = ["values", "updates", "messages", "custom", "debug", "tasks", "checkpoints"] as const;

/** One thread of the graph, and what its middleware and tools have noted. */
function createThread() {
  const notes: string[] = [];
  const graph = createExitsGraph((_thread, line) => void notes.push(line), new MemorySaver());
  const config = { configurable: { thread_id: "1" } };
  const isRun = (line: string) => line.startsWith("run ");
  return {
    graph,
    config,
    takeNotes: () => {
      const taken = notes.splice(0);
      return {
        lines: taken.filter((line) => !isRun(line)).join(" "),
        runs: taken
          .filter(isRun)
          .map((line) => line.slice("run ".length))
          .toSorted(),
      };
    },
    messages: async () => {
      const { values } = await graph.getState(config);
      return values.messages === undefined ? [] : pairedMessagesOf(values);
    },
  };
}

type Thread = ReturnType<typeof createThread>;

const WAYS = {
  invoked: async ({ graph, config }: Thread, wish: Wish) => {
    await graph.invoke(user(JSON.stringify(wish)), config);
    return undefined;
  },
  streamed: async ({ graph, config }: Thread, wish: Wish, client: PlainClient) => {
    const options = { ...config, streamMode: [...MODES] };
    for await (const [mode, data] of await graph.stream(user(JSON.stringify(wish)), options)) {
      if (mode === "messages") client.add((data as never)[0]);
    }
    return client;
  },
} as const;

describe.each(Object.entries(WAYS))("%s:", (_way, run) => {
  it.each(titled(EXIT_CASES))("%s", async (_title, { layer, exit, lines, runs, thread, fails }) => {
    const own = createThread();
    const client = new PlainClient();
    const running = run(own, { layer, exit }, client);
    if (fails) await expect(running).rejects.toThrow(/^thrown$/);
    else await running;
    expect(own.takeNotes()).toEqual({ lines, runs });
    const messages = await own.messages();
    expect(script(messages).slice(1)).toEqual(thread ?? []);
    expect(messages.length > 0).toBe(thread !== undefined);
    if (run === WAYS.streamed) expect(shown(client.messages)).toEqual(shown(messages));

    await run(own, {}, new PlainClient());
    const [first] = EXIT_CASES;
    expect(own.takeNotes()).toEqual({ lines: first?.lines, runs: first?.runs });
    expect(script((await own.messages()).slice(messages.length + 1))).toEqual(first?.thread);
  });
});
