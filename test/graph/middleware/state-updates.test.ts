import { HumanMessage, RemoveMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { chatMiddleware, functionMiddleware, type Middleware } from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { afterNext, beforeNext, type Change, insteadOfNext, twice } from "../../support/middleware.js";
import { calls } from "../../support/models.js";
import type { Step } from "../../support/scripted-model.js";
import { rowsOf } from "../../support/test-tools.js";
import { script } from "../../support/thread.js";

const noting =
  (text: string): Change<"chat" | "function"> =>
  ({ update }) =>
    update({ messages: [new SystemMessage(text)] });
const outer = chatMiddleware(
  async (context, next) => {
    noting("outer, first")(context);
    await next();
    noting("outer, second")(context);
    await next();
  },
  { retry: true },
);
const example = () => [
  calls(["fast", {}, "e"]),
  new ToolMessage({ content: "an example", tool_call_id: "e" }),
];

const WRITES = rowsOf<[middleware: Middleware[], steps: Step[], lines: string[]]>({
  "writes messages before the response, or after it": [
    [beforeNext("chat", noting("before")), afterNext("chat", noting("after"))],
    ["done"],
    ["system: before", "ai: done", "system: after"],
  ],
  "keeps the pairs: what is written after calls stands behind their results": [
    [afterNext("chat", ({ update }) => update({ messages: [["human", "quickly"]] }))],
    [calls(["fast"], ["fast"]), "done"],
    [
      "ai> fast fast",
      "tool: fast done -",
      "tool: fast done -",
      "human: quickly",
      "ai: done",
      "human: quickly",
    ],
  ],
  "is written once by a middleware that runs again inside one with retry": [
    [outer, beforeNext("chat", (context) => noting(`inner ${context.attempt}`)(context))],
    ["one", "two"],
    ["system: outer, first", "system: inner 2", "ai: two", "system: outer, second"],
  ],
  "accepts calls with their results": [
    [beforeNext("chat", ({ update }) => update({ messages: example() }))],
    ["done"],
    ["ai> fast", "tool: an example", "ai: done"],
  ],
  "of a function middleware writes messages after the results of the batch": [
    [afterNext("function", noting("used"))],
    [calls(["fast", { label: "1" }], ["fast", { label: "2" }]), "done"],
    ["ai> fast fast", "tool: fast done 1", "tool: fast done 2", "system: used", "system: used", "ai: done"],
  ],
  "of a function middleware writes once for a call that was retried": [
    [
      functionMiddleware(twice, { retry: true }),
      afterNext("function", (context) => noting(`attempt ${context.attempt}`)(context)),
    ],
    [calls(["fast"]), "done"],
    ["ai> fast", "tool: fast done -", "system: attempt 2", "ai: done"],
  ],
});

describe("context.update", () => {
  it.each(WRITES)("%s", async (_title, middleware, steps, lines) => {
    const { run, model } = agentThread(steps, { middleware });
    expect(await run()).toEqual(["human: go", ...lines]);
    // The messages of this call stay as they were.
    expect(script(model.requests[0]?.messages ?? [])).toEqual(["human: go"]);
  });

  it("removes messages", async () => {
    const remove = beforeNext("chat", ({ state, messages, update }) => {
      if (messages.at(-1)?.type !== "tool") return;
      const [first] = state.messages;
      expect(first?.text).toBe("go");
      update({ messages: [new RemoveMessage({ id: first?.id ?? "" })] });
    });
    const { run } = agentThread([calls(["fast"]), "done"], { middleware: [remove] });
    expect(await run()).toEqual(["ai> fast", "tool: fast done -", "ai: done"]);
  });

  it("does not begin a turn, so that limits hold", async () => {
    const middleware = [afterNext("chat", ({ update }) => update({ messages: [new HumanMessage("go on")] }))];
    const steps = [calls(["fast"]), calls(["fast"]), "closed"];
    const { run, choices } = agentThread(steps, { middleware, maxIterations: 2 });
    expect((await run()).filter((line) => line === "human: go on")).toHaveLength(3);
    expect(choices()).toEqual([undefined, undefined, "none"]);
  });

  it("is written by a call without a model, and not by one that fails", async () => {
    const answer = insteadOfNext("chat", (context) => {
      context.update({ messages: ["noted"] });
      if (context.state.messages.length > 1) throw new Error("no");
      context.result = "mine";
    });
    const thread = agentThread([], { middleware: [answer] });
    const lines = ["human: go", "human: noted", "ai: mine"];
    expect(await thread.run()).toEqual(lines);
    await expect(thread.invoke("again")).rejects.toThrow("no");
    expect(await thread.lines()).toEqual([...lines, "human: again"]);
  });

  it.each<[title: string, changes: unknown, says: string]>([
    ["an unknown key", { message: [] }, "which is no key of the state. Did you mean `messages`?"],
    ["a private channel", { turn: {} }, "`context.update` got `turn`, which is no key of the state"],
    ["a value that is not an object", "x", 'Expected `context.update` to be an object, got `"x"`.'],
    ["a value that is no message", { messages: [5] }, "Expected `messages[0]` to be a message"],
    [
      "a call without its result",
      { messages: [calls(["fast"])] },
      "got a message with a call of `fast` without its result",
    ],
  ])("refuses %s", async (_title, changes, says) => {
    const middleware = [beforeNext("chat", ({ update }) => update(changes as never))];
    await expect(agentThread([], { middleware }).invoke()).rejects.toThrow(says);
  });

  it("of a function middleware refuses an unknown key, and the call has its result", async () => {
    const middleware = [afterNext("function", ({ update }) => update({ plan: 1 }))];
    const { invoke, lines } = agentThread([calls(["fast"])], { middleware });
    await expect(invoke()).rejects.toThrow("`plan`, which is no key of the state");
    expect((await lines()).at(-1)).toBe("tool: fast done -");
  });
});
