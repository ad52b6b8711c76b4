/** Chat middleware chooses the model and the tools of a call. */

import { SystemMessage } from "@langchain/core/messages";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ChatContext, functionMiddleware, validateHistory } from "../../../src/index.js";
import { agentThread, type ThreadOptions } from "../../support/agent-thread.js";
import { openAIAt } from "../../support/clients.js";
import { OfflineChatModel, rememberDialect } from "../../support/internals.js";
import { beforeNext, type Change, set } from "../../support/middleware.js";
import { startModelServer } from "../../support/model-server.js";
import { calls, FunctionModel } from "../../support/models.js";
import { type Step, scripted } from "../../support/scripted-model.js";
import { rowsOf } from "../../support/test-tools.js";
import { makeTool } from "../../support/tools.js";

const extra = {
  type: "function",
  function: { name: "extra", parameters: { type: "object", properties: {} } },
};

const offline = new OfflineChatModel();

/** A thread whose middleware chooses, for the steps of its model or another one. */
function choosing(change: Change<"chat">, steps: Step[], options: ThreadOptions = {}) {
  const middleware = [beforeNext("chat", change, { readOnly: true }), ...(options.middleware ?? [])];
  return agentThread(steps, { tools: ({ fast, failing }) => [fast, failing], ...options, middleware });
}

const isFirst = ({ messages }: ChatContext) => messages.at(-1)?.type === "human";

const offering =
  (...names: string[]): Change<"chat"> =>
  (context) => {
    context.tools = context.tools.filter((tool) => names.includes(Reflect.get(tool, "name")));
  };

describe("the model of a call", () => {
  it("can be another instance or name, for this call only", async () => {
    const named = scripted("from the named one");
    const other = scripted(calls(["fast"]));
    const choose: Change<"chat"> = (context) =>
      set({ model: isFirst(context) ? other : "offline:named" })(context);
    const { run } = choosing(choose, [], { createModel: async () => named });
    expect((await run()).at(-1)).toBe("ai: from the named one");
    const tools = ["fast", "failing"];
    expect([other, named].map(({ requests }) => requests[0]?.toolNames)).toEqual([tools, tools]);
  });

  it.each<[title: string, change: Change<"chat">]>([
    ["nothing else is changed", () => {}],
    ["an instruction is added", ({ messages }) => messages.push(new SystemMessage("Rhyme."))],
  ])("gets what the run's model cannot read, if %s", async (_title, change) => {
    const other = rememberDialect(new FunctionModel(() => "done"), "openai");
    const choose: Change<"chat"> = (context) => [change(context), set({ model: other })(context)];
    const model = rememberDialect(new FunctionModel(() => "not asked"), "deepseek");
    const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
    const content = [{ type: "text", text: "What is it?" }, picture];
    await choosing(choose, [], { model }).invoke({ messages: [{ role: "user", content }] });
    expect(JSON.stringify(other.requests[0]?.messages)).toContain("data:image/png;base64,AA==");
  });

  it("gets the history in the form of its provider", async () => {
    const mistral = rememberDialect(new FunctionModel(() => "done"), "mistral");
    const call = calls(["fast", {}, "call_0_far:too:long"]);
    const model = rememberDialect(new FunctionModel(() => call), "deepseek");
    await choosing((context) => isFirst(context) || set({ model: mistral })(context), [], { model }).invoke();
    expect(mistral.requests).toHaveLength(1);
    expect(mistral.requests.flatMap(({ messages }) => validateHistory(messages, "mistral"))).toEqual([]);
  });

  it("is streamed and guarded as the run's model is", async () => {
    const server = await startModelServer(({ stream }) => ({
      text: "one two three",
      ...(stream && { fault: "by the end of its body" as const }),
    }));
    onTestFinished(() => server.stop());
    const { send } = choosing(set({ model: openAIAt(server.url, { model: "m" }) }), []);
    const { events, messages } = await send("go");
    expect(events.map(({ type }) => type)).toEqual(["response-broken", "run-end"]);
    expect(messages.at(-1)?.text).toBe("one two three");
  });

  it("is followed by the fallback models, and the next call has the run's model", async () => {
    const model = scripted(new Error("down"));
    const fallbackModels = [scripted(calls(["fast"]))];
    const choose: Change<"chat"> = (context) => isFirst(context) && set({ model })(context);
    const { events, messages } = await choosing(choose, ["from the run's model"], { fallbackModels }).send(
      "go",
    );
    expect(events[0]).toMatchObject({ type: "model-switched", from: "played", to: "played" });
    expect(messages.at(-1)?.text).toBe("from the run's model");
  });
});

