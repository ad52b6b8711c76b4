/**
 * What a host with OpenAI's protocol adds to its responses besides text and calls, and mostly wants back unchanged:
 * reasoning, signatures, encrypted state. LangChain's clients read some of these fields, and send none.
 *
 * A field is stored in `additional_kwargs` under its own name, a call's field on its entry of `tool_calls`, and their
 * names in the mark that says who was asked. So whatever a host adds goes back to it. The model input's `passFields`
 * decides which messages keep theirs, and `client.ts` carries them between messages and host. The fields listed here are
 * those of responses without that mark.
 */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { MARKS } from "../../history/marks.js";
import { copyMessage } from "../../history/message.js";
import { isRecord, textIn } from "../../shared/values.js";
import { DETAILS, REASONING_FIELD, RENAMED_REASONING } from "../contract/host-fields.js";

interface HostField {
  readonly name: string;
  /** Where it goes in a request. Nobody wants a `response` field back. */
  readonly of: "message" | "call" | "response";
  /** Who gives it. */
  readonly hosts: string;
  /** Who says that it is wanted back, or that clients lose it, below `https://github.com/`. */
  readonly source: string;
}

export const HOST_FIELDS: readonly HostField[] = [
  {
    name: REASONING_FIELD,
    of: "message",
    hosts: "DeepSeek, Kimi, GLM, Qwen, Grok, LiteLLM, vLLM before 0.12",
    source: "microsoft/vscode/issues/306695",
  },
  {
    name: RENAMED_REASONING,
    of: "message",
    hosts: "vLLM from 0.12 on, Together, Groq, OpenRouter",
    source: "vllm-project/router/pull/115",
  },
  {
    name: DETAILS,
    of: "message",
    hosts: "OpenRouter, MiniMax",
    source: "massgen/MassGen/issues/624",
  },
  {
    name: "thinking_blocks",
    of: "message",
    hosts: "LiteLLM, for Claude",
    source: "openai/openai-agents-python/pull/4157",
  },
  {
    name: "thinking",
    of: "message",
    hosts: "Merge Gateway",
    source: "NousResearch/hermes-agent/issues/101392",
  },
  {
    name: "thinking_signature",
    of: "message",
    hosts: "Merge Gateway",
    source: "NousResearch/hermes-agent/issues/101392",
  },
  {
    name: "reasoning_text",
    of: "message",
    hosts: "GitHub Copilot",
    source: "anomalyco/opencode/issues/4468",
  },
  {
    name: "reasoning_opaque",
    of: "message",
    hosts: "GitHub Copilot",
    source: "anomalyco/opencode/pull/8900",
  },
  {
    name: "extra_content",
    of: "message",
    hosts: "Google's endpoints for Gemini, with the signature of a text",
    source: "mozilla-ai/any-llm/pull/1320",
  },
  {
    name: "extra_content",
    of: "call",
    hosts: "Google's endpoints for Gemini",
    source: "crmne/ruby_llm/issues/591",
  },
  // The stream guard makes it the response's text.
  {
    name: "refusal",
    of: "response",
    hosts: "OpenAI",
    source: "langchain-ai/langchain/issues/39747",
  },
  {
    name: "provider_specific_fields",
    of: "message",
    hosts: "LiteLLM, for Gemini",
    source: "langbot-app/LangBot/pull/2265",
  },
  {
    name: "provider_specific_fields",
    of: "call",
    hosts: "LiteLLM, for Gemini",
    source: "langbot-app/LangBot/pull/2265",
  },
];

const fieldsAt = (...places: readonly HostField["of"][]) =>
  HOST_FIELDS.flatMap(({ name, of }) => (places.includes(of) ? [name] : []));

/** The message fields that go back. */
const MESSAGE_FIELDS = fieldsAt("message");
/** The message fields that are read from a response of a client that shows no more. */
export const GIVEN_FIELDS = fieldsAt("message", "response");
const CALL_FIELDS = fieldsAt("call");

/** The protocol's own fields of a response's message. */
const PROTOCOL_FIELDS: ReadonlySet<string> = new Set([
  ...["role", "content", "name", "tool_calls", "function_call", "audio", "annotations"],
]);

