/** The middleware of LangChain beside this one: what docs/existing-agents.md says about each. */

import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import {
  anthropicPromptCachingMiddleware,
  ClearToolUsesEdit,
  contextEditingMiddleware,
  llmToolSelectorMiddleware,
  modelCallLimitMiddleware,
  modelFallbackMiddleware,
  modelRetryMiddleware,
  piiMiddleware,
  summarizationMiddleware,
  todoListMiddleware,
  toolErrorMiddleware,
  toolRetryMiddleware,
} from "langchain";
import { describe, expect, it } from "vitest";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { clientOf } from "../support/clients.js";
import { lines } from "../support/lines.js";
import { alternating, callingOnce, calls, FunctionModel, OpenAILike } from "../support/models.js";
import { openAgent } from "../support/open-thread.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { messagesOf, script, user } from "../support/thread.js";
import { createProbe, makeTool } from "../support/tools.js";

const ORDERS = [
  ["before", (own: object, other: object) => [other, own]],
  ["after", (own: object, other: object) => [own, other]],
] as const;

/** A run that has left a call without a result. */
const BROKEN = [{ role: "user", content: "Go." }, calls(["fast", {}, "f"])];

// With `exactOptionalPropertyTypes`, LangChain's type of some options is `never`.
const CASES = [
  ["modelRetryMiddleware", () => modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 1 })],
  ["toolRetryMiddleware", () => toolRetryMiddleware({ maxRetries: 1, initialDelayMs: 1 })],
  ["todoListMiddleware", () => todoListMiddleware()],
  ["contextEditingMiddleware", () => contextEditingMiddleware()],
  ["piiMiddleware", () => piiMiddleware("email", { strategy: "redact", applyToInput: true })],
  ["modelCallLimitMiddleware", () => modelCallLimitMiddleware({ threadLimit: 50 } as never)],
  [
    "anthropicPromptCachingMiddleware",
    () => anthropicPromptCachingMiddleware({ unsupportedModelBehavior: "ignore" } as never),
  ],
  [
    "llmToolSelectorMiddleware",
    () => llmToolSelectorMiddleware({ model: selecting(), maxTools: 1 } as never),
  ],
] as const;

/** Selects the tool `fast`. */
function selecting() {
  const model = new FunctionModel(() => "");
  const answer = async () => ({ tools: ["fast"] });
  return Object.assign(model, { withStructuredOutput: () => ({ invoke: answer }) });
}

describe.each(CASES)("`%s`", (_name, other) => {
  it.each(ORDERS)("%s this one: calls are closed, and the history stays sound", async (_order, list) => {
    const { fast, deaf } = createProbe();
    const model = callingOnce("fast");
    const thread = openAgent({ model, tools: [fast, deaf], middleware: list(tetherMiddleware(), other()) });
    await thread.update(BROKEN);
    const { error, events } = await thread.run(user("Hello?"));
    expect(error).toBeUndefined();
    expect(events.map(({ type }) => type)).toEqual(["call-closed"]);
    const turn = "ai> fast | tool: fast done - | ai: Done…";
    expect(script(await thread.send("And?"))).toEqual(
      lines(
        "human: Go. | ai> fast | tool! Tool call fast…",
        `human: Hello? | ${turn} | human: And? | ${turn}`,
      ),
    );
    expect(model.refused).toEqual([]);
  });
});

it.each(ORDERS)(
  "`modelRetryMiddleware` %s this one asks again after a failure, and closes each call once",
  async (_order, list) => {
    const { fast } = createProbe();
    const model = new FunctionModel(({ index }) => (index === 0 ? new Error("away") : "Here."));
    const retry = modelRetryMiddleware({ maxRetries: 2, initialDelayMs: 1, jitter: false });
    const thread = openAgent({ model, tools: [fast], middleware: list(tetherMiddleware(), retry) });
    // The call is closed beside the response: the run goes on behind `beforeAgent`.
    await thread.update([...BROKEN, { role: "user", content: "So?" }], "tether.before_agent");
    const { events, error } = await thread.run(null);
    expect(error).toBeUndefined();
    expect(events.map(({ type }) => type)).toEqual(["call-closed"]);
    expect(script(await thread.read()).slice(1)).toEqual(
      lines("ai> fast | tool! Tool call fast… | human: So? | ai: Here."),
    );
  },
);

it.each(ORDERS)(
  "`summarizationMiddleware` %s this one sees the results of closed calls",
  async (_order, list) => {
    const { fast } = createProbe();
    const summaryModel = new FunctionModel(() => "They talked.");
    const summarizing = summarizationMiddleware({
      model: summaryModel,
      trigger: { messages: 3 },
      keep: { messages: 1 },
    } as never);
    const middleware = list(tetherMiddleware(), summarizing);
    const thread = openAgent({ model: new FunctionModel(() => "Here."), tools: [fast], middleware });
    await thread.update(BROKEN);
    expect((await thread.run(user("Hello?"))).error).toBeUndefined();
    expect(summaryModel.requests.map(({ text }) => text)).toEqual([
      expect.stringContaining("Tool call fast"),
    ]);
  },
);

