import type { BaseMessage } from "@langchain/core/messages";
import { isPlainObject } from "../../shared/is-plain-object.js";
import { toJson } from "../../shared/to-json.js";
import { MOST_LEVELS } from "../reading/storable.js";
import { copyMessage } from "./copy-message.js";

/**
 * A deep copy of a message that can be changed freely. All current fields of the message are serialized with
 * the copy: LangChain serializes only the fields that the constructor received, so a field that was set later
 * would be lost.
 */
export function cloneMessage<T extends BaseMessage>(message: T): T {
  return copyMessage(message, clonePlain(fieldsOf(message)) as Partial<T>);
}

/** Whether two messages have the same content, however they were constructed. */
export function isSameMessage(one: BaseMessage | undefined, other: BaseMessage | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return toJson(fieldsOf(one)) === toJson(fieldsOf(other));
}

function fieldsOf(message: BaseMessage): object {
  return Object.fromEntries(Object.entries(message).filter(([name]) => !name.startsWith("lc_")));
}

/**
 * Values that are not plain data (a client's raw response, a function) are kept as they are:
 * `structuredClone` would throw. So is what is nested deeper than a message can store.
 */
function clonePlain(value: unknown, levels = MOST_LEVELS + 2): unknown {
  if (typeof value !== "object" || value === null || levels === 0) return value;
  if (Array.isArray(value)) return value.map((item) => clonePlain(item, levels - 1));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, clonePlain(field, levels - 1)]),
  );
}
