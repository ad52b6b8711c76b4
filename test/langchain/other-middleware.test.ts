/** The middleware of LangChain beside this one: what docs/existing-agents.md says about each. */

import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import {
  anthropicPromptCachingMiddleware,
  createAgent,
  llmToolSelectorMiddleware,
  modelCallLimitMiddleware,
  modelFallbackMiddleware,
  modelRetryMiddleware,
  piiMiddleware,
  todoListMiddleware,
  toolErrorMiddleware,
  toolRetryMiddleware,
} from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { tetherMiddleware } from "../../src/langchain.js";
import { clientOf } from "../support/clients.js";
import { FunctionModel } from "../support/function-model.js";
import { type AnyAgent, openAgentThread } from "../support/open-agent-thread.js";
import { createProbe } from "../support/probe-tools.js";
import { calls } from "../support/scripted-model.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { script, user } from "../support/thread.js";

const ORDERS = [
  ["before", (own: object, other: object) => [other, own]],
  ["after", (own: object, other: object) => [own, other]],
] as const;

interface OpenOptions {
  readonly tools?: readonly object[];
  readonly checkpointer?: MemorySaver;
  readonly [more: string]: unknown;
}

function open(model: object, middleware: readonly object[], { tools = [], ...more }: OpenOptions = {}) {
  const agent = createAgent({
    model,
    tools: [...tools],
    checkpointer: new MemorySaver(),
    middleware: [...middleware],
    ...more,
  } as never) as unknown as AnyAgent;
  return openAgentThread(agent);
}

/** A thread that a run has left with a call and its finished sibling's result unread. */
async function breakThread(thread: ReturnType<typeof openAgentThread>, agent: AnyAgent) {
  await agent.graph.updateState(thread.config, {
    messages: [{ role: "user", content: "Go." }, calls(["fast", {}, "f"])],
  });
}

/** Calls `fast` once for each question, and then responds. */
const working = () =>
  new FunctionModel(({ messages, index }) =>
    messages.at(-1)?.type === "tool" ? `Done ${index}.` : calls(["fast", {}, `f${index}`]),
  );

// With `exactOptionalPropertyTypes`, LangChain's type of some options is `never`.
const CASES = [
  ["modelRetryMiddleware", () => modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 1 })],
  ["toolRetryMiddleware", () => toolRetryMiddleware({ maxRetries: 1, initialDelayMs: 1 })],
  ["todoListMiddleware", () => todoListMiddleware()],
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
    const model = working();
    const agent = createAgent({
      model,
      tools: [fast, deaf],
      checkpointer: new MemorySaver(),
      middleware: list(tetherMiddleware(), other()) as never,
    }) as unknown as AnyAgent;
    const thread = openAgentThread(agent);
    await breakThread(thread, agent);
    const { error, events } = await thread.run(user("Hello?"));
    expect(error).toBeUndefined();
    expect(events.map(({ type }) => type)).toEqual(["call-closed"]);
    await thread.send("And?");
    const lines = script(await thread.read());
    expect(lines).toEqual([
      "human: Go.",
      "ai> fast",
      expect.stringMatching(/^tool! Tool call fast/),
      "human: Hello?",
      "ai> fast",
      "tool: fast done -",
      expect.stringMatching(/^ai: Done/),
      "human: And?",
      "ai> fast",
      "tool: fast done -",
      expect.stringMatching(/^ai: Done/),
    ]);
    expect(model.refused).toEqual([]);
  });
});

describe("`modelRetryMiddleware`", () => {
  it.each(ORDERS)(
    "%s this one asks again after a failure, and closes each call once",
    async (_order, list) => {
      const { fast } = createProbe();
      const model = new FunctionModel(({ index }) => (index === 0 ? new Error("away") : "Here."));
      const retry = modelRetryMiddleware({ maxRetries: 2, initialDelayMs: 1, jitter: false });
      const agent = createAgent({
        model,
        tools: [fast],
        checkpointer: new MemorySaver(),
        middleware: list(tetherMiddleware(), retry) as never,
      }) as unknown as AnyAgent;
      const thread = openAgentThread(agent);
      // The call is closed beside the response: the run goes on behind `beforeAgent`.
      const messages = [
        { role: "user", content: "Go." },
        calls(["fast", {}, "f"]),
        { role: "user", content: "So?" },
      ];
      await agent.graph.updateState(thread.config, { messages }, "tether.before_agent");
      const { events, error } = await thread.run(null);
      expect(error).toBeUndefined();
      expect(events.map(({ type }) => type)).toEqual(["call-closed"]);
      expect(script(await thread.read()).slice(1)).toEqual([
        "ai> fast",
        expect.stringMatching(/^tool! Tool call fast/),
        "human: So?",
        "ai: Here.",
      ]);
    },
  );
});

