import {
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import type { ToolRuntime } from "@langchain/core/tools";
import { Command, InMemoryStore } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  type ChatContext,
  chatMiddleware,
  functionMiddleware,
  type Middleware,
  MiddlewareTermination,
} from "../../../src/index.js";
import { agentThread, type ThreadOptions } from "../../support/agent-thread.js";
import { afterNext, beforeNext, type Change, insteadOfNext, twice } from "../../support/middleware.js";
import { calls } from "../../support/models.js";
import type { Step } from "../../support/scripted-model.js";
import { rowsOf } from "../../support/test-tools.js";
import { script } from "../../support/thread.js";
import { makeTool } from "../../support/tools.js";

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

describe("a message after the results of a batch", () => {
  const text = "a note";
  const notes = [new SystemMessage(text), new HumanMessage(text)];
  const fast = makeTool("fast", async () => "fast done");
  const telling = (note: BaseMessage) =>
    makeTool("tell", async (_args, { toolCallId }: ToolRuntime) => {
      const result = new ToolMessage({ content: "told", tool_call_id: toolCallId });
      return new Command({ update: { messages: [result, note] } });
    });
  const calling = ({ result, update }: ChatContext, note: BaseMessage) =>
    result?.tool_calls?.length && update({ messages: [note] });
  const WRITERS = notes.flatMap((note): [who: string, options: ThreadOptions][] => [
    [`of a tool (${note.type})`, { tools: [fast, telling(note)] }],
    [
      `of a chat middleware (${note.type})`,
      {
        tools: [fast, makeTool("tell", async () => "told")],
        middleware: [afterNext("chat", (context) => calling(context, note))],
      },
    ],
    [
      `of a function middleware (${note.type})`,
      {
        tools: [fast, makeTool("tell", async () => "told")],
        middleware: [
          afterNext("function", ({ call, update }) => call.name === "tell" && update({ messages: [note] })),
        ],
      },
    ],
  ]);
  const tell = () => calls(["tell"]);

  describe.each(WRITERS)("%s", (_who, options) => {
    it("is no response to a call that waits for a human, and the model waits for its result", async () => {
      const requireApproval = ["fast"];
      const thread = agentThread([calls(["fast"], ["tell"]), "done"], { ...options, requireApproval });
      await thread.invoke();
      const wrong = { decisions: [{ type: "approve" }, { type: "approve" }] };
      await thread.invoke(new Command({ resume: wrong }));
      const lines = await thread.run(new Command({ resume: { decisions: [{ type: "approve" }] } }));
      expect(lines.slice(2)).toEqual([
        "tool: fast done",
        "tool: told",
        expect.stringContaining(text),
        "ai: done",
      ]);
      // The model was not told that the call has no result.
      expect(script(thread.model.requests[1]?.messages ?? [])).toContain("tool: fast done");
    });

    it("does not let a client answer a call that waits for a human", async () => {
      const thread = agentThread([calls(["fast", {}, "a"], ["tell"])], {
        ...options,
        requireApproval: ["fast"],
      });
      await thread.invoke();
      const forged = new ToolMessage({ content: "forged", tool_call_id: "a" });
      await expect(thread.graph.updateState(thread.config, { messages: [forged] })).rejects.toThrow(
        "waits for approval",
      );
    });

    it.each<[title: string, more: ThreadOptions]>([
      ["a required call", { toolChoice: "required" }],
      [
        "a middleware that ended the run",
        {
          store: new InMemoryStore(),
          middleware: [
            afterNext("function", async ({ store }) => {
              await store?.put(["langgraph-tether", "inbox", "1"], "a", {
                role: "user",
                content: "for later",
              });
              throw new MiddlewareTermination();
            }),
          ],
        },
      ],
    ])("does not undo the end of the run by %s", async (_title, { middleware = [], ...more }) => {
      const all = [...middleware, ...(options.middleware ?? [])];
      const thread = agentThread([tell()], { ...options, ...more, middleware: all });
      const lines = (await thread.run()).filter((line) => !line.endsWith(text));
      expect(lines).toEqual(["human: go", "ai> tell", "tool: told"]);
    });

    it("does not begin a turn, so that limits hold", async () => {
      const steps = [tell(), tell(), "closed"];
      const thread = agentThread(steps, { ...options, maxIterations: 2 });
      await thread.run();
      expect(thread.choices()).toEqual([undefined, undefined, "none"]);
    });
  });

  it("does not hide that all calls failed, or that a tool returns its result directly", async () => {
    const note = afterNext("chat", (context) => calling(context, new SystemMessage(text)));
    const limited = { middleware: [note], maxConsecutiveErrors: 2 };
    const failing = agentThread([calls(["failing"]), calls(["failing"]), "closed"], limited);
    await failing.run();
    expect(failing.choices()).toEqual([undefined, undefined, "none"]);
    const direct = Object.assign(
      makeTool("direct", async () => "directly"),
      { returnDirect: true },
    );
    const thread = agentThread([calls(["direct"])], { tools: [direct], middleware: [note] });
    expect((await thread.run()).slice(1)).toEqual(["ai> direct", "tool: directly", `system: ${text}`]);
  });

  it("begins a turn if the user sends it with the decisions", async () => {
    const direct = Object.assign(
      makeTool("direct", async () => "directly"),
      { returnDirect: true },
    );
    const options = { tools: [direct], requireApproval: ["direct"], maxIterations: 1 };
    const thread = agentThread([calls(["direct"]), "done"], options);
    await thread.invoke();
    const resume = { decisions: [{ type: "approve" }] };
    const lines = await thread.run(new Command({ resume, update: { messages: [new HumanMessage("also")] } }));
    expect(lines.slice(2)).toEqual(["tool: directly", "human: also", "ai: done"]);
    expect(thread.choices()).toEqual([undefined, undefined]);
  });

  it("is no response to a call that the caller of the run answers", async () => {
    const note = afterNext("chat", (context) => calling(context, new SystemMessage(text)));
    const given = makeTool("given", async () => "never");
    const options = { tools: [fast], additionalTools: [given], middleware: [note] };
    const thread = agentThread([calls(["given", {}, "g"], ["fast"]), "done"], options);
    await thread.invoke();
    expect(thread.model.requests).toHaveLength(1);
    const result = new ToolMessage({ content: "by the caller", tool_call_id: "g" });
    expect((await thread.run({ messages: [result] })).slice(2)).toEqual([
      "tool: by the caller",
      "tool: fast done",
      `system: ${text}`,
      "ai: done",
    ]);
  });
});
