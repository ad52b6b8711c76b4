import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { describe, expect, it, onTestFinished } from "vitest";
import { chatMiddleware, createAgentGraph, MiddlewareTermination } from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { openAIAt } from "../../support/clients.js";
import {
  afterNext,
  beforeNext,
  type Change,
  type Handle,
  insteadOfNext,
  set,
  twice,
} from "../../support/middleware.js";
import { startModelServer } from "../../support/model-server.js";
import { calls } from "../../support/models.js";
import type { Step } from "../../support/scripted-model.js";
import { shown } from "../../support/stream-faults.js";
import { rowsOf } from "../../support/test-tools.js";
import { user } from "../../support/thread.js";
import { createProbe } from "../../support/tools.js";

const thread = (middleware: ReturnType<typeof beforeNext>, ...steps: Step[]) =>
  agentThread(steps, { middleware: [middleware], systemPrompt: "Be brief." });
const sending = (change: Change<"chat">, ...steps: Step[]) => thread(beforeNext("chat", change), ...steps);
const answering = (result: unknown, ...steps: Step[]) =>
  thread(insteadOfNext("chat", set({ result })), ...steps);

const CALLED = ["human: go", "ai> fast", "tool: fast done -", "ai: done"];
const HISTORY = ["human: go", "ai: ", "tool: fast done -"];
const SYSTEM = "system: Be brief.";
const ADDED = [SYSTEM, ...HISTORY, "human: Go on."];

/** Keeps the messages that are not of this type. */
const without =
  (type: string): Change<"chat"> =>
  (context) => {
    context.messages = context.messages.filter((message) => message.type !== type);
  };

const SENT = rowsOf<[change: Change<"chat">, sent: readonly string[]]>({
  nothing: [() => {}, [SYSTEM, ...HISTORY]],
  "an instruction at the end, which stays there": [
    ({ messages }) => messages.push(new SystemMessage("Rhyme.")),
    [SYSTEM, ...HISTORY, "system: Rhyme."],
  ],
  "a message of a user": [({ messages }) => messages.push(new HumanMessage("Go on.")), ADDED],
  "what stands for a message": [
    ({ messages }) => messages.push({ role: "user", content: "Go on." } as never),
    ADDED,
  ],
  "the texts in place": [
    ({ messages }) => messages.map((message) => Object.assign(message, { content: `${message.text}!` })),
    ["system: Be brief.!", "human: go!", "ai: !", "tool: fast done -!"],
  ],
  "a call without its result": [
    without("tool"),
    [SYSTEM, "human: go", "ai: ", expect.stringMatching(/^tool: Tool call fast .* no result was recorded/)],
  ],
  "a result without its call": [without("ai"), [SYSTEM, "human: go"]],
  "a result of no call": [
    ({ messages }) => messages.push(new ToolMessage({ content: "x", tool_call_id: "none" })),
    [SYSTEM, ...HISTORY],
  ],
  "no message at all": [
    ({ messages }) => messages.splice(0),
    ["human: (The beginning of this conversation is not shown.)"],
  ],
});

