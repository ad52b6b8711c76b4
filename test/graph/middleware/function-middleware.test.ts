import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, type FunctionContext, functionMiddleware, type Next } from "../../../src/index.js";
import { results, returning, schema } from "../../support/batch.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { pairedMessagesOf, pairedScript, user } from "../../support/thread.js";

const config = { configurable: { thread_id: "1" } };

type Handle = (context: FunctionContext, next: Next) => Promise<void>;

const CHANGES: readonly (readonly [how: string, handle: Handle])[] = [
  [
    "set anew",
    async (context, next) => {
      context.arguments = { amount: 7 };
      await next();
    },
  ],
  [
    "written into",
    async (context, next) => {
      context.arguments["amount"] = 7;
      await next();
    },
  ],
];

describe("arguments", () => {
  it.each(CHANGES)("that are %s reach the tool; the history has the model's", async (_how, handle) => {
    const { tool: give, runs } = returning("given");
    const model = scripted(calls(["give", { amount: 1 }]), "done");
    const graph = createAgentGraph({ model, tools: [give], middleware: [functionMiddleware(handle)] });
    const messages = pairedMessagesOf(await graph.invoke(user("go")));
    expect(runs).toEqual([{ amount: 7 }]);
    expect((messages[1] as AIMessage).tool_calls?.[0]?.args).toEqual({ amount: 1 });
  });

  it.each([
    ["of a wrong type", { amount: "7" }],
    ["of no shape at all", "seven"],
    ["that are none", undefined],
  ])("%s are refused by the tool's schema, and the model is told", async (_what, args) => {
    const { tool: give, runs } = returning("given");
    const middleware = [
      functionMiddleware(async (context, next) => {
        context.arguments = args as never;
        await next();
      }),
    ];
    const [result] = await results({ tools: [give], middleware }, ["give", { amount: 1 }]);
    expect(result).toMatchObject({
      status: "error",
      content: expect.stringMatching(/arguments of `give`.*not run/s),
    });
    expect(runs).toEqual([]);
  });
});

describe("arguments that are not an object", () => {
  it.each([[undefined], [null], [5], [[1]]])("are refused, whatever the tool's schema: %j", async (args) => {
    const runs: unknown[] = [];
    const run = async (given: unknown) => void runs.push(given);
    const free = tool(run, { name: "free", description: "free", schema: { type: "object", properties: {} } });
    const middleware = functionMiddleware(async (context, next) => {
      context.arguments = args as never;
      await next();
    });
    const [result] = await results({ tools: [free], middleware: [middleware] }, ["free", {}]);
    expect(result).toMatchObject({
      status: "error",
      content: expect.stringMatching(/arguments of `free` were refused.*`context\.arguments`.*not an object/),
    });
    expect(runs).toEqual([]);
  });
});

