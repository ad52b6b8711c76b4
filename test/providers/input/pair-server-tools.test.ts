import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { explainInput, toModelInput, validateHistory } from "../../../src/index.js";

const text = { type: "text", text: "I look." };
const call = (id: string) => ({ type: "server_tool_use", id, name: "web_search", input: { query: "x" } });
const result = (id: string, content: unknown = []) => ({
  type: "web_search_tool_result",
  tool_use_id: id,
  content,
});

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
  ["an empty result without its call goes", [text, result("a")], [text]],
  [
    "a result without its call becomes text",
    [text, result("a", "Oslo")],
    [text, { type: "text", text: "[web_search_tool_result returned: Oslo]" }],
  ],
  [
    "a result that the client does not send becomes text with its call, and with the calls that its code made",
    [
      call("a"),
      { ...call("b"), caller: { type: "code_execution_20260120", tool_id: "a" } },
      result("b", "Oslo"),
      { type: "code_execution_tool_result", tool_use_id: "a", content: "717,710" },
    ],
    [
      { type: "text", text: '[web_search {"query":"x"} returned: Oslo]' },
      { type: "text", text: '[web_search {"query":"x"} returned: 717,710]' },
    ],
  ],
  [
    "only the call without a result goes",
    [call("a"), result("a"), text, call("b")],
    [call("a"), result("a"), text],
  ],
])("Of tools that the provider runs, %s.", (_, given, sent) => {
  expect(sentBack(...given)).toEqual(sent);
});

const ai = (...content: object[]) => new AIMessage({ content: content as never });
const user = new HumanMessage("go");

it.each<[title: string, history: BaseMessage[], found: string[]]>([
  [
    "a call whose result the client leaves out",
    [user, ai(call("a"), { type: "code_execution_tool_result", tool_use_id: "a" }), user],
    [
      "server-call-without-result: `web_search` tool use with id `a` was found without a corresponding `web_search_tool_result` block",
    ],
  ],
  [
    "a result before its call",
    [user, ai(result("a"), call("a")), user],
    [
      "server-result-without-call: messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: a.",
      "server-call-without-result: `web_search` tool use with id `a` was found without a corresponding `web_search_tool_result` block",
    ],
  ],
  ["nothing in a pair", [user, ai(call("a"), result("a")), user], []],
  ["nothing in a paused response that goes on", [user, ai(call("a")), ai(result("a")), user], []],
])("Of tools that Anthropic runs, validateHistory reports %s.", (_, history, found) => {
  const violations = validateHistory(history, "anthropic");
  expect(violations.map(({ rule, message }) => `${rule}: ${message}`)).toEqual(found);
});

it("explainInput names the rule of a call without a result, and of one that the client would leave out the field.", () => {
  const response_metadata = { model_provider: "anthropic" };
  const mcp = { type: "mcp_tool_use", id: "m", name: "look", input: {} };
  const reasonsOf = (...content: object[]) => {
    const response = new AIMessage({ content: content as never, response_metadata });
    return explainInput([user, response, user], { dialect: "anthropic" }).stored[1]?.reasons;
  };
  expect(reasonsOf(text, call("a"))).toMatchObject([
    { code: "server-call-without-result", source: "https://github.com/vercel/ai/issues/13040" },
  ]);
  expect(reasonsOf(text, mcp)).toMatchObject([{ code: "form", text: expect.stringMatching(/: content\.$/) }]);
});
