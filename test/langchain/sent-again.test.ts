/** A job engine sends a job again: the same user message, with the same id. */

import { Command, interrupt, MemorySaver, StateSchema } from "@langchain/langgraph";
import { createMiddleware, humanInTheLoopMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod/v4";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { turns } from "../support/async.js";
import { lines } from "../support/lines.js";
import { calls, FunctionModel } from "../support/models.js";
import { openAgent } from "../support/open-thread.js";
import { scripted } from "../support/scripted-model.js";
import { script, user } from "../support/thread.js";
import { createProbe, makeTool } from "../support/tools.js";

const DURABILITIES = ["async", "sync"] as const;
const job = (text = "Go.") => user(text, "job-1");

describe.each(DURABILITIES)("With the durability %s, a job that is sent again", (durability) => {
  it.each(["full", "delta"])("asks nobody if its turn is finished: %s", async (channel) => {
    const probe = createProbe();
    const model = scripted(calls(["fast", {}, "f"]), "Done.", "Hello.");
    const stateSchema = tetherState({ delta: channel === "delta" });
    const thread = openAgent({ model, tools: [probe.fast], stateSchema });
    const whole = lines("human: Go. | ai> fast | tool: fast done - | ai: Done.");
    for (let count = 0; count < 3; count += 1) {
      expect((await thread.run(job(), { durability })).error).toBeUndefined();
      expect(script(await thread.read())).toEqual(whole);
    }
    expect(script(await thread.send("Hi!"))).toEqual([...whole, "human: Hi!", "ai: Hello."]);
    expect((await thread.run(job(), { durability })).error).toBeUndefined();
    expect(await thread.read()).toHaveLength(6);
    expect(probe.runs).toEqual(["fast:-"]);
  });

  it("goes on where it was: what ended has its result, what started is not started again, the rest runs", async () => {
    const probe = createProbe();
    let isHeld = true;
    const holding = createMiddleware({
      name: "Holding",
      wrapToolCall: (request, handler) =>
        isHeld && request.toolCall.id === "later" ? new Promise(() => {}) : handler(request),
    });
    const model = scripted(calls(["fast", {}, "f"], ["heedful", {}, "h"], ["fast", {}, "later"]), "Done.");
    const tools = [probe.fast, probe.heedful];
    const thread = openAgent({ model, tools, middleware: [holding, tetherMiddleware()] });
    const controller = new AbortController();
    const run = thread.run(job(), { signal: controller.signal, durability });
    await probe.hasBegun(2);
    await turns();
    controller.abort();
    expect((await run).error).toBeDefined();
    isHeld = false;
    expect((await thread.run(job(), { durability })).error).toBeUndefined();
    expect(script(await thread.read())).toEqual([
      ...lines("human: Go. | ai> fast heedful fast | tool: fast done -"),
      expect.stringMatching(/^tool! Tool call heedful \(h\): .* It may or may not have taken effect\.$/),
      ...lines("tool: fast done - | ai: Done."),
    ]);
    expect(probe.runs).toEqual(["fast:-", "heedful:-", "fast:-"]);
  });

  it("asks nobody if only its form is another one, or if it is a result that the thread has", async () => {
    const model = new FunctionModel(({ index }) =>
      index === 0 ? calls(["unknown", {}, "u"]) : `Answer ${index}`,
    );
    const thread = openAgent({ model });
    await thread.run(job(), { durability });
    const asked = model.requests.length;
    const blocks = { role: "user", id: "job-1", content: [{ type: "text", text: "Go." }] };
    const [, , result] = await thread.read();
    for (const message of [blocks, result])
      expect((await thread.run({ messages: [message] }, { durability })).error).toBeUndefined();
    expect(model.requests).toHaveLength(asked);
  });

  it("asks the model if it was not asked yet", async () => {
    const model = scripted(new Error("The provider is away."), "Done.");
    const thread = openAgent({ model });
    expect((await thread.run(job(), { durability })).error).toBeDefined();
    expect((await thread.run(job(), { durability })).error).toBeUndefined();
    expect(script(await thread.read())).toEqual(lines("human: Go. | ai: Done."));
  });

  it("runs no call that a human has not approved", async () => {
    const probe = createProbe();
    const approval = humanInTheLoopMiddleware({ interruptOn: { fast: true } } as never);
    const model = scripted(calls(["fast", {}, "f"]), "Done.");
    const thread = openAgent({ model, tools: [probe.fast], middleware: [approval, tetherMiddleware()] });
    expect((await thread.run(job(), { durability })).error).toBeUndefined();
    expect((await thread.run(job(), { durability })).error).toBeUndefined();
    expect(probe.runs).toEqual([]);
    expect(script(await thread.read()).at(-1)).toBe("ai: Done.");
  });

  it("asks the model if the message or another key has changed", async () => {
    const model = new FunctionModel(({ index }) => `Response ${index}`);
    const stateSchema = new StateSchema({ ...tetherState().fields, note: z.string().optional() });
    const thread = openAgent({ model, stateSchema });
    const send = async (input: object) => {
      expect((await thread.run(input, { durability })).error).toBeUndefined();
      return model.requests.length;
    };
    expect(await send({ ...job(), note: "a" })).toBe(1);
    expect(await send({ ...job(), note: "a" })).toBe(1);
    expect(await send(job())).toBe(1);
    expect(await send({ ...job(), note: "b" })).toBe(2);
    expect(await send({ ...job("Stop."), note: "b" })).toBe(3);
    expect(await send({ messages: [] })).toBe(4);
    expect(await send(user("Go."))).toBe(5);
  });
});

it("Keys that tools have written since do not make it another job", async () => {
  const checkpointer = new MemorySaver();
  const stateSchema = new StateSchema({ ...tetherState().fields, note: z.string().optional() });
  const model = new FunctionModel(() => "Done.");
  const writing = createMiddleware({
    name: "Writing",
    stateSchema: z.object({ note: z.string().optional() }) as never,
    afterAgent: () => ({ note: "written" }) as never,
  });
  const open = () =>
    openAgent({ model, stateSchema, checkpointer, middleware: [writing, tetherMiddleware()] });
  const input = { ...job(), note: "given" };
  expect((await open().run(input)).error).toBeUndefined();
  expect((await open().run(input)).error).toBeUndefined();
  expect(model.requests).toHaveLength(1);
});

it("A tool that waits for an answer asks again", async () => {
  const asking = makeTool("asking", async () => `The human says ${interrupt("Which?")}`);
  const thread = openAgent({ model: scripted(calls(["asking", {}, "a"]), "Done."), tools: [asking] });
  expect((await thread.run(job())).error).toBeUndefined();
  expect((await thread.run(job())).error).toBeUndefined();
  expect((await thread.run(new Command({ resume: "this" }))).error).toBeUndefined();
  expect(script(await thread.read())).toEqual(
    lines("human: Go. | ai> asking | tool: The human says this | ai: Done."),
  );
});

it("Words under the id of a response that followed a result do not replace it", async () => {
  const model = scripted(calls(["fast", {}, "f"]), "Done.", "Well.");
  const thread = openAgent({ model, tools: [createProbe().fast] });
  const response = (await thread.send("Go.")).at(-1);
  expect((await thread.run(user("And?", response?.id))).error).toBeUndefined();
  expect(script(await thread.read())).toEqual(
    lines("human: Go. | ai> fast | tool: fast done - | ai: Done. | human: And? | ai: Well."),
  );
});
