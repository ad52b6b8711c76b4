/**
 * Refers to items stored by OpenAI's Responses API only where they still match the message.
 *
 * The client sends a stored response in place of the message, so it must have the same calls. A reference to
 * reasoning needs a reference to the item after it, and the reverse. An item is referred to once, and only by its own
 * id: the id of an Anthropic message looks like an id of an OpenAI item.
 */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/messages/call.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { readMaker } from "../../dialects/maker.js";
import { openaiResponses } from "../../dialects/openai.js";
import {
  callIdsOfOutput,
  functionItemIds,
  storedItemIds,
  storedOutput,
  trailingReasoning,
} from "../../dialects/stored-items.js";
import { addNoted } from "./journal.js";
import type { Step, StepReason } from "./step.js";
import { withoutFields } from "./without-fields.js";

const ITEM_ID = /^(msg|fc)_/;

export const fitStoredItems: Step = ({ dialect }, journal) => {
  if (dialect.rules["item-id"] === undefined) return undefined;
  const used = new Set<string>();
  return (message) => {
    // Most messages refer to nothing.
    if (!mayRefer(message)) return message;
    const ids = storedItemIds(message);
    const isRepeated = ids.some((id) => used.has(id)) || new Set(ids).size < ids.length;
    for (const id of ids) addNoted(used, id, journal);
    if (!isAIMessage(message)) return ids.length === 0 ? message : withForeignId(message);
    if (isOwnAnswer(message, dialect.makers) && !isRepeated && fitsMessage(message)) return message;
    return withForeignId(withoutItems(message));
  };
};

function mayRefer(message: BaseMessage): boolean {
  if (ITEM_ID.test(message.id ?? "")) return true;
  for (const { place, name } of openaiResponses.stateFields)
    if (message[place]?.[name] !== undefined) return true;
  return false;
}

function isOwnAnswer(message: AIMessage, makers: readonly string[]): boolean {
  const { provider } = readMaker(message);
  return provider !== undefined && makers.includes(provider);
}

function fitsMessage(message: AIMessage): boolean {
  const calls = (message.tool_calls ?? []).map(({ id }) => id ?? "");
  const output = storedOutput(message);
  if (output !== undefined && callIdsOfOutput(output).join("\n") !== calls.join("\n")) return false;
  if (trailingReasoning(output) !== undefined) return false;
  const named = functionItemIds(message);
  return named === undefined || calls.every((id) => named.has(id));
}

function withoutItems(message: AIMessage): AIMessage {
  return withoutFields(
    message,
    openaiResponses.stateFields.filter(({ place, name }) => message[place]?.[name] !== undefined),
  );
}

function withForeignId<T extends BaseMessage>(message: T): T {
  const fields: Partial<BaseMessage> = { id: `tether_${message.id}` };
  return ITEM_ID.test(message.id ?? "") ? (copyMessage<BaseMessage>(message, fields) as T) : message;
}

export const whyFitStoredItems: StepReason = () => ({
  code: "stored-items-removed",
  text: "It does not refer to items that the provider stores, because they do not fit the message.",
  rules: ["item-id", "reasoning-alone", "foreign-state"],
});
