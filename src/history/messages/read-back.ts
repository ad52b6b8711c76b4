/** The classes of LangChain's messages that a checkpoint can read back. */
const READ_BACK: ReadonlySet<string> = new Set([
  "AIMessage",
  "HumanMessage",
  "SystemMessage",
  "ToolMessage",
  "FunctionMessage",
  "ChatMessage",
  "RemoveMessage",
]);

const PLACE = "langchain_core/messages";

/**
 * Whether a checkpoint can make this instance of LangChain again. It finds the class by its name, so it cannot find a
 * subclass that a program has made, and a thread with one cannot be read.
 */
export function isReadBack(instance: object): boolean {
  const kind: object | null = Object.getPrototypeOf(instance);
  if (kind === null || Object.hasOwn(instance, "lc_id")) return isNamedInPlace(instance);
  const isKnown = known.get(kind) ?? isNamedInPlace(instance);
  known.set(kind, isKnown);
  return isKnown;
}

/** By prototype: all instances of a class have one name, and every message that is read asks for it. */
const known = new WeakMap<object, boolean>();

function isNamedInPlace(instance: object): boolean {
  const id: unknown = Reflect.get(instance, "lc_id");
  return (
    Array.isArray(id) &&
    id.slice(0, -1).join("/") === PLACE &&
    READ_BACK.has(String(id.at(-1)).replace(/Chunk$/, ""))
  );
}
