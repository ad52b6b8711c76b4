/** Events that the agent emits on the `custom` stream. */

import { channel } from "node:diagnostics_channel";
import type { ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { Call } from "../history/call.js";
import { createRepair, type Repair } from "../history/repair.js";
import { isPlaceholder, type PlaceholderCause } from "../history/result.js";
import type { BrokenReason } from "../providers/response/verdict.js";
import { safely } from "../shared/json.js";
import { defined } from "../shared/values.js";
import { checkpointOfStep, runIdOf } from "./langgraph/run-host.js";
import type { ClosingReason } from "./state.js";
import { threadIdOf } from "./stores.js";
import type { RunEndEvent } from "./usage.js";

/** A budget of a turn or thread. */
export type BudgetLimit = "max-tool-calls-per-thread" | "max-tokens-per-turn" | "max-tokens-per-thread";

export interface NearBudget {
  readonly limit: BudgetLimit;
  readonly used: number;
  readonly max: number;
}

/**
 * How a request's input was reduced.
 *
 * - `shortened`: texts are shortened and messages left out, because the request would be too long.
 * - `described`: a sentence replaces each picture or file.
 * - `counted`: there are fewer pictures, messages or marks, or calls are split into more messages.
 * - `strict`: every provider accepts the complete input, with descriptions of pictures and files.
 * - `retold`: one text replaces everything before the current turn.
 */
export type Rung = "shortened" | "described" | "counted" | "strict" | "retold";

/** Where an event belongs. */
export interface EventPlace {
  /** The thread; left out for a run without one. */
  readonly threadId?: string;
  /** The run: the id that its caller or the server gave it, or one of its own. */
  readonly runId?: string;
  /** The checkpoint that the step began on. `run-end`: the last one that the run saved. Left out if there is none. */
  readonly checkpointId?: string;
}

/** A chunk of the `custom` stream: an event of the agent's own work, and its place. Its `type` tells which event. */
export type AgentEvent = EventPlace &
  /**
   * A tool call without a result was closed with a placeholder, or in the request if it is only an item of OpenAI's
   * Responses API. Emitted before the model is asked.
   */
  (
    | {
        readonly type: "call-closed";
        /** The tool's name. */
        readonly tool: string;
        /** The id of the tool call. */
        readonly callId: string;
        /** Why the call has no result, such as `superseded`. */
        readonly cause: PlaceholderCause;
      }
    /**
     * A tool call of an earlier run got its result: the tool had returned it before that run ended, or after the abort.
     * Emitted at the start of a run, before the model is asked.
     */
    | {
        readonly type: "result-recovered";
        /** The tool's name. */
        readonly tool: string;
        /** The id of the tool call. */
        readonly callId: string;
      }
    /**
     * A response of an earlier run is back in the thread. That run ended after the response was shown and before it was
     * stored. If the response was still streaming, the message has the text that was shown. Emitted at the start of a
     * run, before the model is asked.
     */
    | {
        readonly type: "response-recovered";
        /** The id of the message. */
        readonly messageId: string;
      }
    /**
     * The input had a result for a tool call that this graph answers itself. The result was left out. Emitted at the
     * start of a run.
     */
    | {
        readonly type: "result-refused";
        /** The tool's name. */
        readonly tool: string;
        /** The id of the tool call. */
        readonly callId: string;
      }
    /**
     * A tool finished after its run was aborted. Its result is saved for the thread's next run. The run's stream has
     * ended, so the event is only on the channel of `node:diagnostics_channel`.
     */
    | {
        readonly type: "result-late";
        /** The tool's name. */
        readonly tool: string;
        /** The id of the tool call. */
        readonly callId: string;
        /** The complete result, as a plain object. */
        readonly message: Readonly<Record<string, unknown>>;
      }
    /**
     * A result that an ended run left has no place in the thread, because the run was killed before it saved the call.
     * Emitted at the start of a run.
     */
    | {
        readonly type: "result-dropped";
        /** The id of the tool call. */
        readonly callId: string;
        /** The complete result, as a plain object. */
        readonly message: Readonly<Record<string, unknown>>;
      }
    /**
     * A system or developer message of the input was stored as the user's words, because the graph does not accept such
     * messages from clients. Emitted at the start of a run.
     */
    | {
        readonly type: "role-changed";
        /** The id of the message; undefined if the client sent none. */
        readonly messageId: string | undefined;
      }
    /** A message from the thread's inbox was added to the thread. Emitted before the model is asked. */
    | {
        readonly type: "message-steered";
        /** The id of the message in the thread. */
        readonly messageId: string;
        /** The key of its item in the inbox. */
        readonly key: string;
      }
    /** An item in the thread's inbox was deleted, because it is not a message that a client can send. */
    | {
        readonly type: "steering-refused";
        /** The key of the item. */
        readonly key: string;
        /** What is wrong with it. */
        readonly reason: string;
      }
    /** The thread's inbox could not be read. The run continues without it. */
    | {
        readonly type: "inbox-failed";
        /** The message of the error. */
        readonly reason: string;
      }
    /** A summary was written. It now replaces earlier messages in the model input. */
    | {
        readonly type: "summary-made";
        /** The ids of the messages that the summary covers. */
        readonly covered: readonly string[];
        /** How many tokens shorter the model input is, by our estimate. */
        readonly tokensSaved: number;
      }
    /** No summary could be written. The history stays as it was, and the run continues. */
    | {
        readonly type: "summary-failed";
        /** The message of the error. */
        readonly reason: string;
        /** After how many turns the next summary is tried. It doubles with each consecutive failure, up to 8. */
        readonly retryAfterTurns: number;
      }
    /**
     * 80 % of a turn's or thread's budget is used. Emitted after the response that reached this share, once per turn and
     * budget.
     */
    | ({ readonly type: "limit-near" } & NearBudget)
    /**
     * The turn has reached a limit. Emitted before the model is asked for a final response without tools, or before the
     * turn ends without a request because the thread's tokens are used up. A graph with neither tools nor a response
     * format emits it only in the second case.
     */
    | {
        readonly type: "limit-reached";
        /** The limit, such as `max-iterations`. */
        readonly limit: ClosingReason;
      }
    /**
     * A response was cut off, empty or otherwise unusable. Emitted before it is requested again without streaming. After
     * `maxStreamFallbackAttempts` such requests the run fails instead. It fails at once if the reason is `spent-limit`
     * (reasoning used up the token limit) or `pending` (the provider writes the response in the background).
     */
    | {
        readonly type: "response-broken";
        /** The fault, such as `empty` or `cut-off-arguments`. */
        readonly reason: BrokenReason;
      }
    /**
     * The model refused to respond, or its provider's filter ended the response. A text in it becomes the response.
     * Without a text, the run fails. If there is a fallback model, it is asked in either case.
     */
    | {
        readonly type: "response-withheld";
        /** The finish reason of the provider, such as `content_filter`, or `refusal`. */
        readonly reason: string;
        /** What the refusal is about, such as `cyber`. Undefined if the provider does not say so. */
        readonly category: string | undefined;
      }
    /**
     * A response does not match `responseFormat`. The model is told what is wrong and is asked again, unless a limit is
     * reached.
     */
    | {
        readonly type: "structured-response-refused";
        /** What is wrong with the response. */
        readonly reason: string;
      }
    /** A turn of a graph with `responseFormat` ends without `structuredResponse`. */
    | {
        readonly type: "structured-response-missing";
        /**
         * `limit-reached`: a limit of the turn ended it. `not-in-format`: no model response was in the format. `ended`: a
         * middleware or a tool ended the run.
         */
        readonly reason: "limit-reached" | "not-in-format" | "ended";
      }
    /** A request to the model failed, and its client will send it again after a wait. Emitted before the wait. */
    | {
        readonly type: "model-retry";
        /** Which attempt failed. The first is 1. */
        readonly attempt: number;
        /** The most attempts that the client makes. If the last one fails, the run fails. */
        readonly maxAttempts: number;
        /** The provider's error, without keys. */
        readonly reason: string;
      }
    /**
     * A model failed for good, so the next one in `fallbackModels` is asked until the turn ends. Emitted before the
     * request. What clients saw of the failed response has been taken back.
     */
    | {
        readonly type: "model-switched";
        /** The name of the model that failed. */
        readonly from: string;
        /** The name of the model that is asked instead. */
        readonly to: string;
        /** The failed model's error, without keys. */
        readonly reason: string;
      }
    /**
     * The model input leaves out part of the history: the whole would exceed the model's window or `maxTokens`, or the
     * model has just refused its content. The history stays as it is. Emitted before the request.
     */
    | {
        readonly type: "input-reduced";
        /** What was changed, from the smallest change up. */
        readonly rung: Rung;
        /** The refusal's words, without keys. Undefined: the length was known before the request. */
        readonly reason: string | undefined;
        /** The ids of the messages that are shortened, described or retold. Empty if the whole input is changed. */
        readonly messageIds: readonly string[];
        /** The ids of the messages that are not sent. */
        readonly leftOut: readonly string[];
        /** How many tokens the request may have, as the provider counts them. Undefined: any number. */
        readonly maxTokens: number | undefined;
      }
    /**
     * OpenAI serves the model only with the other of its two protocols, as its refusal says. The same request is sent
     * there, as are all later ones of this process. Emitted before the request.
     */
    | {
        readonly type: "api-switched";
        /** The protocol that is used now: the Responses API, or Chat Completions. */
        readonly api: "responses" | "completions";
        /** The refusal's words, without keys. */
        readonly reason: string;
      }
    /**
     * The agent is a node of another graph and has no memory of its own. If its run is cancelled, a later run finds what
     * its tools returned only if it gets the same messages again. Emitted at the first such run of a graph in this process.
     */
    | {
        readonly type: "memory-missing";
        /** The option that gives the agent a memory: `checkpointer: true`. */
        readonly remedy: string;
      }
    | RunEndEvent
  );

/** The `node:diagnostics_channel` on which each event is also published, in the graph's process. */
export const EVENT_CHANNEL = "langgraph-tether:event";

const eventChannel = channel(EVENT_CHANNEL);

export function emitEvent(config: LangGraphRunnableConfig, event: AgentEvent): void {
  config.writer?.(publishEvent(config, event));
}

/** For an event that no run's stream can have. Returns it with its place. */
export function publishEvent(config: RunnableConfig, event: AgentEvent): AgentEvent {
  const placed = { ...eventPlaceOf(config), ...event };
  if (eventChannel.hasSubscribers) eventChannel.publish(placed);
  return placed;
}

/** Contract: called with each call that is closed with a placeholder, and where that is. Its errors are ignored. */
export type OnRepair = (repair: Repair, place: EventPlace) => void;

interface ClosedCall {
  readonly call: Call;
  readonly cause: PlaceholderCause;
  readonly message: ToolMessage;
}

/** Tells that a call was closed. */
export function tellClosedCall(
  { call, cause, message }: ClosedCall,
  config: LangGraphRunnableConfig,
  onRepair: OnRepair | undefined,
): void {
  emitEvent(config, { type: "call-closed", tool: call.name, callId: call.id, cause });
  if (!isPlaceholder(message)) return;
  const repair = createRepair({ kind: "call-closed", call, message });
  safely(() => onRepair?.(repair, eventPlaceOf(config)));
}

/** Where a task's events belong. */
export function eventPlaceOf(config: RunnableConfig): EventPlace {
  return defined({
    threadId: threadIdOf(config),
    runId: runIdOf(config),
    checkpointId: checkpointOfStep(config),
  });
}

type Metadata = Readonly<Record<string, unknown>>;

const FIELD = "ls_agent_type";

/** A run's metadata with its part in an agent, for LangSmith's view of its trajectory. */
export function withAgentType(
  metadata: Metadata | undefined,
  type: "subagent" | "compaction",
): Record<string, unknown> {
  return { ...metadata, [FIELD]: type };
}

/** The same for a graph's run. A caller can name another part, such as that of an agent inside its own. */
export function withGraphType(metadata: Metadata | undefined, isSubgraph: boolean): Record<string, unknown> {
  return isSubgraph ? withAgentType(metadata, "subagent") : { [FIELD]: "root", ...metadata };
}
