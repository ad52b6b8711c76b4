/** One message as the page shows it. */

import type { BaseMessage } from "@langchain/core/messages";
import { readList } from "../../doctor/examine.js";
import { argumentsOf, callsOf, isAIMessage } from "../../history/call.js";
import { contentText, copyMessage } from "../../history/message.js";
import { callIdOf, isResult } from "../../history/result.js";
import { countTokens } from "../../history/size.js";
import { isUserMessage } from "../../history/summary.js";
import { readMaker } from "../../providers/contract/author.js";
import { readMedia } from "../../providers/media/media.js";
import { safely, toJson } from "../../shared/json.js";
import { oneLine, printable, printableLine, shortened } from "../../shared/text.js";
import { isRecord, recordsIn } from "../../shared/values.js";

/** How many characters of a text a page shows. The JSON has all. */
const LONGEST_TEXT = 4_000;
const LONGEST_ARGUMENTS = 1_000;
const LONGEST_NAME = 200;
const LONGEST_TITLE = 90;
const LONGEST_JSON = 200_000;
const LONGEST_PICTURE = 2_000_000;

export interface ShownText {
  readonly text: string;
  /** How many characters were left out at the end. */
  readonly cut: number;
}

export const ROLES: Readonly<Record<string, string>> = {
  human: "user",
  ai: "assistant",
  tool: "tool result",
  system: "system",
};

export type MessageView = ReturnType<typeof viewMessage>;

/** Characters that would move or hide text are written as escapes. */
export function viewMessage(message: BaseMessage) {
  const { type, id, name } = message;
  const { provider, model } = isAIMessage(message) ? readMaker(message) : { provider: "", model: "" };
  const given = argumentsOf(message);
  const calls = callsOf(message);
  const text = contentText(withoutMedia(message));
  const json = isResult(message) ? jsonLines(text) : undefined;
  return {
    role: ROLES[type] ?? nameIn(type),
    name: nameIn(name),
    /** The provider and model that wrote it; empty if the message does not say. */
    maker: [provider, model].map(nameIn).filter(Boolean).join(" · "),
    /** Its id, the id of the call that it answers, and its calls' ids. */
    ids: [
      ...labelled("id", nameIn(id)),
      ...labelled("answers", isResult(message) ? nameIn(callIdOf(message)) : ""),
      ...labelled("calls", calls.map((call) => nameIn(call.id) || "without id").join(" ")),
    ].join(" · "),
    content: cutText(json ?? text, LONGEST_TEXT),
    /** Whether the content is JSON, which is written in lines. */
    isJson: json !== undefined,
    media: recordsIn(message.content).flatMap((block) => mediumIn(block) ?? []),
    reasoning: cutText(reasoningIn(message), LONGEST_TEXT),
    calls: calls.map(({ name: tool, kind }, index): ShownText => {
      const { text: shown, cut } = cutText(shownText(given[index]), LONGEST_ARGUMENTS);
      const note = kind === "invalid" ? " · arguments that cannot be parsed" : "";
      return { text: `${nameIn(tool) || "(unnamed)"}(${shown})${note}`, cut };
    }),
    isError: isResult(message) && message.status === "error",
    /** Our estimate. */
    tokens: countTokens(message),
  };
}

const labelled = (label: string, text: string): readonly string[] =>
  text === "" ? [] : [`${label} ${text}`];

/** What a reader sees of a message, to compare. */
export function shownOf(message: BaseMessage): string {
  const { content, media, calls } = viewMessage(message);
  return JSON.stringify([content, media.length, calls]);
}

/** Whether a part of the message has this text, in lower case: what it says, its name, its calls or an id. */
export function says(message: BaseMessage, text: string): boolean {
  const { id, name, tool_calls, invalid_tool_calls, tool_call_id } = message as BaseMessage &
    Readonly<Record<string, unknown>>;
  const others = toJson([id, name, tool_calls, invalid_tool_calls, tool_call_id]) ?? "";
  return `${contentText(message)}\n${others}`.toLowerCase().includes(text);
}

/** Its text would name what is shown. */
function withoutMedia(message: BaseMessage): BaseMessage {
  const { content } = message;
  if (typeof content === "string" || !Array.isArray(content)) return message;
  const others = content.filter((block) => mediumIn(block) === undefined);
  return others.length === content.length ? message : copyMessage(message, { content: others });
}

export function nameIn(value: unknown): string {
  return typeof value === "string" ? printableLine(shortened(value, LONGEST_NAME)) : "";
}

/** Tags and variation selectors: no font draws them, but a model can read a text that is written with them. */
const UNSEEN = /[\u{e0000}-\u{e01ef}]/gu;

