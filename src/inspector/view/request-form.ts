/** With which options the input of a step is made. */

import type { BaseMessage } from "@langchain/core/messages";
import { dialectIn } from "../../doctor/findings.js";
import { checkToolCallsToKeep, type ToolCallsToKeep } from "../../history/cut.js";
import { MARKS } from "../../history/marks.js";
import type { DialectName } from "../../providers/dialects.js";
import type { ModelInputOptions } from "../../providers/input/to-model-input.js";
import { safely, toJson } from "../../shared/json.js";
import type { Step } from "./steps.js";

/** With which settings a graph asks its model. A run can have others in its `context`. */
export interface RequestSettings
  extends Pick<ModelInputOptions, "maxToolCallsFromHistory" | "maxTokens" | "modelId"> {
  readonly systemPrompt?: string | undefined;
  readonly dialect: DialectName;
}

interface FormQuestion {
  readonly messages: readonly BaseMessage[];
  readonly step: Step | undefined;
  /** What the reader chose; undefined if he chose nothing. */
  readonly chosen: { readonly dialect: DialectName | undefined; readonly maxTokens: number | undefined };
  /** Undefined for a thread of a graph whose settings are not known. */
  readonly settings: RequestSettings | undefined;
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
export function formOf({ messages, step, chosen, settings, context = {} }: FormQuestion): RequestForm {
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

/** The context of another graph can have anything under this name. */
function isToolCallsToKeep(value: unknown): value is ToolCallsToKeep {
  return safely(() => checkToolCallsToKeep(value as ToolCallsToKeep) !== undefined, false);
}

function dialectFor(
  messages: readonly BaseMessage[],
  step: Step | undefined,
  chosen: DialectName | undefined,
  settings: RequestSettings | undefined,
): readonly [DialectName, DialectOrigin] {
  if (chosen !== undefined) return [chosen, "chosen"];
  const made = step?.response?.dialect;
  if (made != null) return [made, "response"];
  if (settings !== undefined) return [settings.dialect, "server"];
  const known = dialectIn(messages);
  return known === undefined ? ["strict", "unknown"] : [known, "thread"];
}

/*
 * The difference of a model input to the one before it.
 */

/** - `new`: it was not sent before. - `changed`: a message with its id was sent in another form. */
export type Novelty = "same" | "new" | "changed";

export interface InputDifference {
  /** One entry for each message of the input. */
  readonly novelty: readonly Novelty[];
  /** Positions in the input before, of messages that are not sent any more. */
  readonly gone: readonly number[];
  /** How many messages at the beginning are the same in both. */
  readonly prefix: number;
  /** Whether the input begins with the whole input before. Then a provider's prompt cache still fits. */
  readonly isPrefixKept: boolean;
}

export function compareInputs(
  input: readonly BaseMessage[],
  before: readonly BaseMessage[],
): InputDifference {
  const keys = input.map(sentForm);
  const keysBefore = before.map(sentForm);
  let prefix = 0;
  while (prefix < keysBefore.length && keys[prefix] === keysBefore[prefix]) prefix += 1;
  const known = new Set(keysBefore);
  const knownIds = new Set(before.flatMap(({ id }) => id ?? []));
  const kept = new Set(keys);
  const keptIds = new Set(input.flatMap(({ id }) => id ?? []));
  return {
    novelty: input.map(({ id }, index) => {
      if (index < prefix || known.has(keys[index] ?? "")) return "same";
      return id !== undefined && knownIds.has(id) ? "changed" : "new";
    }),
    gone: before.flatMap(({ id }, index) =>
      kept.has(keysBefore[index] ?? "") || (id !== undefined && keptIds.has(id)) ? [] : [index],
    ),
    prefix,
    isPrefixKept: prefix === before.length,
  };
}

/** What a client sends of a message, as a text to compare. Our marks and the message's own id are not sent. */
function sentForm(message: BaseMessage): string {
  const { type, content, name, additional_kwargs = {} } = message;
  const { tool_calls, invalid_tool_calls, tool_call_id, status } = message as BaseMessage &
    Readonly<Record<string, unknown>>;
  const marks = new Set<string>(Object.values(MARKS));
  const fields = Object.entries(additional_kwargs).filter(([field]) => !marks.has(field));
  return (
    toJson([type, content, name, tool_calls, invalid_tool_calls, tool_call_id, status, fields]) ??
    String(content)
  );
}

/*
 * Cuts a long list into pages.
 */

export interface Page {
  /** From 1. */
  readonly number: number;
  readonly count: number;
  /** The first entry and the one after the last, from 0. */
  readonly start: number;
  readonly end: number;
}

/**
 * Pages count from the end, so that the last one is full.
 *
 * @param wanted The page, from 1. A number beyond the last page means the last one.
 */
export function pageOf(length: number, size: number, wanted: number): Page {
  const count = Math.max(1, Math.ceil(length / size));
  const number = Math.min(Math.max(1, wanted), count);
  const end = length - (count - number) * size;
  return { number, count, start: Math.max(0, end - size), end };
}

/** The number of the page on which an entry is. */
export function pageWith(index: number, length: number, size: number): number {
  return Math.max(1, Math.ceil(length / size)) - Math.floor((length - 1 - index) / size);
}
