/** Middleware writes to the state between rounds. */

import { AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  type AgentGraphOptions,
  type ChatContext,
  chatMiddleware,
  createAgentGraph,
  functionMiddleware,
} from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { pairedScript, user } from "../../support/thread.js";

const config = { configurable: { thread_id: "1" } };

function agent(middleware: AgentGraphOptions["middleware"], options: Partial<AgentGraphOptions> = {}) {
  return createAgentGraph({
    model: scripted(),
    tools: [createProbe().fast],
    checkpointer: new MemorySaver(),
    middleware,
    ...options,
  });
}

const onTheWayIn = (write: (context: ChatContext) => void) =>
  chatMiddleware(async (context, next) => {
    write(context);
    await next();
  });
const onTheWayOut = (write: (context: ChatContext) => void) =>
  chatMiddleware(async (context, next) => {
    await next();
    write(context);
  });

describe("context.update of a chat middleware", () => {
  it("writes messages before the response, or after it", async () => {
    const model = scripted("done");
    const note = (text: string) => (context: ChatContext) =>
      context.update({ messages: new SystemMessage(text) });
    const graph = agent([onTheWayIn(note("before")), onTheWayOut(note("after"))], { model });
    expect(pairedScript(await graph.invoke(user("go"), config))).toEqual([
      "human: go",
      "system: before",
      "ai: done",
      "system: after",
    ]);
    // The messages of this call stay as they were.
    expect(model.requests[0]?.messages.map(({ type }) => type)).toEqual(["human"]);
  });

  it("keeps the pairs: what is written after calls stands behind their results", async () => {
    const model = scripted(calls(["fast"], ["fast"]), "done");
    const graph = agent(
      [onTheWayOut((context) => context.update({ messages: [["human", "and quickly"]] }))],
      {
        model,
      },
    );
    expect(pairedScript(await graph.invoke(user("go"), config))).toEqual([
      "human: go",
      "ai> fast fast",
      "tool: fast done -",
      "tool: fast done -",
      "human: and quickly",
      "ai: done",
      "human: and quickly",
    ]);
  });

  it("removes messages", async () => {
    const model = scripted(calls(["fast"]), "done");
    const graph = agent(
      [
        onTheWayIn(({ state, messages, update }) => {
          if (messages.at(-1)?.type !== "tool") return;
          const [first] = state.messages;
          expect(first?.text).toBe("go");
          update({ messages: [new RemoveMessage({ id: first?.id ?? "" })] });
        }),
      ],
      { model },
    );
    expect(pairedScript(await graph.invoke(user("go"), config))).toEqual([
      "ai> fast",
      "tool: fast done -",
      "ai: done",
    ]);
  });

  it("does not begin a turn, so that limits hold", async () => {
    const model = scripted(calls(["fast"]), calls(["fast"]), "closed");
    const graph = agent(
      [onTheWayOut((context) => context.update({ messages: [new HumanMessage("go on")] }))],
      {
        model,
        maxIterations: 2,
      },
    );
    const lines = pairedScript(await graph.invoke(user("go"), config));
    expect(lines.filter((line) => line === "human: go on")).toHaveLength(3);
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, undefined, "none"]);
  });

  it("is written once by a middleware that runs again inside one with retry", async () => {
    const write = (text: string, context: ChatContext) =>
      context.update({ messages: [new SystemMessage(text)] });
    const again = chatMiddleware(
      async (context, next) => {
        write("outer, first", context);
        await next();
        write("outer, second", context);
        await next();
      },
      { retry: true },
    );
    const inner = onTheWayIn((context) => write(`inner ${context.attempt}`, context));
    const graph = agent([again, inner], { model: scripted("one", "two") });
    expect(pairedScript(await graph.invoke(user("go"), config))).toEqual([
      "human: go",
      "system: outer, first",
      "system: inner 2",
      "ai: two",
      "system: outer, second",
    ]);
  });

  it("accepts calls with their results", async () => {
    const example = [
      new AIMessage({ content: "", tool_calls: [{ id: "e", name: "fast", args: {} }] }),
      new ToolMessage({ content: "an example", tool_call_id: "e" }),
    ];
    const graph = agent([onTheWayIn((context) => context.update({ messages: example }))], {
      model: scripted("done"),
    });
    expect(pairedScript(await graph.invoke(user("go"), config)).slice(1)).toEqual([
      "ai> fast",
      "tool: an example",
      "ai: done",
    ]);
  });

  it("is written by a call without a model, and not by one that fails", async () => {
    const answer = chatMiddleware(async (context) => {
      context.update({ messages: ["noted"] });
      if (context.state.messages.length > 1) throw new Error("no");
      context.result = "mine";
    });
    const graph = agent([answer]);
    const lines = ["human: go", "human: noted", "ai: mine"];
    expect(pairedScript(await graph.invoke(user("go"), config))).toEqual(lines);
    await expect(graph.invoke(user("again"), config)).rejects.toThrow("no");
    expect(pairedScript((await graph.getState(config)).values)).toEqual([...lines, "human: again"]);
  });

  it.each<[title: string, changes: unknown, says: string]>([
    [
      "a key that the state does not have",
      { message: [] },
      "which is no key of the state. Did you mean `messages`?",
    ],
    ["a private channel", { turn: {} }, "`context.update` got `turn`, which is no key of the state"],
    ["a value that is not an object", "x", 'Expected `context.update` to be an object, got `"x"`.'],
    ["a value that is no message", { messages: [5] }, "Expected `messages[0]` to be a message"],
    [
      "a call without its result",
      { messages: [calls(["fast"])] },
      "got a message with a call of `fast` without its result",
    ],
  ])("refuses %s", async (_title, changes, says) => {
    const graph = agent([onTheWayIn((context) => context.update(changes as never))]);
    await expect(graph.invoke(user("go"), config)).rejects.toThrow(says);
  });
});

describe("context.update of a function middleware", () => {
  it("writes messages after the results of the batch", async () => {
    const note = functionMiddleware(async (context, next) => {
      await next();
      context.update({ messages: [new SystemMessage(`used ${context.call.name}`)] });
    });
    const model = scripted(calls(["fast", { label: "1" }], ["fast", { label: "2" }]), "done");
    expect(pairedScript(await agent([note], { model }).invoke(user("go"), config))).toEqual([
      "human: go",
      "ai> fast fast",
      "tool: fast done 1",
      "tool: fast done 2",
      "system: used fast",
      "system: used fast",
      "ai: done",
    ]);
  });

  it("writes once for a call that was retried", async () => {
    const again = functionMiddleware(
      async (_context, next) => {
        await next();
        await next();
      },
      { retry: true },
    );
    const note = functionMiddleware(async (context, next) => {
      await next();
      context.update({ messages: [new SystemMessage(`attempt ${context.attempt}`)] });
    });
    const graph = agent([again, note], { model: scripted(calls(["fast"]), "done") });
    expect(pairedScript(await graph.invoke(user("go"), config)).slice(2)).toEqual([
      "tool: fast done -",
      "system: attempt 2",
      "ai: done",
    ]);
  });

  it("refuses a key that the state does not have, and the call has its result", async () => {
    const bad = functionMiddleware(async (context, next) => {
      await next();
      context.update({ plan: 1 });
    });
    const graph = agent([bad], { model: scripted(calls(["fast"])) });
    await expect(graph.invoke(user("go"), config)).rejects.toThrow("`plan`, which is no key of the state");
    expect(pairedScript((await graph.getState(config)).values).at(-1)).toBe("tool: fast done -");
  });
});
