/** The steps that leave out state that only its author model can read. */

import type { AIMessage, BaseMessage, MessageContent, ToolMessage } from "@langchain/core/messages";
import type { ToolCall } from "@langchain/core/messages/tool";
import { isAIMessage } from "../../../history/call.js";
import { isMark } from "../../../history/marks.js";
import { contentText, copyMessage, isSameMessage, withTextFor } from "../../../history/message.js";
import { callIdOf, isPlaceholder, isResult } from "../../../history/result.js";
import { serverCallId, serverItemsText, serverResultTexts } from "../../../history/server-tools.js";
import { defined, isRecord, pickFields, textIn } from "../../../shared/values.js";
import {
  isNotedOwn,
  isOwn,
  mayHaveWritten,
  type Rules,
  readMaker,
  type StateField,
  type Target,
} from "../../contract/rule.js";
import { REASONING_FIELD, RENAMED_REASONING } from "../../host-fields/fields.js";
import { openaiResponses } from "../../makers/openai/dialect.js";
import {
  answeredIds,
  callsBeforeText,
  fieldsOfKind,
  functionItemIds,
  hasOtherText,
  hasScreenshot,
  itemsWithCalls,
  kindOfResult,
  NO_SCREENSHOT,
  type OutputKind,
  outputKinds,
  storedItemIds,
  storedOutput,
  trailingReasoning,
} from "../../makers/openai/stored-items.js";
import { readMedia } from "../../media/media.js";
import type { Step } from "../step.js";

/*
 * Leaves out what only another model can read.
 *
 * The target's own messages stay as they are: each block, item and field in its place. Of another model's message its
 * texts, calls and media are sent, what its provider's tools returned as text, and nothing else: nobody can list all
 * that a provider signs, encrypts or numbers. If nothing names the author, state in the provider's own form counts as
 * the provider's. LangChain's `v1` form is converted differently by each client, so such a message is sent whole only
 * to whoever was asked for it.
 */

export const keepOwnState: Step = (target) => (message) => {
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
  const { content } = message;
  if (!Array.isArray(content) || !content.some(({ type }) => sharedBlocks.includes(type))) return message;
  return copyMessage(message, { content: content.filter(({ type }) => !sharedBlocks.includes(type)) });
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
function withReturned(content: MessageContent, message: AIMessage): MessageContent {
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
function plainCall(call: ToolCall): ToolCall {
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
function withoutFields<Message extends BaseMessage>(
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

/*
 * Refers to items stored by OpenAI's Responses API only where they still match the message.
 *
 * The client sends a stored response instead of the message, so both must have the same texts, and the same calls with
 * the same names and arguments. An edited call's item is written anew. A reference to reasoning needs a reference to
 * the item after it, and the reverse. An item is referred to once, and only by its own id: an Anthropic message's id
 * looks like an OpenAI item's. The result of a custom or computer call is marked, because the API takes only an output
 * of the same kind. A call whose output is among the items has no other, and one that the provider has run gets no
 * placeholder.
 */

const ITEM_ID = /^(msg|fc)_/;

export const fitStoredItems: Step = (target) => {
  const { rules, callPlaces } = target.dialect;
  if (rules["item-id"] === undefined && !callPlaces.includes("output")) return (message) => message;
  const used = new Set<string>();
  let kinds: ReadonlyMap<string, OutputKind> = new Map();
  let answered: ReadonlySet<string> = new Set();
  let run: ReadonlySet<string> = new Set();
  return (message) => {
    const ids = storedItemIds(message);
    const isRepeated =
      rules["item-id"] !== undefined && (ids.some((id) => used.has(id)) || new Set(ids).size < ids.length);
    for (const id of ids) used.add(id);
    if (isResult(message)) {
      const id = callIdOf(message);
      if (answered.has(id) || (run.has(id) && isPlaceholder(message))) return undefined;
      const result = ids.length === 0 ? message : withForeignId(message);
      return withKind(result, kinds.get(id));
    }
    if (!isAIMessage(message)) return message;
    // A program writes the outputs of calls without ids, because nothing has stored them.
    const isUnstored =
      ids.length === 0 && storedOutput(message) !== undefined && readMaker(message).provider === undefined;
    const mayRefer = !isRepeated && (isUnstored || isOwn(message, target));
    const own = mayRefer ? withFittingItems(message, rules) : undefined;
    const sent = own ?? withForeignId(withoutItems(message));
    kinds = outputKinds(sent);
    answered = new Set(answeredIds(sent));
    run = callsBeforeText(sent);
    return sent;
  };
};

/** The message with stored items that say the same. Undefined if they cannot. */
function withFittingItems(message: AIMessage, rules: Rules): AIMessage | undefined {
  const calls = (message.tool_calls ?? []).map(({ id = "", name, args }) => ({ id, name, args }));
  const output = storedOutput(message);
  const named = functionItemIds(message);
  const kinds = outputKinds(message);
  if (named.size > 0 && !calls.every(({ id }) => named.has(id) || kinds.has(id))) return undefined;
  if (output === undefined) return message;
  const items = itemsWithCalls(message, calls);
  const isAlone = rules["reasoning-alone"] !== undefined && trailingReasoning(output) !== undefined;
  if (items === undefined || isAlone || hasOtherText(output, message)) return undefined;
  if (items === output) return message;
  return copyMessage(message, { response_metadata: { ...message.response_metadata, output: items } });
}

/** The same message without items. Custom and computer calls become function calls, because they need their items. */
function withoutItems(message: AIMessage): AIMessage {
  const content = withReturned(message.content, message);
  const items = withoutFields(message, openaiResponses.stateFields);
  const rest = content === message.content ? items : copyMessage(items, { content });
  const { tool_calls = [] } = rest;
  if (!tool_calls.some((call) => "isCustomTool" in call || "isComputerTool" in call)) return rest;
  return copyMessage(rest, { tool_calls: tool_calls.map(plainCall) });
}

function withKind(result: ToolMessage, kind: OutputKind): ToolMessage {
  const content = contentOfKind(result, kind);
  if (kindOfResult(result) === kind && content === result.content) return result;
  return copyMessage(result, { additional_kwargs: fieldsOfKind(result, kind), content });
}

function contentOfKind(result: ToolMessage, kind: OutputKind): ToolMessage["content"] {
  const { content } = result;
  if (kind === "computer") return hasScreenshot(result) ? content : [NO_SCREENSHOT];
  // The client writes a list of texts as JSON only in a function call's output.
  const isTexts = Array.isArray(content) && content.every(({ type }) => type === "text");
  return kind === "custom" && isTexts ? contentText(result) : content;
}

function withForeignId<Message extends BaseMessage>(message: Message): Message {
  if (!ITEM_ID.test(message.id ?? "")) return message;
  return copyMessage<BaseMessage>(message, { id: `tether_${message.id}` }) as Message;
}
