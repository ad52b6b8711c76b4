/** Messages with any content, for tests of what is sent of it. */

import {
  AIMessage,
  type AIMessageFields,
  HumanMessage,
  type MessageContent,
  SystemMessage,
  ToolMessage,
  type ToolMessageFields,
} from "@langchain/core/messages";

/** A sound picture of one pixel. */
export const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==";
export const PICTURE_URL = `data:image/png;base64,${PICTURE}`;

export const user = (content: unknown, fields: object = {}) =>
  new HumanMessage({ content: content as MessageContent, ...fields });

export const system = (content: unknown) => new SystemMessage({ content: content as MessageContent });

export const says = (content: unknown, fields: object = {}) =>
  new AIMessage({ content, ...fields } as AIMessageFields);

export const call = (id: string, city = "Oslo") => ({
  id,
  name: "look",
  args: { city },
  type: "tool_call" as const,
});

/** A response with calls of these ids. */
export const calls = (...ids: string[]) => says("", { tool_calls: ids.map((id) => call(id)) });

export const result = (id: string, content: unknown = "clear", fields: object = {}) =>
  new ToolMessage({ content, tool_call_id: id, ...fields } as ToolMessageFields);
