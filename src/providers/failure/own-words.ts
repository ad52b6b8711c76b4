/**
 * Finds a provider's own words in an error. Providers, gateways and servers also quote the request in their errors, so
 * a sentence of a user can be there too. No list has all forms of a quotation, but what was sent is known.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { causesOf } from "../../shared/is-error.js";
import { parseJson, toJson } from "../../shared/json.js";
import { isRecord } from "../../shared/values.js";

/** What a pattern found in a provider's own words. */
export interface OwnWords {
  readonly groups: Readonly<Record<string, string | undefined>>;
  /** Whether the provider's sentence begins with them, and the request does not have them. */
  readonly isStatement: boolean;
}

export interface ProviderWords {
  /** What the pattern, with the flag `g`, finds. `quoted`: only in a quotation of the request. */
  readonly find: (pattern: RegExp) => OwnWords | "quoted" | undefined;
  readonly say: (pattern: RegExp) => boolean;
  /** Whether the error is short enough to be read to its end. */
  readonly isWhole: boolean;
}

/** @param sent The messages of the request. */
export function wordsOf(error: unknown, sent: readonly BaseMessage[]): ProviderWords {
  const chain = causesOf(error);
  const texts = chain
    .flatMap(({ message, code }) => [...statementsIn(message), ...(typeof code === "string" ? [code] : [])])
    .map((statement) => withoutQuotations(oneLine(statement)))
    .map((text) => ({ text, start: endOfLead(text) }));
  let request: string | undefined;
  const isInRequest = (words: string): boolean => {
    request ??= textsIn(sent).map(comparable).join(" ");
    return request.includes(comparable(words));
  };
  const find: ProviderWords["find"] = (pattern) => {
    for (const { text, start } of texts) {
      for (const { 0: words, index, groups = {} } of text.matchAll(pattern)) {
        const isRepeated = isInRequest(words);
        const beginning = text.slice(start, index);
        // A provider says something before it quotes. Who has read its error elsewhere repeats all of it.
        if (!isRepeated || isInRequest(beginning + words))
          return { groups, isStatement: !isRepeated && SUBJECT.test(beginning) };
      }
    }
    const isQuoted = chain.some(({ message }) => typeof message === "string" && message.search(pattern) >= 0);
    return isQuoted ? "quoted" : undefined;
  };
  const isWhole = chain.every(({ message }) => String(message).length <= LONGEST_STATEMENT);
  return { find, say: (pattern) => typeof find(pattern) === "object", isWhole };
}

/** The longest part of a statement that is read. Longer ones quote the request, or are a proxy's page. */
const LONGEST_STATEMENT = 2_000;

function oneLine(text: string): string {
  return text.slice(0, LONGEST_STATEMENT).replace(/\s+/g, " ").trim();
}

function comparable(text: string): string {
  return text.replace(/\s+/g, " ").toLowerCase();
}

/** What can be before a sentence's words without ending it, such as "This model's". */
const SUBJECT = /^[^:={}[\]"`]{0,100}$/;

/** Clients and gateways begin with the status, the address or a class: "400 litellm.BadRequestError: ". */
const LEAD =
  /(?:(?:Error code: )?<?\d{3}>?(?: -)?|\[[\w ]{1,40}\]:?|Error fetching from \S+|[\w.]{1,80}(?::| -)|The model returned the following errors:)(?: |$)/iy;

function endOfLead(text: string): number {
  for (let end = 0; ; end = LEAD.lastIndex) {
    LEAD.lastIndex = end;
    if (!LEAD.test(text)) return end;
  }
}

/*
 * The fields of an error's JSON in which a provider speaks.
 */

/** A message's statements: those in its JSON and the text before it, or the whole message. */
export function statementsIn(message: unknown): readonly string[] {
  if (typeof message !== "string") return [];
  const begin = message.indexOf("{");
  const json = begin < 0 ? "" : message.slice(begin, message.lastIndexOf("}") + 1);
  const statements = json === "" ? [] : fieldsIn(parseJson(json));
  return statements.length === 0 ? [message] : [...statements, message.slice(0, begin)];
}

/** A gateway's error can contain its provider's. */
const DEEPEST = 6;

function fieldsIn(body: unknown, depth = 0): readonly string[] {
  if (depth > DEEPEST) return [];
  if (typeof body === "string") return [body];
  // Servers with FastAPI list faults. Each one quotes the request beside its `msg`.
  if (Array.isArray(body)) return body.slice(0, 1).flatMap((fault) => fieldsIn(fault, depth + 1));
  if (!isRecord(body)) return [];
  const { message, msg, detail, error } = body;
  return [message, msg, detail, error].flatMap((field) => fieldsIn(field, depth + 1));
}

/*
 * Quotations.
 */

/** A quotation, to the end if it is not closed. An apostrophe inside a word is no quotation mark. */
const QUOTATION = new RegExp(
  [`"`, "'", "`"]
    .map((mark) => `(?<!\\w)${mark}(?:\\\\(?:.|$)|[^\\\\${mark}]|${mark}(?=\\w))*(?:${mark}|$)`)
    .join("|"),
  "gs",
);
/** Providers quote names, paths and values themselves. */
const LONGEST_NAME = 100;
/** Before an error's own text in a printed object, such as `{'error': {'message': '…`. */
const OWN_FIELD = /(?:error|message|msg|detail|reason|raw)["']?[:=] ?b?$/i;

/** The text with `…` in place of each quotation of several words. */
function withoutQuotations(text: string): string {
  return text.replaceAll(QUOTATION, (quotation, place: number) => {
    if (quotation.length <= LONGEST_NAME && !quotation.includes(" ")) return quotation;
    const mark = quotation.slice(0, 1);
    if (!OWN_FIELD.test(text.slice(Math.max(place - 20, 0), place))) return `${mark}…${mark}`;
    return mark + withoutQuotations(quotation.slice(1));
  });
}

/*
 * What was sent.
 */

/** Data of pictures has no spaces. */
const LONGEST_WORD = 1_000;

/** The texts in messages, with those in blocks and arguments. */
function textsIn(messages: readonly BaseMessage[]): readonly string[] {
  const texts: string[] = [];
  for (const message of messages) {
    const { content, name } = message;
    toJson([content, name, Reflect.get(message, "tool_calls")], (_, value) => {
      if (typeof value === "string" && (value.length <= LONGEST_WORD || value.includes(" ")))
        texts.push(value);
      return value;
    });
  }
  return texts;
}
