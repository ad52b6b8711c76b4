/**
 * Finds a provider's own words in an error. Providers, gateways and servers also quote the request in their errors, so
 * a sentence of a user can be there too. No list has all forms of a quotation, but what was sent is known.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { isTetherError } from "../../errors.js";
import { causesOf } from "../../shared/is-error.js";
import { asText, parseJson, toJson } from "../../shared/json.js";
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
  /** Whether it mentions a word. A user can use the same word, so what counts is the text around it. */
  readonly mention: (pattern: RegExp) => boolean;
  /** Its sentences, without what stands before them, such as the status. They can quote the request. */
  readonly sentences: readonly string[];
  /** Its types, codes and reasons, and the names of the client's errors, as words: `access denied exception`. */
  readonly codes: readonly string[];
  /** The places in the request that it names in fields of their own, such as `messages.0.content`. */
  readonly paths: readonly string[];
  /** Whether the error is short enough to be read to its end. */
  readonly isWhole: boolean;
}

/** @param sent The messages of the request. */
export function wordsOf(error: unknown, sent: readonly BaseMessage[]): ProviderWords {
  // Our own sentences quote the provider.
  const chain = causesOf(error).filter((each) => !isTetherError(each));
  let request: string | undefined;
  const isSent = (letters: string): boolean => {
    request ??= lettersIn(sent);
    return letters !== "" && request.includes(letters);
  };
  const isInRequest = (words: string): boolean => [words, withoutEscapes(words)].map(lettersOf).some(isSent);
  const said = chain
    .flatMap(statementsOf)
    .filter(({ json }) => json === undefined || !isInRequest(json))
    .map((statement) => ({ ...statement, text: withoutQuotations(oneLine(statement.text)) }));
  const texts = said.flatMap(({ text, kind }) =>
    kind === "path" ? [] : [{ text, kind, start: endOfLead(text) }],
  );
  const textsOf = (wanted: Statement["kind"]) =>
    said.flatMap(({ text, kind }) => (kind === wanted ? [text] : []));
  const find: ProviderWords["find"] = (pattern) => {
    for (const { text, start } of texts) {
      for (const { 0: words, index, groups = {} } of text.matchAll(pattern)) {
        const isRepeated = isInRequest(words);
        const beginning = text.slice(start, index);
        // A provider says something before it quotes. Who has read its error elsewhere repeats all of it.
        if (!isRepeated || isSent(lettersOf(beginning + words)))
          return { groups, isStatement: !isRepeated && SUBJECT.test(beginning) };
      }
    }
    const isQuoted = chain.some(({ message }) => typeof message === "string" && message.search(pattern) >= 0);
    return isQuoted ? "quoted" : undefined;
  };
  const isWhole = chain.every(({ message }) => String(message).length <= LONGEST_STATEMENT);
  return {
    find,
    say: (pattern) => typeof find(pattern) === "object",
    mention: (pattern) =>
      textsOf(undefined).some((text) =>
        [...text.matchAll(pattern)].some(
          ({ 0: word, index }) =>
            !isInRequest(text.slice(Math.max(index - AROUND, 0), index + word.length + AROUND)),
        ),
      ),
    sentences: texts.flatMap(({ text, kind, start }) => (kind === undefined ? [text.slice(start)] : [])),
    codes: [...textsOf("code"), ...chain.map(({ name }) => asText(name))].map(asWords),
    paths: textsOf("path"),
    isWhole,
  };
}

/** How much of a text is compared with the request on each side of a word. */
const AROUND = 30;

/** A code as words. Providers write it in snake case, in camel case and in capitals. */
function asWords(code: string): string {
  return code
    .replace(/([a-z])(?=[A-Z])/g, "$1 ")
    .replace(/[^a-z0-9]+/gi, " ")
    .toLowerCase();
}

/** The longest part of a statement that is read. Longer ones quote the request, or are a proxy's page. */
const LONGEST_STATEMENT = 2_000;

function oneLine(text: string): string {
  return text.slice(0, LONGEST_STATEMENT).replace(/\s+/g, " ").trim();
}