describe("the sent request", () => {
  it.each(SENT)("can be changed, and is not stored: %s", async (_title, change, sent) => {
    const changeLast: Change<"chat"> = (context) =>
      context.messages.at(-1)?.type === "tool" && change(context);
    const { model, run } = sending(changeLast, calls(["fast"]), "done");
    expect(await run()).toEqual(CALLED);
    expect(model.requests[1]?.messages.map(({ type, text }) => `${type}: ${text}`)).toEqual(sent);
  });

  it.each<[change: Change<"chat">, name: string, says: string]>([
    [({ messages }) => messages.push(42 as never), "InvalidMessageError", "`messages[2]` to be a message"],
    [
      set({ messages: undefined }),
      "InvalidMessageError",
      "`context.messages` to be a list of messages, got `undefined`",
    ],
    [
      set({ messages: "hello" }),
      "InvalidMessageError",
      '`context.messages` to be a list of messages, got `"hello"`',
    ],
    [
      set({ options: undefined }),
      "InvalidSettingError",
      "`context.options` to be an object, got `undefined`",
    ],
    ...[null, 5].map((parameters): [Change<"chat">, string, string] => [
      ({ options }) => Object.assign(options, { parameters }),
      "InvalidSettingError",
      `\`context.options.parameters\` to be an object, got \`${parameters}\``,
    ]),
    [
      ({ options }) =>
        Object.assign(options, { toolChoice: { mode: "required", requiredFunctionName: "slow" } }),
      "InvalidSettingError",
      "requires `slow`",
    ],
  ])("cannot be of another shape, and the error names it (%#)", async (change, name, says) => {
    const { invoke, model } = sending(change);
    await expect(invoke()).rejects.toMatchObject({ name, message: expect.stringContaining(says) });
    expect(model.requests).toEqual([]);
  });

  it("can be changed deep within a message, whose history is not", async () => {
    const { invoke, messages, model } = sending((context) => {
      for (const { content } of context.messages)
        if (Array.isArray(content))
          for (const block of content) if (block.type === "text") block.text = "hidden";
    }, "done");
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
    const given = new HumanMessage({ content: [{ type: "text", text: "secret" }, image] as never });
    await invoke({ messages: [given] });
    expect(JSON.stringify(model.requests[0]?.messages)).toContain("hidden");
    expect(JSON.stringify(model.requests[0]?.messages)).not.toContain("secret");
    expect([(await messages())[0]?.text, given.text]).toEqual(["secret", "secret"]);
  });

  it("includes the tool choice, for this call only", async () => {
    const { invoke, choices } = sending(
      ({ options, messages }) => {
        if (messages.at(-1)?.type === "human")
          options.toolChoice = { mode: "required", afterRequired: "respond" };
      },
      calls(["fast"]),
      "done",
    );
    await invoke();
    expect(choices()).toEqual(["any", "none"]);
  });

  it("has the parameters, even if the client keeps them as fields", async () => {
    const server = await startModelServer(() => ({ text: "done" }));
    onTestFinished(() => server.stop());
    const model = openAIAt(server.url, { model: "test", temperature: 1, streamUsage: false });
    const parameters = { temperature: 0.25, topP: 0.5, stop: ["."] };
    const middleware = beforeNext("chat", ({ options }) => Object.assign(options, { parameters }));
    const { fast } = createProbe();
    await createAgentGraph({ model, tools: [fast], middleware: [middleware] }).invoke(user("go"));
    await createAgentGraph({ model, tools: [fast] }).invoke(user("go"));
    expect(server.bodies).toMatchObject([{ temperature: 0.25, top_p: 0.5, stop: ["."] }, { temperature: 1 }]);
    expect(server.requests.map(({ tools }) => tools.length)).toEqual([1, 1]);
    expect(server.bodies[1]).not.toHaveProperty("stop");
  });
});

describe("the response", () => {
  it("can replace the response of a model that failed", async () => {
    const rescue = chatMiddleware(async (context, next) => {
      await next().catch(() => set({ result: "It is down." })(context));
    });
    const { run } = thread(rescue, new Error("500"), "done");
    expect(await run()).toEqual(["human: go", "ai: It is down."]);
    expect((await run("two")).slice(2)).toEqual(["human: two", "ai: done"]);
  });

  it("can have tool calls, which are run", async () => {
    const call = chatMiddleware(async (context, next) => {
      if (context.messages.at(-1)?.type === "human") context.result = calls(["fast"]);
      else await next();
    });
    const { run, runs } = thread(call, "done");
    expect(await run()).toEqual(CALLED);
    expect(runs).toHaveLength(1);
  });

  it("can be the same object several times: each is stored unchanged, with fields set since it was made", async () => {
    const cached = new AIMessage({ id: "cached", content: "Hello." });
    cached.name = "bot";
    const { run, messages } = answering(cached);
    await run();
    expect(await run("two")).toEqual(["human: go", "ai: Hello.", "human: two", "ai: Hello."]);
    expect((await messages()).map(({ name }) => name)).toEqual([undefined, "bot", undefined, "bot"]);
    expect(cached.id).toBe("cached");
  });

  it("is not shown if the middleware removes it and ends the run", async () => {
    const { send, lines } = thread(
      afterNext("chat", (context) => {
        context.result = undefined;
        throw new MiddlewareTermination();
      }),
      "a secret",
    );
    expect(await send("go")).toMatchObject({ messages: [], error: undefined });
    expect(await lines()).toEqual(["human: go"]);
  });

  it.each([
    ["a number", 42],
    ["a user's message", new HumanMessage("x")],
  ])("cannot be %s", async (_what, result) => {
    const says = "`context.result` to be an assistant message or a text";
    await expect(answering(result).invoke()).rejects.toThrow(says);
  });
});

