/** This library, imported in one part of a program and required in another one: what both copies must know. */

import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Annotation, MemorySaver, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { ClearToolUsesEdit, contextEditingMiddleware, createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import * as index from "../../src/index.js";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { deferred } from "../support/deferred.js";
import { dialectOf, reduceMessages } from "../support/internals.js";
import { calls } from "../support/models.js";
import { second } from "../support/second-copy.js";
import { strictViolations } from "../support/strict-check.js";
import { inThread, messagesOf, pairedScript, user } from "../support/thread.js";

const imported = { ...index, tetherMiddleware, tetherState, dialectOf };
const required = second.tether;

const config = inThread("1");
const toolThat = (run: () => unknown) =>
  tool(run, { name: "look", description: "Looks at the sky.", schema: z.object({}) });

describe.each([
  ["the imported copy, and then the required one", imported, required],
  ["the required copy, and then the imported one", required, imported],
])("%s", (_title, one, other) => {
  it("share the queue of a thread", async () => {
    const checkpointer = new MemorySaver();
    const [begun, end] = [deferred(), deferred()];
    const look = toolThat(async () => {
      begun.resolve();
      await end.promise;
      return "sunny";
    });
    const graph = one.createAgentGraph({ model: "offline:", tools: [look], checkpointer });
    const run = graph.invoke(user("call look"), config);
    await begun.promise;
    const next = other.createAgentGraph({ model: "offline:", checkpointer, concurrentRuns: "reject" });
    const refused = await next.invoke(user("Hello?"), config).catch((error: unknown) => error);
    end.resolve();
    expect(refused).toMatchObject({ code: "THREAD_BUSY" });
    expect(pairedScript(await run)).toContain("tool: sunny");
  });

  it("know a run that would wait for itself", async () => {
    const checkpointer = new MemorySaver();
    const inner = other.createAgentGraph({ model: "offline:", checkpointer });
    const look = toolThat(() => inner.updateState(config, user("more"), "model").catch(({ code }) => code));
    const graph = one.createAgentGraph({ model: "offline:", tools: [look], checkpointer });
    expect(pairedScript(await graph.invoke(user("call look"), config))).toContain("tool: THREAD_BUSY");
  });

  it("trust what the other one has restored, also a system message", async () => {
    const settings = { model: "offline:", checkpointer: new MemorySaver() } as const;
    const first = one.createAgentGraph(settings);
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Look." },
    ];
    await first.invoke({ messages }, config);
    const restored = await one.restoreCovered(first, config);
    const next = other.createAgentGraph({ ...settings, acceptSystemMessages: false });
    await next.invoke({ messages: restored.slice(1, -1) as never }, inThread("2"));
    const { values } = await next.getState(inThread("2"));
    expect(messagesOf(values).map(({ type }) => type)).toEqual(["system", "human", "ai"]);
  });

  it("know the dialect of a model that the other one has made", async () => {
    const environment = { DASHSCOPE_API_KEY: "test-key", DASHSCOPE_BASE_URL: "http://127.0.0.1:9/v1" };
    const model = await one.createModel("qwen:m", { environment });
    expect(one.dialectOf(model)).not.toBe("openai-compatible");
    expect(other.dialectOf(model)).toBe(one.dialectOf(model));
  });

  it("take the middleware, the tools and the errors of the other one", async () => {
    const stop = other.functionMiddleware(async function stop() {
      throw new other.MiddlewareTermination("Enough.");
    });
    const graph = one.createAgentGraph({ model: "offline:", tools: [toolThat(() => 1)], middleware: [stop] });
    expect(pairedScript(await graph.invoke(user("call look")))).toContain("tool: Enough.");
    const error = new other.InvalidSettingError("tools", "Expected tools.");
    expect(one.TetherError.isInstance(error)).toBe(true);
  });

  it("run an agent of the other one as a node", async () => {
    const State = Annotation.Root({
      messages: Annotation({
        reducer: (old: unknown[], next: unknown) => reduceMessages(old as never, next as never).messages,
        default: () => [],
      }),
    });
    const inner = one.createAgentGraph({ model: "offline:", tools: [toolThat(() => "sunny")] });
    const parent = new StateGraph(State)
      .addNode("agent", inner as never)
      .addEdge(START, "agent" as never)
      .compile();
    const outer = other.createAgentGraph({
      model: "offline:",
      tools: [toolThat(async () => pairedScript(await parent.invoke(user("call look") as never)).join())],
    });
    const lines = pairedScript(await outer.invoke(user("call look")));
    expect(lines.find((line) => line.startsWith("tool:"))).toContain("tool: sunny");
  });

  it("protect an agent of LangChain together", async () => {
    const agent = createAgent({
      model: await one.createModel("offline:"),
      tools: [toolThat(() => "sunny")],
      middleware: [other.tetherMiddleware() as never],
    });
    const messages = [
      { role: "user", content: "Look." },
      { role: "assistant", content: "", tool_calls: [{ id: "c1", name: "look", args: {} }] },
      { role: "user", content: "call look" },
    ];
    const result = await agent.invoke({ messages } as never);
    expect(strictViolations(messagesOf(result))).toEqual([]);
    expect(pairedScript(result)).toContain("tool: sunny");
  });

  const STATES = {
    "`tetherState()`": () => other.tetherState(),
    "`tetherState({ delta: true })`": () => other.tetherState({ delta: true }),
    "`PairedMessagesValue`": () => new StateSchema({ messages: other.PairedMessagesValue }),
    "`PairedMessagesDeltaValue`": () => new StateSchema({ messages: other.PairedMessagesDeltaValue }),
  };

  it.each(Object.entries(STATES))(
    "protect an agent with the middleware of one and the other's %s",
    async (_, state) => {
      const agent = createAgent({
        model: await one.createModel("offline:"),
        tools: [toolThat(() => "sunny")],
        stateSchema: state() as never,
        middleware: [one.tetherMiddleware() as never],
        checkpointer: new MemorySaver(),
      });
      const messages = [user("Look.").messages[0], calls(["look", {}, "c1"])];
      await agent.graph.updateState(config, { messages });
      // The second run reads its thread from a checkpoint.
      for (const text of ["call look", "Thanks."]) await agent.invoke(user(text) as never, config as never);
      const result = (await agent.graph.getState(config as never)).values;
      expect(strictViolations(messagesOf(result))).toEqual([]);
      expect(pairedScript(result)).toContain("tool: sunny");
    },
  );

  it("keep the thread's results if a middleware edits the list of the other one's state", async () => {
    const edits = [new ClearToolUsesEdit({ trigger: { messages: 1 }, keep: { messages: 0 } })];
    const agent = createAgent({
      model: await one.createModel("offline:"),
      tools: [toolThat(() => "sunny")],
      stateSchema: other.tetherState() as never,
      middleware: [contextEditingMiddleware({ edits }), one.tetherMiddleware() as never],
      checkpointer: new MemorySaver(),
    });
    for (const text of ["call look", "call look"]) await agent.invoke(user(text) as never, config as never);
    const script = pairedScript((await agent.graph.getState(config as never)).values);
    expect(script.filter((line) => line.startsWith("tool"))).toEqual(["tool: sunny", "tool: sunny"]);
  });

  it("pair the messages of a graph with the field of the other one", async () => {
    const model = await one.createModel("offline:");
    const graph = new StateGraph(new StateSchema({ messages: other.PairedMessagesValue }))
      .addNode("agent", async ({ messages }) => ({ messages: [await one.askModel(model, messages)] }))
      .addNode("late", () => ({ messages: [new ToolMessage({ tool_call_id: "c1", content: "sunny" })] }))
      .addEdge(START, "agent")
      .addEdge("agent", "late")
      .compile();
    const messages = [...user("Look.").messages, calls(["look", {}, "c1"]), ...user("Hello?").messages];
    const lines = pairedScript(await graph.invoke({ messages } as never));
    expect(lines.slice(0, 4)).toEqual(["human: Look.", "ai> look", "tool: sunny", "human: Hello?"]);
  });
});
