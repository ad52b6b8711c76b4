/**
 * Foreign histories. They have the faults of `arbitraries.ts`: dangling calls, doubled, late and orphan results,
 * calls in every place, repeated ids, and summaries. They also have the differences between providers: the forms of
 * ids, names, arguments and content, and the state that each provider keeps in its messages.
 */

import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  ToolMessage,
} from "@langchain/core/messages";
import fc from "fast-check";
import { copyMessage } from "../../src/history/message.js";
import { coerceMessage } from "../../src/history/read-messages.js";
import { build, type Entry, messageEntries, weighted } from "./arbitraries.js";

const ID_STYLES = [
  "c",
  "call_0fypS1hVX",
  "abcDEF12",
  "functions.read:",
  `call_${"x".repeat(40)}|fc_${"y".repeat(30)}`,
  "toolu_01A09q90qw90lq917835lq",
] as const;
const TOOL_NAMES = ["tool", "my tool.v2", "", "n".repeat(70), "9lives", "tool\ud83d"] as const;
const ARGUMENTS = [{}, { city: "Oslo" }, { "key\ud83d": ["\ude00 half"] }, [1], "text", null, 5] as const;

const saying = (text: string) => ({ type: "text", text });
/** A type of blocks that nobody knows. */
const UNHEARD_OF = "unheard_of";
const SAID = saying("said");

const CONTENTS: readonly unknown[] = [
  null,
  undefined,
  "",
  "  ",
  [],
  [saying("")],
  [SAID],
  "said \ud83d",
  [saying("\ude00 said 😀")],
  [saying("one"), saying(" ")],
  [{ type: "thinking", thinking: "hm", signature: "c2lnbmVk" }, SAID],
  [{ type: "thinking", thinking: "hm \ud83d", signature: "c2lnbmVk" }, SAID],
  [{ type: "redacted_thinking", data: "c2VjcmV0" }],
  [{ type: "reasoning", reasoning: "hm" }, SAID],
  [{ type: "functionCall", functionCall: { name: "tool", args: {} } }, SAID],
  [saying("a"), { type: "tool_use", id: "toolu_x", name: "tool", input: {} }, saying("b")],
  [{ type: "invalid_tool_call", name: "tool", args: "{", id: "c9" }, SAID],
];

/** Pictures and files of a user, in the format of each provider and of LangChain. */
const SHOWN: readonly (readonly object[])[] = [
  [{ type: "image", mimeType: "image/png", data: "cGlj" }],
  [
    { type: "text", text: "see" },
    { type: "image", source_type: "base64", mime_type: "image/png", data: "cGlj" },
  ],
  [{ type: "image_url", image_url: { url: "data:image/png;base64,cGlj" } }],
  [{ type: "image_url", image_url: "data:image/png;base64,cGlj" }],
  [{ type: "image", source: { type: "base64", media_type: "image/png", data: "cGlj" } }],
  [{ type: "image", fileId: "file_1" }],
  [{ type: "media", mimeType: "image/png", data: "cGlj" }],
  [{ type: "inlineData", inlineData: { mimeType: "audio/wav", data: "c291bmQ=" } }],
  [{ type: "input_audio", input_audio: { data: "c291bmQ=", format: "wav" } }],
  [{ type: "input_image", image_url: "data:image/png;base64,cGlj" }],
  [{ type: "file", mimeType: "application/pdf", data: "cGRm" }],
  [{ type: "document", source: { type: "text", media_type: "text/plain", data: "words" } }],
  [{ type: UNHEARD_OF, value: 1 }],
];

const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "enc" };

/** The state that each provider's models keep in their messages. */
const STATES: readonly Partial<AIMessage>[] = [
  // Those of OpenAI have ids, so that no Anthropic id is taken for OpenAI's when two states are merged.
  { id: "chatcmpl-1", response_metadata: { model_provider: "openai", model_name: "gpt-5-2025-08-07" } },
  { id: "msg_1", response_metadata: { model_provider: "anthropic", model: "claude-sonnet-4-5" } },
  {
    id: "msg_2",
    response_metadata: {
      model_provider: "openai",
      model_name: "gpt-5",
      output: [
        reasoning,
        { type: "function_call", id: "fc_1", call_id: "call_stored", name: "tool", arguments: "{}" },
      ],
    },
    additional_kwargs: { reasoning, __openai_function_call_ids__: { c1: "fc_1", call_stored: "fc_1" } },
  },
  { additional_kwargs: { reasoning } },
  {
    response_metadata: { model_provider: "deepseek", model_name: "deepseek-chat" },
    additional_kwargs: { reasoning_content: "I must look." },
  },
  { additional_kwargs: { reasoning_content: "I must look \ud83d" } },
  {
    response_metadata: { model_provider: "google-genai" },
    additional_kwargs: { __gemini_function_call_thought_signatures__: { c1: "c2ln" }, signatures: ["c2ln"] },
  },
  {
    additional_kwargs: {
      tool_calls: [{ id: "c1", type: "function", function: { name: "tool", arguments: "{" } }],
    },
  },
  { additional_kwargs: { tool_calls: [] } },
  { id: "chatcmpl-2", response_metadata: { output_version: "v1", model_provider: "openai" } },
];