// Chat middleware with `retry` asks the model again. Only the last response is stored and shown.

const untilLong: Handle<"chat"> = async (context, next) => {
  do await next();
  while ((context.result?.text.length ?? 0) < 10 && context.attempt < 3);
};
const again: Handle<"chat"> = (_context, next) => next().catch(next);
const backToTheFirst: Handle<"chat"> = async (context, next) => {
  await next();
  const first = context.result;
  await next().catch(() => set({ result: first })(context));
};
const ignoringTheSecond: Handle<"chat"> = async (_context, next) => {
  await next();
  await next().catch(() => {});
};

const piece = (content: string, id: string) => [new AIMessageChunk({ content, id })];
const labelled = (label: string) => calls(["fast", { label }]);

/** What the thread has after the user's message, or the error of the run. */
type Outcome = string[] | string;
const RETRIES = rowsOf<[handle: Handle<"chat">, steps: Step[], attempts: number[], outcome: Outcome]>({
  "asks until it likes the response": [
    untilLong,
    ["short", "no", "long enough"],
    [1, 2, 3],
    ["ai: long enough"],
  ],
  "asks again after an error of the model": [again, [new Error("503"), "here"], [2], ["ai: here"]],
  "discards tool calls: they are not run, shown or stored": [
    twice,
    [labelled("1"), labelled("2"), "done", "the end"],
    [1, 2, 1, 2],
    ["ai> fast", "tool: fast done 2", "ai: the end"],
  ],
  "shows each response under its own id, even if the provider repeats it": [
    twice,
    [piece("one", "same"), piece("two", "same")],
    [1, 2],
    ["ai: two"],
  ],
  "can go back to an earlier response": [
    backToTheFirst,
    [piece("one", "a"), new Error("503")],
    [1],
    ["ai: one"],
  ],
  "has no result left if the last attempt failed": [
    ignoringTheSecond,
    ["one", new Error("503")],
    [1],
    "no `context.result`",
  ],
});

describe.each([false, true])("a chat middleware with retry, readOnly: %s,", (readOnly) => {
  it.each(RETRIES)("%s", async (_title, handle, steps, attempts, outcome) => {
    const seen: number[] = [];
    const middleware = chatMiddleware(
      (context, next) => handle(context, () => next().then(() => void seen.push(context.attempt))),
      { name: "again", retry: true, readOnly },
    );
    const own = agentThread(steps, { middleware: [middleware] });
    const { messages, error } = await own.send("go");
    if (typeof outcome === "string") expect(String(error)).toContain(outcome);
    else expect(error).toBeUndefined();
    const lines = typeof outcome === "string" ? [] : outcome;
    expect(seen).toEqual(attempts);
    expect(await own.lines()).toEqual(["human: go", ...lines]);
    expect(own.runs).toHaveLength(lines.filter((line) => line.startsWith("tool")).length);
    const stored = (await own.messages()).slice(1);
    expect(shown(messages)).toEqual(shown(stored));
    expect(messages.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
  });
});

it("An inner middleware runs in each attempt, and can answer the second one itself", async () => {
  const seen: number[] = [];
  const inner = chatMiddleware(async (context, next) => {
    seen.push(context.attempt);
    if (context.attempt === 1) await next();
    else context.result = "from the inner one";
  });
  const { send } = agentThread(["one"], { middleware: [chatMiddleware(twice, { retry: true }), inner] });
  const { messages } = await send("go");
  expect(seen).toEqual([1, 2]);
  expect(messages.map(({ text }) => text)).toEqual(["from the inner one"]);
});
