/** A task knows the checkpoint that its superstep began on. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { MemorySaver } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { checkpointOfStep } from "../../../src/threads/langgraph/run-host.js";
import { oneNode, parentOf } from "../../support/plain-graph.js";
import { inThread, user } from "../../support/thread.js";

it.each(["sync", "async", "exit"] as const)(
  "Its id is the one that is saved, in a graph and in a child (%s)",
  async (durability) => {
    const seen: (string | undefined)[] = [];
    const saver = new MemorySaver();
    const config = { ...inThread("1"), durability };
    const look = async (_state: unknown, own: RunnableConfig) => {
      seen.push(checkpointOfStep(own));
      // The abort of a run saves the checkpoint, with `exit` too.
      throw new Error("The run ends here.");
    };
    const idOf = async (checkpoint_ns: string) =>
      (await saver.getTuple({ configurable: { thread_id: "1", checkpoint_ns } }))?.checkpoint.id;
    const alone = oneNode(look as never, saver);
    await expect(alone.invoke(user("hi") as never, config)).rejects.toThrow("ends here");
    expect(seen).toEqual([await idOf("")]);
    const child = parentOf(look, { checkpointer: true });
    const parent = parentOf(child, { checkpointer: saver });
    await expect(parent.invoke(user("hi") as never, config)).rejects.toThrow("ends here");
    expect(seen[1]).toBe(await idOf("child"));
  },
);

it("Outside a graph there is none", () => {
  expect(checkpointOfStep({})).toBeUndefined();
});
