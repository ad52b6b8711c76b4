/** The rules about items that OpenAI's Responses API has stored. */

import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { contentText, copyMessage } from "../../history/message.js";
import { callIdOf, isPlaceholder, isResult } from "../../history/result.js";
import { isOwn, readMaker } from "../contract/author.js";
import type { StatedRules } from "../contract/rule.js";
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
} from "../contract/stored-items.js";
import { DIALECTS } from "../table/dialects.js";
import { type Fault, type HistoryRule, type InputStep, inEach } from "./rule.js";
import { isForeign, plainCall, withoutFields, withReturned } from "./state.js";

/*
 * Items are referred to only where they still match the message.
 *
 * The client sends a stored response instead of the message, so both must have the same texts, and the same calls with
 * the same names and arguments. An edited call's item is written anew. A reference to reasoning needs a reference to
 * the item after it, and the reverse. An item is referred to once, and only by its own id: an Anthropic message's id
 * looks like an OpenAI item's. The result of a custom or computer call is marked, because the API takes only an output
 * of the same kind. A call whose output is among the items has no other, and one that the provider has run gets no
 * placeholder.
 */

const ITEM_ID = /^(msg|fc)_/;

const fitStoredItems: InputStep = (target) => {
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

export const STORED_ITEMS: readonly HistoryRule[] = [
  {
    name: "item-id",
    about: "content",
    meaning: "The ids of stored items do not fit the calls or the messages that carry them.",
    find: (messages, dialect) => {
      const items = new Set<string>();
      return messages.flatMap(({ message, index }) => {
        const repeated = storedItemIds(message).flatMap((id): Fault[] => {
          const isBroken = items.has(id) || message.type === "tool";
          items.add(id);
          return isBroken ? [{ index, id }] : [];
        });
        const id = String(message.id);
        const isOther = isAIMessage(message) && isForeign(message, dialect) && id.startsWith("msg_");
        return isOther ? [...repeated, { index, id }] : repeated;
      });
    },
    step: fitStoredItems,
  },
  {
    name: "reasoning-alone",
    about: "content",
    meaning: "Stored reasoning is sent without the item that followed it.",
    find: inEach(({ message }) => {
      const id = isAIMessage(message) ? trailingReasoning(storedOutput(message)) : undefined;
      return id !== undefined && { id };
    }),
    step: fitStoredItems,
  },
];

/** The message with stored items that say the same. Undefined if they cannot. */
function withFittingItems(message: AIMessage, rules: StatedRules): AIMessage | undefined {
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
  const items = withoutFields(message, DIALECTS["openai-responses"].stateFields);
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
