import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { contentText } from "../../../src/history/message.js";

const withContent = (content: unknown): BaseMessage => Object.assign(new HumanMessage(""), { content });

it.each<[title: string, content: unknown, expected: string]>([
  ["A text stays the same, to the letter", "$& `x` {y}", "$& `x` {y}"],
  ["Missing content gives an empty text", null, ""],
  ["Text blocks are on separate lines", [{ type: "text", text: "one" }, "two"], "one\ntwo"],
  [
    "A picture is named",
    [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }],
    "[image_url]",
  ],
  ["A file is named with its name", [{ type: "file", name: "plan.pdf" }], "[file: plan.pdf]"],
  [
    "A document is named with its title",
    [{ type: "document", title: "Plan", source: {} }],
    "[document: Plan]",
  ],
  ["Data is written as JSON", [{ type: "json", data: { x: 1 } }], '{"type":"json","data":{"x":1}}'],
  ["An unknown block is named", [{ type: "hologram" }, {}], "[hologram]\n[block]"],
  [
    "Calls and reasoning are not content",
    [
      { type: "tool_use", id: "c", name: "x", input: {} },
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "said" },
    ],
    "said",
  ],
  ["A value that is not a block is skipped", [null, 7, { type: "text", text: "x" }], "x"],
])("%s", (_title, content, expected) => {
  expect(contentText(withContent(content))).toBe(expected);
});
