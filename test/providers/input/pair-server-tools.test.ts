import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { toModelInput } from "../../../src/index.js";

const text = { type: "text", text: "I look." };
const call = (id: string) => ({ type: "server_tool_use", id, name: "web_search", input: { query: "x" } });
const result = (id: string) => ({ type: "web_search_tool_result", tool_use_id: id, content: [] });

/** What Anthropic's model is sent back of its own response. */
function sentBack(...content: object[]): unknown {
  const response_metadata = { model_provider: "anthropic" };
  const response = new AIMessage({ content: content as never, response_metadata });
  const history = [new HumanMessage("go"), response, new HumanMessage("more")];
  return toModelInput(history, { dialect: "anthropic" })[1]?.content;
}

it.each<[title: string, given: object[], sent: object[]]>([
  ["a call with its result stays", [text, call("a"), result("a")], [text, call("a"), result("a")]],
  ["a call without a result goes", [text, call("a")], [text]],
  ["a result without its call goes", [text, result("a")], [text]],
  [
    "only the call without a result goes",
    [call("a"), result("a"), text, call("b")],
    [call("a"), result("a"), text],
  ],
])("Of tools that the provider runs, %s.", (_, given, sent) => {
  expect(sentBack(...given)).toEqual(sent);
});
