import { AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver, Send } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { results, returning, schema } from "../../support/batch.js";
import { makeTool } from "../../support/make-tool.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted, type WantedCall } from "../../support/scripted-model.js";
import { inThread, pairedMessagesOf, pairedScript, script, user } from "../../support/thread.js";

describe("a call fails", () => {
  it("when the tool throws; the model gets the details only if that is enabled", async () => {
    const probe = createProbe();
    const batch: WantedCall[] = [["failing", { label: "42" }]];
    const [hidden] = await results({ tools: [probe.failing] }, ...batch);
    const [told] = await results({ tools: [probe.failing], includeDetailedErrors: true }, ...batch);
    expect(hidden).toMatchObject({ status: "error", content: "Error: `failing` failed." });
    expect(told).toMatchObject({ status: "error", content: "Error: `failing` failed: secret 42" });
  });

  it.each([["a string"], [undefined], [null], [{ code: 7 }]])("when %j is thrown", async (thrown) => {
    const bad = makeTool("bad", async () => {
      throw thrown;
    });
    const [result] = await results({ tools: [bad], includeDetailedErrors: true }, ["bad"]);
    expect(result).toMatchObject({ status: "error" });
  });

  it("when the tool does not exist, and the error names it and the existing tools", async () => {
    const probe = createProbe();
    const [result] = await results({ tools: [probe.fast, probe.deaf] }, ["fsat"]);
    expect(result).toMatchObject({ status: "error", name: "fsat" });
    expect(result?.text).toMatch(/`fsat`.*fast, deaf/);
  });

  it.each([
    ["a wrong type", { amount: "3" }, "amount"],
    ["a missing field", {}, "amount"],
    ["a wrong optional field", { amount: 1, note: 4 }, "note"],
  ])("with %s, and the error names the field, and the tool was not run", async (_what, args, field) => {
    const { tool: give, runs } = returning("x");
    const [result] = await results({ tools: [give] }, ["give", args]);
    expect(result).toMatchObject({ status: "error", name: "give" });
    expect(result?.text).toContain(field);
    expect(runs).toEqual([]);
  });

  it("with arguments that are not JSON, and the tool was not run", async () => {
    const { tool: give, runs } = returning("x");
    const broken = new AIMessageChunk({
      content: "",
      tool_call_chunks: [
        { type: "tool_call_chunk", index: 0, id: "bad", name: "give", args: '{"amount": oops' },
        { type: "tool_call_chunk", index: 1, id: "good", name: "give", args: '{"amount": 2}' },
      ],
    });
    expect(broken.invalid_tool_calls).toHaveLength(1);
    const graph = createAgentGraph({ model: scripted([broken], "the end"), tools: [give] });
    const messages = pairedMessagesOf(await graph.invoke(user("go")));
    const found = messages.filter((message) => message.type === "tool") as ToolMessage[];
    expect(found.map(({ tool_call_id, status }) => [tool_call_id, status])).toEqual([
      ["good", "success"],
      ["bad", "error"],
    ]);
    expect(found[1]?.text).toMatch(/arguments of `give`.*not run/);
    expect(runs).toEqual([{ amount: 2 }]);
  });

  it.each(["heedful", "deaf"] as const)("after toolTimeoutMs, if the tool is %s", async (name) => {
    const probe = createProbe();
    const [slow, fast] = await results(
      { tools: [probe[name], probe.fast], toolTimeoutMs: 60 },
      [name],
      ["fast"],
    );
    expect(slow).toMatchObject({ status: "error", name });
    expect(slow?.text).toContain("60 ms");
    expect(fast).toMatchObject({ content: "fast done -" });
    probe.release();
  });
});

describe("a batch", () => {
  it("has its results in call order, whatever came first", async () => {
    const wait = makeTool(
      "wait",
      async ({ amount }: z.infer<typeof schema>) => {
        await new Promise((resolve) => setTimeout(resolve, amount));
        return `after ${amount}`;
      },
      schema,
    );
    const found = await results(
      { tools: [wait] },
      ["wait", { amount: 90 }],
      ["wait", { amount: 40 }],
      ["wait", { amount: 1 }],
    );
    expect(script(found)).toEqual(["tool: after 90", "tool: after 40", "tool: after 1"]);
  });

  it("runs in parallel", async () => {
    const probe = createProbe();
    const all = results({ tools: [probe.deaf] }, ["deaf"], ["deaf"], ["deaf"]);
    await probe.hasBegun(3);
    probe.release();
    expect(await all).toHaveLength(3);
  });

  it("loses nothing when one of its calls throws first", async () => {
    const probe = createProbe();
    const all = results(
      { tools: [probe.failing, probe.deaf, probe.fast] },
      ["deaf", { label: "1" }],
      ["failing"],
      ["no_such_tool"],
      ["fast"],
      ["deaf", { label: "2" }],
    );
    await probe.hasBegun(4);
    probe.release();
    expect((await all).map(({ status }) => status)).toEqual([
      "success",
      "error",
      "error",
      "success",
      "success",
    ]);
    expect(probe.ends.toSorted()).toEqual(["deaf:1", "deaf:2", "fast:-"]);
  });

  it("whose calls share one id has a result for each of them", async () => {
    const probe = createProbe();
    const found = await results(
      { tools: [probe.fast] },
      ["fast", { label: "1" }, "same"],
      ["fast", { label: "2" }, "same"],
    );
    expect(probe.runs.toSorted()).toEqual(["fast:1", "fast:2"]);
    expect(found.map(({ text }) => text).toSorted()).toEqual(["fast done 1", "fast done 2"]);
  });
});

