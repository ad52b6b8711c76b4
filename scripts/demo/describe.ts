/** Describes messages and tool calls. */

import type { AIMessage, Message } from "@langchain/langgraph-sdk";

export function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

/** A tool call in the form `calculator(input: "3*4")`. */
export interface WireCall {
  readonly id: string | undefined;
  readonly name: string;
  readonly words: string;
}

/** The tool calls of a message. Calls with invalid arguments come last. */
export function callsOf({ tool_calls = [], invalid_tool_calls = [] }: AIMessage): WireCall[] {
  return [
    ...tool_calls.map(({ id, name, args }) => ({ id, name, words: describeCall({ name, args }) })),
    ...invalid_tool_calls.map(({ id, name = "unknown", args = "" }) => ({
      id,
      name,
      words: `${name}(${args})`,
    })),
  ];
}

export function describeCall(call: { name: string; args: Readonly<Record<string, unknown>> }): string {
  const words = Object.entries(call.args).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return `${call.name}(${words.join(", ")})`;
}

/** The mark of a placeholder, a result that was written because none was recorded; see `src/history/result.ts`. */
export function placeholderCauseOf({ additional_kwargs }: Message): string | undefined {
  const cause = additional_kwargs?.["tether_placeholder"];
  return cause === undefined ? undefined : String(cause);
}
