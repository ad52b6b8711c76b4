/** The channels of an agent's thread. */

import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import { withLangGraph } from "@langchain/langgraph/zod";
import { z } from "zod";
import {
  type MessagesUpdate,
  messagesJsonSchemaExtra,
  messagesSchema,
  messagesUpdateSchema,
} from "../../history/messages/messages-schema.js";
import { isUserMessage } from "../../history/messages/summary.js";
import { pairedMessagesReducer } from "../../history/reducer/paired-messages-reducer.js";

/** Why the model may call no tool in what remains of the turn. */
const closingReasonSchema = z.enum([
  "max-iterations",
  "max-tool-calls",
  "max-consecutive-errors",
  "recursion-limit",
]);

export type ClosingReason = z.infer<typeof closingReasonSchema>;

/**
 * What was spent in the turn that a user message began. A channel, not a variable of the run: a turn spans tasks,
 * interrupts and restarts.
 */
const turnSchema = z.object({
  /** The id of the user message; undefined where a thread has none. */
  startedBy: z.string().optional(),
  /** Model calls with tools on. */
  iterations: z.number(),
  /** Calls that were sent to their tools. */
  toolCalls: z.number(),
  /** Rounds in a row in which every call failed. */
  consecutiveErrors: z.number(),
  closing: closingReasonSchema.optional(),
  /** The required call was made: what follows its results. `"auto"`: the model decides, as its caller gave them. */
  afterRequired: z.enum(["end", "answer", "auto"]).optional(),
});

export type Turn = z.infer<typeof turnSchema>;

/** The last time that a summary was tried, whether or not it came to one. */
const summaryAttemptSchema = z.object({
  turn: z.string().optional(),
  /** Of the model input afterwards. */
  tokens: z.number(),
});

export type SummaryAttempt = z.infer<typeof summaryAttemptSchema>;

/** The channels that callers see. A plain zod object: with a `StateSchema` the server shows no context form. */
export const publicStateSchema = z.object({
  messages: withLangGraph<BaseMessage[], MessagesUpdate, typeof messagesSchema>(messagesSchema, {
    reducer: { fn: pairedMessagesReducer, schema: messagesUpdateSchema },
    default: () => [],
    jsonSchemaExtra: messagesJsonSchemaExtra,
  }),
});

const privateChannels = { turn: turnSchema, summaryAttempt: summaryAttemptSchema };

/** What the nodes see: private channels too, which are neither input nor output. */
export const agentStateSchema = publicStateSchema.extend({
  turn: turnSchema.optional(),
  summaryAttempt: summaryAttemptSchema.optional(),
});

/** Whether a field of a state or an update is one of ours that no caller sees. Graphs inside a tool may use its name. */
export function isPrivateChannel(name: string, value: unknown): boolean {
  if (name !== "turn" && name !== "summaryAttempt") return false;
  return value === undefined || privateChannels[name].safeParse(value).success;
}

export type AgentState = {
  messages: BaseMessage[];
  turn?: Turn | undefined;
  summaryAttempt?: SummaryAttempt | undefined;
};
export type AgentUpdate = { messages?: BaseMessageLike[]; turn?: Turn; summaryAttempt?: SummaryAttempt };

/** The running turn, or a new one if a user message came since. */
export function turnOf({ messages, turn }: AgentState): Turn {
  const startedBy = messages.findLast(isUserMessage)?.id;
  if (turn !== undefined && turn.startedBy === startedBy) return turn;
  return { startedBy, iterations: 0, toolCalls: 0, consecutiveErrors: 0 };
}
