import { HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { createMiddleware, todoListMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import {
  agentMiddleware,
  chatMiddleware,
  createAgentGraph,
  functionMiddleware,
  type Middleware,
  type Next,
} from "../../../src/index.js";
import { tetherMiddleware } from "../../../src/langchain.js";
import { agentThread, ask } from "../../support/agent-thread.js";
import { allOf } from "../../support/async.js";
import { beforeNext, type Change, set } from "../../support/middleware.js";
import { calls, FunctionModel } from "../../support/models.js";
import { type Step, scripted } from "../../support/scripted-model.js";
import { rowsOf } from "../../support/test-tools.js";
import { user } from "../../support/thread.js";
import { createProbe } from "../../support/tools.js";

const resumed = (more: object = {}) => new Command({ resume: "yes", ...more });

const changing = (change: Change<"agent">, ...steps: Step[]) =>
  agentThread(steps, { middleware: [beforeNext("agent", change)] });

describe("the input's messages", () => {
  const CHANGES = rowsOf<[change: Change<"agent">, human: string[]]>({
    "are left": [() => {}, ["go"]],
    "are added to": [({ messages }) => messages.push(new HumanMessage("now")), ["go", "now"]],
    "are added to with what stands for one": [({ messages }) => messages.push("now" as never), ["go", "now"]],
    "are written into": [({ messages }) => Object.assign(messages[0] ?? {}, { content: "stop" }), ["stop"]],
    "are replaced": [set({ messages: [new HumanMessage("other")] }), ["other"]],
  });

  it.each(CHANGES)("%s", async (_how, change, texts) => {
    const given = new HumanMessage("go");
    const lines = await changing(change, "done").run({ messages: [given] });
    expect(lines).toEqual([...texts.map((text) => `human: ${text}`), "ai: done"]);
    expect(given.text).toBe("go");
  });

  it("are empty when a run continues; the run keeps its input if none are added", async () => {
    const seen: number[] = [];
    const thread = changing(({ messages }) => seen.push(messages.length), calls(["ask"]), "done");
    await thread.invoke();
    await thread.invoke(null);
    expect((await thread.run(resumed())).slice(2)).toEqual(["tool: answered yes", "ai: done"]);
    expect(seen).toEqual([1, 0, 0]);
  });

  it("are those that a command writes, to which others can be added", async () => {
    const seen: string[][] = [];
    const note: Change<"agent"> = ({ messages }) => {
      seen.push(messages.map(({ text }) => text));
      if (seen.length === 2) messages.push(new HumanMessage("and this"));
    };
    const thread = changing(note, calls(["ask"]), "done");
    await thread.invoke();
    const lines = await thread.run(resumed({ update: { messages: [new HumanMessage("this")] } }));
    expect(seen[1]).toEqual(["this"]);
    const human = ["human: go", "human: this", "human: and this"];
    expect(lines.filter((line) => line.startsWith("human"))).toEqual(human);
  });

  it("can remove messages of the thread", async () => {
    const remove: Change<"agent"> = ({ messages }) =>
      messages.at(-1)?.text === "again" && messages.unshift(new RemoveMessage({ id: "first" }));
    const thread = changing(remove, "one", "two");
    await thread.invoke(user("go", "first"));
    expect(await thread.run("again")).toEqual(["ai: one", "human: again", "ai: two"]);
  });
});

it("The options of the run can be changed", async () => {
  const thread = changing((context) => {
    context.options = { ...context.options, systemPrompt: "Rhyme." };
  }, "done");
  await thread.invoke("go", { context: { systemPrompt: "Be brief." } });
  expect(thread.model.requests[0]?.messages[0]?.text).toBe("Rhyme.");
});

it.each<[change: Change<"agent">, name: string, says: string]>([
  [({ messages }) => messages.push(42 as never), "InvalidMessageError", "`messages[1]` to be a message"],
  ...[undefined, null, "hello"].map((messages): [Change<"agent">, string, string] => [
    set({ messages }),
    "InvalidMessageError",
    "`context.messages` to be a list of messages",
  ]),
  [set({ options: { maxIterations: 1_000 } }), "InvalidSettingError", "`maxIterations`"],
  [set({ options: { maxIteration: 1 } }), "InvalidSettingError", "`maxIteration`"],
  [set({ options: undefined }), "InvalidSettingError", "`context.options` to be an object, got `undefined`"],
  [set({ options: 5 }), "InvalidSettingError", "`context.options` to be an object, got `5`"],
])("What is not valid is refused (%#)", async (change, name, says) => {
  const message = expect.stringContaining(says);
  await expect(changing(change).invoke()).rejects.toMatchObject({ name, message });
});

describe("the information in a context", () => {
  it("says whether the run streams, its thread, its signal, and what it waits for", async () => {
    const seen: unknown[] = [];
    const watch = agentMiddleware(async (context, next) => {
      await next();
      seen.push([context.stream, context.threadId, context.interrupts.map(({ value }) => value)]);
    });
    const thread = agentThread([calls(["ask"]), "done"], { middleware: [watch] });
    await thread.invoke();
    await allOf(thread.graph.stream(resumed(), thread.config));
    expect(seen).toEqual([
      [false, "1", ["may I?"]],
      [true, "1", []],
    ]);
  });

  it("has one metadata object for all layers of a run, and a new one for a resumed run", async () => {
    const seen: unknown[] = [];
    const step = (name: string) => async (context: { metadata: Record<string, unknown> }, next: Next) => {
      seen.push([name, context.metadata]);
      context.metadata = { ...context.metadata, [name]: true };
      await next();
    };
    const middleware: Middleware[] = [
      functionMiddleware(step("function")),
      chatMiddleware(step("chat")),
      agentMiddleware(step("agent")),
    ];
    const thread = agentThread([calls(["ask"]), "done"], { middleware, tools: [ask] });
    await thread.invoke();
    expect(seen.splice(0)).toEqual([
      ["agent", {}],
      ["chat", { agent: true }],
      ["function", { agent: true, chat: true }],
    ]);
    await thread.invoke(resumed());
    expect(seen).toEqual([
      ["agent", {}],
      ["function", { agent: true }],
      ["chat", { agent: true, function: true }],
    ]);
  });
});

describe("middleware of a run", () => {
  it("runs inside the graph's middleware, only in that run and not in a nested run", async () => {
    const lines: string[] = [];
    const note = (name: string) => beforeNext("agent", () => lines.push(name));
    const inner = createAgentGraph({ model: new FunctionModel(() => "inner"), middleware: [note("inner")] });
    const graph = createAgentGraph({
      model: new FunctionModel(({ messages }) =>
        messages.at(-1)?.type === "tool" ? "done" : calls(["fast"]),
      ),
      tools: [createProbe().fast],
      middleware: [
        note("graph"),
        beforeNext("agent", () => inner.invoke(user("go"))),
        beforeNext("function", () => inner.invoke(user("go"))),
      ],
    });
    const middleware = [note("run")];
    await graph.invoke(user("go"), { middleware });
    expect(lines.splice(0)).toEqual(["graph", "inner", "run", "inner"]);
    await graph.invoke(user("go"));
    expect(lines.splice(0)).toEqual(["graph", "inner", "inner"]);
    await allOf(graph.stream(user("go"), { middleware }));
    await allOf(graph.streamEvents(user("go"), { version: "v2", middleware }));
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
