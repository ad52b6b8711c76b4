/**
 * For any turns, whichever models fail and however: the history stays paired, each model gets an input that its
 * provider accepts, and a client has what is stored.
 */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { expect } from "vitest";
import { z } from "zod";
import { type ChatContext, chatMiddleware, createAgentGraph, type Next } from "../../src/index.js";
import type { DialectName } from "../../src/providers/contract/dialect-name.js";
import { validateHistory } from "../../src/providers/rules/validate-history.js";
import { rememberDialect } from "../../src/providers/table/dialect-of.js";
import { DIALECTS } from "../../src/providers/table/dialects.js";
import { FunctionModel } from "../support/models.js";
import { openThread } from "../support/open-thread.js";
import { shown } from "../support/stream-faults.js";
import { law } from "../support/test-tools.js";

type Reply =
  | { readonly kind: "fails"; readonly status: number | undefined }
  | { readonly kind: "empty" }
  /** `cut`: without a finish reason. */
  | { readonly kind: "calls" | "cut"; readonly ids: readonly string[] }
  | { readonly kind: "text" };

const NAMES = Object.keys(DIALECTS) as DialectName[];

// From a small set, so that they repeat. Not every provider takes all of them.
const ids = fc.uniqueArray(fc.constantFrom("a", "b", "call:1", "toolu_1"), { minLength: 1, maxLength: 3 });
const reply: fc.Arbitrary<Reply> = fc.oneof(
  fc.constantFrom(429, 503, 400, undefined).map((status): Reply => ({ kind: "fails", status })),
  fc.constant<Reply>({ kind: "empty" }),
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("calls", "calls", "cut"), ids }) },
  { weight: 2, arbitrary: fc.constant<Reply>({ kind: "text" }) },
);
const replies = fc.array(reply, { maxLength: 8 });

const threads = fc.record({
  dialects: fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 2, maxLength: 3 }),
  turns: fc.array(replies, { minLength: 1, maxLength: 4 }),
  attempts: fc.integer({ min: 0, max: 1 }),
  middleware: fc.constantFrom("none", "holds", "reads", "retries", "reads and retries", "writes"),
});

const isAnswer = ({ type }: BaseMessage) => type === "ai" || type === "tool";

const look = tool(async () => "clear", { name: "look", description: "Looks.", schema: z.object({}) });

/** Asks once more if the model failed, and sometimes if it did not. */
const again = async (context: ChatContext, next: Next): Promise<void> => {
  await next().catch(next);
  if (context.messages.length % 2 === 0 && context.attempt === 1) await next();
};

const MIDDLEWARE = {
  none: [],
  holds: [chatMiddleware(async (_context, next) => next())],
  reads: [chatMiddleware(async (_context, next) => next(), { readOnly: true })],
  retries: [chatMiddleware(again, { retry: true })],
  "reads and retries": [chatMiddleware(again, { retry: true, readOnly: true })],
  writes: [
    chatMiddleware(async (context, next) => {
      context.update({ messages: [["system", "before"]] });
      await next();
      context.update({ messages: [["system", "after"]] });
    }),
  ],
};

/** Contract: each request takes the next reply of the turn, whichever model it goes to. After the last one: a text. */
function modelOf(dialect: DialectName, nextReply: () => Reply, refused: string[]): FunctionModel {
  const model = new FunctionModel(({ messages, index }) => {
    refused.push(...validateHistory(messages, dialect).map(({ rule }) => `${dialect}: ${rule}`));
    const reply = nextReply();
    switch (reply.kind) {
      case "fails":
        return Object.assign(new Error("It failed."), { status: reply.status });
      case "empty":
        return "";
      case "text":
        return `${dialect} says ${index}`;
      case "calls":
      case "cut":
        return new AIMessage({
          content: "",
          tool_calls: reply.ids.map((id) => ({ id, name: "look", args: {} })),
          response_metadata: {
            model_name: dialect,
            ...(reply.kind === "calls" && { finish_reason: "tool_calls" }),
          },
        });
    }
  });
  return rememberDialect(model, dialect);
}

law(
  "a switch in the middle of a turn keeps the history paired, and every input valid",
  60,
  [threads],
  async ({ dialects, turns, attempts, middleware }) => {
    const refused: string[] = [];
    let left: Reply[] = [];
    const nextReply = () => left.shift() ?? { kind: "text" as const };
    const [model, ...fallbackModels] = dialects.map((name) => modelOf(name, nextReply, refused));
    const checkpointer = new MemorySaver();
    for (const [index, script] of turns.entries()) {
      left = [...script];
      // Another process, each time.
      const graph = createAgentGraph({
        model: model as FunctionModel,
        fallbackModels,
        tools: [look],
        checkpointer,
        middleware: MIDDLEWARE[middleware],
        maxStreamFallbackAttempts: attempts,
      });
      const thread = openThread(graph);
      const { messages, events, error } = await thread.send(`turn ${index}`);
      const stored = await thread.read();
      const turn = stored.slice(stored.findLastIndex(({ type }) => type === "human") + 1);
      expect(shown(messages.filter(isAnswer))).toEqual(shown(turn.filter(isAnswer)));
      expect(refused).toEqual([]);
      const switches = events.filter(({ type }) => type === "model-switched").length;
      if (error === undefined) expect(turn.findLast(isAnswer)?.type).toBe("ai");
      else expect(error).toMatchObject({ code: "MODEL_FAILED" });
      if (middleware.includes("retries")) continue;
      expect(switches).toBeLessThan(dialects.length);
      if (error !== undefined) expect(switches).toBe(dialects.length - 1);
    }
  },
);
