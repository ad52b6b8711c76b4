import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type AgentGraphOptions, createAgentGraph } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { messagesOf, pairedScript, script } from "../../support/thread.js";

const browser = {
  type: "function" as const,
  function: {
    name: "open_page",
    description: "Opens a page.",
    parameters: { type: "object", properties: {} },
  },
};
const neverRun = tool(async () => expect.fail("It is the caller's."), {
  name: "ask_user",
  description: "Asks.",
  schema: z.object({}),
});

function agent(steps: readonly Step[], options: Partial<AgentGraphOptions>) {
  const probe = createProbe();
  const model = scripted(...steps);
  const checkpointer = new MemorySaver();
  const graph = createAgentGraph({ model, tools: [probe.fast], checkpointer, ...options });
  const config = { configurable: { thread_id: "1" } };
  const send = (...messages: unknown[]) => graph.invoke({ messages } as never, config);
  return { graph, probe, model, config, send };
}

const result = (id: string, content = `result of ${id}`) => new ToolMessage({ content, tool_call_id: id });

describe("autoInvoke: false", () => {
  it("hands all calls to the caller, and goes on when all results are there", async () => {
    const batch = calls(["fast", {}, "a"], ["fast", {}, "b"]);
    const { graph, probe, send, config } = agent([batch, "done"], { autoInvoke: false });
    expect(script(messagesOf(await send({ role: "user", content: "go" })))).toEqual([
      "human: go",
      "ai> fast fast",
    ]);
    expect((await graph.getState(config)).next).toEqual([]);
    expect(script(messagesOf(await send(result("b"))))).toHaveLength(3);
    const ended = await send(result("a"));
    expect(pairedScript(ended)).toEqual([
      "human: go",
      "ai> fast fast",
      "tool: result of a",
      "tool: result of b",
      "ai: done",
    ]);
    expect(probe.runs).toEqual([]);
  });

  it("closes the calls when a message comes instead of their results", async () => {
    const { send, probe } = agent([calls(["fast", {}, "a"]), "done"], { autoInvoke: false });
    await send({ role: "user", content: "go" });
    const lines = pairedScript(await send({ role: "user", content: "never mind" }));
    expect(lines.slice(2)).toEqual([
      "tool! Tool call fast (a): a new message came before it finished. It may or may not have taken effect.",
      "human: never mind",
      "ai: done",
    ]);
    expect(probe.runs).toEqual([]);
  });

  it("lets the model decide again when a required call has the caller's result", async () => {
    const steps = [calls(["fast", {}, "a"]), "done"];
    const { send, model } = agent(steps, { autoInvoke: false, toolChoice: "required" });
    await send({ role: "user", content: "go" });
    expect(pairedScript(await send(result("a"))).at(-1)).toBe("ai: done");
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(["any", undefined]);
  });

  it("does not count what the caller runs", async () => {
    const steps = [calls(["fast", {}, "a"]), calls(["fast", {}, "b"]), "done"];
    const { send } = agent(steps, { autoInvoke: false, maxToolCalls: 1 });
    await send({ role: "user", content: "go" });
    await send(result("a"));
    expect(pairedScript(await send(result("b"))).at(-1)).toBe("ai: done");
  });
});

describe("additionalTools", () => {
  it.each([
    ["a definition in OpenAI's form", browser, "open_page"],
    ["a LangChain tool", neverRun, "ask_user"],
  ])("as %s are declared, and their calls handed to the caller", async (_form, additional, name) => {
    const steps = [calls([name, {}, "a"]), "done"];
    const { send, model } = agent(steps, { additionalTools: [additional] });
    expect(script(messagesOf(await send({ role: "user", content: "go" })))).toEqual([
      "human: go",
      `ai> ${name}`,
    ]);
    expect(pairedScript(await send(result("a")))).toEqual([
      "human: go",
      `ai> ${name}`,
      "tool: result of a",
      "ai: done",
    ]);
    expect(model.requests[0]?.toolNames).toHaveLength(2);
  });

  it("stand beside tools of the graph in one batch: those run at once", async () => {
    const batch = calls(["open_page", {}, "a"], ["fast", {}, "b"], ["open_page", {}, "c"]);
    const { send, probe } = agent([batch, "done"], { additionalTools: [browser] });
    const waiting = script(messagesOf(await send({ role: "user", content: "go" })));
    expect(waiting).toEqual(["human: go", "ai> open_page fast open_page", "tool: fast done -"]);
    await send(result("c"));
    expect(pairedScript(await send(result("a")))).toEqual([
      "human: go",
      "ai> open_page fast open_page",
      "tool: result of a",
      "tool: fast done -",
      "tool: result of c",
      "ai: done",
    ]);
    expect(probe.runs).toEqual(["fast:-"]);
  });

  it.each([
    [{ additionalTools: [{ type: "function", function: { name: "fast" } }] }, "Two tools are named `fast`"],
    [{ additionalTools: [{ type: "function", function: { name: "bad name" } }] }, "`bad name`"],
    [{ additionalTools: [{}] }, "additionalTools[0]"],
    [{ additionalTools: ["open_page"] }, "additionalTools[0]"],
    [{ additionalTools: browser }, "`additionalTools` to be a list of tools"],
  ])("%j are refused", (options, words) => {
    expect(() => agent([], options as never)).toThrow(words);
  });
});

describe("terminateOnUnknownCalls", () => {
  it("ends the run when siblings are done, and the next turn goes on", async () => {
    const batch = calls(["nowhere", {}, "a"], ["fast", {}, "b"]);
    const { send } = agent([batch, "done"], { terminateOnUnknownCalls: true });
    expect(pairedScript(await send({ role: "user", content: "go" }))).toEqual([
      "human: go",
      "ai> nowhere fast",
      "tool! Error: there is no tool named `nowhere`. The tools are: fast.",
      "tool: fast done -",
    ]);
    expect(pairedScript(await send({ role: "user", content: "go on" })).at(-1)).toBe("ai: done");
  });

  it("is off by default: the model is told, and goes on", async () => {
    const { send } = agent([calls(["nowhere"]), "done"], {});
    expect(pairedScript(await send({ role: "user", content: "go" })).at(-1)).toBe("ai: done");
  });
});
