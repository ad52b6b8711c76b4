/** The channels of an agent's thread. */

import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import { withLangGraph } from "@langchain/langgraph/zod";
import { z } from "zod";
import { isUserMessage } from "../../history/messages/summary.js";
import {
  type MessagesUpdate,
  messagesJsonSchemaExtra,
  messagesSchema,
  messagesUpdateSchema,
} from "../../history/reading/messages-schema.js";
import { pairedMessagesReducer } from "../../history/reducer/paired-messages-reducer.js";
import type { OwnState } from "../../settings/schemas/own-state.js";

/** Why the model must not call tools in the rest of the turn. */
const closingReasonSchema = z.enum([
  "max-iterations",
  "max-tool-calls",
  "max-consecutive-errors",
  "recursion-limit",
]);

export type ClosingReason = z.infer<typeof closingReasonSchema>;

/**
 * What a turn has used up so far. It is a channel and not a variable of the run, because a turn spans tasks, interrupts
 * and restarts.
 */
const turnSchema = z.object({
  /** The id of the user message that began the turn; undefined in a thread without one. */
  startedBy: z.string().optional(),
  /** Model calls with tools on. */
  iterations: z.number(),
  /** Tool calls that were sent to their tools. */
  toolCalls: z.number(),
  /** How many of the latest rounds in a row had only failed calls. */
  consecutiveErrors: z.number(),
  closing: closingReasonSchema.optional(),
  /**
   * Set once a required call was made: what follows its results. `"auto"`: the model decides, because the caller
   * supplies results.
   */
  afterRequired: z.enum(["end", "answer", "auto"]).optional(),
});

export type Turn = z.infer<typeof turnSchema>;

/** The latest attempt to summarise, successful or not. */
const summaryAttemptSchema = z.object({
  turn: z.string().optional(),
  /** How many tokens the model input had afterwards. */
  tokens: z.number(),
  /** How many attempts in a row have failed. */
  failures: z.number().optional(),
});

export type SummaryAttempt = z.infer<typeof summaryAttemptSchema>;

/**
 * The channels that callers see. It is a plain zod object, because with a `StateSchema` the server shows no form for
 * the context.
 */
export const publicStateSchema = z.object({
  messages: withLangGraph<BaseMessage[], MessagesUpdate, typeof messagesSchema>(messagesSchema, {
    reducer: { fn: pairedMessagesReducer, schema: messagesUpdateSchema },
    default: () => [],
    jsonSchemaExtra: messagesJsonSchemaExtra,
  }),
});

/** LangGraph keeps each state schema that it has seen, and a server makes a graph for each run. */
const extendedSchemas = new WeakMap<OwnState, typeof publicStateSchema>();

/** The channels that callers see, with the own keys of a user. */
export function publicStateWith(ownState: OwnState): typeof publicStateSchema {
  if (ownState.keys.length === 0) return publicStateSchema;
  const known = extendedSchemas.get(ownState);
  if (known !== undefined) return known;
  const schema = z.object({ ...publicStateSchema.shape, ...ownState.fields });
  extendedSchemas.set(ownState, schema);
  return schema;
}

const privateChannels = { turn: turnSchema, summaryAttempt: summaryAttemptSchema };

/** The channels that nodes see. The private ones are neither input nor output of the graph. */
export const agentStateSchema = publicStateSchema.extend({
  turn: turnSchema.optional(),
  summaryAttempt: summaryAttemptSchema.optional(),
});

/**
 * Whether a field of a state or an update is a private channel. The value decides too, because a graph inside a tool
 * can use the same name.
 */
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

/** The current turn, or a new one if a new user message came. */
export function turnOf({ messages, turn }: AgentState): Turn {
  const startedBy = messages.findLast(isUserMessage)?.id;
  if (turn !== undefined && turn.startedBy === startedBy) return turn;
  return { startedBy, iterations: 0, toolCalls: 0, consecutiveErrors: 0 };
}
