/** A response format together with fallback models, chat middleware, steered messages, budgets and approvals. */

import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AgentGraphOptions,
  type ChatContext,
  chatMiddleware,
  createAgentGraph,
  toolStrategy,
} from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { rememberDialect } from "../../support/internals.js";
import { lines } from "../../support/lines.js";
import { beforeNext, type Change, type Handle, insteadOfNext, set } from "../../support/middleware.js";
import { type Answer, calls, FunctionModel, type PlayedModel } from "../../support/models.js";
import { scripted } from "../../support/scripted-model.js";
import { acting, steeredThread, THREAD } from "../../support/steering.js";
import { inThread, pairedScript, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

const City = z.object({ name: z.string() }).meta({ title: "City" });
const OSLO = { name: "Oslo" };
const JSON_TEXT = JSON.stringify(OSLO);
const RIGHT = `tool: Returning structured response: ${JSON_TEXT}`;
const right = () => calls(["City", OSLO]);

type Sent = { tools: readonly string[]; schema: boolean };

/** A model of a dialect whose profile says that its provider has structured output. */
class FormatModel extends FunctionModel {
  override get profile() {
    return { structuredOutput: true };
  }
  readonly sent: Sent[] = [];
  protected override async play(...[messages, options]: Parameters<PlayedModel["play"]>) {
    const schema = "response_format" in options || "responseSchema" in options || "outputConfig" in options;
    this.sent.push({ tools: options.toolNames ?? [], schema });
    return super.play(messages, options);
  }
}
const formatting = (dialect: "openai" | "gemini" | "anthropic", answer: Answer) =>
  rememberDialect(new FormatModel(answer), dialect);

const changing = (change: Change<"chat">) => beforeNext("chat", change);

/** The lines of one run that must end with the structured response. */
async function linesOf(options: Partial<AgentGraphOptions>): Promise<string[]> {
  const graph = createAgentGraph({ model: scripted(), responseFormat: City, ...options });
  const result = await graph.invoke(user("go"));
  expect(result.structuredResponse).toEqual(OSLO);
  return pairedScript(result);
}

const down = () => Object.assign(new Error("down"), { status: 503 });
const { fast } = createProbe();

describe("A schema alone", () => {
  it("is asked for in the way of each model when a fallback takes over in the middle of a turn", async () => {
    const model = formatting("openai", ({ index }) => (index === 0 ? calls(["fast"]) : down()));
    const second = scripted("A text.", right());
    expect(await linesOf({ model, fallbackModels: [second], tools: [fast] })).toEqual(
      lines("human: go | ai> fast | tool: fast done - | ai> City", RIGHT),
    );
    expect(model.sent).toEqual(Array(2).fill({ tools: ["fast"], schema: true }));
    expect(second.requests.map(({ toolNames }) => toolNames)).toEqual(Array(2).fill(["fast", "City"]));
  });

  it("is asked for in the other direction too", async () => {
    const model = scripted(calls(["fast"], ["City", {}]), down());
    const second = formatting("openai", ({ index }) => (index === 0 ? '{"name":7}' : JSON_TEXT));
    const lines = await linesOf({ model, fallbackModels: [second], tools: [fast] });
    expect(lines.at(-1)).toBe(`ai: ${JSON_TEXT}`);
    expect(second.sent).toEqual(Array(2).fill({ tools: ["fast"], schema: true }));
  });

  it("follows the tools and the model that a chat middleware sets", async () => {
    const extra = makeTool("extra", async () => "extra");
    const model = formatting("gemini", ({ index }) => (index === 0 ? calls(["extra"]) : right()));
    const offer = changing(set({ tools: [extra] }));
    const serve = insteadOfNext("function", set({ result: "served" }));
    const lines = await linesOf({ model, middleware: [offer, serve] });
    expect(lines).toEqual(["human: go", "ai> extra", "tool: served", "ai> City", RIGHT]);
    // Gemini refuses a schema together with tools.
    expect(model.sent).toEqual(Array(2).fill({ tools: ["extra", "City"], schema: false }));
  });

  const other = formatting("openai", () => JSON_TEXT);
  const both: Handle<"chat"> = async (context, next) => {
    await next();
    context.model = other;
    await next();
  };
  it.each([
    ["the model that a chat middleware sets", [], changing(set({ model: other }))],
    ["the attempt that a middleware with retry accepts", [right()], chatMiddleware(both, { retry: true })],
  ])("is checked in the way of %s", async (_, steps, middleware) => {
    const lines = await linesOf({ model: scripted(...steps), middleware: [middleware] });
    expect(lines).toEqual(["human: go", `ai: ${JSON_TEXT}`]);
  });
});

describe("With chat middleware, a format", () => {
  it("refuses a tool of the name of the format", async () => {
    const offer = changing(set({ tools: [makeTool("City", async () => "x")] }));
    const serve = beforeNext("function", () => {});
    const run = linesOf({ responseFormat: toolStrategy(City), middleware: [offer, serve] });
    await expect(run).rejects.toMatchObject({ code: "INVALID_TOOL" });
  });

  const choose = (toolChoice: unknown) => (context: ChatContext) =>
    void Object.assign(context.options, { toolChoice });
  const requireFast: Change<"chat"> = (context) =>
    context.messages.length === 1 && choose({ mode: "required", requiredFunctionName: "fast" })(context);
  it.each<[what: string, change: Change<"chat">, steps: AIMessage[], choices: string[]]>([
    ["holds without tools", set({ tools: [] }), [right()], ["City"]],
    ["holds if the choice is none", choose("none"), [right()], ["City"]],
    [
      "requires the tool that a middleware names, and then the structured response",
      requireFast,
      [calls(["fast"]), right()],
      ["fast", "any"],
    ],
  ])("%s", async (_, change, steps, choices) => {
    const model = scripted(...steps);
    await linesOf({ model, tools: [fast], middleware: [changing(change)] });
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(choices);
  });
});

describe("With steered messages, a format", () => {
  it.each(["tool", "provider"] as const)(
    "gives the structured response of the last turn (%s)",
    async (way) => {
      const answer: Answer = async ({ index }) => {
        if (index === 0) await thread.graph.steer(THREAD, "And Rome?");
        const value = { name: index === 0 ? "Oslo" : "Rome" };
        return way === "tool" ? calls(["City", value]) : JSON.stringify(value);
      };
      const model = way === "tool" ? new FunctionModel(answer) : formatting("openai", answer);
      const thread = steeredThread({ model, responseFormat: City });
      await thread.say("go");
      const { values } = await thread.graph.getState(inThread(THREAD));
      expect(values.structuredResponse).toEqual({ name: "Rome" });
      expect((await thread.script()).filter((line) => line.startsWith("human"))).toEqual([
        "human: go",
        "human: And Rome?",
      ]);
      expect(await thread.inbox()).toEqual([]);
      expect(thread.eventTypes().filter((type) => type === "run-end")).toHaveLength(1);
    },
  );
  it("takes a message that comes while a text is asked for again", async () => {
    const model = new FunctionModel(async ({ index }) => {
      if (index === 0) await thread.graph.steer(THREAD, "And Rome?");
      return index === 0 ? "A text." : right();
    });
    const thread = steeredThread({ model, responseFormat: City });
    await thread.say("go");
    expect(await thread.script()).toEqual(
      lines("human: go | ai> City", RIGHT, "human: And Rome? | ai> City", RIGHT),
    );
  });
  it("takes a message after a direct result, and ends with a structured response", async () => {
    const direct = acting("direct", () => thread.graph.steer(THREAD, "And?"));
    direct.returnDirect = true;
    const model = scripted(calls(["direct"]), right());
    const thread = steeredThread({ model, responseFormat: City, tools: [direct] });
    await thread.say("go");
    expect(await thread.script()).toEqual(
      lines("human: go | ai> direct | tool: direct done | human: And? | ai> City", RIGHT),
    );
    expect(thread.eventTypes()).not.toContain("structured-response-missing");
  });
});

describe("At a budget, a format", () => {
  const usage = { input_tokens: 50, output_tokens: 50, total_tokens: 100 };
  const paid = (message: AIMessage) => new AIMessage({ ...message, usage_metadata: usage } as never);
  it.each(["maxTokensPerTurn", "maxTokensPerThread"])("is asked for once more at %s", async (setting) => {
    const model = scripted(paid(calls(["fast"])), paid(right()));
    await linesOf({ model, tools: [fast], [setting]: 100 });
    expect(model.requests[1]?.toolChoice).toBe("City");
  });
  it("tells that a turn without tokens left has none", async () => {
    const options = { responseFormat: City, maxTokensPerThread: 100 };
    const { invoke, send, state } = agentThread([paid(right())], options);
    await invoke();
    const types = ["limit-reached", "structured-response-missing", "run-end"];
    expect((await send("again")).events.map(({ type }) => type)).toEqual(types);
    expect((await state()).values).not.toHaveProperty("structuredResponse");
  });
  it("does not count its call as a tool call of the thread", async () => {
    const model = scripted(calls(["fast"], ["City", OSLO]), right());
    await linesOf({ model, tools: [fast], maxToolCallsPerThread: 1 });
  });
});

it("A key of the state that is named like the structured response is refused with a format only.", async () => {
  const stateSchema = z.object({ structuredResponse: z.string().default("mine") });
  expect(() => createAgentGraph({ model: "offline:", responseFormat: City, stateSchema })).toThrow(
    /structuredResponse/,
  );
  const graph = createAgentGraph({ model: scripted("hello"), stateSchema });
  expect((await graph.invoke(user("go"))).structuredResponse).toBe("mine");
});
