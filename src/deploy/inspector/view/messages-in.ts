import type { BaseMessage } from "@langchain/core/messages";
import { readList } from "../../../doctor/examine.js";
import { isRecord } from "../../../shared/values.js";

/** The stored list of a state; undefined if the state has none. */
export function storedListOf(values: unknown): readonly unknown[] | undefined {
  const list = isRecord(values) ? values["messages"] : undefined;
  return Array.isArray(list) ? list : undefined;
}

/** The messages of a state. Values that are not messages are left out: the doctor names them. */
export function messagesIn(values: unknown): readonly BaseMessage[] {
  return readList(storedListOf(values) ?? []).messages.map(({ message }) => message);
}