/** What can be before a sentence's words without ending it, such as "This model's". */
const SUBJECT = /^[^:={}[\]"`]{0,40}$/;

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
 * The statements of an error: its code and message, and the fields of its JSON in which a provider speaks.
 */

export interface Statement {
  readonly text: string;
  /**
   * Undefined: a sentence. `code`: the kind of the error. `path`: the part of the request that is at fault. `raw`: a text
   * with JSON, whose statements stand before it.
   */
  readonly kind?: "code" | "path" | "raw" | undefined;
  /** The JSON in a text that has the statement. It can be part of a quotation. */
  readonly json?: string | undefined;
}

const STATEMENTS = Symbol.for("langgraph-tether.statements");

/** What one error says, most exact first. */
function statementsOf(error: Readonly<Record<PropertyKey, unknown>>): readonly Statement[] {
  const kept: unknown = error[STATEMENTS];
  if (Array.isArray(kept)) return kept as readonly Statement[];
  const { message, error: body, body: text, data, errorDetails, detail, code, type, param } = error;
  // Clients keep what they have parsed, each in a field of its own.
  const parsed = [body, text, data, errorDetails, detail].flatMap((field) => fieldsIn(field));
  const written = typeof message === "string" ? statementsIn(message) : [];
  return [...parsed, ...written, ...signsIn({ code, type, param })].slice(0, MOST_STATEMENTS);
}

/** Gives a copy of an error what the error says. @param redact Contract: returns a text without secrets. */
export function keepStatements(copy: Error, error: unknown, redact: (text: string) => string): void {
  if (!isRecord(error)) return;
  const value = statementsOf(error).map(({ text, json, kind }): Statement => {
    const cut = (whole: string) => redact(whole.slice(0, LONGEST_STATEMENT));
    return { text: cut(text), kind, json: json === undefined ? json : cut(json) };
  });
  Object.defineProperty(copy, STATEMENTS, { value });
}

/** What LangChain adds to a client's message. */
const LANGCHAIN_ADVICE = "\n\nTroubleshooting URL: ";

/** A text's statements: those in its JSON, and the text itself. */
export function statementsIn(whole: string): readonly Statement[] {
  const [text = ""] = whole.split(LANGCHAIN_ADVICE, 1);
  const begin = text.indexOf("{");
  const json = begin < 0 ? "" : text.slice(begin, text.lastIndexOf("}") + 1);
  const inJson = json === "" ? [] : fieldsIn(parseJson(json)).map((statement) => ({ json, ...statement }));
  return [...inJson, inJson.length === 0 ? { text } : { text, kind: "raw" }];
}

/** A gateway's error can contain its provider's. */
const DEEPEST = 6;
/** Servers with FastAPI and Google list faults. */
const MOST_FAULTS = 5;
const MOST_STATEMENTS = 40;

function fieldsIn(body: unknown, depth = 0): readonly Statement[] {
  if (depth > DEEPEST) return [];
  if (typeof body === "string") return statementsIn(body);
  const inside = (fields: readonly unknown[]) =>
    fields.flatMap((field) => fieldsIn(field, depth + 1)).slice(0, MOST_STATEMENTS);
  if (Array.isArray(body)) return inside(body.slice(0, MOST_FAULTS));
  if (!isRecord(body)) return [];
  // Other fields can quote the request.
  const { message, msg, detail, error, errors, details, fieldViolations, metadata, base_resp } = body;
  // OpenRouter puts its provider's error into `metadata.raw`.
  const { raw } = Object(metadata);
  const said = [message, msg, detail, error, errors, raw, details, fieldViolations, base_resp];
  return [...inside(said), ...signsIn(body)];
}

/** The kind and the place of an error. Each provider has its own names for them. */
function signsIn(body: Readonly<Record<string, unknown>>): readonly Statement[] {
  const { code, type, status, reason, __type, status_code, param, loc, field } = body;
  const isFailedSample = typeof body["failed_generation"] === "string";
  const codes = [code, type, status, reason, __type, status_code, isFailedSample && "failed_generation"];
  const paths = [param, Array.isArray(loc) ? loc.slice(0, DEEPEST).join(".") : loc, field];
  return [...codes.flatMap((text) => signOf("code", text)), ...paths.flatMap((text) => signOf("path", text))];
}

/** LiteLLM writes Python's `None` as a text. */
function signOf(kind: "code" | "path", value: unknown): readonly Statement[] {
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && !/^(?:|none|null)$/i.test(text) ? [{ text, kind }] : [];
}

/*
 * Quotations.
 */

/** A quotation, to the end if it is not closed. An apostrophe inside a word is no quotation mark. */
const QUOTATION = new RegExp(
  [`"`, "'", "`"]
    .map((mark) => `(?<![\\w\\\\])${mark}(?:\\\\(?:.|$)|[^\\\\${mark}]|${mark}(?=\\w))*(?:${mark}|$)`)
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
 * What was sent. Hosts change what they quote: they escape or decode characters, join blocks, and leave out marks and
 * tags. Letters and digits stay.
 */

/** The letters and digits of all texts, names and keys in the messages, as they are and decoded. */
function lettersIn(messages: readonly BaseMessage[]): string {
  const all: string[] = [];
  for (const message of messages) {
    const { content, name } = message;
    toJson([content, name, Reflect.get(message, "tool_calls")], (key, value) => {
      all.push(key);
      if (typeof value === "string" && !isData(value)) all.push(value);
      return value;
    });
  }
  const texts = [all.join(""), messages.map(({ text }) => text).join("")];
  return texts.flatMap((text) => [lettersOf(text), lettersOf(withoutEscapes(text))]).join(" ");
}

/** Data of pictures and files. */
function isData(text: string): boolean {
  return text.length > 1_000 && /^[\w+/=:;,.-]*$/.test(text);
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}

/** The text without tags, with the characters that JSON, URLs and HTML escape. */
function withoutEscapes(text: string): string {
  return text.replace(
    /\\u([\da-f]{4})|%([\da-f]{2})|&#x([\da-f]{1,6});|&#(\d{1,7});|\\[nrt]|&[a-z]{1,8};|<[^<>]{0,100}>/gi,
    (_, json?: string, url?: string, hex?: string, decimal?: string) => {
      const digits = json ?? url ?? hex;
      const code = digits === undefined ? Number(decimal) : Number.parseInt(digits, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : "";
    },
  );
}
