/** The steps of a thread: its checkpoints, and what its model was asked at each. */

import type { AIMessage } from "@langchain/core/messages";
import { dialectIn } from "../../../doctor/findings.js";
import type { ServedState } from "../../../doctor/targets/server-target.js";
import { isAIMessage } from "../../../history/call.js";
import { coerceMessage } from "../../../history/read-messages.js";
import type { DialectName } from "../../../providers/dialects.js";
import { readMaker } from "../../../providers/rule.js";
import { isRecord } from "../../../shared/values.js";
import { storedListOf } from "./messages-in.js";

/** A state with the time at which it was stored. */
export interface TimedState extends ServedState {
  readonly created_at?: string | null;
}

/** What a model said at a step. */
interface StepResponse {
  /** The name in LangChain's `response_metadata.model_provider`; null if the response does not say. */
  readonly provider: string | null;
  /** The dialect of that provider. */
  readonly dialect: DialectName | null;
  readonly model: string | null;
  /** Tokens that the provider counted; null if it did not say. */
  readonly inputTokens: number | null;
  /** Those of them that came from its prompt cache. */
  readonly cachedTokens: number | null;
}

export interface Step {
  readonly checkpointId: string;
  /** LangGraph's number: -1 is the input of the first run. */
  readonly number: number | null;
  /** ISO 8601; null if that is unknown. */
  readonly at: string | null;
  readonly messages: number;
  /** The nodes that run next. */
  readonly next: readonly string[];
  /** Whether the model was asked with these messages, or will be when the thread goes on. */
  readonly asksModel: boolean;
  readonly response: StepResponse | null;
  readonly runId: string | null;
}

/** Nodes that ask a model: ours, that of `createAgent`, that of `createReactAgent`, and usual names. */
const MODEL_NODES: ReadonlySet<string> = new Set([
  "model",
  "model_request",
  "agent",
  "call_model",
  "llm",
  "chatbot",
]);

/** @returns Undefined for a state without a checkpoint. */
export function stepOf(state: TimedState): Step | undefined {
  const { checkpoint, metadata, next = [], values, created_at } = state;
  const checkpointId = checkpoint?.checkpoint_id;
  if (checkpointId == null) return undefined;
  const number = metadata?.["step"];
  const runId = metadata?.["run_id"];
  const response = responseOf(state);
  return {
    checkpointId,
    number: typeof number === "number" ? number : null,
    at: created_at ?? null,
    messages: storedListOf(values)?.length ?? 0,
    next,
    asksModel: response !== undefined || next.some((node) => MODEL_NODES.has(node)),
    response: response === undefined ? null : readResponse(response),
    runId: typeof runId === "string" ? runId : null,
  };
}

function responseOf({ tasks = [] }: ServedState): AIMessage | undefined {
  return tasks
    .filter(({ name }) => MODEL_NODES.has(name))
    .flatMap(({ result }) => (isRecord(result) ? [result["messages"] ?? []].flat() : []))
    .flatMap((value) => coerceMessage(value) ?? [])
    .find(isAIMessage);
}

function readResponse(response: AIMessage): StepResponse {
  const { provider, model } = readMaker(response);
  const usage: unknown = response.usage_metadata;
  const details = isRecord(usage) ? usage["input_token_details"] : undefined;
  return {
    provider: provider ?? null,
    dialect: dialectIn([response]) ?? null,
    model: model ?? null,
    inputTokens: countIn(usage, "input_tokens"),
    cachedTokens: countIn(details, "cache_read"),
  };
}

function countIn(value: unknown, name: string): number | null {
  const count = isRecord(value) ? value[name] : undefined;
  return typeof count === "number" ? count : null;
}
