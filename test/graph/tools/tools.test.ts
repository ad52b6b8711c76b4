import { AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import { Command, MemorySaver, Send } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, functionMiddleware } from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { allOf } from "../../support/async.js";
import { results, returning, schema } from "../../support/batch.js";
import { deferred } from "../../support/deferred.js";
import { twice } from "../../support/middleware.js";
import { calls, type WantedCall } from "../../support/models.js";
import { scripted } from "../../support/scripted-model.js";
import { rowsOf } from "../../support/test-tools.js";
import { inThread, script, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

describe("a call fails", () => {
  it("when the tool throws; the model gets the details only if that is enabled", async () => {
    const tools = [createProbe().failing];
    const batch: WantedCall[] = [["failing", { label: "42" }]];
    const [hidden] = await results({ tools }, ...batch);
    const [told] = await results({ tools, includeDetailedErrors: true }, ...batch);
    expect(hidden).toMatchObject({ status: "error", content: "Error: `failing` failed." });
    expect(told).toMatchObject({ status: "error", content: "Error: `failing` failed: secret 42" });
  });

  it.each([["a string"], [undefined], [null], [{ code: 7 }]])("when %j is thrown", async (thrown) => {
    const bad = makeTool("bad", () => Promise.reject(thrown));
    const [result] = await results({ tools: [bad], includeDetailedErrors: true }, ["bad"]);
    expect(result).toMatchObject({ status: "error" });
  });

  it("when the tool does not exist, and the error names it and the existing tools", async () => {
    const { fast, deaf } = createProbe();
    const [result] = await results({ tools: [fast, deaf] }, ["fsat"]);
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
    expect(result).toMatchObject({ status: "error", name: "give", content: expect.stringContaining(field) });
    expect(runs).toEqual([]);
  });

  it("with arguments that are not JSON, and the tool was not run", async () => {
    const { tool: give, runs } = returning("x");
    const chunk = { type: "tool_call_chunk", name: "give" } as const;
    const broken = new AIMessageChunk({
      content: "",
      tool_call_chunks: [
        { ...chunk, index: 0, id: "bad", args: '{"amount": oops' },
        { ...chunk, index: 1, id: "good", args: '{"amount": 2}' },
      ],
    });
    expect(broken.invalid_tool_calls).toHaveLength(1);
    const thread = agentThread([[broken], "the end"], { tools: [give] });
    await thread.run();
    expect((await thread.messages()).slice(2, 4)).toMatchObject([
      { tool_call_id: "good", status: "success" },
      {
        tool_call_id: "bad",
        status: "error",
        content: expect.stringMatching(/arguments of `give`.*not run/),
      },
    ]);
    expect(runs).toEqual([{ amount: 2 }]);
  });

  it.each(["heedful", "deaf"] as const)("after toolTimeoutMs, if the tool is %s", async (name) => {
    const probe = createProbe();
    const options = { tools: [probe[name], probe.fast], toolTimeoutMs: 60 };
    const [slow, fast] = await results(options, [name], ["fast"]);
    expect(slow).toMatchObject({ status: "error", name, content: expect.stringContaining("60 ms") });
    expect(fast).toMatchObject({ content: "fast done -" });
    probe.release();
  });
});

it("The time that a call waits for a human is not its tool's time.", async () => {
  const [answer, isOver] = [deferred<string>(), deferred()];
  const ask = makeTool("ask", async (_, runtime) => {
    const { waitForHuman } = runtime as typeof runtime & { waitForHuman<T>(coming: Promise<T>): Promise<T> };
    return `told ${await waitForHuman(answer.promise)}`;
  });
  const slow = makeTool("slow", async (_, { signal }) => {
    signal?.addEventListener("abort", () => isOver.resolve());
    return new Promise(() => {});
  });
  const model = scripted(calls(["ask"], ["slow"]), "Done.");
  const run = createAgentGraph({ model, tools: [ask, slow], toolTimeoutMs: 400 }).invoke(user("Go."));
  // Both calls began together.
  await isOver.promise;
  answer.resolve("yes");
  const results = script((await run).messages).filter((line) => line.startsWith("tool"));
  expect(results).toEqual(["tool: told yes", expect.stringContaining("400 ms")]);
});

it("A time limit longer than a timer takes is refused", () => {
  const build = () => createAgentGraph({ model: "offline:", toolTimeoutMs: 2 ** 31 });
  expect(build).toThrow(/toolTimeoutMs.*2147483647/);
});

describe("a batch", () => {
  it("whose calls share one id has a result for each of them", async () => {
    const { fast, runs } = createProbe();
    const batch = ["1", "2"].map((label): WantedCall => ["fast", { label }, "same"]);
    const found = await results({ tools: [fast] }, ...batch);
    expect(runs.toSorted()).toEqual(["fast:1", "fast:2"]);
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
    const fields = { name: "give", schema, responseFormat: "content_and_artifact" } as const;
    const give = tool(async () => ["seen by the model", { rows: 3 }], fields);
    const [result] = await results({ tools: [give] }, ["give", { amount: 1 }]);
    expect(result).toMatchObject({ content: "seen by the model", artifact: { rows: 3 } });
  });
});

describe("A tool that", () => {
  const steady = makeTool("steady", async () => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    return "steady done";
  });
  const update = (messages: unknown) => () => new Command({ update: { messages } as never });
  const answer = (fields: object) => () => new ToolMessage({ content: "x", tool_call_id: "", ...fields });

  it.each<[title: string, run: () => unknown]>([
    ["throws what cannot be made a string", () => Promise.reject(Object.create(null))],
    ["returns a command with what is no message", update([42])],
    ["returns a command with null as messages", update(null)],
    ["returns an empty list", () => []],
    ["returns a result for another call", answer({ tool_call_id: "other", status: "error" })],
    ["gives its result the id of the user's message", answer({ id: "user" })],
    ["gives its result an id that it gives every result", answer({ id: "mine" })],
  ])("%s does not lose its sibling's result, and its call gets a result", async (_title, run) => {
    const tools = [makeTool("odd", async () => run()), steady];
    const batch = () => calls(["odd"], ["odd"], ["steady"]);
    const thread = agentThread([batch(), "one", batch(), "two"], { tools, includeDetailedErrors: true });
    await thread.invoke({ messages: [new HumanMessage({ id: "user", content: "go" })] });
    await thread.invoke("again");
    const messages = await thread.messages();
    const turn = "human ai tool tool tool ai";
    expect(messages.map(({ type }) => type).join(" ")).toBe(`${turn} ${turn}`);
    const found = messages.filter(({ type }) => type === "tool");
    expect(found.filter(({ content }) => content === "steady done")).toHaveLength(2);
    for (const { content } of found) expect(content.length).toBeGreaterThan(0);
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

// Tools that are async generators: what they yield is streamed, and what they return is the result.

const ended: string[] = [];
const city = { schema: z.object({ city: z.string() }) };
const GENERATORS = {
  look: tool(
    async function* ({ city }) {
      yield `looking at ${city}`;
      yield { done: 50 };
      return `${city}: 18 °C`;
    },
    { name: "look", ...city },
  ),
  silent: tool(
    async function* () {
      yield "nothing to say";
    },
    { name: "silent", ...city },
  ),
  failing: tool(
    async function* () {
      yield "about to fail";
      throw new Error("no luck");
    },
    { name: "failing", ...city },
  ),
  endless: tool(
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
    { name: "endless", ...city },
  ),
};

it("What a generator yields is in the `tools` stream, as with LangChain's createAgent", async () => {
  type Streams = { stream(input: object, options: object): Promise<AsyncIterable<unknown>> };
  /** The events of the `tools` mode, without what differs between runs. */
  const eventsOf = async (make: (options: never) => unknown) => {
    const model = scripted(calls(["look", { city: "Oslo" }]), "done");
    const graph = make({ model, tools: [GENERATORS.look], checkpointer: new MemorySaver() } as never);
    const options = { ...inThread("1"), streamMode: "tools" };
    const chunks = await allOf<Record<string, unknown>>(
      (graph as unknown as Streams).stream(user("go"), options),
    );
    return chunks.map(({ event, name, data }) => [event, name, ...(data === undefined ? [] : [data])]);
  };
  const ours = await eventsOf(createAgentGraph);
  expect(ours).toEqual(await eventsOf(createAgent));
  expect(ours).toEqual([
    ["on_tool_start", "look"],
    ["on_tool_event", "look", "looking at Oslo"],
    ["on_tool_event", "look", { done: 50 }],
    ["on_tool_end", "look"],
  ]);
});

it.each(
  rowsOf<[name: keyof typeof GENERATORS, line: string]>({
    "what it returns": ["look", "tool: Oslo: 18 °C"],
    "empty if it does not return": ["silent", "tool: (no output)"],
    "its error": ["failing", "tool! Error: `failing` failed."],
    "an error if it does not end, and it is stopped": [
      "endless",
      "tool! Error: `endless` did not finish within 20 ms. It may or may not have taken effect.",
    ],
  }),
)("The result of a generator is %s.", async (_title, name, line) => {
  const options = { tools: [GENERATORS[name]], ...(name === "endless" && { toolTimeoutMs: 20 }) };
  const { run } = agentThread([calls([name, { city: "Oslo" }]), "done"], options);
  expect(await run()).toEqual(["human: go", `ai> ${name}`, line, "ai: done"]);
  if (name === "endless") await expect.poll(() => ended).toEqual(["endless"]);
});

it("The key of a call differs for each call, also if calls have one id, and is the same for each attempt", async () => {
  const keys: (string | undefined)[] = [];
  const pay = makeTool("pay", (_, { callKey }: ToolRuntime & { callKey?: string }) => {
    keys.push(callKey);
    return "paid";
  });
  for (const thread of ["1", "2"]) {
    const steps = [calls(["pay", {}, "c"], ["pay", {}, "d"]), calls(["pay", {}, "c"]), "done"];
    const middleware = [functionMiddleware(twice, { retry: true })];
    await agentThread(steps, { tools: [pay], middleware }).invoke("go", inThread(thread));
  }
  const counts = [...new Set(keys)].map((key) => keys.filter((other) => other === key).length);
  expect(counts).toEqual([2, 2, 2, 2, 2, 2]);
  for (const key of keys) expect(key).toMatch(/^[0-9a-f]{32}$/);
});
