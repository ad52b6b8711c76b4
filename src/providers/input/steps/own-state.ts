/** The steps that leave out state that only its author model can read. */

import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { ToolCall } from "@langchain/core/messages/tool";
import { isAIMessage } from "../../../history/call.js";
import { contentText, copyMessage, withTextFor } from "../../../history/message.js";
import { callIdOf, isPlaceholder, isResult } from "../../../history/result.js";
import { serverCallId, serverItemsText, serverResultId } from "../../../history/server-tools.js";
import {
  type Dialect,
  mayHaveWritten,
  readMaker,
  type StateField,
  type Target,
} from "../../contract/rule.js";
import { isHostField } from "../../host-fields/fields.js";
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
import { DIALECTS, STATE_BLOCKS, STATE_FIELDS } from "../../table/dialects.js";
import type { Step } from "../step.js";

/*
 * Drops signatures, encrypted reasoning and stored items' ids, unless the target model wrote them.
 *
 * Another provider cannot use them, and most reject state that they cannot verify. If a message's author is unknown,
 * state in the provider's own fields counts as the provider's. A message in LangChain's `v1` form has its state in
 * blocks that each client converts differently, so it is sent without state. What a provider's tools returned is sent
 * as text.
 */

export const keepOwnState: Step = (target) => (message) => {
  if (!isAIMessage(message)) return withoutFields(message, [VERSION]);
  return withOwnState(withOwnSignatures(message, target), isOwnMessage(message, target), target);
};

/** Whether a message's state is the target's. */
export function isOwnMessage(message: AIMessage, target: Target): boolean {
  const isVersion1 = message.response_metadata?.[VERSION.name] === "v1";
  return target.dialect.makers.length > 0 && mayHaveWritten(message, target) && !isVersion1;
}

const VERSION: StateField = { place: "response_metadata", name: "output_version" };

const SIGNATURES = Object.values<Dialect>(DIALECTS).flatMap((dialect) => dialect.withoutSignatures ?? []);

/** Also in LangChain's `v1` form: the client keeps them on the calls. */
function withOwnSignatures(message: AIMessage, target: Target): AIMessage {
  const { withoutSignatures: own } = target.dialect;
  return SIGNATURES.reduce(
    (rest, without) => (without === own && mayHaveWritten(message, target) ? rest : without(rest)),
    message,
  );
}

function withOwnState(message: AIMessage, isOwn: boolean, { dialect }: Target): BaseMessage {
  const isKept = ({ name }: StateField): boolean =>
    isOwn && dialect.stateFields.some((field) => field.name === name);
  const isMakerNamed = readMaker(message).provider !== undefined;
  const isTaken = (type: string): boolean =>
    isOwn && dialect.stateBlocks.includes(type) && (isMakerNamed || !dialect.sharedBlocks?.includes(type));
  const isLostBlock = (block: { readonly type: string }): boolean =>
    (STATE_BLOCKS.has(block?.type) && !isTaken(block.type)) ||
    (!isOwn && (serverCallId(block) ?? serverResultId(block)) !== undefined);
  const { content } = message;
  const rest = withoutFields(message, [
    VERSION,
    ...STATE_FIELDS.filter(
      (field) => !isKept(field) && !isHostField(field.name, message[field.place]?.[field.name]),
    ),
  ]);
  return Array.isArray(content) && content.some(isLostBlock)
    ? copyMessage(rest, { content: withTextFor(content, (block) => !isLostBlock(block)) })
    : rest;
}

/** The message without these fields. What the provider's tools returned in them is added to its content. */
function withoutFields<Message extends BaseMessage>(
  message: Message,
  fields: readonly StateField[],
): Message {
  const lost = fields.filter(({ place, name }) => {
    const value: unknown = message[place]?.[name];
    // An empty text holds no state.
    return value !== undefined && value !== "";
  });
  if (lost.length === 0) return message;
  const { additional_kwargs, response_metadata, content } = message;
  const copies = { additional_kwargs: { ...additional_kwargs }, response_metadata: { ...response_metadata } };
  // A response's items are in two fields.
  const text = lost.map(({ place, name }) => serverItemsText(copies[place][name])).find(Boolean);
  for (const { place, name } of lost) delete copies[place][name];
  if (text === undefined) return copyMessage<BaseMessage>(message, copies) as Message;
  return copyMessage<BaseMessage>(message, {
    ...copies,
    content: Array.isArray(content)
      ? [{ type: "text", text }, ...content]
      : [text, content].filter(Boolean).join("\n"),
  }) as Message;
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

export const fitStoredItems: Step = ({ dialect }) => {
  if (dialect.rules["item-id"] === undefined) return (message) => message;
  const used = new Set<string>();
  let kinds: ReadonlyMap<string, OutputKind> = new Map();
  let answered: ReadonlySet<string> = new Set();
  let run: ReadonlySet<string> = new Set();
  return (message) => {
    const ids = storedItemIds(message);
    const isRepeated = ids.some((id) => used.has(id)) || new Set(ids).size < ids.length;
    for (const id of ids) used.add(id);
    if (isResult(message)) {
      const id = callIdOf(message);
      if (answered.has(id) || (run.has(id) && isPlaceholder(message))) return undefined;
      const result = ids.length === 0 ? message : withForeignId(message);
      return withKind(result, kinds.get(id));
    }
    if (!isAIMessage(message)) return message;
    const { provider } = readMaker(message);
    // A program writes the outputs of calls without ids, because nothing has stored them.
    const isUnstored = ids.length === 0 && storedOutput(message) !== undefined;
    const isOwn = provider === undefined ? isUnstored : dialect.makers.includes(provider);
    const own = isOwn && !isRepeated ? withFittingItems(message) : undefined;
    const sent = own ?? withForeignId(withoutItems(message));
    kinds = outputKinds(sent);
    answered = new Set(answeredIds(sent));
    run = callsBeforeText(sent);
    return sent;
  };
};

/** The message with stored items that say the same. Undefined if they cannot. */
function withFittingItems(message: AIMessage): AIMessage | undefined {
  const calls = (message.tool_calls ?? []).map(({ id = "", name, args }) => ({ id, name, args }));
  const output = storedOutput(message);
  const named = functionItemIds(message);
  const kinds = outputKinds(message);
  if (named !== undefined && !calls.every(({ id }) => named.has(id) || kinds.has(id))) return undefined;
  if (output === undefined) return message;
  const items = itemsWithCalls(message, calls);
  if (items === undefined || trailingReasoning(output) !== undefined || hasOtherText(output, message))
    return undefined;
  if (items === output) return message;
  return copyMessage(message, { response_metadata: { ...message.response_metadata, output: items } });
}

/** The same message without items. Custom and computer calls become function calls, because they need their items. */
function withoutItems(message: AIMessage): AIMessage {
  const rest = withoutFields(message, openaiResponses.stateFields);
  const { tool_calls = [] } = rest;
  if (!tool_calls.some((call) => "isCustomTool" in call || "isComputerTool" in call)) return rest;
  const plain = tool_calls.map(
    ({ id = "", name, args }): ToolCall => ({ type: "tool_call", id, name, args }),
  );
  return copyMessage(rest, { tool_calls: plain });
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