describe("`toolRetryMiddleware`", () => {
  /** A tool that fails once. */
  const failingOnce = () => {
    let runs = 0;
    return tool(
      async () => {
        runs += 1;
        if (runs === 1) throw new Error("once");
        return "in the end";
      },
      { name: "once", description: "Fails once.", schema: z.object({}) },
    );
  };
  const ask = async (middleware: readonly object[]) => {
    const model = new FunctionModel(({ messages }) =>
      messages.at(-1)?.type === "tool" ? "Done." : calls(["once", {}, "o"]),
    );
    return script(await open(model, middleware, { tools: [failingOnce()] }).send("Go."))[2];
  };
  const retry = () => toolRetryMiddleware({ maxRetries: 1, initialDelayMs: 1 });

  it("after this one runs the tool again", async () => {
    expect(await ask([tetherMiddleware(), retry()])).toBe("tool: in the end");
  });

  it("before this one needs `keepToolErrors: false`, because it sees no error otherwise", async () => {
    expect(await ask([retry(), tetherMiddleware()])).toBe("tool! Error: once\n Please fix your mistakes.");
    expect(await ask([retry(), tetherMiddleware({ keepToolErrors: false })])).toBe("tool: in the end");
  });
});

describe("`toolErrorMiddleware`", () => {
  const hiding = () => toolErrorMiddleware({ onError: () => "The tool failed." });
  const ask = async (middleware: readonly object[]) => {
    const { failing } = createProbe();
    const model = new FunctionModel(({ messages }) =>
      messages.at(-1)?.type === "tool" ? "Done." : calls(["failing", {}, "f"]),
    );
    return script(await open(model, middleware, { tools: [failing] }).send("Go."))[2];
  };

  it("after this one hides the error from the model", async () => {
    expect(await ask([tetherMiddleware(), hiding()])).toBe("tool! The tool failed.");
  });

  it("before this one needs `keepToolErrors: false`, because it sees no error otherwise", async () => {
    expect(await ask([hiding(), tetherMiddleware()])).toContain("secret");
    expect(await ask([hiding(), tetherMiddleware({ keepToolErrors: false })])).toBe("tool! The tool failed.");
  });
});

describe("`modelFallbackMiddleware` to a model of another provider", () => {
  /** It looks like an OpenAI client, whose dialect accepts two assistant messages in a row. */
  class OpenAILike extends FunctionModel {
    override _llmType(): string {
      return "offline";
    }
  }
  const run = async (list: (own: object, other: object) => readonly object[]) => {
    const first = new OpenAILike(() => new Error("away"));
    const second = new FunctionModel(({ messages }) =>
      messages.some(({ type }, index) => type === "ai" && messages[index - 1]?.type === "ai")
        ? new Error("400 Roles must alternate.")
        : "Here.",
    );
    const thread = open(first, list(tetherMiddleware(), modelFallbackMiddleware(second as never)));
    const messages = [new HumanMessage("One."), new AIMessage("Two."), new AIMessage("Three.")];
    const { error } = await thread.run({ messages: [...messages, new HumanMessage("Four.")] });
    return String(error);
  };

  it("before this one: it gets the input that its provider accepts", async () => {
    expect(await run((own, other) => [other, own])).toBe("undefined");
  });

  it("after this one: it gets the input of the first model, which its provider can refuse", async () => {
    expect(await run((own, other) => [own, other])).toContain("Roles must alternate");
  });
});

describe("`piiMiddleware`", () => {
  it.each(ORDERS)("%s this one: what it redacts stays redacted", async (_order, list) => {
    const model = new FunctionModel(() => "Yes.");
    const pii = piiMiddleware("email", { strategy: "redact", applyToInput: true });
    const thread = open(model, list(tetherMiddleware(), pii));
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
      const thread = open(await clientOf("anthropic", strict), list(tetherMiddleware(), caching), {
        systemPrompt: "Be brief.",
      });
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
    const thread = open(new Noting(() => "Yes."), list(tetherMiddleware(), selector), {
      tools: [fast, deaf],
    });
    await thread.send("Hi.");
    expect(selected.at(-1)).toEqual(["fast"]);
  });
});
