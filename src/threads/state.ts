/** The channels of an agent's thread. */

import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import type { Command } from "@langchain/langgraph";
import { withLangGraph } from "@langchain/langgraph/zod";
import { z } from "zod/v4";
import {
  type MessagesUpdate,
  messagesJsonSchemaExtra,
  messagesSchema,
  messagesUpdateSchema,
} from "../history/reducer/messages-schema.js";
import { pairedMessagesReducer } from "../history/reducer/paired-messages.js";
import { isUserMessage } from "../history/summary.js";
import { defined, madeOnce } from "../shared/values.js";
import type { OwnState } from "./own-state.js";
import { threadUsageSchema, threadUsageValue } from "./usage.js";

/** Why the model must not call tools in the rest of the turn. */
const closingReasonSchema = z.enum([
  "max-iterations",
  "max-tool-calls",
  "max-tokens-per-turn",
  "max-tokens-per-thread",
  "max-tool-calls-per-thread",
  "max-consecutive-errors",
  "recursion-limit",
]);

export type ClosingReason = z.infer<typeof closingReasonSchema>;

/**
 * What a turn has used so far. It is a channel, not a variable of the run, because a turn spans tasks, interrupts and
 * restarts.
 */
const turnSchema = z.object({
  /** The id of the user message that began the turn; undefined in a thread without one. */
  startedBy: z.string().optional(),
  /** Model calls with tools on. */
  iterations: z.number(),
  /** Tool calls that were sent to their tools. */
  toolCalls: z.number(),
  /** How many of the latest consecutive rounds had only failed calls. */
  consecutiveErrors: z.number(),
  closing: closingReasonSchema.optional(),
  /** The tokens of this turn's responses and summaries. */
  tokens: z.number().optional(),
  /** The budgets that clients were warned about in this turn. */
  near: z.array(closingReasonSchema).optional(),
  /**
   * Set once a required call was made: what follows its results. `"auto"`: the model decides, because the caller
   * supplies results.
   */
  afterRequired: z.enum(["end", "respond", "auto"]).optional(),
  /** Set once a fallback model has responded instead of the model that the run named in `instead`, or the default. */
  fallback: z.object({ instead: z.string().optional(), position: z.number() }).optional(),
  /** The calls that the thread has asked a human about. Empty: about more than one set, in this turn or before. */
  asked: z.string().optional(),
});

export type Turn = z.infer<typeof turnSchema>;

/** The latest attempt to summarise, successful or not. */
export const summaryAttemptSchema = z.object({
  turn: z.string().optional(),
  tokens: z.number(),
  /** How many attempts in a row have failed. */
  failures: z.number().optional(),
});

export type SummaryAttempt = z.infer<typeof summaryAttemptSchema>;

/**
 * The channels that callers see. It is a plain zod object, because with a `StateSchema` the server shows no form for
 * the context.
 */
const publicStateSchema = z.object({
  messages: withLangGraph<BaseMessage[], MessagesUpdate, typeof messagesSchema>(messagesSchema, {
    reducer: { fn: pairedMessagesReducer, schema: messagesUpdateSchema },
    default: () => [],
    jsonSchemaExtra: messagesJsonSchemaExtra,
  }),
});

/** LangGraph keeps each state schema that it has seen, and a server makes a graph for each run. */
const extendedSchemas = new WeakMap<OwnState, typeof publicStateSchema>();

/** The channels that callers see, with a user's own keys. */
export function publicStateWith(ownState: OwnState): typeof publicStateSchema {
  if (ownState.keys.length === 0) return publicStateSchema;
  return madeOnce(extendedSchemas, ownState, () =>
    z.object({ ...publicStateSchema.shape, ...ownState.fields }),
  );
}

/** The channels that are neither the graph's input nor its output. */
const privateSchema = z
  .object({
    turn: turnSchema,
    summaryAttempt: summaryAttemptSchema,
    /** In an update: what was used in addition. */
    threadUsage: threadUsageSchema,
    /** The inbox messages that were taken, and whose items may still be in the store. */
    steered: z.array(z.string()),
  })
  .partial();

type PrivateState = z.infer<typeof privateSchema>;

/** The channels that nodes see. */
export const agentStateSchema = publicStateSchema.extend({
  ...privateSchema.shape,
  threadUsage: threadUsageValue,
});

/**
 * Whether a field of a state or an update is a private channel. Its value also decides, because a graph inside a tool
 * can use the same name.
 */
export function isPrivateChannel(name: string, value: unknown): boolean {
  const { shape } = privateSchema;
  return Object.hasOwn(shape, name) && shape[name as keyof typeof shape].safeParse(value).success;
}

export type AgentState = PrivateState & { messages: BaseMessage[] };
export type AgentUpdate = PrivateState & {
  messages?: BaseMessageLike[];
  /** Only in a graph with a response format. */
  structuredResponse?: unknown;
};

/** What the tools node writes. */
export type ToolsUpdate = AgentUpdate | Command | (AgentUpdate | Command)[];

/** The current turn, or a new one if a new user message came. */
export function turnOf(state: AgentState): Turn {
  const { turn } = state;
  const fresh = newTurn(state);
  return turn !== undefined && turn.startedBy === fresh.startedBy ? turn : fresh;
}

/** The turn of a branch that begins on an earlier checkpoint. The branch before it can have asked a human too. */
export function inOtherBranch(turn: unknown): Turn {
  const { data = { iterations: 0, toolCalls: 0, consecutiveErrors: 0 } } = turnSchema.safeParse(turn);
  return { ...data, asked: "" };
}

export function newTurn({ messages, turn }: AgentState): Turn {
  const startedBy = messages.findLast(isUserMessage)?.id;
  return { startedBy, iterations: 0, toolCalls: 0, consecutiveErrors: 0, ...defined({ asked: turn?.asked }) };
}