describe("a tool's value becomes its result:", () => {
  const blocks = [{ type: "text", text: "a picture" }];
  const given = (content: unknown) => ({ content, name: "give", status: "success" });
  const message = (fields: object) => (id: string) =>
    new ToolMessage({ content: "mine", tool_call_id: id, id: "own-id", ...fields });

  it.each<[what: string, value: unknown, result: object]>([
    ["a string", "plain", given("plain")],
    ["an empty string", "", given("(no output)")],
    ["an object", { a: [1, "二"] }, given('{"a":[1,"二"]}')],
    ["a number", 7, given("7")],
    ["false", false, given("false")],
    ["undefined", undefined, { name: "give", status: "success" }],
    ["null", null, { name: "give", status: "success" }],
    ["a ToolMessage with a status", message({ status: "error" }), { content: "mine", status: "error" }],
    ["a ToolMessage with an artifact", message({ artifact: { page: 3 } }), { artifact: { page: 3 } }],
    ["a ToolMessage that names another call", message({ tool_call_id: "someone-else" }), { content: "mine" }],
    ["a list of content blocks", message({ content: blocks }), { content: blocks }],
    [
      "a Command whose update carries it",
      (id: string) => new Command({ update: { messages: [message({})(id)] } }),
      { content: "mine" },
    ],
    ["a Command that carries none", () => new Command({ update: {} }), { name: "give" }],
  ])("%s", async (_what, value, expected) => {
    const { tool: give, runs } = returning(value);
    const [result] = await results({ tools: [give] }, ["give", { amount: 1 }, "own"]);
    expect(result).toMatchObject({ tool_call_id: "own", ...expected });
    // An id of the tool's choice could be that of another message, and would replace it.
    expect(result?.id).not.toBe("own-id");
    expect(runs).toEqual([{ amount: 1 }]);
  });

  it("content and artifact", async () => {
    const give = tool(async () => ["seen by the model", { rows: 3 }], {
      name: "give",
      description: "give",
      schema,
      responseFormat: "content_and_artifact",
    });
    const [result] = await results({ tools: [give] }, ["give", { amount: 1 }]);
    expect(result).toMatchObject({ content: "seen by the model", artifact: { rows: 3 } });
  });
});

const any = z.object({});

const named = (name: string, run: (config: { toolCall?: { id?: string } }) => unknown) =>
  makeTool(name, async (_input, config) => run(config as { toolCall?: { id?: string } }), any);

const steady = named("steady", async () => {
  await new Promise((resolve) => setTimeout(resolve, 30));
  return "steady done";
});

const odd: readonly (readonly [title: string, run: (config: { toolCall?: { id?: string } }) => unknown])[] = [
  [
    "throws what cannot be made a string",
    () => {
      throw Object.create(null);
    },
  ],
  ["returns a command with what is no message", () => new Command({ update: { messages: [42] } })],
  ["returns a command with null as messages", () => new Command({ update: { messages: null } })],
  ["returns nothing", () => undefined],
  ["returns an empty text", () => ""],
  ["returns an empty list", () => []],
  [
    "returns a result for another call",
    () => new ToolMessage({ content: "x", tool_call_id: "other", status: "error" }),
  ],
  [
    "gives its result the id of the user's message",
    () => new ToolMessage({ id: "user", content: "x", tool_call_id: "" }),
  ],
  [
    "gives its result an id that it gives every result",
    () => new ToolMessage({ id: "mine", content: "x", tool_call_id: "" }),
  ],
];

