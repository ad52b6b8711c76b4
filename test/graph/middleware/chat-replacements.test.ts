/** Chat middleware chooses the model and the tools of a call. */

import { type BaseMessage, SystemMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  type AgentGraphOptions,
  type ChatContext,
  chatMiddleware,
  createAgentGraph,
  functionMiddleware,
} from "../../../src/index.js";
import { OfflineChatModel } from "../../../src/offline/offline-chat-model.js";
import { rememberDialect } from "../../../src/providers/dialect-of.js";
import { validateHistory } from "../../../src/providers/validate-history.js";
import { openAIAt } from "../../support/clients.js";
import { FunctionModel } from "../../support/function-model.js";
import { startModelServer } from "../../support/model-server.js";
import { openThread } from "../../support/open-thread.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { pairedScript, user } from "../../support/thread.js";

const extra = {
  type: "function",
  function: { name: "extra", parameters: { type: "object", properties: {} } },
};

const offline = new OfflineChatModel();

const choosing = (change: (context: ChatContext) => void) =>
  chatMiddleware(
    async function choose(context, next) {
      change(context);
      await next();
    },
    { readOnly: true },
  );

function agent(change: (context: ChatContext) => void, options: Partial<AgentGraphOptions> = {}) {
  const { fast, failing } = createProbe();
  const middleware = [choosing(change), ...((options.middleware ?? []) as [])];
  return createAgentGraph({ model: scripted(), tools: [fast, failing], ...options, middleware });
}

describe("the model of a call", () => {
  it("can be another instance or name, for this call only", async () => {
    const named = scripted("from the named one");
    const other = scripted(calls(["fast"]));
    const graph = agent(
      (context) => {
        if (context.messages.at(-1)?.type === "human") context.model = other;
        else context.model = "offline:named";
      },
      { createModel: async () => named },
    );
    expect(pairedScript(await graph.invoke(user("go"))).at(-1)).toBe("ai: from the named one");
    expect([other, named].map(({ requests }) => requests[0]?.toolNames)).toEqual([
      ["fast", "failing"],
      ["fast", "failing"],
    ]);
  });

  it.each([
    ["nothing else is changed", () => {}],
    [
      "an instruction is added",
      ({ messages }: ChatContext) => void messages.push(new SystemMessage("Rhyme.")),
    ],
  ])("gets what the run's model cannot read, if %s", async (_title, change) => {
    const other = rememberDialect(new FunctionModel(() => "done"), "openai");
    const graph = agent(
      (context) => {
        change(context);
        context.model = other;
      },
      { model: rememberDialect(new FunctionModel(() => "not asked"), "deepseek") },
    );
    const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
    await graph.invoke({
      messages: [{ role: "user", content: [{ type: "text", text: "What is it?" }, picture] }],
    });
    expect(JSON.stringify(other.requests[0]?.messages)).toContain("data:image/png;base64,AA==");
  });

  it("gets the history in the form of its provider", async () => {
    const sent: (readonly BaseMessage[])[] = [];
    const mistral = rememberDialect(
      new FunctionModel(({ messages }) => {
        sent.push(messages);
        return "done";
      }),
      "mistral",
    );
    const deepseek = rememberDialect(
      new FunctionModel(() => calls(["fast", {}, "call_0_far:too:long"])),
      "deepseek",
    );
    const graph = agent(
      (context) => {
        if (context.messages.at(-1)?.type === "tool") context.model = mistral;
      },
      { model: deepseek },
    );
    await graph.invoke(user("go"));
    expect(sent.flatMap((messages) => validateHistory(messages, "mistral"))).toEqual([]);
  });

  it("is streamed and guarded as the run's model is", async () => {
    const server = await startModelServer(({ stream }) => ({
      text: "one two three",
      ...(stream && { fault: "by the end of its body" as const }),
    }));
    onTestFinished(() => server.stop());
    const other = openAIAt(server.url, { model: "m" });
    const graph = agent(
      (context) => {
        context.model = other;
      },
      { checkpointer: new MemorySaver() },
    );
    const { events, messages } = await openThread(graph).send("go");
    expect(events.map(({ type }) => type)).toEqual(["answer-broken", "run-end"]);
    expect(messages.at(-1)?.text).toBe("one two three");
  });

  it("is followed by the fallback models, and the next call has the run's model", async () => {
    const chosen = scripted(new Error("down"));
    const graph = agent(
      (context) => {
        if (context.messages.at(-1)?.type === "human") context.model = chosen;
      },
      {
        model: scripted("from the run's model"),
        fallbackModels: [scripted(calls(["fast"]))],
        checkpointer: new MemorySaver(),
      },
    );
    const { events, messages } = await openThread(graph).send("go");
    expect(events[0]).toMatchObject({ type: "model-switched", from: "played", to: "played" });
    expect(messages.at(-1)?.text).toBe("from the run's model");
  });

  it.each<[title: string, value: unknown, says: string]>([
    [
      "a value that is no model",
      5,
      "Expected `context.model` to be a chat model or the name of one, got `5`.",
    ],
    [
      "a name without a provider",
      "gpt-5",
      "Expected `context.model` to be a model as `provider:model`, got `gpt-5`.",
    ],
    ["a model with bound tools", offline.bindTools([extra]), "its tools as `tools`"],
    ["a model with fallbacks", offline.withFallbacks([offline]), "the other models as `fallbackModels`"],
  ])("cannot be %s, and nothing is sent", async (_title, value, says) => {
    const graph = agent((context) => Reflect.set(context, "model", value));
    await expect(graph.invoke(user("go"))).rejects.toThrow(says);
  });
});

