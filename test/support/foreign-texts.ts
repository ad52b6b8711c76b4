/** Texts that are hard to read, and histories that have such a text wherever somebody else can write. */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";

/** Each is repeated. They are the beginnings of what some part of the code looks for, and what ends it too early. */
export const HARD_PARTS: readonly string[] = [
  " ",
  "\n",
  "\t \n",
  "=",
  '"',
  "\\",
  "`",
  "```\n",
  "```json\n",
  "{",
  '{"a":',
  "[",
  "(",
  "<!---->",
  "<!-- ",
  '<?xml version="1.0"?>',
  "<!DOCTYPE svg ",
  "<tool_call>",
  '<tool_call>\n{"',
  "<|tool_call_begin|>",
  "`<|tool_call_begin|>",
  "call look ",
  'call look {"a": ',
  "call look {} then ",
  'call look":{"',
  "what is 1+",
  "1+1 ",
  "weather in a ",
  "note ",
  "write a summary ",
  "give ",
  "what did the the ",
  "Bearer ",
  "Bearer\n\n",
  "://a:",
  "?key=",
  "sk-proj-",
  "data:image/png;base64,",
  "${a:-",
  ", then ",
  "earlier:",
  "postgres (schema ",
  'Node "',
  ', "',
  "Received: ",
  "Troubleshooting URL: ",
  "\n\nTool: a\nArgs: ",
  "    at a (b:1:1)\n",
  "file:",
  "a/",
  "1.",
  "a ",
  "ein Wort ",
  "天气",
  "😀",
  "\ud83d",
  "\u202e",
  "é",
];

/** A history in which every text, name, id, type and address that a message can have is this text. */
export function historyOf(text: string, turns = 1): BaseMessage[] {
  return Array.from({ length: turns }, (_, turn): BaseMessage[] => {
    const call = { id: `c${turn}${text}`, name: text, args: { [text]: text, list: [text] } };
    const media = [
      { type: "image", mimeType: "image/png", data: btoa(toLatin(text)) },
      { type: "image", mimeType: text, data: text },
      { type: "image_url", image_url: { url: text } },
      { type: "image_url", image_url: { url: `data:image/png;base64,${text}` } },
      { type: "file", mimeType: "text/plain", data: text, metadata: { name: text } },
      { type: text, text, [text]: text },
      { type: "text", text, cache_control: { type: text } },
    ];
    return [
      new HumanMessage({ id: `h${turn}`, content: [{ type: "text", text }, ...media] as never, name: text }),
      new AIMessage({
        id: `a${turn}`,
        content: [
          { type: "text", text },
          { type: "reasoning", reasoning: text },
          { type: "thinking", thinking: text, signature: text },
          { type: "server_tool_use", id: text, name: text, input: { query: text } },
        ] as never,
        tool_calls: [call],
        invalid_tool_calls: [{ id: `i${turn}${text}`, name: text, args: text, error: text }],
        additional_kwargs: { reasoning_content: text, refusal: text },
        response_metadata: { model_name: text, model_provider: text, finish_reason: text },
      }),
      new ToolMessage({
        id: `r${turn}`,
        tool_call_id: call.id,
        name: text,
        content: [{ type: "text", text }, ...media] as never,
        artifact: text,
      }),
      new ToolMessage({
        id: `j${turn}`,
        tool_call_id: `i${turn}${text}`,
        name: text,
        content: text,
        status: "error",
      }),
      new SystemMessage({ id: `s${turn}`, content: text }),
      new HumanMessage({ id: `q${turn}`, content: text }),
      new AIMessage({ id: `b${turn}`, content: text }),
    ];
  }).flat();
}

/** What `btoa` takes. */
function toLatin(text: string): string {
  return text.replaceAll(/[^\0-\xff]/g, "?");
}
