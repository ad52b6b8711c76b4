/** One message as the page shows it. */

import type { BaseMessage } from "@langchain/core/messages";
import { argumentsOf, callsOf, isAIMessage } from "../../history/call.js";
import { contentText } from "../../history/message.js";
import { callIdOf, isResult } from "../../history/result.js";
import { countTokens } from "../../history/size.js";
import { readMaker } from "../../providers/rule.js";
import { toJson } from "../../shared/json.js";
import { printable, printableLine } from "../../shared/text.js";
import { recordsIn } from "../../shared/values.js";

/** How many characters of a text a page shows. The JSON has all of it. */
const LONGEST_TEXT = 4_000;
const LONGEST_ARGUMENTS = 1_000;
const LONGEST_NAME = 200;

export interface ShownText {
  readonly text: string;
  /** How many characters were left out at the end. */
  readonly cut: number;
}

export interface CallView {
  readonly name: string;
  readonly id: string;
  readonly arguments: ShownText;
  readonly isInvalid: boolean;
}

export interface MessageView {
  readonly role: string;
  readonly type: string;
  readonly id: string;
  readonly name: string;
  /** The provider and the model that wrote it; empty for a message that does not say. */
  readonly maker: string;
  readonly content: ShownText;
  readonly reasoning: ShownText;
  readonly calls: readonly CallView[];
  /** The call that a result answers; empty for other messages. */
  readonly answers: string;
  readonly isError: boolean;
  /** Our estimate. */
  readonly tokens: number;
}

const ROLES: Readonly<Record<string, string>> = {
  human: "user",
  ai: "assistant",
  tool: "tool result",
  system: "system",
};

/** Characters that would move text or hide it are written as escapes. */
export function viewMessage(message: BaseMessage): MessageView {
  const { type, id, name } = message;
  const { provider, model } = isAIMessage(message) ? readMaker(message) : { provider: "", model: "" };
  const given = argumentsOf(message);
  return {
    role: ROLES[type] ?? nameIn(type),
    type,
    id: nameIn(id),
    name: nameIn(name),
    maker: [provider, model]
      .map(nameIn)
      .filter((part) => part !== "")
      .join(" · "),
    content: cutText(contentText(message), LONGEST_TEXT),
    reasoning: cutText(reasoningIn(message), LONGEST_TEXT),
    calls: callsOf(message).map((call, index) => ({
      name: nameIn(call.name),
      id: nameIn(call.id),
      arguments: cutText(textOf(given[index]), LONGEST_ARGUMENTS),
      isInvalid: call.kind === "invalid",
    })),
    answers: isResult(message) ? nameIn(callIdOf(message)) : "",
    isError: isResult(message) && message.status === "error",
    tokens: countTokens(message),
  };
}

/** The beginning of a message on one line. */
export function excerptOf(message: BaseMessage, longest = 90): string {
  const text = contentText(message)
    .slice(0, longest * 4)
    .replaceAll(/\s+/g, " ")
    .trim();
  const names = callsOf(message).map(({ name }) => `${name}()`);
  return printableLine(cutLine(text === "" ? names.join(" ") : text, longest));
}

function cutLine(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

export function nameIn(value: unknown): string {
  return typeof value === "string" ? printableLine(cutLine(value, LONGEST_NAME)) : "";
}

function cutText(text: string, longest: number): ShownText {
  return { text: printable(text.slice(0, longest)), cut: Math.max(0, text.length - longest) };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (toJson(value) ?? "");
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

/** The beginning of a message that is shown elsewhere in full. */
export function excerptText({ content, calls }: MessageView, longest = 110): string {
  const text = content.text
    .slice(0, longest * 4)
    .replaceAll(/\s+/g, " ")
    .trim();
  const names = calls.map(({ name }) => `${name}()`).join(" ");
  return cutLine(text === "" ? names : text, longest);
}
