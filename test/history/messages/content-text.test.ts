import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { contentText } from "../../../src/history/message.js";
import { titled } from "../../support/titled.js";

interface Case {
  readonly title: string;
  readonly content: unknown;
  readonly expected: string;
}

const withContent = (content: unknown): BaseMessage => Object.assign(new HumanMessage(""), { content });

it.each(
  titled<Case>([
    { title: "A text stays the same, to the letter", content: "$& `x` {y}", expected: "$& `x` {y}" },
    { title: "Missing content gives an empty text", content: null, expected: "" },
    {
      title: "Text blocks are on separate lines",
      content: [{ type: "text", text: "one" }, "two"],
      expected: "one\ntwo",
    },
    {
      title: "A picture is named",
      content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }],
      expected: "[image_url]",
    },
    {
      title: "A file is named with its name",
      content: [{ type: "file", name: "plan.pdf" }],
      expected: "[file: plan.pdf]",
    },
    {
      title: "A document is named with its title",
      content: [{ type: "document", title: "Plan", source: {} }],
      expected: "[document: Plan]",
    },
    {
      title: "Data is written as JSON",
      content: [{ type: "json", data: { x: 1 } }],
      expected: '{"type":"json","data":{"x":1}}',
    },
    {
      title: "An unknown block is named",
      content: [{ type: "hologram" }, {}],
      expected: "[hologram]\n[block]",
    },
    {
      title: "Calls and reasoning are not content",
      content: [
        { type: "tool_use", id: "c", name: "x", input: {} },
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "said" },
      ],
      expected: "said",
    },
    {
      title: "A value that is not a block is skipped",
      content: [null, 7, { type: "text", text: "x" }],
      expected: "x",
    },
  ]),
)("%s", (_title, { content, expected }) => {
  expect(contentText(withContent(content))).toBe(expected);
});
