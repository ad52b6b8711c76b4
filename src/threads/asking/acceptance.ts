/**
 * Remembers with which parameters models have accepted requests in this process. A refusal in words that nobody knows is
 * about the messages only if the same parameters were accepted before. The oldest are forgotten first.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { mayHaveWritten } from "../../providers/contract/author.js";
import type { ModelIdentity } from "../../providers/contract/provider.js";
import { addressOf } from "../../providers/failure/model-failure.js";
import { sizeOfInput } from "../../providers/input/shorten.js";
import { identityOf, innermost } from "../../providers/table/dialect-of.js";
import { dialectNamed } from "../../providers/table/dialects.js";
import { hashText, safely, toJson } from "../../shared/json.js";
import { isRecord, madeOnce, recordsIn, soundCount } from "../../shared/values.js";

/** A model by its name and address, and the hash of a request's parameters with it. */
export interface AskedWith {
  readonly model: string;
  readonly parameters: string;
}

/** What a request has besides its messages: tools, tool choice, response format, and other options. */
export type RequestOptions = Readonly<Record<string, unknown>>;

export function askedWith(model: object, { tools, ...options }: RequestOptions): AskedWith {
  const client = innermost(model);
  const { dialect, modelId } = identityOf(model);
  const name = [dialect, modelId ?? numberOf(client), addressOf(model)].join(" ");
  const settings = safely(() => Reflect.apply(Reflect.get(client, "invocationParams"), client, [{}]));
  const bound: unknown = Reflect.get(model, "kwargs");
  const said = toJson([recordsIn(tools).map(toolKey), options, settings, bound], withoutObjects) ?? "";
  return { model: name, parameters: hashText(`${name} ${said.slice(0, LONGEST)}`, 16) };
}

const numbers = new WeakMap<object, number>();
let last = 0;

/** A client whose model has no name counts alone. */
function numberOf(client: object): number {
  return madeOnce(numbers, client, () => {
    last += 1;
    return last;
  });
}

/** Of a tool, a definition in OpenAI's form, or a tool that the provider runs. */
function toolKey(tool: object): string {
  const definition = Object(Reflect.get(tool, "function"));
  return String(Reflect.get(definition, "name") ?? Reflect.get(tool, "name") ?? Reflect.get(tool, "type"));
}

/** Schemas of programs and tools can be large, and refer to anything. */
const LONGEST = 20_000;

/** What is not plain data, such as a schema of zod, counts by its kind. */
function withoutObjects(_key: string, value: unknown): unknown {
  if (typeof value === "function") return "function";
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null ? value : "object";
}

const MOST_KNOWN = 2_000;
/** The tokens of the longest accepted request, by model and by model with parameters. */
const accepted = new Map<string, number>();
/** The parameters of responses, by their ids. */
const responses = new Map<string, string>();

function keep<Value>(entries: Map<string, Value>, key: string, value: Value): void {
  entries.delete(key);
  const [oldest] = entries.keys();
  if (oldest !== undefined && entries.size >= MOST_KNOWN) entries.delete(oldest);
  entries.set(key, value);
}

/** @param tokens The length of the request. */
export function noteAccepted({ model, parameters }: AskedWith, tokens: number, response: BaseMessage): void {
  for (const key of [model, parameters]) keep(accepted, key, Math.max(tokens, accepted.get(key) ?? 0));
  if (response.id !== undefined) keep(responses, `${model} ${response.id}`, parameters);
}

/**
 * Whether the model has accepted a request with these parameters: in this process, or in this thread. A response that
 * another process has stored does not tell its parameters, and counts.
 */
export function hasAccepted(
  { model, parameters }: AskedWith,
  history: readonly BaseMessage[],
  identity: ModelIdentity,
): boolean {
  if (accepted.has(parameters)) return true;
  const latest = history[placeOfLatest(history, identity)];
  if (latest === undefined) return false;
  const known = responses.get(`${model} ${latest.id}`);
  return known === undefined || known === parameters;
}

/** The model's latest response in the thread. -1 if there is none. */
function placeOfLatest(history: readonly BaseMessage[], { dialect, modelId }: ModelIdentity): number {
  const target = { dialect: dialectNamed(dialect), modelId };
  return history.findLastIndex((message) => isAIMessage(message) && mayHaveWritten(message, target));
}

/** About how many tokens the longest request had that the model has accepted, here or in this process. */
export function longestAccepted(
  { model }: AskedWith,
  history: readonly BaseMessage[],
  identity: ModelIdentity,
): number {
  const place = placeOfLatest(history, identity);
  const usage: unknown = Reflect.get(Object(history[place]), "usage_metadata");
  const reported = soundCount(isRecord(usage) ? usage["input_tokens"] : undefined) ?? 0;
  const inProcess = accepted.get(model) ?? 0;
  return Math.max(inProcess, reported, sizeOfInput(history.slice(0, Math.max(place, 0))));
}
