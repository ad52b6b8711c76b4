/**
 * A graph can be built without store and checkpointer, because a server or a parent graph supplies them. A run needs
 * them.
 */

import { END, InMemoryStore, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { createAgentGraph } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { pairedScript, user } from "../../support/thread.js";

const thread = { configurable: { thread_id: "1" } };

describe("Archived messages without a store", () => {
  const refused = {
    code: "INVALID_SETTING",
    setting: "store",
    message:
      'Expected `store` to be a store, because `coveredMessages: "archive"` moves messages to it, got `undefined`.',
  };

  it("are refused before the model is asked, and the thread stays as it was", async () => {
    const checkpointer = new MemorySaver();
    const model = scripted();
    const graph = createAgentGraph({ model, coveredMessages: "archive", checkpointer });
    await expect(graph.invoke(user("hello"), thread)).rejects.toMatchObject(refused);
    await expect(graph.stream(user("hello"), thread).then(drain)).rejects.toMatchObject(refused);
    expect((await graph.getState(thread)).values).toEqual({ messages: [] });
  });

  it.each(["graph", "run", "parent"] as const)("are accepted if the %s has a store", async (place) => {
    const store = new InMemoryStore();
    const graph = createAgentGraph({
      model: "offline:",
      coveredMessages: "archive",
      ...(place === "graph" && { store }),
    });
    const run =
      place === "parent"
        ? nest(graph).compile({ store }).invoke(user("hello"))
        : graph.invoke(user("hello"), { ...(place === "run" && { store }) });
    expect(pairedScript(await run)).toHaveLength(2);
  });
});

describe("Approvals without a checkpointer", () => {
  const refused = {
    code: "INVALID_SETTING",
    setting: "checkpointer",
    message:
      "Expected `checkpointer` to be a checkpointer, because `requireApproval` saves a run that waits for a human, got `undefined`.",
  };

  it("are refused before the model is asked", async () => {
    const { fast } = createProbe();
    for (const requireApproval of [["fast"], () => false]) {
      const graph = createAgentGraph({ model: scripted(), tools: [fast], requireApproval });
      await expect(graph.invoke(user("go"))).rejects.toMatchObject(refused);
    }
  });

  it("are accepted if no tool needs one", async () => {
    const graph = createAgentGraph({ model: "offline:", requireApproval: [] });
    expect(pairedScript(await graph.invoke(user("hello")))).toHaveLength(2);
  });

  it("are accepted with the checkpointer of a parent graph", async () => {
    const { fast } = createProbe();
    const graph = createAgentGraph({ model: "offline:", tools: [fast], requireApproval: ["fast"] });
    const parent = nest(graph).compile({ checkpointer: new MemorySaver() });
    await parent.invoke(user("call fast"), thread);
    expect((await parent.getState(thread)).tasks[0]?.interrupts).toHaveLength(1);
  });

  it.each(["served", "nested"] as const)(
    "are refused only when a human must be asked, if the run is %s, and no tool of the batch runs",
    async (kind) => {
      if (kind === "served") beServer();
      const probe = createProbe();
      const model = scripted("hello", calls(["fast"], ["heedful"]));
      const tools = [probe.fast, probe.heedful];
      const graph = createAgentGraph({ model, tools, requireApproval: ["fast"] });
      const invoke = async (text: string) =>
        kind === "served"
          ? graph.invoke(user(text), { configurable: { assistant_id: "a" } })
          : nest(graph).compile().invoke(user(text));
      expect(pairedScript(await invoke("hello"))).toHaveLength(2);
      await expect(invoke("go")).rejects.toMatchObject(refused);
      expect(probe.runs).toEqual([]);
    },
  );
});

/** What LangGraph's server leaves in its process. A client can send the assistant, but not this. */
function beServer(): void {
  const mark = Symbol.for("langgraph_api:fetch");
  Reflect.set(globalThis, mark, () => {});
  onTestFinished(() => void Reflect.deleteProperty(globalThis, mark));
}

function nest(graph: ReturnType<typeof createAgentGraph>) {
  return new StateGraph(MessagesAnnotation)
    .addNode("agent", graph)
    .addEdge(START, "agent")
    .addEdge("agent", END);
}

async function drain(chunks: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of chunks);
}
