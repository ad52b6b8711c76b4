/** Which model wrote a message, and which one reads it. */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { createFollowing, type Follower } from "../../history/follow-list.js";
import { MARKS, withMarks } from "../../history/marks.js";
import type { InputOverhead } from "../../history/measure.js";
import { defined, textIn } from "../../shared/values.js";
import type { Dialect } from "./dialect.js";

/** Who is asked. A response is the words of whoever was asked for it, whatever name it carries. */
export interface Asked {
  /** The kind of client. Undefined if no client is known. */
  readonly client?: string | undefined;
  /** Where it sends its requests. Undefined if it does not tell. */
  readonly host?: string | undefined;
  /** The name of the model that gets the request. Undefined if unknown. */
  readonly modelId: string | undefined;
}

/** The model that a request is made for. */
export interface Target extends Asked {
  readonly dialect: Dialect;
  /** The fingerprints of described pictures and files, with the reasons. Undefined: none. */
  readonly described?: ReadonlyMap<string, string> | undefined;
}

interface Maker {
  /** The name in LangChain's `response_metadata.model_provider`. Undefined if the message does not say. */
  readonly provider: string | undefined;
  readonly model: string | undefined;
}

export function readMaker({ response_metadata }: AIMessage): Maker {
  const read = (name: string): string | undefined => textIn(response_metadata, name) || undefined;
  return { provider: read("model_provider"), model: read("model_name") ?? read("model") };
}

/** After the kind of a client: it is asked over OpenAI's Responses API. */
export const RESPONSES = "-responses";

/** Who was asked for a response, as its mark says. Undefined: it has no mark. */
export function askedFor({ additional_kwargs }: BaseMessage): Asked | undefined {
  const mark: unknown = additional_kwargs?.[MARKS.asked];
  const client = textIn(mark, "client");
  return client === undefined
    ? undefined
    : { client, host: textIn(mark, "host"), modelId: textIn(mark, "model") };
}

/** The message with a mark that says who was asked for it. The names of its host's fields stay in the mark. */
export function withAsked<T extends BaseMessage>(message: T, { client, host, modelId: model }: Asked): T {
  const given: unknown = message.additional_kwargs?.[MARKS.asked];
  return client === undefined
    ? message
    : withMarks(message, { [MARKS.asked]: { ...Object(given), ...defined({ client, host, model }) } });
}

/**
 * Whether the target model may have written a message, so nothing in the message names another author. What was asked
 * decides if both are known. Otherwise the names are compared, and for an unknown dialect only the model's.
 */
export function mayHaveWritten(message: AIMessage, { dialect, client, host, modelId }: Target): boolean {
  const { provider, model } = readMaker(message);
  const asked = askedFor(message);
  if (asked !== undefined && client !== undefined) {
    // An alias can be pinned later: to the name that it answered with.
    const isSame = asked.modelId === modelId || (model !== undefined && model === modelId);
    // The tools of one request can make a client use the Responses API, so others do not exclude it.
    const isSameClient = asked.client === client || asked.client === client + RESPONSES;
    return isSame && isSameClient && asked.host === host;
  }
  const { makers } = dialect;
  if (makers.length > 0 && provider !== undefined && !makers.includes(provider)) return false;
  const names = [model, asked?.modelId].filter((name) => name !== undefined);
  return names.length === 0 || modelId === undefined || names.some((name) => isSameModel(name, modelId));
}

/** Whether a message names the target as its author, so that its state goes back. */
export function isOwn(message: AIMessage, target: Target): boolean {
  const { makers, isClosed = false } = target.dialect;
  if (isClosed || !mayHaveWritten(message, target)) return false;
  if (target.client !== undefined && askedFor(message) !== undefined) return true;
  const { provider, model } = readMaker(message);
  return makers.length > 0 && (provider ?? (target.modelId && model)) !== undefined;
}

/** Whether this library noted that the target was asked for a message. Then nothing of it can be foreign. */
export function isNotedOwn(message: AIMessage, target: Target): boolean {
  return target.client !== undefined && askedFor(message) !== undefined && isOwn(message, target);
}

/** The index of the latest compaction by the target's provider. The target reads nothing before it. */
export function compactedAt(messages: readonly BaseMessage[], target: Target): number {
  const { isCompacted } = target.dialect;
  if (isCompacted === undefined) return 0;
  const isOfTarget = (place: number) => mayHaveWritten(messages[place] as AIMessage, target);
  const create = () => {
    const places: number[] = [];
    const take = (message: BaseMessage, index: number): void => {
      if (isAIMessage(message) && isCompacted(message)) places.push(index);
    };
    return { places, take };
  };
  return follow(messages, [isCompacted], create, ({ places }) => places.findLast(isOfTarget)) ?? 0;
}

/** What an input's measure knows about the model that reads it: what it skips, and which responses it wrote. */
export function readingOf(target: Target): Pick<InputOverhead, "compactedAt" | "mayHaveWritten"> {
  return {
    compactedAt: target.dialect.isCompacted && ((messages) => compactedAt(messages, target)),
    mayHaveWritten: (response) => isAIMessage(response) && mayHaveWritten(response, target),
  };
}

/** Follows the messages with which a provider has compacted the conversation. */
const follow = createFollowing<Follower & { readonly places: readonly number[] }>();

/** A date or a version of three digits. A provider appends it when it resolves an alias. */
const VERSION = /^[-@](\d{4}-\d{2}-\d{2}|\d{6,8}|\d{3,4}|latest)$/;

/** Whether two names mean the same model: they are equal, or one has a version after it or a path before it. */
export function isSameModel(one: string, other: string): boolean {
  const names = [one, other].map((name) => name.replace(/^.*\//, ""));
  const [short = "", long = ""] = names.sort((first, second) => first.length - second.length);
  return short === long || (long.startsWith(short) && VERSION.test(long.slice(short.length)));
}
