/** Reads from a provider's error which content it refuses, so that the request can be made again without that. */

import type { BaseMessage } from "@langchain/core/messages";
import type { ModelError } from "../../errors.js";
import { isError } from "../../shared/is-error.js";
import type { Counted } from "../contract/dialect.js";
import type { DialectName } from "../contract/dialect-name.js";
import type { OpenAIApi } from "../contract/openai-api.js";
import { mediaOf, type ShownMedia, shownIn } from "../media/media-limits.js";
import { validateHistory } from "../rules/validate-history.js";
import { PROVIDERS } from "../table/providers.js";
import { isFailedSample } from "./failed-sample.js";
import { isLost, isUnreachable, providerTextOf } from "./model-failure.js";
import { type Overflow, readOverflow } from "./overflow.js";
import { type ProviderWords, wordsOf } from "./own-words.js";
import { namedPart, saidPart } from "./part-at-fault.js";
import { namesKnownRule } from "./refusal.js";

export type RefusedContent = {
  /** The provider's words, without keys. */
  readonly text: string;
} & (
  | { readonly kind: "too-long"; readonly overflow: Overflow }
  /** `named`: those that the words name, or those of the message that they name. Empty: the words name none. */
  | { readonly kind: "media"; readonly named: readonly ShownMedia[] }
  | { readonly kind: "too-many"; readonly counted: Counted; readonly most: number }
  /** The words are those of a provider's rule. */
  | { readonly kind: "rule" }
  /** Nobody knows these words. `isOfMessages`: they name a place in the messages. */
  | { readonly kind: "unknown"; readonly isOfMessages: boolean }
  /** The words name the API that the model has. */
  | { readonly kind: "other-api"; readonly api: OpenAIApi }
);

const pattern = (words: string): RegExp => new RegExp(words.replace("<most>", "(?<most>\\d{1,9})"), "gi");

const REFUSED_MEDIA = PROVIDERS.flatMap(({ refusedMedia = [] }) => refusedMedia).map(pattern);
const TOO_MANY = byName(PROVIDERS.flatMap(({ tooMany = [] }) => tooMany));
const OTHER_REFUSALS = PROVIDERS.flatMap(({ otherRefusals = [] }) => otherRefusals).map(pattern);
const APIS = byName(PROVIDERS.flatMap(({ otherApi = [] }) => otherApi));

/** Each pattern, with the name that its provider's words have. */
function byName<Name extends string>(all: readonly Readonly<Partial<Record<Name, readonly string[]>>>[]) {
  return all.flatMap((words) => {
    const entries = Object.entries(words) as [Name, readonly string[]][];
    return entries.flatMap(([name, patterns]) => patterns.map((each) => [name, pattern(each)] as const));
  });
}

/** Statuses of requests whose content may be the reason. */
const OF_CONTENT: ReadonlySet<number> = new Set([400, 413, 415, 422]);
/** Only with the words for a missing file, or a model that reads no pictures. */
const OF_MEDIA: ReadonlySet<number> = new Set([403, 404, 410]);

/**
 * Undefined if the content was not the reason: the provider or its network failed, or refused the key, the account, the
 * model, a parameter, or the conversation's subject.
 *
 * @param messages The messages that were sent.
 */
export function readRefusedContent(
  error: ModelError,
  messages: readonly BaseMessage[],
  dialect: DialectName,
): RefusedContent | undefined {
  const words = wordsOf(error, messages);
  const overflow = readOverflow(error, words);
  const { cause, status } = error;
  if (overflow !== undefined)
    return { kind: "too-long", overflow, text: isError(cause) ? providerTextOf(cause) : error.message };
  if (!isError(cause)) return undefined;
  const text = providerTextOf(cause);
  const said: Said = { text, words };
  if (isFailedSample(error, words)) return undefined;
  if (status === undefined) return readThrown(cause, said, messages, dialect);
  if (!OF_CONTENT.has(status) && !OF_MEDIA.has(status)) return undefined;
  const api = APIS.find(([, pattern]) => words.say(pattern))?.[0];
  if (api !== undefined) return { kind: "other-api", api, text };
  const known = readWords(said, messages);
  if (known !== undefined) return known;
  const named = namedPart(words);
  if (OF_MEDIA.has(status) || named === "other") return undefined;
  if (namesKnownRule(words)) return { kind: "rule", text };
  if (OTHER_REFUSALS.some((pattern) => words.say(pattern))) return undefined;
  const part = named ?? saidPart(words);
  return part === "other" ? undefined : { kind: "unknown", isOfMessages: part === "messages", text };
}

