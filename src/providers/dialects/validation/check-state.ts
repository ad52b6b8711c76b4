/** Checks state that only the model that wrote it can read. */

import { isAIMessage } from "../../../history/messages/call.js";
import { readMaker } from "../maker.js";
import { reasoningOf } from "../reasoning-field.js";
import { storedItemIds, storedOutput, trailingReasoning } from "../stored-items.js";
import type { Check } from "./check.js";
import { blockType } from "./sent-message.js";

export const checkState: Check = (messages, { stateFields, stateBlocks, makers }, report) => {
  const items = new Set<string>();
  for (const { message, index } of messages) {
    for (const id of storedItemIds(message)) {
      if (items.has(id) || message.type === "tool") report("item-id", index, { id });
      items.add(id);
    }
    if (!isAIMessage(message)) continue;
    const reasoning = trailingReasoning(storedOutput(message));
    if (reasoning !== undefined) report("reasoning-alone", index, { id: reasoning });
    const { provider } = readMaker(message);
    const isForeign = makers.length === 0 || (provider !== undefined && !makers.includes(provider));
    const field = stateFields.find(({ place, name }) => message[place]?.[name] !== undefined);
    const block = Array.isArray(message.content)
      ? message.content.map(blockType).find((type) => stateBlocks.includes(type))
      : undefined;
    const carried = field?.name ?? block;
    if (isForeign && carried !== undefined) report("foreign-state", index, { id: carried });
    const id = String(message.id);
    if (isForeign && id.startsWith("msg_")) report("item-id", index, { id });
    if (reasoningOf(message) === undefined) report("missing-reasoning", index);
  }
};
