/** The rule about state that only its author model can read. */

import type { AIMessage, BaseMessage, MessageContent } from "@langchain/core/messages";
import type { ToolCall } from "@langchain/core/messages/tool";
import { callBlockOf, isAIMessage } from "../../history/call.js";
import { isMark } from "../../history/marks.js";
import { copyMessage, isSameMessage, mapBlocks, withTextFor } from "../../history/message.js";
import { listOf } from "../../history/read-messages.js";
import { serverCallId, serverItemsText, serverResultTexts } from "../../history/server-tools.js";
import { defined, isRecord, pickFields, textIn } from "../../shared/values.js";
import { isNotedOwn, isOwn, mayHaveWritten, readMaker, type Target } from "../contract/author.js";
import { type Dialect, isOf, type StateField } from "../contract/dialect.js";
import { REASONING_FIELD, RENAMED_REASONING } from "../contract/host-fields.js";
import { storedOutput } from "../contract/stored-items.js";
import { readMedia } from "../media/media.js";
import { isForeignBlock } from "../table/dialects.js";
import { blockType, type HistoryRule, type InputStep, inEach } from "./rule.js";

/*
 * What only another model can read is left out.
 *
 * The target's own messages stay as they are: each block, item and field in its place. Of another model's message its
 * texts, calls and media are sent, what its provider's tools returned as text, and nothing else: nobody can list all
 * that a provider signs, encrypts or numbers. If nothing names the author, state in the provider's own form counts as
 * the provider's. LangChain's `v1` form is converted differently by each client, so such a message is sent whole only
 * to whoever was asked for it.
 */

const keepOwnState: InputStep = (target) => (message) => {
  if (!isAIMessage(message)) return withoutFields(message, [VERSION]);
  if (isNotedOwn(message, target)) return message;
  const hasOtherForm =
    isVersion1(message) ||
    (storedOutput(message) !== undefined && !target.dialect.callPlaces.includes("output"));
  if (hasOtherForm) return said(message, target);
  if (isOwn(message, target)) return message;
  const isUnnamed = !target.dialect.isClosed && mayHaveWritten(message, target);
  return isUnnamed ? withoutShared(message, target) : said(message, target);
};

export const OWN_STATE: HistoryRule = {
  name: "foreign-state",
  about: "content",
  meaning: "A message carries signed or stored state that another model made.",
  find: inEach(({ message, content }, dialect) => {
    if (!isAIMessage(message) || !isForeign(message, dialect)) return undefined;
    const field = dialect.stateFields.find(({ place, name }) => message[place]?.[name] !== undefined);
    const block = listOf(content).find((each) => isState(each, dialect));
    const id = field?.name ?? (block === undefined ? undefined : blockType(block));
    return id !== undefined && { id };
  }),
  step: keepOwnState,
};

/** Whether a message names another provider as its author. */
export function isForeign(message: AIMessage, { makers }: Dialect): boolean {
  const { provider } = readMaker(message);
  return makers.length === 0 || (provider !== undefined && !makers.includes(provider));
}

const isThought = isOf("thinking", "redacted_thinking", "reasoning");

/** Whether a block is known to be somebody's, and says nothing to others: no text, call or media. */
function isState(block: unknown, dialect: Dialect): boolean {
  if (!isRecord(block) || callBlockOf(block) !== undefined || saidBlocks([block as never]).length > 0)
    return false;
  return isThought(block) || isForeignBlock(block, dialect);
}

/** Whether a message's state may be the target's. */
export function isOwnMessage(message: AIMessage, target: Target): boolean {
  if (isNotedOwn(message, target)) return true;
  return target.dialect.makers.length > 0 && mayHaveWritten(message, target) && !isVersion1(message);
}

const VERSION: StateField = { place: "response_metadata", name: "output_version" };

function isVersion1({ response_metadata }: AIMessage): boolean {
  return response_metadata?.[VERSION.name] === "v1";
}

/** Nothing says whose blocks of these types are. */
function withoutShared(message: AIMessage, { dialect: { sharedBlocks = [] } }: Target): AIMessage {
  return mapBlocks(message, (block) => (sharedBlocks.includes(block.type) ? undefined : block));
}

/** What a message says to everybody. The same message if that is all. */
function said(message: AIMessage, target: Target): AIMessage {
  const { content, tool_calls = [], additional_kwargs = {} } = message;
  const mayBeOwn = mayHaveWritten(message, target);
  const { provider: model_provider, model: model_name } = readMaker(message);
  const blocks = Array.isArray(content) ? saidBlocks(content) : content;
  const plain = copyMessage(message, {
    content: withReturned(blocks, message),
    // A signature of a call is on its entry also in LangChain's `v1` form.
    tool_calls: mayBeOwn && !target.dialect.isClosed ? tool_calls : tool_calls.map(plainCall),
    additional_kwargs: pickFields(
      additional_kwargs,
      // An empty text holds no reasoning.
      (name, value) => isMark(name) || (isReasoning(name) && (mayBeOwn || value === "")),
    ),
    // Later steps ask again who wrote it.
    response_metadata: defined({ model_provider, model_name }),
  });
  return isSameMessage(plain, message) ? message : plain;
}

const isReasoning = (name: string): boolean => name === REASONING_FIELD || name === RENAMED_REASONING;

/** The content after what the provider's tools returned in the items of the message. */
export function withReturned(content: MessageContent, message: AIMessage): MessageContent {
  const { output } = message.response_metadata ?? {};
  const text = serverItemsText(output) || serverItemsText(message.additional_kwargs?.["tool_outputs"]);
  if (text === "") return content;
  return Array.isArray(content)
    ? [{ type: "text", text }, ...content]
    : [text, content].filter(Boolean).join("\n");
}

type Blocks = Exclude<MessageContent, string>;

/** The texts and the media of these blocks, and as text what their tools returned. */
export function saidBlocks(content: Blocks): Blocks {
  const resultText = serverResultTexts(content);
  const isTold = (block: unknown) => resultText(block) !== undefined || serverCallId(block) !== undefined;
  const blocks = content.flatMap((block): Blocks => {
    if (typeof block === "string") return [{ type: "text", text: block }];
    if (!isRecord(block)) return [];
    if (isTold(block) || readMedia(block) !== undefined) return [block];
    const text = textIn(block, "text") ?? textIn(block, "refusal");
    // Gemini's thoughts are texts with a mark.
    return text === undefined || block["thought"] === true ? [] : [{ type: "text", text }];
  });
  return withTextFor(blocks, (block) => !isTold(block));
}

/** Which tool was called, with what, and by whom. Code that called it is not there any more. */
export function plainCall(call: ToolCall): ToolCall {
  const { type, id, name, args } = call;
  const { namespace, caller }: Readonly<Record<string, unknown>> = { ...call };
  const isByCode = textIn(caller, "tool_id") !== undefined;
  return {
    ...defined({ type, id, namespace, caller: isByCode ? undefined : caller }),
    name,
    args,
  } as ToolCall;
}

/** The message without these fields. */
export function withoutFields<Message extends BaseMessage>(
  message: Message,
  fields: readonly StateField[],
): Message {
  const lost = fields.filter(({ place, name }) => message[place]?.[name] !== undefined);
  if (lost.length === 0) return message;
  const copies = {
    additional_kwargs: { ...message.additional_kwargs },
    response_metadata: { ...message.response_metadata },
  };
  for (const { place, name } of lost) delete copies[place][name];
  return copyMessage<BaseMessage>(message, copies) as Message;
}