interface Said {
  /** For people. It can quote the request. */
  readonly text: string;
  readonly words: ProviderWords;
}

/** Some clients hide the status, and some throw for content that they cannot send. */
function readThrown(
  cause: Error,
  said: Said,
  messages: readonly BaseMessage[],
  dialect: DialectName,
): RefusedContent | undefined {
  if (isLost(cause) || isUnreachable(cause)) return undefined;
  const known = readWords(said, messages);
  if (known !== undefined) return known;
  const { text, words } = said;
  if (namesKnownRule(words)) return { kind: "rule", text };
  const broken = new Set(validateHistory(messages, "strict").map(({ rule }) => rule));
  // Clients throw for blocks and roles that they do not know.
  const isUnknown = broken.has("foreign-block") || broken.has("role");
  if (isUnknown && words.say(ABOUT_CONTENT)) return { kind: "rule", text };
  if (dialect !== "as-stored") return undefined;
  if (isUnknown || broken.has("content-form")) return { kind: "rule", text };
  return mediaOf(messages).length > 0 ? { kind: "media", named: [], text } : undefined;
}

const ABOUT_CONTENT = /\b(?:content|messages?|blocks?|types?|parts?|roles?)\b/gi;

function readWords({ text, words }: Said, messages: readonly BaseMessage[]): RefusedContent | undefined {
  for (const [counted, pattern] of TOO_MANY) {
    const found = words.find(pattern);
    const most = typeof found === "object" ? found.groups["most"] : undefined;
    if (most !== undefined) return { kind: "too-many", counted, most: Number(most), text };
  }
  if (!REFUSED_MEDIA.some((pattern) => words.say(pattern))) return undefined;
  return { kind: "media", named: namedMedia(text, messages), text };
}

/*
 * Finds the pictures and files that an error names: by their address or id, or by their message's place.
 */

const PLACE =
  /\b(?:messages|input|contents)(?<sign>\.|\[)(?<message>\d+)\]?(?<member>\.member)?(?:\.(?:content|parts|image)(?:\.|\[)(?<block>\d+)\]?)?/;

function namedMedia(said: string, messages: readonly BaseMessage[]): readonly ShownMedia[] {
  const all = mediaOf(messages);
  const named = all.filter(({ shown: { media } }) => {
    const address = media.data === undefined ? (media.url ?? media.id) : undefined;
    return address !== undefined && said.includes(address);
  });
  if (named.length > 0) return named.map(({ shown }) => shown);
  const groups = PLACE.exec(said)?.groups;
  if (groups === undefined) return [];
  const { sign, message, member, block } = groups;
  // AWS counts from 1.
  const place = Number(message) - (member === undefined ? 0 : 1);
  const turn = sign === "[" ? [messages[place]] : turnAt(messages, place);
  const ofTurn = all.filter(({ message: carrier }) => turn.includes(carrier));
  if (ofTurn.length <= 1 || turn.length > 1 || block === undefined) return ofTurn.map(({ shown }) => shown);
  const content: unknown = turn[0]?.content;
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
  const one = shownIn(blocks[Number(block) - (member === undefined ? 0 : 1)]);
  return one === undefined ? ofTurn.map(({ shown }) => shown) : [one];
}

/** One turn's messages in protocols that have no system messages, and put results into a user message. */
function turnAt(messages: readonly BaseMessage[], place: number): readonly (BaseMessage | undefined)[] {
  const turns: BaseMessage[][] = [];
  let before: string | undefined;
  for (const message of messages) {
    if (message.type === "system") continue;
    const role = message.type === "ai" ? "assistant" : "user";
    if (role === before) turns.at(-1)?.push(message);
    else turns.push([message]);
    before = role;
  }
  return turns[place] ?? [];
}
