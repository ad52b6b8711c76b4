/** Messages in short notation, for tests about their order. */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import { PLACEHOLDER_KEY } from "../../src/history/result.js";
import { createSummary } from "../../src/history/summary.js";

export const human = (id: string, content = `text of ${id}`) => new HumanMessage({ content, id });

export const system = (id: string) => new SystemMessage({ content: `text of ${id}`, id });

/** An AI message with calls of these ids, or with a text if there are none. */
export function ai(id: string, ...callIds: string[]): AIMessage {
  const tool_calls = callIds.map((callId) => ({ id: callId, name: `tool_${callId}`, args: {} }));
  return new AIMessage({ content: callIds.length > 0 ? "" : `text of ${id}`, id, tool_calls });
}

export const result = (id: string, callId: string, content = `text of ${id}`) =>
  new ToolMessage({ content, id, tool_call_id: callId });

export const placeholder = (id: string, callId: string) =>
  new ToolMessage({
    content: `text of ${id}`,
    id,
    tool_call_id: callId,
    status: "error",
    additional_kwargs: { [PLACEHOLDER_KEY]: "unrecorded" },
  });

export function summary(id: string, coverage: Parameters<typeof createSummary>[1]): HumanMessage {
  const { content, additional_kwargs } = createSummary(`text of ${id}`, coverage);
  return new HumanMessage({ content, additional_kwargs, id });
}

export const removal = (id: string) => new RemoveMessage({ id });

export const removeAll = () => new RemoveMessage({ id: REMOVE_ALL_MESSAGES });

/**
 * Messages in one line: `h` is one of a user, `s!` of the system, `a()` a response, `a(c,d)` one with calls, `t:c` a
 * result, `p?c` a placeholder, `-h` a removal and `-*` that of everything. `s[h,a]` is a summary that keeps what it
 * covers, and `s[h,a|c]` one that has archived it, with calls. After `~` stands another content.
 */
export function messagesIn(line: string): BaseMessage[] {
  return line.split(" ").flatMap((word): BaseMessage[] => {
    const [, minus, id = "", kind, given = "", content] =
      /^(-?)([\w.*-]*)([!([:?]?)([^)\]~]*)[)\]]?(?:~(.*))?$/.exec(word) ?? [];
    const names = (list: string) => list.split(",").filter((name) => name !== "");
    if (minus === "-") return [id === "*" ? removeAll() : removal(id)];
    if (kind === "!") return [system(id)];
    if (kind === "(") return [ai(id, ...names(given))];
    if (kind === ":") return [result(id, given, content)];
    if (kind === "?") return [placeholder(id, given)];
    if (kind === "[") {
      const [messages = "", calls] = given.split("|");
      if (calls === undefined) return [summary(id, { kind: "keep", messages: names(messages) })];
      return [
        summary(id, { kind: "archive", checkpoint: "c", messages: names(messages), calls: names(calls) }),
      ];
    }
    return id === "" ? [] : [human(id, content)];
  });
}