describe.each([false, true])("`contextEditingMiddleware`, with delta %s", (delta) => {
  it.each(ORDERS)("%s this one edits the request, and no result of the thread", async (_order, list) => {
    const { fast } = createProbe();
    const model = callingOnce("fast");
    const editing = contextEditingMiddleware({
      edits: [new ClearToolUsesEdit({ trigger: { messages: 1 }, keep: { messages: 0 } })],
    });
    const middleware = list(tetherMiddleware(), editing);
    const thread = openAgent({ model, tools: [fast], middleware, stateSchema: tetherState({ delta }) });
    for (const text of ["One.", "Two."]) await thread.send(text);
    // With a delta channel, an edit of the list is seen in the run's own state, and stored with a later snapshot.
    const ended = await thread.agent.invoke(user("Three.") as never, thread.config);
    for (const messages of [messagesOf(ended), await thread.read()]) {
      const results = messages.filter(({ type }) => type === "tool");
      expect(results.map(({ content }) => content)).toEqual(["fast done -", "fast done -", "fast done -"]);
    }
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain("[cleared]");
  });
});

/** What the model is told of a tool that fails once. */
async function toldBy(middleware: readonly object[]): Promise<string | undefined> {
  let runs = 0;
  const once = makeTool("once", async () => {
    runs += 1;
    if (runs === 1) throw new Error("once");
    return "in the end";
  });
  return script(await openAgent({ model: callingOnce("once"), tools: [once], middleware }).send("Go."))[2];
}

const REFUSED = "tool! Error: once\n Please fix your mistakes.";

describe.each([
  [
    "toolRetryMiddleware",
    () => toolRetryMiddleware({ maxRetries: 1, initialDelayMs: 1 }),
    "tool: in the end",
  ],
  ["toolErrorMiddleware", () => toolErrorMiddleware({ onError: () => "It failed." }), "tool! It failed."],
] as const)("`%s`", (_name, other, told) => {
  it.each(ORDERS)("%s this one handles the error", async (_order, list) => {
    expect(await toldBy(list(tetherMiddleware(), other()))).toBe(told);
  });

  it("before this one sees a result with `keepToolErrors: true`", async () => {
    expect(await toldBy([other(), tetherMiddleware({ keepToolErrors: true })])).toBe(REFUSED);
  });
});

describe("`modelFallbackMiddleware` to a model of another provider", () => {
  const run = async (list: (own: object, other: object) => readonly object[]) => {
    const first = new OpenAILike(() => new Error("away"));
    const second = new FunctionModel(alternating);
    const middleware = list(tetherMiddleware(), modelFallbackMiddleware(second as never));
    const thread = openAgent({ model: first, middleware });
    const messages = [new HumanMessage("One."), new AIMessage("Two."), new AIMessage("Three.")];
    const { error } = await thread.run({ messages: [...messages, new HumanMessage("Four.")] });
    return String(error);
  };

  it("before this one: it gets the input that its provider accepts", async () => {
    expect(await run((own, other) => [other, own])).toBe("undefined");
  });

  it("after this one: it gets the input of the first model, which its provider can refuse", async () => {
    expect(await run((own, other) => [own, other])).toContain("must alternate");
  });
});

describe("`piiMiddleware`", () => {
  it.each(ORDERS)("%s this one: what it redacts stays redacted", async (_order, list) => {
    const model = new FunctionModel(() => "Yes.");
    const pii = piiMiddleware("email", { strategy: "redact", applyToInput: true });
    const thread = openAgent({ model, middleware: list(tetherMiddleware(), pii) });
    await thread.send("I am a@b.example");
    await thread.send("And?");
    const texts = (list: readonly BaseMessage[]) => list.map(({ text }) => text).join();
    expect(texts(await thread.read())).not.toContain("a@b.example");
    for (const { messages } of model.requests) expect(texts(messages)).not.toContain("a@b.example");
  });
});

describe("`anthropicPromptCachingMiddleware`", () => {
  it.each(ORDERS)("%s this one: Anthropic gets its marks", async (_order, list) => {
    const strict = await startStrictProvider();
    try {
      const caching = anthropicPromptCachingMiddleware({ minMessagesToCache: 0 } as never);
      const model = await clientOf("anthropic", strict);
      const middleware = list(tetherMiddleware(), caching);
      const thread = openAgent({ model, middleware, systemPrompt: "Be brief." });
      expect((await thread.run(user("Hi."))).error).toBeUndefined();
      expect((await thread.run(user("And?"))).error).toBeUndefined();
      expect(JSON.stringify(strict.requests.at(-1))).toContain('"cache_control"');
    } finally {
      await strict.stop();
    }
  });
});

describe("`llmToolSelectorMiddleware`", () => {
  it.each(ORDERS)("%s this one: the model gets the selected tools", async (_order, list) => {
    const { fast, deaf } = createProbe();
    const selected: (readonly string[])[] = [];
    class Noting extends FunctionModel {
      override bindTools(tools: never) {
        selected.push((tools as { name: string }[]).map(({ name }) => name));
        return super.bindTools(tools);
      }
    }
    const selector = llmToolSelectorMiddleware({ model: selecting(), maxTools: 1 } as never);
    const middleware = list(tetherMiddleware(), selector);
    const thread = openAgent({ model: new Noting(() => "Yes."), tools: [fast, deaf], middleware });
    await thread.send("Hi.");
    expect(selected.at(-1)).toEqual(["fast"]);
  });
});