function cutText(text: string, longest: number): ShownText {
  const seen = printable(text.slice(0, longest)).replaceAll(
    UNSEEN,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
  return { text: seen, cut: Math.max(0, text.length - longest) };
}

/** JSON longer than this is written in lines. */
const LONGEST_LINE = 70;

function shownText(value: unknown): string {
  if (typeof value === "string") return value;
  const line = toJson(value) ?? "";
  return line.length <= LONGEST_LINE ? line : (toJson(value, undefined, 2) ?? "");
}

/** JSON in lines; undefined for a text that is neither an object nor a list. */
function jsonLines(text: string): string | undefined {
  if (text.length > LONGEST_JSON || !/^\s*[[{]/.test(text)) return undefined;
  return safely(() => shownText(JSON.parse(text)), undefined);
}

const PICTURE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/;

/** A picture, sound or file. Only bytes in the message are shown: nothing is loaded from elsewhere. */
function mediumIn(block: unknown) {
  const media = safely(() => readMedia(block), undefined);
  if (media === undefined || media.kind === "text") return undefined;
  const { kind, name, url = "", data } = media;
  const [, type] = (kind === "image" && url.length <= LONGEST_PICTURE && PICTURE.exec(url)) || [];
  return {
    /** Undefined: it cannot be shown. */
    address: type === undefined ? undefined : url,
    label: [type?.toUpperCase() ?? kind, nameIn(name), url.startsWith("data:") ? "" : nameIn(url)]
      .filter(Boolean)
      .join(" "),
    /** Undefined: its bytes are elsewhere. */
    bytes: data === undefined ? undefined : Math.floor(data.length * 0.75),
  };
}

const REASONING_TEXTS = ["thinking", "reasoning", "summary"];

/** What a model thought, as far as it can be read. */
function reasoningIn({ content, additional_kwargs }: BaseMessage): string {
  const inBlocks = recordsIn(content)
    .filter(({ type }) => type === "thinking" || type === "reasoning")
    .flatMap((block) => REASONING_TEXTS.map((field) => block[field]));
  return [...inBlocks, additional_kwargs?.["reasoning_content"]]
    .filter((text) => typeof text === "string")
    .join("\n");
}

/** A name for people: what the metadata calls it, or its user's first words. */
export function titleOf(
  messages: readonly BaseMessage[],
  metadata: Readonly<Record<string, unknown>> | null | undefined,
): string {
  const given = metadata?.["title"];
  if (typeof given === "string" && given.trim() !== "") return printableLine(given.slice(0, 120));
  const first = messages.find(isUserMessage);
  const text = first === undefined ? "" : contentText(first).slice(0, LONGEST_TITLE * 4);
  return printableLine(oneLine(text, LONGEST_TITLE));
}

/** A stored list's messages. Values that are not messages are left out: the doctor names them. */
export function messagesOfList(list: readonly unknown[] = []): readonly BaseMessage[] {
  return readList(list).messages.map(({ message }) => message);
}

/*
 * What a human is asked, in this library's form and that of LangChain's `humanInTheLoopMiddleware`.
 */

/** What a human is asked about one call. */
export interface Question {
  readonly tool: string;
  readonly text: string;
  /** JSON, in lines. */
  readonly arguments: string;
  readonly decisions: readonly string[];
}

/** LangChain's own description ends with the tool's name and arguments, which are shown beside it. */
const ARGUMENTS_TOLD = /\n\nTool: .*\nArgs: [\s\S]*$/;

/** @param interrupt An interrupt or its value. Another form is shown whole. */
export function questionsIn(interrupt: unknown): readonly Question[] {
  const value = isRecord(interrupt) && "value" in interrupt ? interrupt["value"] : interrupt;
  const fields = isRecord(value) ? value : {};
  const requests = recordsIn(fields["action_requests"] ?? fields["actionRequests"]);
  const rules = recordsIn(fields["review_configs"] ?? fields["reviewConfigs"]);
  if (requests.length === 0) return [{ tool: "", text: lines(value), arguments: "", decisions: [] }];
  // If several rules have a name, the first counts.
  const byName = new Map(rules.toReversed().map((one) => [one["action_name"] ?? one["actionName"], one]));
  return requests.map(({ name, args, description }, index) => {
    const rule = byName.get(name) ?? rules[index] ?? {};
    const allowed = rule["allowed_decisions"] ?? rule["allowedDecisions"];
    return {
      tool: nameIn(name),
      text: typeof description === "string" ? lines(description.replace(ARGUMENTS_TOLD, "")) : "",
      arguments: lines(args),
      decisions: Array.isArray(allowed) ? allowed.map(nameIn) : [],
    };
  });
}

/** A value as text or JSON in lines, not too long. */
export function lines(value: unknown): string {
  const { text, cut } = cutText(shownText(value), LONGEST_TEXT);
  return cut === 0 ? text : `${text}…`;
}
