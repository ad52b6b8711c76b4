/** Reads and makes messages in the form in which LangChain stores them, which is plain JSON. */

import type { StoredMessage } from "@langchain/core/messages";

type Data = StoredMessage["data"];

export interface StoredCall {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
}

export function textOfStored({ data }: StoredMessage): string {
  const content: unknown = data.content;
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((block) => String(block?.text ?? "")).join("") : "";
}

export interface StoredPicture {
  readonly mimeType: string;
  /** In base64. */
  readonly data: string;
}

/** The pictures of a message of the user. */
export function picturesOfStored({ data }: StoredMessage): readonly StoredPicture[] {
  const content: unknown = data.content;
  if (!Array.isArray(content)) return [];
  return (content as (StoredPicture & { readonly type: string })[]).filter(({ type }) => type === "image");
}

export function callsOfStored({ data }: StoredMessage): readonly StoredCall[] {
  const listed: unknown = Reflect.get(data, "tool_calls");
  const invalid: unknown = Reflect.get(data, "invalid_tool_calls");
  return [listed, invalid].flatMap((calls) => (Array.isArray(calls) ? (calls as StoredCall[]) : []));
}

const stored = (type: string, data: object): StoredMessage => ({
  type,
  data: { role: undefined, name: undefined, tool_call_id: undefined, ...data } as Data,
});

export const human = (content: string, id?: string): StoredMessage => stored("human", { content, id });
export const humanWithPicture = (text: string, picture: StoredPicture): StoredMessage =>
  stored("human", {
    content: [
      { type: "text", text },
      { type: "image", ...picture },
    ],
  });
export const ai = (content: string, calls: readonly string[] = [], id?: string): StoredMessage =>
  stored("ai", {
    content,
    id,
    tool_calls: calls.map((callId) => ({ id: callId, name: "look", args: {}, type: "tool_call" })),
  });
export const toolResult = (callId: string, content = `result of ${callId}`, id?: string): StoredMessage =>
  stored("tool", { content, id, tool_call_id: callId, name: "look" });
export const removal = (id: string) => ({ type: "remove", id });
