import { emptyCheckpoint, MemorySaver } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { createAgentGraph } from "../../src/agent/create-agent-graph.js";
import { createGraphStore } from "../../src/doctor.js";

it("a selection counts threads, and not their subgraphs, and compares metadata as a database does", async () => {
  const checkpointer = new MemorySaver();
  for (const [thread_id, checkpoint_ns] of [
    ["1", ""],
    ["1", "child:a"],
    ["2", ""],
  ])
    await checkpointer.put({ configurable: { thread_id, checkpoint_ns } }, emptyCheckpoint(), {
      source: "loop",
      step: 0,
      parents: {},
      ...({ tenant: 7 } as object),
    });
  const store = createGraphStore({ graph: await createAgentGraph({ model: "offline:", checkpointer }) });
  const chosen = async (limit: number, tenant: string) => {
    const found: string[] = [];
    for await (const { threadId, namespace } of store.threads({ limit, metadata: { tenant } }))
      found.push(`${threadId}/${namespace}`);
    return found.sort();
  };
  expect(await chosen(2, "7")).toEqual(["1/", "1/child:a", "2/"]);
  expect(new Set((await chosen(1, "7")).map((place) => place.split("/")[0])).size).toBe(1);
  expect(await chosen(2, "8")).toEqual([]);
});