/** Whether a host added this field to its response. The clients lose a refusal too. */
export function isAdded(name: string): boolean {
  return !PROTOCOL_FIELDS.has(name);
}

/*
 * Which fields a host gave.
 */

/** The names of the fields that a host added to a response and to its calls. */
export interface GivenNames {
  readonly fields: readonly string[];
  readonly callFields: readonly string[];
}

/** The mark with these names, which is completed with who was asked. Empty if there are none. */
export function markOf({ fields, callFields }: GivenNames): Readonly<Record<string, unknown>> {
  const names = fields.filter((name) => !RESPONSE_FIELDS.includes(name));
  if (names.length === 0 && callFields.length === 0) return {};
  return {
    [MARKS.asked]: {
      ...(names.length > 0 && { fields: names }),
      ...(callFields.length > 0 && { callFields }),
    },
  };
}

const RESPONSE_FIELDS = fieldsAt("response");

/** The names of the fields that go back with a message and its calls: those that its mark names, and known ones. */
export function namesIn({ additional_kwargs }: BaseMessage): GivenNames {
  const mark: unknown = additional_kwargs?.[MARKS.asked];
  const noted = (place: string): string[] => {
    const names = isRecord(mark) ? mark[place] : undefined;
    return Array.isArray(names) ? names.filter((name) => typeof name === "string" && isAdded(name)) : [];
  };
  const known = MESSAGE_FIELDS.filter((name) => isHostField(name, additional_kwargs?.[name]));
  return {
    fields: [...new Set([...noted("fields"), ...known])],
    callFields: [...new Set([...noted("callFields"), ...CALL_FIELDS])],
  };
}

/*
 * A stored message's fields.
 */

/** A message's reasoning as plain text, possibly empty. Undefined if it has none. */
export function reasoningOf(message: BaseMessage): string | undefined {
  if (!isAIMessage(message)) return undefined;
  const { additional_kwargs: fields } = message;
  // The Responses API has an item with this name.
  return (
    textIn(fields, REASONING_FIELD) || textIn(fields, RENAMED_REASONING) || textIn(fields, REASONING_FIELD)
  );
}

/** The message with this text as its reasoning, under each name that has some. */
export function withReasoning<T extends BaseMessage>(message: T, reasoning: string): T {
  const { additional_kwargs: fields } = message;
  const names = [REASONING_FIELD, RENAMED_REASONING].filter((name) => textIn(fields, name));
  const changes = Object.fromEntries(names.map((name) => [name, reasoning]));
  return copyMessage<BaseMessage>(message, { additional_kwargs: { ...fields, ...changes } }) as T;
}

/** Whether the message carries the field that DeepSeek demands, possibly empty. */
export function hasReasoningField({ additional_kwargs }: BaseMessage): boolean {
  return textIn(additional_kwargs, REASONING_FIELD) !== undefined;
}

/**
 * The message without its host's fields, and without those of its calls. The same message if it has none.
 *
 * @param kept Fields that stay.
 */
export function withoutHostFields(message: AIMessage, kept: readonly string[]): AIMessage {
  const { additional_kwargs, tool_calls = [] } = message;
  const names = MESSAGE_FIELDS.filter(
    (name) => !kept.includes(name) && isHostField(name, additional_kwargs?.[name]),
  );
  const isMarked = tool_calls.some((call) => CALL_FIELDS.some((name) => name in call));
  if (names.length === 0 && !isMarked) return message;
  return copyMessage(message, {
    additional_kwargs: without(additional_kwargs, names),
    ...(isMarked && { tool_calls: tool_calls.map((call) => without(call, CALL_FIELDS)) }),
  });
}

/** Not an item of the Responses API, which has the same name as one of these fields. */
function isHostField(name: string, value: unknown): boolean {
  if (value === undefined || value === null || !MESSAGE_FIELDS.includes(name)) return false;
  return name !== RENAMED_REASONING || typeof value === "string";
}

export function without<Value extends object>(value: Value, names: readonly string[]): Value {
  const copy = { ...value };
  for (const name of names) Reflect.deleteProperty(copy, name);
  return copy;
}
