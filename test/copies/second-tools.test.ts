/** Tools that use a second copy of LangChain or LangGraph. */

import { Annotation, Command, MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../src/index.js";
import { calls, scripted } from "../support/scripted-model.js";
import { second } from "../support/second-copy.js";
import { inThread, messagesOf, pairedMessagesOf, pairedScript, user } from "../support/thread.js";

const schema = z.object({ city: z.string() });

function secondTool(run: (city: string, callId: string) => unknown) {
  return second.tools.tool(
    async ({ city }: { city: string }, config) => run(city, String(config.toolCall?.id)),
    {
      name: "look",
      description: "Looks at the sky.",
      schema,
    },
  );
}

const asked = (args: object = { city: "Rome" }) => scripted(calls(["look", args, "c1"]), "Done.");

describe("A tool of a second copy", () => {
  it("is run", async () => {
    const graph = createAgentGraph({ model: asked(), tools: [secondTool((city) => `${city}: sunny`)] });
    expect(pairedScript(await graph.invoke(user("look")))).toContain("tool: Rome: sunny");
  });

  it("tells the model which field does not match its schema", async () => {
    const graph = createAgentGraph({ model: asked({ city: 7 }), tools: [secondTool(() => "not run")] });
    const result = pairedMessagesOf(await graph.invoke(user("look"))).find(({ type }) => type === "tool");
    expect(result?.text).toContain("the arguments of `look` were refused, so it was not run");
    expect(result?.text).toMatch(/expected string, received number[\s\S]*city/);
  });

  it("whose own error has an output keeps that error", async () => {
    const failing = secondTool(() => {
      throw Object.assign(new Error("exit code 1"), { output: "two lines" });
    });
    const graph = createAgentGraph({ model: asked(), tools: [failing] });
    expect(pairedScript(await graph.invoke(user("look")))).toContain("tool! Error: `look` failed.");
  });

  it.each([
    [
      "a result",
      (id: string) =>
        new second.messages.ToolMessage({ content: "sunny", tool_call_id: id, artifact: { page: 3 } }),
    ],
    [
      "a command with its result",
      (id: string) =>
        new second.langGraph.Command({
          update: {
            messages: [
              new second.messages.ToolMessage({ content: "sunny", tool_call_id: id, artifact: { page: 3 } }),
            ],
          },
        }),
    ],
  ])("can return %s", async (_what, make) => {
    const graph = createAgentGraph({ model: asked(), tools: [secondTool((_city, id) => make(id))] });
    const result = pairedMessagesOf(await graph.invoke(user("look"))).find(({ type }) => type === "tool");
    expect(result).toMatchObject({ content: "sunny", tool_call_id: "c1", artifact: { page: 3 } });
  });

  it("can send work to a node of a parent graph", async () => {
    const handOff = secondTool(
      (city) =>
        new second.langGraph.Command({
          graph: second.langGraph.Command.PARENT,
          goto: [new second.langGraph.Send("worker", { city })],
        }),
    );
    const State = Annotation.Root({
      messages: Annotation<unknown[]>({ reducer: (_old, next) => next, default: () => [] }),
      seen: Annotation<string>(),
    });
    const parent = new StateGraph(State)
      .addNode(
        "agent",
        createAgentGraph({ model: scripted(calls(["look", { city: "Rome" }])), tools: [handOff] }),
        {
          ends: ["worker"],
        },
      )
      .addNode("worker", ({ city }: { city: string }) => ({ seen: city }), {
        input: Annotation.Root({ city: Annotation<string>() }),
      } as never)
      .addEdge(START, "agent")
      .compile();
    expect(await parent.invoke(user("look"))).toMatchObject({ seen: "Rome" });
  });

  it("can ask a human, and goes on with the decision", async () => {
    const ask = secondTool((city) => `${city}: ${second.langGraph.interrupt("Which day?")}`);
    const graph = createAgentGraph({ model: asked(), tools: [ask], checkpointer: new MemorySaver() });
    const waiting = await graph.invoke(user("look"), inThread("1"));
    expect(messagesOf(waiting).at(-1)?.type).toBe("ai");
    expect(waiting).toMatchObject({ __interrupt__: [{ value: "Which day?" }] });
    const done = await graph.invoke(new Command({ resume: "Monday" }), inThread("1"));
    expect(pairedScript(done)).toContain("tool: Rome: Monday");
  });

  it("lets LangGraph's own signals through", async () => {
    const signal = secondTool(() => {
      throw new second.langGraph.GraphInterrupt([{ id: "i1", value: "Which day?" }]);
    });
    const graph = createAgentGraph({
      model: scripted(calls(["look", { city: "Rome" }])),
      tools: [signal],
      checkpointer: new MemorySaver(),
    });
    await graph.invoke(user("look"), inThread("1"));
    const { tasks } = await graph.getState(inThread("1"));
    expect(tasks.flatMap(({ interrupts }) => interrupts)).toMatchObject([{ value: "Which day?" }]);
  });
});

describe("A client's command of a second copy", () => {
  it("resumes a run", async () => {
    const ask = secondTool((city) => `${city}: ${second.langGraph.interrupt("Which day?")}`);
    const graph = createAgentGraph({ model: asked(), tools: [ask], checkpointer: new MemorySaver() });
    await graph.invoke(user("look"), inThread("1"));
    const done = await graph.invoke(new second.langGraph.Command({ resume: "Monday" }), inThread("1"));
    expect(pairedScript(done)).toContain("tool: Rome: Monday");
  });

  it("cannot send work to the tools", async () => {
    const graph = createAgentGraph({ model: "offline:", tools: [secondTool(() => "not run")] });
    const send = new second.langGraph.Send("tools", { call: { id: "c1", name: "look" }, args: {} });
    await expect(graph.invoke(new second.langGraph.Command({ goto: send }))).rejects.toThrow(
      "only calls that the model makes are run",
    );
  });

  it("cannot write a `Send` into the state", async () => {
    const graph = createAgentGraph({
      model: "offline:",
      tools: [secondTool(() => "not run")],
      checkpointer: new MemorySaver(),
    });
    const send = new second.langGraph.Send("tools", { call: { id: "c1", name: "look" }, args: {} });
    await expect(graph.updateState(inThread("1"), send as never)).rejects.toThrow(
      "only calls that the model makes are run",
    );
  });
});
