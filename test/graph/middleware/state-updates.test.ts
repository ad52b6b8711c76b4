import { HumanMessage, RemoveMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  type AgentGraphOptions,
  type ChatContext,
  chatMiddleware,
  createAgentGraph,
  functionMiddleware,
  type Next,
} from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { pairedScript, script, user } from "../../support/thread.js";

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

const noting = (text: string) => (context: ChatContext) =>
  context.update({ messages: [new SystemMessage(text)] });
const twice = async (_context: object, next: Next) => {
  await next();
  await next();
};

type Row = [title: string, middleware: AgentGraphOptions["middleware"], steps: Step[], lines: string[]];

describe("context.update", () => {
  it.each<Row>([
    [
      "writes messages before the response, or after it",
      [onTheWayIn(noting("before")), onTheWayOut(noting("after"))],
      ["done"],
      ["system: before", "ai: done", "system: after"],
    ],
    [
      "keeps the pairs: what is written after calls stands behind their results",
      [onTheWayOut((context) => context.update({ messages: [["human", "and quickly"]] }))],
      [calls(["fast"], ["fast"]), "done"],
      [
        "ai> fast fast",
        "tool: fast done -",
        "tool: fast done -",
        "human: and quickly",
        "ai: done",
        "human: and quickly",
      ],
    ],
    [
      "is written once by a middleware that runs again inside one with retry",
      [
        chatMiddleware(
          async (context, next) => {
            noting("outer, first")(context);
            await next();
            noting("outer, second")(context);
            await next();
          },
          { retry: true },
        ),
        onTheWayIn((context) => noting(`inner ${context.attempt}`)(context)),
      ],
      ["one", "two"],
      ["system: outer, first", "system: inner 2", "ai: two", "system: outer, second"],
    ],
    [
      "accepts calls with their results",
      [
        onTheWayIn((context) =>
          context.update({
            messages: [
              calls(["fast", {}, "e"]),
              new ToolMessage({ content: "an example", tool_call_id: "e" }),
            ],
          }),
        ),
      ],
      ["done"],
      ["ai> fast", "tool: an example", "ai: done"],
    ],
    [
      "of a function middleware writes messages after the results of the batch",
      [
        functionMiddleware(async (context, next) => {
          await next();
          context.update({ messages: [new SystemMessage(`used ${context.call.name}`)] });
        }),
      ],
      [calls(["fast", { label: "1" }], ["fast", { label: "2" }]), "done"],
      [
        "ai> fast fast",
        "tool: fast done 1",
        "tool: fast done 2",
        "system: used fast",
        "system: used fast",
        "ai: done",
      ],
    ],
    [
      "of a function middleware writes once for a call that was retried",
      [
        functionMiddleware(twice, { retry: true }),
        functionMiddleware(async (context, next) => {
          await next();
          context.update({ messages: [new SystemMessage(`attempt ${context.attempt}`)] });
        }),
      ],
      [calls(["fast"]), "done"],
      ["ai> fast", "tool: fast done -", "system: attempt 2", "ai: done"],
    ],
  ])("%s", async (_title, middleware, steps, lines) => {
    const model = scripted(...steps);
    const written = pairedScript(await agent(middleware, { model }).invoke(user("go"), config));
    expect(written).toEqual(["human: go", ...lines]);
    // The messages of this call stay as they were.
    expect(script(model.requests[0]?.messages ?? [])).toEqual(["human: go"]);
  });
});

describe("context.update of a chat middleware", () => {
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
