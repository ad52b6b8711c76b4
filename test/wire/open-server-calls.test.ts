/** Calls that Anthropic still runs, over HTTP through the real client. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, explainInput, toModelInput, validateHistory } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { anthropicAt } from "../support/clients.js";
import { ANSWER, startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";

const strict = stopAtEnd(await startStrictProvider());
const dialect = "anthropic";

const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "sky" } };
const code = { type: "server_tool_use", id: "srvtoolu_2", name: "code_execution", input: { code: "look()" } };
const own = { type: "tool_use", id: "toolu_1", name: "look", input: { city: "Oslo" } };
const byCode = { ...own, caller: { type: "code_execution_20250825", tool_id: "srvtoolu_2" } };
const found = {
  type: "web_search_tool_result",
  tool_use_id: "srvtoolu_1",
  content: [
    { type: "web_search_result", url: "https://example.com", title: "Sky", encrypted_content: "ZW5j" },
  ],
};
const ran = {
  type: "code_execution_tool_result",
  tool_use_id: "srvtoolu_2",
  content: { type: "code_execution_result", stdout: "clear", stderr: "", return_code: 0, content: [] },
};

const says = (content: readonly object[], fields: object = {}) =>
  new AIMessage({
    content: content as never,
    tool_calls: content.includes(own) || content.includes(byCode) ? [CALL] : [],
    response_metadata: { model_provider: "anthropic", model_name: "claude-sonnet-4-5" },
    ...fields,
  });
const CALL = { id: "toolu_1", name: "look", args: { city: "Oslo" }, type: "tool_call" as const };
const user = new HumanMessage("How is the sky?");
const looked = new ToolMessage({ tool_call_id: "toolu_1", content: "clear", name: "look" });

const look = tool(() => "clear", {
  name: "look",
  description: "Looks.",
  schema: z.object({ city: z.string() }),
});
const model = () => anthropicAt(strict.url("anthropic"));

/** Both ways to the library. */
const AGENTS = [
  ["createAgentGraph", () => createAgentGraph({ model: model(), tools: [look], promptCache: "off" })],
  [
    "tetherMiddleware",
    () => createAgent({ model: model(), tools: [look], middleware: [tetherMiddleware()] }),
  ],
] as const;

const blocksAt = (body: Record<string, unknown>, place: number): unknown =>
  (body["messages"] as { readonly content: unknown }[])[place]?.content;

describe.each(AGENTS)("%s:", (_way, create) => {
  /** What is sent of this history. The provider refuses what Anthropic refuses. */
  async function sent(history: readonly BaseMessage[]): Promise<Record<string, unknown>> {
    const { messages } = await create().invoke({ messages: [...history] });
    expect(messages.at(-1)?.text).toBe(ANSWER);
    expect(validateHistory(toModelInput(history, { dialect }), dialect)).toEqual([]);
    return strict.lastRequest() as Record<string, unknown>;
  }

  describe("A call that Anthropic runs beside one of the caller's", () => {
    const open = [user, says([search, own]), looked];

    it("is sent with the results of the caller, and nothing is wrong with it.", async () => {
      expect(blocksAt(await sent(open), 1)).toEqual([search, own]);
      expect(validateHistory(open, dialect)).toEqual([]);
      const { stored } = explainInput(open, { dialect });
      expect(stored.flatMap(({ reasons }) => reasons.map(({ code: reason }) => reason))).not.toContain(
        "server-call-without-result",
      );
    });

    it("is answered at the beginning of the next response.", async () => {
      const answered = [
        ...open,
        says([found, { type: "text", text: "Clear." }]),
        new HumanMessage("Thanks."),
      ];
      const body = await sent(answered);
      expect(blocksAt(body, 1)).toEqual([search, own]);
      expect(blocksAt(body, 3)).toEqual([found, { type: "text", text: "Clear." }]);
      expect(validateHistory(answered, dialect)).toEqual([]);
    });

    it.each([
      ["a user message", [new HumanMessage("Stop.")]],
      [
        "a response that does not answer it",
        [says([{ type: "text", text: "Clear." }]), new HumanMessage("So?")],
      ],
    ])("is left out after %s.", async (_, more) => {
      const over = [...open, ...more];
      expect(validateHistory(over, dialect).map(({ rule }) => rule)).toContain("server-call-without-result");
      expect(blocksAt(await sent(over), 1)).toEqual([own]);
    });

    it("goes with its result where another model gets them.", () => {
      const history = [...open, says([found, { type: "text", text: "Clear." }]), new HumanMessage("Thanks.")];
      const input = toModelInput(history, { dialect: "openai" });
      expect(JSON.stringify(input)).not.toContain("srvtoolu_1");
      expect(input[3]?.text).toContain("web_search_tool_result returned:");
      expect(validateHistory(input, "openai")).toEqual([]);
    });

    it("is not left with half of its pair by a window.", () => {
      const long = "x".repeat(4000);
      const history = [
        user,
        says([search, own]),
        looked,
        says([found, { type: "text", text: long }]),
        new HumanMessage("Thanks."),
      ];
      for (const maxTokens of [20, 200, 600, 1100]) {
        const input = toModelInput(history, { dialect, maxTokens });
        expect(validateHistory(input, dialect)).toEqual([]);
      }
    });
  });

  describe("Code that Anthropic runs and that waits for a result of the caller", () => {
    const waiting = (fields: object = {}) => [user, says([code, byCode], fields), looked];
    const container = { id: "container_1", expires_at: "2026-01-01T00:00:00Z" };

    it("is sent with the block that names it, and in its container.", async () => {
      const body = await sent(waiting({ additional_kwargs: { container } }));
      expect(blocksAt(body, 1)).toEqual([code, byCode]);
      expect(body["container"]).toBe("container_1");
    });

    it("has no container if the response names none, or if it does not wait any more.", async () => {
      expect(await sent(waiting())).not.toHaveProperty("container");
      const over = [...waiting({ additional_kwargs: { container } }), new HumanMessage("Stop.")];
      const body = await sent(over);
      expect(body).not.toHaveProperty("container");
      expect(blocksAt(body, 1)).toEqual([own]);
    });

    it("is told as text with its result, which the client cannot send.", async () => {
      const over = [...waiting(), says([ran, { type: "text", text: "Clear." }]), new HumanMessage("Thanks.")];
      const body = await sent(over);
      expect(blocksAt(body, 1)).toEqual([own]);
      expect(JSON.stringify(blocksAt(body, 3))).toContain("[code_execution ");
    });

    it("follows a call that somebody has edited, without the block of the old call.", async () => {
      const edited = says([code, byCode], { tool_calls: [{ ...CALL, args: { city: "Rome" } }] });
      const blocks = blocksAt(await sent([user, edited, looked]), 1);
      expect(blocks).toEqual([code, { ...own, input: { city: "Rome" } }]);
    });
  });
});
