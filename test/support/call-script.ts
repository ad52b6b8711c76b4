/**
 * A script for a model that the user tells what to call: `call heedful {"ms": 9} and call deaf`. It calls that, and then
 * says what the tools returned. To any other text it says that it read it.
 */

import type { Asked, Reply, SentMessage } from "./strict-provider/start-strict-provider.js";

/** The model of a supervisor: it hands each request to its worker. */
export const SUPERVISOR = "supervisor";
const HAND_OFF = "transfer_to_worker";
/** What LangGraph's hand-off tools return. */
const HANDED_OFF = /^Successfully transferred/;

/** The model's response to a request, which ends with the last message of the user and the results since. */
export function playCalls({ model, messages }: Pick<Asked, "model" | "messages">): Reply {
  const place = messages.findLastIndex(({ role }) => role === "user");
  const request = textOf(messages[place]);
  const results = messages.slice(place + 1).filter(({ role }) => role === "tool");
  const own = results.map(textOf).filter((text) => !HANDED_OFF.test(text));
  const wanted = request.startsWith("call ") ? request : "";
  const calls = [...wanted.matchAll(/call (\w+)(?: (\{[^}]*\}))?/g)].map(([, name = "", args = "{}"]) => ({
    name,
    args: JSON.parse(args) as object,
  }));
  if (model.startsWith(SUPERVISOR))
    return calls.length > 0 && results.length === 0
      ? { calls: [{ name: HAND_OFF, args: {} }] }
      : { text: "The worker has done it." };
  if (calls.length > 0 && own.length === 0) return { calls };
  return {
    text: own.length > 0 ? `The tools returned: ${own.join(", ")}` : `I read: ${request.slice(0, 40)}`,
  };
}

function textOf(message: SentMessage | undefined): string {
  const content = message?.content;
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((block) => String(block?.text ?? "")).join("\n") : "";
}
