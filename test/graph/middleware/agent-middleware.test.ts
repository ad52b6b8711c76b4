import { HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { createMiddleware, todoListMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import {
  type AgentContext,
  agentMiddleware,
  chatMiddleware,
  createAgentGraph,
  functionMiddleware,
  type Middleware,
  type Next,
} from "../../../src/index.js";
import { tetherMiddleware } from "../../../src/langchain.js";
import { FunctionModel } from "../../support/function-model.js";
import { makeTool } from "../../support/make-tool.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { pairedScript, user } from "../../support/thread.js";
import { rowsOf } from "../../support/titled.js";

type Handle = (context: AgentContext, next: Next) => Promise<void>;
const config = { configurable: { thread_id: "1" } };

const ask = makeTool("ask", async () => `answered ${interrupt("may I?")}`);

function agent(handle: Handle, ...steps: Step[]) {
  const model = scripted(...steps);
  const checkpointer = new MemorySaver();
  const middleware = [agentMiddleware(handle, { name: "mine" })];
  return { model, graph: createAgentGraph({ model, tools: [ask], middleware, checkpointer }) };
}

describe("the input's messages", () => {
  const CHANGES = rowsOf<[change: (context: AgentContext) => void, human: string[]]>({
    "are left": [() => {}, ["go"]],
    "are added to": [({ messages }) => void messages.push(new HumanMessage("now")), ["go", "now"]],
    "are added to with what stands for one": [
      ({ messages }) => void messages.push("now" as never),
      ["go", "now"],
    ],
    "are written into": [
      ({ messages }) => {
        for (const message of messages) message.content = "stop";
      },
      ["stop"],
    ],
    "are replaced": [
      (context) => {
        context.messages = [new HumanMessage("other")];
      },
      ["other"],
    ],
  });

  it.each(CHANGES)("%s", async (_how, change, texts) => {
    const { graph } = agent((context, next) => {
      change(context);
      return next();
    }, "done");
    const given = new HumanMessage("go");
    const lines = pairedScript(await graph.invoke({ messages: [given] }, config));
    expect(lines).toEqual([...texts.map((text) => `human: ${text}`), "ai: done"]);
    expect(given.text).toBe("go");
  });

  it("must be a message", async () => {
    const { graph } = agent(({ messages }, next) => {
      messages.push(42 as never);
      return next();
    });
    await expect(graph.invoke(user("go"), config)).rejects.toThrow("`messages[1]` to be a message");
  });

  it.each([[undefined], [null], ["hello"]])("cannot be %j, which is not a list", async (value) => {
    const { graph } = agent((context, next) => {
      context.messages = value as never;
      return next();
    });
    await expect(graph.invoke(user("go"), config)).rejects.toMatchObject({
      name: "InvalidMessageError",
      message: expect.stringContaining("`context.messages` to be a list of messages"),
    });
  });

  it("are empty when a run continues; the run keeps its input if none are added", async () => {
    const seen: number[] = [];
    const { graph } = agent(
      ({ messages }, next) => {
        seen.push(messages.length);
        return next();
      },
      calls(["ask"]),
      "done",
    );
    await graph.invoke(user("go"), config);
    await graph.invoke(null, config);
    const lines = pairedScript(await graph.invoke(new Command({ resume: "yes" }), config));
    expect(lines.slice(2)).toEqual(["tool: answered yes", "ai: done"]);
    expect(seen).toEqual([1, 0, 0]);
  });

  it("are those that a command writes, to which others can be added", async () => {
    const seen: string[][] = [];
    const { graph } = agent(
      ({ messages }, next) => {
        seen.push(messages.map(({ text }) => text));
        if (seen.length === 2) messages.push(new HumanMessage("and this"));
        return next();
      },
      calls(["ask"]),
      "done",
    );
    await graph.invoke(user("go"), config);
    const update = { messages: [new HumanMessage("this")] };
    const lines = pairedScript(await graph.invoke(new Command({ resume: "yes", update }), config));
    expect(seen[1]).toEqual(["this"]);
    expect(lines.filter((line) => line.startsWith("human"))).toEqual([
      "human: go",
      "human: this",
      "human: and this",
    ]);
  });

  it("can remove messages of the thread", async () => {
    const { graph } = agent(
      async ({ messages }, next) => {
        if (messages.at(-1)?.text === "again") messages.unshift(new RemoveMessage({ id: "first" }));
        await next();
      },
      "one",
      "two",
    );
    await graph.invoke({ messages: [new HumanMessage({ id: "first", content: "go" })] }, config);
    expect(pairedScript(await graph.invoke(user("again"), config))).toEqual([
      "ai: one",
      "human: again",
      "ai: two",
    ]);
  });
});

describe("the options of the run", () => {
  it("can be changed", async () => {
    const { graph, model } = agent((context, next) => {
      context.options = { ...context.options, systemPrompt: "Rhyme." };
      return next();
    }, "done");
    await graph.invoke(user("go"), { ...config, context: { systemPrompt: "Be brief." } });
    expect(model.requests[0]?.messages[0]?.text).toBe("Rhyme.");
  });

  it.each([
    [{ maxIterations: 1_000 }, "`maxIterations`"],
    [{ maxIteration: 1 }, "`maxIteration`"],
    [undefined, "`context.options` to be an object, got `undefined`"],
    [5, "`context.options` to be an object, got `5`"],
  ])("are checked again: %j", async (options, named) => {
    const { graph } = agent((context, next) => {
      context.options = options as never;
      return next();
    });
    await expect(graph.invoke(user("go"), config)).rejects.toThrow(named);
  });
});

describe("the information in a context", () => {
  it("says whether the run streams, its thread, its signal, and what it waits for", async () => {
    const seen: unknown[] = [];
    const { graph } = agent(
      async (context, next) => {
        await next();
        seen.push([context.stream, context.threadId, context.interrupts.map(({ value }) => value)]);
      },
      calls(["ask"]),
      "done",
    );
    await graph.invoke(user("go"), config);
    for await (const _ of await graph.stream(new Command({ resume: "yes" }), config));
    expect(seen).toEqual([
      [false, "1", ["may I?"]],
      [true, "1", []],
    ]);
  });

  it("has one metadata object for all layers of a run, and a new one for a resumed run", async () => {
    const seen: unknown[] = [];
    const step =
      (name: string) => async (context: { metadata: Record<string, unknown> }, next: () => Promise<void>) => {
        seen.push([name, context.metadata]);
        context.metadata = { ...context.metadata, [name]: true };
        await next();
      };
    const middleware: Middleware[] = [
      functionMiddleware(step("function")),
      chatMiddleware(step("chat")),
      agentMiddleware(step("agent")),
    ];
    const model = scripted(calls(["ask"]), "done");
    const graph = createAgentGraph({ model, tools: [ask], middleware, checkpointer: new MemorySaver() });
    await graph.invoke(user("go"), config);
    expect(seen.splice(0)).toEqual([
      ["agent", {}],
      ["chat", { agent: true }],
      ["function", { agent: true, chat: true }],
    ]);
    await graph.invoke(new Command({ resume: "yes" }), config);
    expect(seen).toEqual([
      ["agent", {}],
      ["function", { agent: true }],
      ["chat", { agent: true, function: true }],
    ]);
  });
});

// Middleware of one run, and values that are not middleware.

describe("middleware of a run", () => {
  const note = (lines: string[], name: string) =>
    agentMiddleware(async (_context, next) => {
      lines.push(name);
      await next();
    });

  it("runs inside the graph's middleware, only in that run and not in a nested run", async () => {
    const lines: string[] = [];
    const inner = createAgentGraph({
      model: new FunctionModel(() => "inner"),
      middleware: [note(lines, "inner")],
    });
    const graph = createAgentGraph({
      model: new FunctionModel(({ messages }) =>
        messages.at(-1)?.type === "tool" ? "done" : calls(["fast"]),
      ),
      tools: [createProbe().fast],
      middleware: [
        agentMiddleware(async function nested(_context, next) {
          lines.push("graph");
          await inner.invoke(user("go"));
          await next();
        }),
        functionMiddleware(async (_context, next) => {
          await inner.invoke(user("go"));
          await next();
        }),
      ],
    });
    await graph.invoke(user("go"), { middleware: [note(lines, "run")] });
    expect(lines.splice(0)).toEqual(["graph", "inner", "run", "inner"]);
    await graph.invoke(user("go"));
    expect(lines.splice(0)).toEqual(["graph", "inner", "inner"]);
    for await (const _ of await graph.stream(user("go"), { middleware: [note(lines, "run")] }));
    for await (const _ of graph.streamEvents(user("go"), {
      version: "v2",
      middleware: [note(lines, "run")],
    }));
    expect(lines.filter((line) => line === "run")).toHaveLength(2);
  });

  it.each([
    [[{ kind: "model", name: "x", handle: async () => {} }], "`middleware[0]`"],
    [[() => {}], "`middleware[0]`"],
    [{}, "`middleware`"],
  ])("is refused by name: %j", async (middleware, named) => {
    const model = scripted();
    expect(() => createAgentGraph({ model, middleware: middleware as never })).toThrow(named);
    const run = createAgentGraph({ model }).invoke(user("go"), { middleware: middleware as never });
    await expect(run).rejects.toThrow(named);
  });

  it.each([
    ["todoListMiddleware", todoListMiddleware()],
    ["audit", createMiddleware({ name: "audit", beforeModel: () => undefined })],
    ["tether", tetherMiddleware()],
  ])("of LangChain is refused in a sentence that names it: %s", (name, entry) => {
    expect(() => createAgentGraph({ model: scripted(), middleware: [entry as never] })).toThrow(
      `\`middleware[0]\` is the middleware \`${name}\` of LangChain, which only agents of LangChain take. createAgentGraph takes what agentMiddleware, chatMiddleware and functionMiddleware make. To protect an agent of createAgent, give it \`tetherMiddleware()\` of langgraph-tether/langchain.`,
    );
  });

  it.each([
    [() => agentMiddleware(async () => {}, { retry: true } as never), "`retry`"],
    [() => chatMiddleware(async () => {}, { readOnly: "yes" } as never), "`readOnly`"],
    [() => functionMiddleware({} as never), "functionMiddleware"],
  ])("is refused by its factory: %s", (make, named) => {
    expect(make).toThrow(named);
  });
});