interface Twist {
  readonly at: number;
  readonly change:
    | { readonly kind: "content"; readonly content: unknown }
    | { readonly kind: "state"; readonly state: Partial<AIMessage> }
    | { readonly kind: "arguments"; readonly args: unknown }
    | { readonly kind: "name"; readonly name: string }
    | { readonly kind: "role"; readonly role: string };
}

const twist: fc.Arbitrary<Twist> = fc.record({
  at: fc.nat({ max: 20 }),
  change: weighted<Twist["change"]>(
    [4, fc.constantFrom(...CONTENTS, ...SHOWN).map((content) => ({ kind: "content", content }))],
    [4, fc.constantFrom(...STATES).map((state) => ({ kind: "state", state }))],
    [2, fc.constantFrom(...ARGUMENTS).map((args) => ({ kind: "arguments", args }))],
    [1, fc.constantFrom("agent_1", "agent one!", "").map((name) => ({ kind: "name", name }))],
    [
      1,
      fc
        .constantFrom("developer", "assistant", "user", "critic", "function")
        .map((role) => ({ kind: "role", role })),
    ],
  ),
});

export interface ForeignHistory {
  readonly entries: readonly Entry[];
  readonly twists: readonly Twist[];
  readonly ids: Readonly<Record<string, string>>;
  readonly toolName: string;
}

export const foreignHistories = (maxLength = 14): fc.Arbitrary<ForeignHistory> =>
  fc.record({
    entries: messageEntries(maxLength),
    twists: fc.array(twist, { maxLength: 6 }),
    ids: fc.record(
      Object.fromEntries(
        ["c1", "c2", "c3"].map((id) => [
          id,
          fc.constantFrom(...ID_STYLES).map((style) => `${style}${id.slice(1)}`),
        ]),
      ),
    ),
    toolName: fc.oneof({ weight: 3, arbitrary: fc.constant("tool") }, fc.constantFrom(...TOOL_NAMES)),
  });

/** Whether a history has what nobody knows. It is sent as it is, and a provider may refuse it. */
export function hasUnknown({ twists }: ForeignHistory): boolean {
  return twists.some(({ change }) => JSON.stringify(change).includes(UNHEARD_OF) || change.kind === "role");
}

/** The messages of a foreign history. */
export function buildForeign({ entries, twists, ids, toolName }: ForeignHistory): BaseMessage[] {
  const messages = build(entries)
    .map(coerceMessage)
    .filter((message) => message !== undefined)
    .map((message) => inStyle(message, ids, toolName));
  for (const { at, change } of twists) {
    const index = messages.length === 0 ? 0 : at % messages.length;
    const message = messages[index];
    if (message !== undefined) messages[index] = twisted(message, change);
  }
  return messages;
}

function inStyle(message: BaseMessage, ids: Readonly<Record<string, string>>, name: string): BaseMessage {
  const styled = (id: string | undefined): string => ids[id ?? ""] ?? id ?? "";
  if (ToolMessage.isInstance(message))
    return copyMessage(message, { tool_call_id: styled(message.tool_call_id) });
  if (!AIMessage.isInstance(message)) return message;
  const { content } = message;
  return copyMessage(message, {
    tool_calls: message.tool_calls?.map((call) => ({ ...call, id: styled(call.id), name })) ?? [],
    invalid_tool_calls:
      message.invalid_tool_calls?.map((call) => ({ ...call, id: styled(call.id), name })) ?? [],
    content: Array.isArray(content)
      ? (content.map((block) => styledBlock(block, styled, name)) as typeof content)
      : content,
  });
}

function styledBlock(block: object, styled: (id: string | undefined) => string, name: string): object {
  if ("call_id" in block) return { ...block, call_id: styled(String(block.call_id)), name };
  return "id" in block ? { ...block, id: styled(String(block.id)), name } : block;
}

function twisted(message: BaseMessage, change: Twist["change"]): BaseMessage {
  switch (change.kind) {
    case "content":
      return copyMessage(message, { content: change.content } as Partial<BaseMessage>);
    case "name":
      return copyMessage(message, { name: change.name });
    case "arguments":
      if (!AIMessage.isInstance(message)) return message;
      return copyMessage(message, {
        tool_calls: message.tool_calls?.map((call) => ({ ...call, args: change.args as never })) ?? [],
      });
    case "state":
      return AIMessage.isInstance(message)
        ? copyMessage(message, change.state as Partial<typeof message>)
        : message;
    case "role":
      if (message.type !== "human") return message;
      return change.role === "function"
        ? new FunctionMessage({ content: "42", name: "old" })
        : new ChatMessage("said", change.role);
  }
}
