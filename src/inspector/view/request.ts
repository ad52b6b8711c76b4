/** A step's request: the options with which it is made, and how it differs from the one before. */

import type { BaseMessage } from "@langchain/core/messages";
import { dialectIn } from "../../doctor/findings.js";
import { checkToolCallsToKeep, type ToolCallsToKeep } from "../../history/cut.js";
import { withoutMarks } from "../../history/marks.js";
import type { SummaryPolicy } from "../../history/plan-summary.js";
import type { DialectName } from "../../providers/contract/dialect-name.js";
import {
  type ModelInputOptions,
  type PreparedInputOptions,
  prepareModelInput,
} from "../../providers/input/to-model-input.js";
import { safely, toJson } from "../../shared/json.js";
import { type Help, rungsIn } from "../../threads/asking/help.js";
import type { Rung } from "../../threads/events.js";
import type { ThreadQuery } from "./query.js";
import type { ShownStep } from "./steps.js";

/** The settings with which a graph asks its model. A run can have others in its `context`. */
export interface RequestSettings
  extends Pick<ModelInputOptions, "maxToolCallsFromHistory" | "maxTokens" | "modelId"> {
  readonly systemPrompt?: string | undefined;
  readonly dialect: DialectName;
  /** When the history is summarised before a request. Undefined: unknown. */
  readonly summary?: SummaryPolicy | undefined;
}

/** The request of a step. */
export interface ShownRequest {
  readonly step: ShownStep | undefined;
  /** With the messages that the next run adds, if the step is the latest. */
  readonly history: readonly BaseMessage[];
  /** Whether this library makes the request. If not, the history is sent as it is. */
  readonly isMade: boolean;
  readonly form: RequestForm;
}

/** The messages of the request. */
export const inputOf = ({ history, isMade, form }: ShownRequest): readonly BaseMessage[] =>
  isMade ? prepareModelInput(history, form.options).messages : history;

/** The options with which the input is made, and where the dialect comes from. */
export interface RequestForm {
  readonly options: PreparedInputOptions & { readonly dialect: DialectName };
  readonly origin: "chosen" | "response" | "thread" | "server" | "unknown";
  /** How the request is reduced, because the provider refused another or it was too long. Undefined: it is not. */
  readonly reduced?: readonly Rung[];
}

/** The form of what was sent, with its further changes. A request to another provider has none of them. */
export function reducedForm(form: RequestForm, help: Help | undefined, chosen: ThreadQuery): RequestForm {
  const reduced = rungsIn(help);
  if (help === undefined || reduced.length === 0 || chosen.dialect !== undefined) return form;
  const { isStrict, reduction, bound } = help;
  const { dialect, maxTokens } = form.options;
  return {
    ...form,
    reduced,
    options: {
      ...form.options,
      ...bound,
      dialect: isStrict ? "strict" : dialect,
      maxTokens: chosen.maxTokens ?? bound?.maxTokens ?? maxTokens,
      reduction,
    },
  };
}

/**
 * The reader's choice comes first, then what the step tells, then the thread and the server.
 *
 * @param settings Undefined for a thread of a graph whose settings are unknown.
 * @param context The context of the step's run.
 */
export function formOf(
  messages: readonly BaseMessage[],
  step: ShownStep | undefined,
  chosen: ThreadQuery,
  settings: RequestSettings | undefined,
  context: Readonly<Record<string, unknown>> = {},
): RequestForm {
  const { systemPrompt, maxToolCallsFromHistory } = context;
  const [dialect, origin] = dialectFor(messages, step, chosen.dialect, settings);
  const isOwn = origin !== "chosen" || dialect === settings?.dialect;
  return {
    origin,
    options: {
      dialect,
      systemPrompt: typeof systemPrompt === "string" ? systemPrompt : settings?.systemPrompt,
      maxToolCallsFromHistory: isToolCallsToKeep(maxToolCallsFromHistory)
        ? maxToolCallsFromHistory
        : settings?.maxToolCallsFromHistory,
      maxTokens: chosen.maxTokens ?? settings?.maxTokens,
      modelId: isOwn ? (step?.response?.model ?? settings?.modelId) : undefined,
    },
  };
}

/** Another graph's context can hold anything under this name. */
function isToolCallsToKeep(value: unknown): value is ToolCallsToKeep {
  return safely(() => checkToolCallsToKeep(value as ToolCallsToKeep) !== undefined, false);
}

function dialectFor(
  messages: readonly BaseMessage[],
  step: ShownStep | undefined,
  chosen: DialectName | undefined,
  settings: RequestSettings | undefined,
): readonly [DialectName, RequestForm["origin"]] {
  if (chosen !== undefined) return [chosen, "chosen"];
  const made = step?.response?.dialect;
  if (made != null) return [made, "response"];
  if (settings !== undefined) return [settings.dialect, "server"];
  const known = dialectIn(messages);
  return known === undefined ? ["as-stored", "unknown"] : [known, "thread"];
}

/*
 * How a model input differs from the one before it.
 */

/** - `new`: it was not sent before. - `changed`: a message with its id was sent in another form. */
export type Novelty = "same" | "new" | "changed";

/** The most messages shown that are no longer sent. */
const MOST_GONE = 20;

export type RequestDifference = ReturnType<typeof differenceTo>;

export function differenceTo(request: ShownRequest, input: readonly BaseMessage[]) {
  const before = inputOf(request);
  const [forms, formsBefore] = [input.map(sentForm), before.map(sentForm)];
  const [known, kept] = [new Set(formsBefore), new Set(forms)];
  const idsOf = (messages: readonly BaseMessage[]) => new Set(messages.flatMap(({ id }) => id || []));
  const [knownIds, keptIds] = [idsOf(before), idsOf(input)];
  const firstNew = formsBefore.findIndex((sent, index) => sent !== forms[index]);
  const prefix = firstNew === -1 ? before.length : firstNew;
  const novelty = input.map(({ id = "" }, index): Novelty => {
    if (known.has(forms[index] ?? "")) return "same";
    return knownIds.has(id) ? "changed" : "new";
  });
  const gone = before
    .map((message, index) => ({ message, position: index + 1 }))
    .filter(({ message: { id = "" } }, index) => !kept.has(formsBefore[index] ?? "") && !keptIds.has(id));
  const count = (wanted: Novelty) => novelty.filter((one) => one === wanted).length;
  return {
    to: request.step,
    /** For each message of the input. */
    novelty,
    /** How many messages at the beginning are the same in both. */
    prefix,
    /** Whether the input begins with the whole previous input. Then a provider's prompt cache still fits. */
    isPrefixKept: prefix === before.length,
    counts: { same: count("same"), new: count("new"), changed: count("changed"), gone: gone.length },
    /** The first messages that are no longer sent, with their positions in the previous request. */
    gone: gone.slice(0, MOST_GONE),
  };
}

/** What a client sends of a message, as a text to compare. Our marks and the message's own id are not sent. */
function sentForm(message: BaseMessage): string {
  const { type, content, name, additional_kwargs, tool_calls, invalid_tool_calls, tool_call_id, status } =
    withoutMarks(message) as BaseMessage & Readonly<Record<string, unknown>>;
  const sent = [type, content, name, tool_calls, invalid_tool_calls, tool_call_id, status, additional_kwargs];
  return toJson(sent) ?? String(content);
}
