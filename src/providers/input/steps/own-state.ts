/** The steps that leave out state which only the model that wrote it can read. */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/call.js";
import { copyMessage, withTextFor } from "../../../history/message.js";
import { serverCallId, serverItemsText, serverResultId } from "../../../history/server-tools.js";
import { DIALECTS, STATE_BLOCKS, STATE_FIELDS } from "../../dialects.js";
import { isHostField } from "../../host-fields/fields.js";
import {
  callIdsOfOutput,
  functionItemIds,
  openaiResponses,
  storedItemIds,
  storedOutput,
  trailingReasoning,
} from "../../openai/dialect.js";
import { type Dialect, mayHaveWritten, readMaker, type StateField, type Target } from "../../rule.js";
import type { Step } from "../step.js";

/*
 * Drops signatures, encrypted reasoning and ids of stored items, unless the target model wrote them.
 *
 * Another provider cannot use them, and most reject state that they cannot verify. The author of a message is not
 * always known. If it is unknown, state in the provider's own fields counts as the provider's. A message in
 * LangChain's `v1` form has its state in blocks that each client converts differently, so it is sent without state.
 * What tools of a provider returned is sent as text.
 */

export const keepOwnState: Step = (target) => (message) => {
  if (!isAIMessage(message)) return withoutFields(message, [VERSION]);
  const isOwn = target.dialect.makers.length > 0 && mayHaveWritten(message, target);
  const isVersion1 = message.response_metadata?.[VERSION.name] === "v1";
  return withOwnState(withOwnSignatures(message, target), isOwn && !isVersion1, target);
};

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
  const isLostBlock = (block: { readonly type: string }): boolean =>
    (STATE_BLOCKS.has(block?.type) && !(isOwn && dialect.stateBlocks.includes(block.type))) ||
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

/** The message without these fields. What tools of the provider returned in them is added to its content. */
function withoutFields(message: BaseMessage, fields: readonly StateField[]): BaseMessage {
  const lost = fields.filter(({ place, name }) => {
    const value: unknown = message[place]?.[name];
    // An empty text holds no state.
    return value !== undefined && value !== "";
  });
  if (lost.length === 0) return message;
  const { additional_kwargs, response_metadata, content } = message;
  const copies = { additional_kwargs: { ...additional_kwargs }, response_metadata: { ...response_metadata } };
  // The items of a response stand in two fields.
  const text = lost.map(({ place, name }) => serverItemsText(copies[place][name])).find(Boolean);
  for (const { place, name } of lost) delete copies[place][name];
  if (text === undefined) return copyMessage(message, copies);
  return copyMessage(message, {
    ...copies,
    content: Array.isArray(content)
      ? [{ type: "text", text }, ...content]
      : [text, content].filter(Boolean).join("\n"),
  });
}

/*
 * Refers to items stored by OpenAI's Responses API only where they still match the message.
 *
 * The client sends a stored response in place of the message, so it must have the same calls. A reference to
 * reasoning needs a reference to the item after it, and the reverse. An item is referred to once, and only by its own
 * id: the id of an Anthropic message looks like an id of an OpenAI item.
 */

const ITEM_ID = /^(msg|fc)_/;

export const fitStoredItems: Step = ({ dialect }) => {
  if (dialect.rules["item-id"] === undefined) return (message) => message;
  const used = new Set<string>();
  return (message) => {
    const ids = storedItemIds(message);
    const isRepeated = ids.some((id) => used.has(id)) || new Set(ids).size < ids.length;
    for (const id of ids) used.add(id);
    if (!isAIMessage(message)) return ids.length === 0 ? message : withForeignId(message);
    const { provider = "" } = readMaker(message);
    const isOwn = dialect.makers.includes(provider);
    if (isOwn && !isRepeated && fitsMessage(message)) return message;
    return withForeignId(withoutFields(message, openaiResponses.stateFields));
  };
};

function fitsMessage(message: AIMessage): boolean {
  const calls = (message.tool_calls ?? []).map(({ id }) => id ?? "");
  const output = storedOutput(message);
  const named = functionItemIds(message);
  return (
    (output === undefined || callIdsOfOutput(output).join("\n") === calls.join("\n")) &&
    trailingReasoning(output) === undefined &&
    (named === undefined || calls.every((id) => named.has(id)))
  );
}

function withForeignId(message: BaseMessage): BaseMessage {
  return ITEM_ID.test(message.id ?? "") ? copyMessage(message, { id: `tether_${message.id}` }) : message;
}
