/** The message classes that `messageSerializer` reads and writes by itself, and their fields. */

import { isPlainObject } from "../../shared/values.js";

/** What LangGraph stores of a LangChain object: its class name, and its constructor's arguments. */
interface MessageRecord {
  readonly lc: 1;
  readonly type: "constructor";
  readonly id: readonly string[];
  readonly kwargs: Readonly<Record<string, unknown>>;
}

export interface MessageClass {
  readonly create: new (fields: Record<string, unknown>) => object;
  /** The method that LangGraph's serializer would call. LangGraph writes a message with another one. */
  readonly toJSON: unknown;
  /** A message's stored JSON up to its first field. */
  readonly head: string;
  /** The constructor's fields by their stored names. */
  readonly fieldOf: ReadonlyMap<string, string>;
  /** The stored names by field. Two spellings of a field share a stored name. */
  readonly keyOf: ReadonlyMap<string, string>;
}

/** The classes from one copy of LangChain and LangGraph. */
export interface MessageClasses {
  readonly byName: ReadonlyMap<string, MessageClass>;
  readonly byPrototype: ReadonlyMap<object, MessageClass>;
  readonly snapshot: new (value: unknown) => { value: unknown };
}

export const NAMESPACE = ["langchain_core", "messages"] as const;
/** What stands for `undefined`. */
export const UNDEFINED = { lc: 2, type: "undefined" } as const;

/** Fields that LangChain stores under one spelling and reads under another. */
const RENAMED: Readonly<Record<string, string>> = {
  content_blocks: "contentBlocks",
  lc_serializable: "lcSerializable",
  lc_kwargs: "lcKwargs",
  lc_namespace: "lcNamespace",
  lc_direct_tool_output: "lcDirectToolOutput",
};
const RENAMED_IN: Readonly<Record<string, typeof RENAMED>> = {
  AIMessage: { ...RENAMED, tool_call_chunks: "toolCallChunks" },
};

type Samples = Readonly<Record<string, unknown>>;

/** The fields' stored names, each with a value. LangChain spells other names differently when it reads them. */
const COMMON: Samples = {
  content: "text",
  additional_kwargs: { kept: [1, null, UNDEFINED], dropped: UNDEFINED },
  response_metadata: { model: "name" },
  id: "id",
  name: "name",
  // A streamed response becomes a message by `new AIMessage({ ...chunk })`. So it has what every message has.
  type: "type",
  lc_serializable: true,
  lc_kwargs: { content: "text", lc_kwargs: { none: UNDEFINED } },
  lc_namespace: [...NAMESPACE],
};
const OF_RESPONSES: Samples = {
  ...COMMON,
  tool_calls: [{ id: "call", name: "look", args: { city: "Rome" }, type: "tool_call" }],
  invalid_tool_calls: [],
  tool_call_chunks: [],
  usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
};
const FIELDS: Readonly<Record<string, Samples>> = {
  HumanMessage: COMMON,
  AIMessage: OF_RESPONSES,
  AIMessageChunk: OF_RESPONSES,
  SystemMessage: COMMON,
  ToolMessage: {
    ...COMMON,
    tool_call_id: "call",
    status: "success",
    artifact: { rows: [] },
    metadata: UNDEFINED,
    lc_direct_tool_output: true,
  },
  RemoveMessage: COMMON,
};
const BLOCKS = { content_blocks: [{ type: "text", text: "text" }] };

/** One message of each class with all its fields, and one of each with content blocks. */
export const SAMPLE_MESSAGES: readonly MessageRecord[] = Object.entries(FIELDS).flatMap(
  ([name, { content, ...others }]) => [
    recordOf(name, { content, ...others }),
    recordOf(name, { ...BLOCKS, ...others }),
  ],
);

function recordOf(name: string, kwargs: Samples): MessageRecord {
  return { lc: 1, type: "constructor", id: [...NAMESPACE, name], kwargs };
}

/**
 * Learns the classes from what another serializer makes of `SAMPLE_MESSAGES` and a snapshot. So a message gets the
 * class that this serializer gives it, from whichever copy of LangChain.
 *
 * @throws TypeError if it makes something else.
 */
export function learnClasses(messages: readonly unknown[], snapshot: unknown): MessageClasses {
  const byName = new Map<string, MessageClass>();
  const byPrototype = new Map<object, MessageClass>();
  for (const [index, { id }] of SAMPLE_MESSAGES.entries()) {
    const name = id[NAMESPACE.length] ?? "";
    const message = Object(messages[index]);
    if (byName.has(name)) continue;
    const create = constructorOf<MessageClass["create"]>(message);
    const messageClass = {
      create,
      toJSON: message.toJSON,
      head: `{"lc":1,"type":"constructor","id":${JSON.stringify(id)},"kwargs":{`,
      ...namesOf(Object.keys({ ...FIELDS[name], ...BLOCKS }), RENAMED_IN[name] ?? RENAMED),
    };
    byName.set(name, messageClass);
    byPrototype.set(Object.getPrototypeOf(message), messageClass);
  }
  return { byName, byPrototype, snapshot: constructorOf<MessageClasses["snapshot"]>(snapshot) };
}

function constructorOf<Constructor>(value: unknown): Constructor {
  if (typeof value !== "object" || value === null || isPlainObject(value))
    throw new TypeError(`Expected an object of a class, got \`${typeof value}\`.`);
  return value.constructor as Constructor;
}

function namesOf(
  keys: readonly string[],
  renamed: Readonly<Record<string, string>>,
): Pick<MessageClass, "fieldOf" | "keyOf"> {
  const pairs = keys.map((key) => [key, renamed[key] ?? key] as const);
  return {
    fieldOf: new Map(pairs),
    keyOf: new Map(pairs.flatMap(([key, field]) => [[key, key] as const, [field, key] as const])),
  };
}
