/** With which options the input of a step is made. */

import type { BaseMessage } from "@langchain/core/messages";
import { dialectIn } from "../../../doctor/findings.js";
import { checkToolCallsToKeep, type ToolCallsToKeep } from "../../../history/cut.js";
import type { DialectName } from "../../../providers/dialects.js";
import type { ModelInputOptions } from "../../../providers/input/to-model-input.js";
import { safely } from "../../../shared/json.js";
import type { Step } from "./steps.js";

/** What the operator of the server has set. It is that of the served graph only. */
export interface ServedForm
  extends Pick<ModelInputOptions, "maxToolCallsFromHistory" | "maxTokens" | "modelId"> {
  readonly systemPrompt: string | undefined;
  readonly dialect: DialectName;
}

interface FormQuestion {
  readonly messages: readonly BaseMessage[];
  readonly step: Step | undefined;
  /** What the reader chose; undefined if he chose nothing. */
  readonly chosen: { readonly dialect: DialectName | undefined; readonly maxTokens: number | undefined };
  /** The settings of the served graph; undefined for a thread of another graph. */
  readonly served: ServedForm | undefined;
  /** The `context` of the step's run. */
  readonly context: Readonly<Record<string, unknown>> | undefined;
}

/** Where the dialect comes from. */
type DialectOrigin = "chosen" | "response" | "thread" | "server" | "unknown";

export interface RequestForm {
  readonly options: ModelInputOptions & { readonly dialect: DialectName };
  readonly origin: DialectOrigin;
}

/** The reader's choice comes first, then what the step tells, then what the thread and the server tell. */
export function formOf({ messages, step, chosen, served, context = {} }: FormQuestion): RequestForm {
  const { systemPrompt, maxToolCallsFromHistory } = context;
  const [dialect, origin] = dialectFor(messages, step, chosen.dialect, served);
  const isOwn = origin !== "chosen" || dialect === served?.dialect;
  const prompt = typeof systemPrompt === "string" ? systemPrompt : served?.systemPrompt;
  const calls = isToolCallsToKeep(maxToolCallsFromHistory)
    ? maxToolCallsFromHistory
    : served?.maxToolCallsFromHistory;
  const maxTokens = chosen.maxTokens ?? served?.maxTokens;
  const modelId = step?.response?.model ?? served?.modelId;
  return {
    origin,
    options: {
      dialect,
      ...(prompt !== undefined && { systemPrompt: prompt }),
      ...(calls !== undefined && { maxToolCallsFromHistory: calls }),
      ...(maxTokens !== undefined && { maxTokens }),
      ...(isOwn && modelId !== undefined && { modelId }),
    },
  };
}

/** The context of another graph can have anything under this name. */
function isToolCallsToKeep(value: unknown): value is ToolCallsToKeep {
  return safely(() => checkToolCallsToKeep(value as ToolCallsToKeep) !== undefined, false);
}

function dialectFor(
  messages: readonly BaseMessage[],
  step: Step | undefined,
  chosen: DialectName | undefined,
  served: ServedForm | undefined,
): readonly [DialectName, DialectOrigin] {
  if (chosen !== undefined) return [chosen, "chosen"];
  const made = step?.response?.dialect;
  if (made != null) return [made, "response"];
  if (served !== undefined) return [served.dialect, "server"];
  const known = dialectIn(messages);
  return known === undefined ? ["strict", "unknown"] : [known, "thread"];
}