describe("the tools of a call", () => {
  const UNKNOWN = (name: string) => `tool! Error: there is no tool named \`${name}\`. The tools are: fast.`;

  it("can be fewer, and a call of another one is not run", async () => {
    const batch = calls(["fast"], ["failing"]);
    const { run, runs, model } = choosing(offering("fast"), [batch, "done"], {
      requireApproval: ["failing"],
    });
    const lines = ["ai> fast failing", "tool: fast done -", UNKNOWN("failing"), "ai: done"];
    expect((await run()).slice(1)).toEqual(lines);
    expect(runs).toEqual(["fast:-"]);
    expect(model.requests.map(({ toolNames }) => toolNames)).toEqual([["fast"], ["fast"]]);
  });

  it("can be the caller's, and one that was not offered is not handed over", async () => {
    const { run } = choosing(offering("fast"), [calls(["extra"]), "done"], { additionalTools: [extra] });
    expect((await run()).slice(1)).toEqual(["ai> extra", UNKNOWN("extra"), "ai: done"]);
  });

  it("can be none: the call is made with tools off, and stray calls are removed", async () => {
    const { run, model } = choosing(set({ tools: [] }), [calls(["fast"])]);
    expect(await run()).toEqual(["human: go", "ai: I stopped here: tools are off for this response."]);
    expect(model.requests[0]).toMatchObject({ toolNames: ["fast", "failing"], toolChoice: "none" });
  });

  it("can be one that only a function middleware can answer", async () => {
    const serve = functionMiddleware(async function serve(context, next) {
      if (context.call.name === "extra") context.result = `served ${JSON.stringify(context.arguments)}`;
      else await next();
    });
    const offer: Change<"chat"> = (context) => set({ tools: [...context.tools, extra] })(context);
    const steps = [calls(["extra", { x: 1 }], ["fast"]), "done"];
    const { run } = choosing(offer, steps, { middleware: [serve] });
    const lines = ["ai> extra fast", 'tool: served {"x":1}', "tool: fast done -", "ai: done"];
    expect((await run()).slice(1)).toEqual(lines);
  });
});

const REFUSED = rowsOf<[change: Change<"chat">, says: string]>({
  "a value that is no model": [
    set({ model: 5 }),
    "Expected `context.model` to be a chat model or the name of one, got `5`.",
  ],
  "a name without a provider": [
    set({ model: "gpt-5" }),
    "Expected `context.model` to be a model as `provider:model`, got `gpt-5`.",
  ],
  "a model with bound tools": [set({ model: offline.bindTools([extra]) }), "its tools as `tools`"],
  "a model with fallbacks": [
    set({ model: offline.withFallbacks([offline]) }),
    "the other models as `fallbackModels`",
  ],
  "a tool that nobody can run": [
    set({ tools: [extra] }),
    "`context.tools` has the tool `extra`, which this graph cannot run.",
  ],
  "tools that are not a list": [
    set({ tools: "fast" }),
    'Expected `context.tools` to be a list of tools, got `"fast"`.',
  ],
  "a tool of the graph twice": [
    (context) => set({ tools: [context.tools[0], context.tools[0]] })(context),
    "Two tools are named `fast`.",
  ],
  "a value that is no tool": [set({ tools: [{}] }), "Expected `context.tools[0]` to be a LangChain tool"],
  "two tools of one name": [
    set({ tools: [0, 1].map(() => makeTool("fast", async () => "")) }),
    "Two tools are named `fast`.",
  ],
  "a choice of a tool that is not offered": [
    (context) => {
      offering("fast")(context);
      context.options.toolChoice = { mode: "required", requiredFunctionName: "failing" };
    },
    "requires `failing`",
  ],
});

it.each(REFUSED)("A chat middleware cannot choose %s, and nothing is sent.", async (_title, change, says) => {
  await expect(choosing(change, []).invoke()).rejects.toThrow(says);
});
