/**
 * The two manners of a request. Some clients and hosts can only do one of them: a client's stream throws, or a host
 * demands a stream. If the other manner works, that is remembered for the next request.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { isError } from "../../shared/is-error.js";
import { madeOnce } from "../../shared/values.js";
import {
  addressOf,
  isAbortError,
  isLost,
  isProgramFault,
  isRefusal,
  isUnreachable,
  statusOf,
} from "../failure/model-failure.js";
import { wordsOf } from "../failure/own-words.js";
import { concernsMessages } from "../failure/refusal.js";
import { identityOf } from "../table/dialect-of.js";

export type Manner = "streamed" | "whole";

/**
 * A refusal that names the manner: "This model only supports streaming", "`stream` must be set to true", "for
 * non-streaming calls". Addresses and types of media have the word too: `/stream`, `octet-stream`.
 */
const ABOUT_STREAMS = /(?<!\/|(?<!non)-)\b(?:non)?stream(?:ing|ed)?\b/gi;

/**
 * Whether a request failed because of its manner, as far as anybody can tell: the client made a mistake of its own while
 * it read a stream, or it or its host speaks of streams. Only an answer in the other manner shows that it was so.
 */
export function mayBeOfManner(error: unknown, manner: Manner, sent: readonly BaseMessage[]): boolean {
  if (manner === "streamed" && isProgramFault(error)) return true;
  if (isAbortError(error)) return false;
  const status = statusOf(error);
  const isRefused = status === undefined ? !isLost(error) && !isUnreachable(error) : concernsMessages(status);
  return isRefused && wordsOf(error, sent).say(ABOUT_STREAMS);
}

/**
 * Whether a client could not parse a response in a format, and has thrown its text away. OpenAI's client parses what
 * arrives in one piece, up to `openai` 6.49 at least, and passes a stream on as it is.
 */
export function isUnparsed(error: unknown, options: object): boolean {
  return (
    isError(error) && error.name === "SyntaxError" && Reflect.get(options, "response_format") !== undefined
  );
}

/** Words of who cannot do it otherwise. Others can speak of streams by chance. */
const DEMAND =
  /\b(?:only|must|require[sd]?|needs?|unsupported|not (?:be )?support(?:ed)?|not available|cannot|set (?:to )?(?:true|false)|(?:to|be) (?:true|false)|non-?streaming)\b/gi;

/** What answered, by the class of the client, and by its host and its model's name. */
const ANSWERED = new WeakMap<object, Map<string, Manner>>();
const MOST_MODELS = 1_000;

/** The only manner in which the client can ask its model. Undefined: nothing is known. */
export function onlyManner(client: object): Manner | undefined {
  return ANSWERED.get(client.constructor)?.get(servedModelKey(client));
}

/**
 * Remembers that only this manner was answered. A client that refuses a request before it sends it costs nothing, and
 * does so because of a setting, so it is asked the same way the next time.
 */
export function noteAnswered(
  client: object,
  manner: Manner,
  error: unknown,
  sent: readonly BaseMessage[],
): void {
  const isDemanded = isRefusal(error) && wordsOf(error, sent).say(DEMAND);
  if (!isProgramFault(error) && !isDemanded) return;
  const models = madeOnce(ANSWERED, client.constructor, () => new Map<string, Manner>());
  if (models.size >= MOST_MODELS) models.clear();
  models.set(servedModelKey(client), manner);
}

function servedModelKey(client: object): string {
  return JSON.stringify([addressOf(client), identityOf(client).modelId]);
}
