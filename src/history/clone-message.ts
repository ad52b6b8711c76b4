import type { BaseMessage } from "@langchain/core/messages";
import { toJson } from "../shared/to-json.js";
import { copyMessage } from "./copy-message.js";

/**
 * The same message, to be written into: it shares nothing with the given one, and every field that it has by now is
 * serialized. LangChain serializes only what the constructor was given, so a field that was added since would be lost.
 */
export function cloneMessage<T extends BaseMessage>(message: T): T {
  return copyMessage(message, clonePlain(fieldsOf(message)) as Partial<T>);
}

/** Whether two messages say the same, whatever their classes were constructed with. */
export function isSameMessage(one: BaseMessage | undefined, other: BaseMessage | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return toJson(fieldsOf(one)) === toJson(fieldsOf(other));
}

function fieldsOf(message: BaseMessage): object {
  return Object.fromEntries(Object.entries(message).filter(([name]) => !name.startsWith("lc_")));
}

/** What is no plain data (a client's raw response, a function) is kept as it is; `structuredClone` would throw. */
function clonePlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(clonePlain);
  if (typeof value !== "object" || value === null) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, clonePlain(field)]));
}