describe("the result", () => {
  it("can come from a cache, without the tool, to each call under its own id", async () => {
    const { tool: give, runs } = returning("given");
    const cache = new Map<string, ToolMessage>();
    const caching = functionMiddleware(async (context, next) => {
      const key = JSON.stringify(context.arguments);
      const known = cache.get(key);
      if (known !== undefined) context.result = known;
      else {
        await next();
        if (context.result !== undefined) cache.set(key, context.result);
      }
    });
    const steps = ["a", "b", "c"].map((id) => calls(["give", { amount: 1 }, id]));
    const model = scripted(...steps, "done");
    const messages = pairedMessagesOf(
      await createAgentGraph({ model, tools: [give], middleware: [caching] }).invoke(user("go")),
    );
    const found = messages.filter((message): message is ToolMessage => message.type === "tool");
    expect(found.map(({ tool_call_id, text }) => [tool_call_id, text])).toEqual(
      ["a", "b", "c"].map((id) => [id, "given"]),
    );
    expect(runs).toHaveLength(1);
  });

  it("keeps what is written into it, and is never empty", async () => {
    const { tool: give } = returning("given");
    const writing = functionMiddleware(async (context, next) => {
      await next();
      if (context.result === undefined) return;
      context.result.content = "";
      context.result.artifact = { of: "mine" };
    });
    const checkpointer = new MemorySaver();
    const model = scripted(calls(["give", { amount: 1 }]), "done");
    const graph = createAgentGraph({ model, tools: [give], middleware: [writing], checkpointer });
    await graph.invoke(user("go"), config);
    const result = pairedMessagesOf((await graph.getState(config)).values)[2];
    expect(result).toMatchObject({ content: "(no output)", artifact: { of: "mine" } });
  });

  const answer = (content: string, id: string) => new ToolMessage({ content, tool_call_id: id });
  const VALUES: readonly (readonly [what: string, value: unknown, text: string])[] = [
    ["a message", (id: string) => answer("its own", id), "its own"],
    [
      "a command with the result",
      (id: string) => new Command({ update: { messages: [answer("in it", id)] } }),
      "in it",
    ],
    [
      "a command of pairs",
      (id: string) => new Command({ update: [["messages", [answer("in pairs", id)]]] }),
      "in pairs",
    ],
    ["a command without it", new Command({ update: {} }), "(no output)"],
    ["nothing", undefined, "(no output)"],
  ];

  it.each(VALUES)("of a tool that returns %s is seen and can be replaced", async (_what, value, text) => {
    const seen: unknown[] = [];
    const { tool: give } = returning(value);
    const replacing = functionMiddleware(async (context, next) => {
      await next();
      seen.push(context.result?.text);
      context.result = `${context.result?.text}!`;
    });
    const [result] = await results({ tools: [give], middleware: [replacing] }, ["give", { amount: 1 }]);
    expect([seen, result?.text]).toEqual([[text], `${text}!`]);
  });

  it("of a tool with an artifact keeps it", async () => {
    const give = tool(async () => ["content", { of: "it" }], {
      name: "give",
      description: "give",
      schema: z.object({}),
      responseFormat: "content_and_artifact",
    });
    const passing = functionMiddleware((_context, next) => next());
    const [result] = await results({ tools: [give], middleware: [passing] }, ["give"]);
    expect(result).toMatchObject({ content: "content", artifact: { of: "it" } });
  });

  it.each([[42], [new AIMessage("x")]])(
    "cannot be %j: the run fails, and the call is answered",
    async (value) => {
      const { tool: give } = returning("given");
      const bad = functionMiddleware(async (context) => {
        context.result = value as never;
      });
      const model = scripted(calls(["give", { amount: 1 }]));
      const checkpointer = new MemorySaver();
      const graph = createAgentGraph({ model, tools: [give], middleware: [bad], checkpointer });
      await expect(graph.invoke(user("go"), config)).rejects.toThrow("to be a `ToolMessage` or a text");
      expect(pairedScript((await graph.getState(config)).values).at(-1)).toBe("tool! Error: `give` failed.");
    },
  );
});

describe("a retrying middleware", () => {
  const retrying = (attempts: number[], times = 3) =>
    functionMiddleware(
      async function retry(context, next) {
        do {
          await next();
          attempts.push(context.attempt);
        } while (context.result?.status === "error" && context.attempt < times);
      },
      { retry: true },
    );

  it("repeats the call until it succeeds, and knows the attempt", async () => {
    const attempts: number[] = [];
    const { tool: give, runs } = returning(() => {
      if (attempts.length < 2) throw new Error("not yet");
      return "given";
    });
    const [result] = await results({ tools: [give], middleware: [retrying(attempts)] }, [
      "give",
      { amount: 1 },
    ]);
    expect([attempts, result?.text, runs.length]).toEqual([[1, 2, 3], "given", 3]);
  });

  it("has the whole toolTimeoutMs for each attempt", async () => {
    const attempts: number[] = [];
    const slow = tool(async () => (attempts.length === 0 ? new Promise<never>(() => {}) : "given"), {
      name: "give",
      description: "give",
      schema,
    });
    const options = { tools: [slow], middleware: [retrying(attempts)], toolTimeoutMs: 150 };
    const [result] = await results(options, ["give", { amount: 1 }]);
    expect([attempts, result?.text]).toEqual([[1, 2], "given"]);
  });

  it("does not prevent an interrupt, even if it catches everything; the code before next() runs again", async () => {
    const lines: string[] = [];
    const asking = tool(async () => `answered ${interrupt("may I?")}`, {
      name: "ask",
      description: "ask",
      schema: z.object({}),
    });
    const catching = functionMiddleware(async (context, next) => {
      lines.push("before");
      await next().catch(() => {
        context.result = "caught";
      });
      lines.push("after");
    });
    const middleware = [retrying([]), catching];
    const model = scripted(calls(["ask"]), "done");
    const graph = createAgentGraph({ model, tools: [asking], middleware, checkpointer: new MemorySaver() });
    expect(await graph.invoke(user("go"), config)).toHaveProperty("__interrupt__.0.value", "may I?");
    const values = await graph.invoke(new Command({ resume: "yes" }), config);
    expect(pairedScript(values).slice(2)).toEqual(["tool: answered yes", "ai: done"]);
    expect(lines).toEqual(["before", "after", "before", "after"]);
  });
});