describe("the tools of a call", () => {
  it("can be fewer, and a call of another one is not run", async () => {
    const { fast, failing, runs } = createProbe();
    const model = scripted(calls(["fast"], ["failing"]), "done");
    const graph = createAgentGraph({
      model,
      tools: [fast, failing],
      requireApproval: ["failing"],
      checkpointer: new MemorySaver(),
      middleware: [
        choosing((context) => {
          context.tools = context.tools.filter((offered) => Reflect.get(offered, "name") === "fast");
        }),
      ],
    });
    const values = await graph.invoke(user("go"), { configurable: { thread_id: "1" } });
    expect(pairedScript(values)).toEqual([
      "human: go",
      "ai> fast failing",
      "tool: fast done -",
      "tool! Error: there is no tool named `failing`. The tools are: fast.",
      "ai: done",
    ]);
    expect(runs).toEqual(["fast:-"]);
    expect(model.requests.map(({ toolNames }) => toolNames)).toEqual([["fast"], ["fast"]]);
  });

  it("can be the caller's, and one that was not offered is not handed over", async () => {
    const model = scripted(calls(["extra"]), "done");
    const graph = agent(
      (context) => {
        context.tools = context.tools.slice(0, 1);
      },
      { model, additionalTools: [extra] },
    );
    expect(pairedScript(await graph.invoke(user("go"))).slice(1)).toEqual([
      "ai> extra",
      "tool! Error: there is no tool named `extra`. The tools are: fast.",
      "ai: done",
    ]);
  });

  it("can be none: the call is made with tools off, and stray calls are removed", async () => {
    const model = scripted(calls(["fast"]));
    const graph = agent(
      (context) => {
        context.tools = [];
      },
      { model },
    );
    const values = await graph.invoke(user("go"));
    expect(pairedScript(values)).toEqual([
      "human: go",
      "ai: I stopped here: tools are off for this response.",
    ]);
    expect(model.requests[0]).toMatchObject({ toolNames: ["fast", "failing"], toolChoice: "none" });
  });

  it("can be one that only a function middleware can answer", async () => {
    const model = scripted(calls(["extra", { x: 1 }], ["fast"]), "done");
    const serve = functionMiddleware(async function serve(context, next) {
      if (context.call.name === "extra") context.result = `served ${JSON.stringify(context.arguments)}`;
      else await next();
    });
    const graph = agent(
      (context) => {
        context.tools = [...context.tools, extra];
      },
      { model, middleware: [serve] },
    );
    expect(pairedScript(await graph.invoke(user("go"))).slice(1)).toEqual([
      "ai> extra fast",
      'tool: served {"x":1}',
      "tool: fast done -",
      "ai: done",
    ]);
  });

  it.each<[title: string, tools: unknown, says: string]>([
    [
      "one that nobody can run",
      [extra],
      "`context.tools` has the tool `extra`, which this graph cannot run.",
    ],
    ["a value that is not a list", "fast", 'Expected `context.tools` to be a list of tools, got `"fast"`.'],
    ["one of the graph twice", ["fast", "fast"], "Two tools are named `fast`."],
    ["a value that is no tool", [{}], "Expected `context.tools[0]` to be a LangChain tool"],
    [
      "two of one name",
      [0, 1].map(() => tool(async () => "", { name: "fast", description: "x", schema: z.object({}) })),
      "Two tools are named `fast`.",
    ],
  ])("cannot have %s", async (_title, tools, says) => {
    const graph = agent((context) => {
      const isNamed = Array.isArray(tools) && tools.every((name) => typeof name === "string");
      Reflect.set(context, "tools", isNamed ? tools.map(() => context.tools[0]) : tools);
    });
    await expect(graph.invoke(user("go"))).rejects.toThrow(says);
  });

  it("cannot be required if the choice names another one", async () => {
    const graph = agent((context) => {
      context.tools = context.tools.slice(0, 1);
      context.options.toolChoice = { mode: "required", requiredFunctionName: "failing" };
    });
    await expect(graph.invoke(user("go"))).rejects.toThrow("requires `failing`");
  });
});
