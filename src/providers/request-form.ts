/**
 * Reads the body of a request to a provider, as people paste it from a refusal, into the messages that LangChain's client
 * would send as this body. Images and files are not judged, so a short text stands for each.
 */

import {
  type BaseMessage,
  ChatMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { isRecord, recordsIn } from "../shared/values.js";
import type { DialectName } from "./dialects.js";
import type { Fields } from "./rule.js";

/** The form of the requests of one API. */
export interface RequestForm {
  readonly dialect: DialectName;
  /** The name of the list in a body. */
  readonly list: "messages" | "input" | "contents";
  /**
   * Whether a body has this form. Contract: the body is empty if only its list was given.
   *
   * @param entries Those of the list that are objects.
   */
  readonly isOf: (body: Fields, entries: readonly Fields[]) => boolean;
  /** @throws InvalidSettingError for a body that leaves out what the provider has stored. */
  readonly read: (entries: readonly unknown[], body: Fields) => readonly PlacedMessage[];
  /** Faults of the form of an entry that no message of LangChain can have. */
  readonly faultsOf?: (entry: Fields, index: number) => readonly FormFault[];
}

/** A message, and the index of the entry in the list of the body that it is made from. */
export interface PlacedMessage {
  readonly message: BaseMessage;
  readonly index: number;
}

export interface FormFault {
  readonly rule: "content-form" | "arguments" | "role";
  readonly name?: string;
  /** Whether it is the fault that the provider's error for the rule is about. */
  readonly isQuoted: boolean;
}

/** Whether an entry is one of a provider: LangChain's messages have a type or are in its serialized form. */
export const hasOnlyRole = ({ role, type, lc }: Fields): boolean =>
  typeof role === "string" && type === undefined && lc === undefined;

/** Whether an entry has calls in the form of chat completions. */
export const hasFunctions = ({ tool_calls }: Fields): boolean =>
  recordsIn(tool_calls).some((call) => isRecord(call["function"]));

/** What each entry is read as. Values that are not objects are left out. */
export function readEntries(
  entries: readonly unknown[],
  read: (entry: Fields, index: number) => readonly BaseMessage[],
): PlacedMessage[] {
  return entries.flatMap((entry, index) =>
    isRecord(entry) ? read(entry, index).map((message) => ({ message, index })) : [],
  );
}

/** What stands for a part that is not judged. */
export const standIn = (kind: unknown) => ({ type: "text", text: `(${String(kind)})` });

/** A message of a user, or with instructions. Of its content, only texts are judged. */
export function readSpeaker(role: unknown, content: unknown, name?: unknown): BaseMessage {
  const blocks = recordsIn(content).map(({ type, text }) =>
    type === "text" || type === "input_text" ? { type: "text", text } : standIn(type),
  );
  const fields = {
    content: (Array.isArray(content) ? blocks : content) as never,
    ...(typeof name === "string" && { name }),
  };
  if (role === "user") return new HumanMessage(fields);
  if (role === "system" || role === "developer") return new SystemMessage(fields);
  return new ChatMessage({ ...fields, role: String(role) });
}

export function readResult(callId: unknown, content: unknown): ToolMessage {
  const tool_call_id = typeof callId === "string" ? callId : "";
  return new ToolMessage({ tool_call_id, content: plainText(content) });
}

export function plainText(content: unknown): string {
  if (typeof content === "string") return content;
  return recordsIn(content)
    .map(({ text, refusal, type }) => text ?? refusal ?? `(${String(type)})`)
    .join("");
}
