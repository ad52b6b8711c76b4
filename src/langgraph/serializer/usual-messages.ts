/**
 * Makes usual messages without the constructors of LangChain. These define each field once more for every base class,
 * which takes a third of the time of reading a thread.
 */

import { isRecord } from "../../shared/is-record.js";

type Fields = Readonly<Record<string, unknown>>;
type Message = Record<string | symbol, unknown>;

/** Makes the message that a constructor makes of these fields. Undefined if only the constructor knows it. */
export type CreateUsual = (fields: Fields) => object | undefined;

/** What the constructors write after the fields that all messages have. */
const OWN_FIELDS: Readonly<Record<string, (message: Message, fields: Fields) => void>> = {
  HumanMessage: (message) => {
    message["type"] = "human";
  },
  AIMessage: (message, fields) => {
    message["type"] = "ai";
    message["tool_calls"] = fields["tool_calls"];
    message["invalid_tool_calls"] = fields["invalid_tool_calls"];
    message["usage_metadata"] = fields["usage_metadata"];
  },
  ToolMessage: (message, fields) => {
    message["lc_direct_tool_output"] = true;
    message["type"] = "tool";
    message["status"] = fields["status"];
    message["tool_call_id"] = fields["tool_call_id"];
    message["metadata"] = fields["metadata"];
    message["artifact"] = fields["artifact"];
  },
};

/** Whether a constructor writes these fields into the message as they are. */
function isUsual({ content, contentBlocks, additional_kwargs, response_metadata }: Fields): boolean {
  if (typeof content !== "string" || contentBlocks !== undefined) return false;
  // LangChain reads calls from `additional_kwargs`, and moves the content if it has this version.
  if (!isRecord(additional_kwargs) || additional_kwargs["tool_calls"] !== undefined) return false;
  return isRecord(response_metadata) && !("output_version" in response_metadata);
}

function hasLists({ tool_calls, invalid_tool_calls }: Fields): boolean {
  return Array.isArray(tool_calls) && Array.isArray(invalid_tool_calls);
}

/** What no usual message lacks. A message of another class ignores the lists. */
const LEAST: Fields = {
  content: "text",
  additional_kwargs: {},
  response_metadata: {},
  tool_calls: [],
  invalid_tool_calls: [],
};

/**
 * It is compared with the constructor. If the messages of a class have other fields, in a later version of LangChain, it
 * makes none of them.
 *
 * @param sample The fields of a usual message of the class, with all that it can have.
 */
export function learnUsual(
  name: string,
  create: new (fields: Fields) => object,
  sample: Fields,
): CreateUsual {
  const writeOwn = OWN_FIELDS[name];
  if (writeOwn === undefined) return makesNone;
  const [mark = Symbol("none")] = Object.getOwnPropertySymbols(new create({ ...LEAST }));
  // Only a function can have the prototype of another class.
  function Usual(this: Message, fields: Fields): void {
    this["lc_serializable"] = true;
    this["lc_kwargs"] = fields;
    this["lc_namespace"] = ["langchain_core", "messages"];
    this[mark] = true;
    this["id"] = fields["id"];
    this["name"] = fields["name"];
    this["content"] = fields["content"];
    this["additional_kwargs"] = fields["additional_kwargs"];
    this["response_metadata"] = fields["response_metadata"];
    writeOwn?.(this, fields);
  }
  Usual.prototype = create.prototype;
  const make = Usual as unknown as typeof create;
  for (const fields of [LEAST, sample])
    if (describe(new make({ ...fields })) !== describe(new create({ ...fields }))) return makesNone;
  const needsLists = name === "AIMessage";
  return (fields) => (isUsual(fields) && (!needsLists || hasLists(fields)) ? new make(fields) : undefined);
}

const makesNone: CreateUsual = () => undefined;

/** Every property of a message, in order. */
function describe(message: object): string {
  const keys = Reflect.ownKeys(message);
  return JSON.stringify(keys.map((key) => [String(key), Object.getOwnPropertyDescriptor(message, key)]));
}