describe("A tool that", () => {
  it.each(odd)("%s does not lose its sibling's result, and its call gets a result", async (_title, run) => {
    const graph = createAgentGraph({
      model: "offline:",
      tools: [named("odd", run), steady],
      checkpointer: new MemorySaver(),
      includeDetailedErrors: true,
    });
    const thread = { configurable: { thread_id: "1" } };
    const ask = (id: string) => [new HumanMessage({ id, content: "call odd and call odd and call steady" })];
    await graph.invoke({ messages: ask("user") }, thread);
    const { messages } = await graph.invoke({ messages: ask("again") }, thread);
    expect(messages.map(({ type }) => type).join(" ")).toBe(
      "human ai tool tool tool ai human ai tool tool tool ai",
    );
    const results = messages.filter((message) => message.type === "tool");
    expect(results.filter(({ content }) => content === "steady done")).toHaveLength(2);
    for (const { content } of results) expect(content.length).toBeGreaterThan(0);
  });

  it.each(["tools", "approve", new Send("tools", { call: { id: "x", name: "bad" }, args: {} })])(
    "returns a command that leads to %s runs no call of its own making",
    async (goto) => {
      const bad = makeTool("bad", async () => new Command({ goto }));
      const [result] = await results({ tools: [bad], includeDetailedErrors: true }, ["bad"]);
      expect(result?.text).toContain("only calls of the model are run");
    },
  );
});

describe("A time limit", () => {
  it("longer than a timer takes is refused", () => {
    expect(() => createAgentGraph({ model: "offline:", toolTimeoutMs: 2 ** 31 })).toThrow(
      /toolTimeoutMs.*2147483647/,
    );
  });
});

// Tools that are async generators: what they yield is streamed, and what they return is the result.

const citySchema = z.object({ city: z.string() });

const look = tool(
  async function* ({ city }) {
    yield `looking at ${city}`;
    yield { done: 50 };
    return `${city}: 18 °C`;
  },
  { name: "look", description: "Looks.", schema: citySchema },
);

const silent = tool(
  async function* () {
    yield "nothing to say";
  },
  { name: "silent", description: "Says nothing.", schema: citySchema },
);

const failing = tool(
  async function* () {
    yield "about to fail";
    throw new Error("no luck");
  },
  { name: "failing", description: "Fails.", schema: citySchema },
);

const ended: string[] = [];

const endless = tool(
  async function* (_, { signal }) {
    try {
      for (;;) {
        yield "still there";
        await new Promise((resolve) => setImmediate(resolve));
        signal?.throwIfAborted();
      }
    } finally {
      ended.push("endless");
    }
  },
  { name: "endless", description: "Never ends.", schema: citySchema },
);

type Streams = { stream(input: object, options: object): Promise<AsyncIterable<unknown>> };

/** The events of the `tools` mode, without what differs between runs. */
async function toolEvents(graph: unknown): Promise<unknown[]> {
  const events: unknown[] = [];
  const chunks = await (graph as Streams).stream(user("go"), { ...inThread("1"), streamMode: "tools" });
  for await (const chunk of chunks) {
    const { event, name, data } = chunk as Record<string, unknown>;
    events.push([event, name, ...(data === undefined ? [] : [data])]);
  }
  return events;
}

const lookScript = () => scripted(calls(["look", { city: "Oslo" }]), "done");

describe("What a generator yields", () => {
  it("is in the `tools` stream, as with LangChain's createAgent", async () => {
    const ours = await toolEvents(
      createAgentGraph({ model: lookScript(), tools: [look], checkpointer: new MemorySaver() }),
    );
    const theirs = await toolEvents(
      createAgent({ model: lookScript(), tools: [look], checkpointer: new MemorySaver() }),
    );
    expect(ours).toEqual(theirs);
    expect(ours).toEqual([
      ["on_tool_start", "look"],
      ["on_tool_event", "look", "looking at Oslo"],
      ["on_tool_event", "look", { done: 50 }],
      ["on_tool_end", "look"],
    ]);
  });
});

it.each([
  ["returns", look, "tool: Oslo: 18 °C"],
  ["does not return", silent, "tool: (no output)"],
  ["throws", failing, "tool! Error: `failing` failed."],
])("The result of a generator is what it %s.", async (_, given, result) => {
  const model = scripted(calls([given.name, { city: "Oslo" }]), "done");
  const graph = createAgentGraph({ model, tools: [given] });
  expect(pairedScript(await graph.invoke(user("go")))).toEqual([
    "human: go",
    `ai> ${given.name}`,
    result,
    "ai: done",
  ]);
});

it("A generator that does not end is stopped at the timeout.", async () => {
  const model = scripted(calls(["endless", { city: "Oslo" }]), "done");
  const graph = createAgentGraph({ model, tools: [endless], toolTimeoutMs: 20 });
  const [, , result] = pairedScript(await graph.invoke(user("go")));
  expect(result).toBe(
    "tool! Error: `endless` did not finish within 20 ms. It may or may not have taken effect.",
  );
  await expect.poll(() => ended).toEqual(["endless"]);
});
