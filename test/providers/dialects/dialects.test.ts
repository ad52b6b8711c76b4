import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  type MessageContent,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { type DialectName, InvalidSettingError, toModelInput, validateHistory } from "../../../src/index.js";
import { REASONING_FIELD } from "../../../src/providers/contract/host-fields.js";
import type { StatedRule } from "../../../src/providers/contract/rule.js";
import { RULES } from "../../../src/providers/rules/rules.js";
import { DIALECT_NAMES, dialectNamed } from "../../support/internals.js";

/** A page on GitHub: an issue, a pull request, or a file. */
const PAGE = /^[\w.-]+\/[\w.-]+\/(?:issues\/\d+|pull\/\d+|blob\/\S+)$/;

describe.each(DIALECT_NAMES)("%s", (name) => {
  const { rules, stateFields } = dialectNamed(name);
  const entries: [string, StatedRule][] = Object.entries(rules);
  it.each(entries)("has a source for %s unless it is inferred", (_name, { grade, source }) => {
    if (grade !== "inferred" || source !== undefined) expect(source).toMatch(PAGE);
  });

  it("states only rules that are looked for, each of them once", () => {
    const names = RULES.map((rule) => rule.name);
    expect(names).toEqual(expect.arrayContaining(Object.keys(rules)));
    expect(names.length).toBe(new Set(names).size);
  });

  it("has no state that is sent to a model whose provider is unknown", () => {
    const kept = stateFields.filter((field) => field.name !== REASONING_FIELD);
    expect(dialectNamed("strict").stateFields).toEqual(expect.arrayContaining(kept));
  });
});

it.each(["anthropic", "strict"] as const)("%s sees a call that is only a block of the content", (dialect) => {
  const call = { type: "tool_use", id: "toolu_1", name: "look", input: {} };
  const history = [new HumanMessage("go"), new AIMessage({ content: [call] }), new HumanMessage("and now?")];
  expect(validateHistory(history, dialect).map(({ rule }) => rule)).toContain("missing-result");
});

/** Recorded requests that providers have accepted. */
describe("validateHistory finds no fault", () => {
  const rulesIn = (history: BaseMessage[], dialect: DialectName, modelId?: string) =>
    validateHistory(history, dialect, modelId).map(({ rule }) => rule);
  const asked = (content: MessageContent, name = "look") => [
    new HumanMessage("go"),
    new AIMessage({ content: "", tool_calls: [{ id: "toolu_1", name, args: {} }] }),
    new ToolMessage({ content, tool_call_id: "toolu_1" }),
  ];
  const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };

  it("in a reference to a tool in a result for Claude, which the client leaves out", () => {
    expect(rulesIn(asked([{ type: "tool_reference", tool_name: "look" }]), "anthropic")).toEqual([]);
    expect(rulesIn(asked([{ type: "resource_link", uri: "a" }]), "anthropic")).toEqual(["foreign-block"]);
  });

  it.each(["openai-compatible", "anthropic-openai", "mistral-openai", "kimi"] as const)(
    "in a picture of a result at a host of whose media nobody knows (%s)",
    (dialect) => {
      const history = asked([picture]).map((message) =>
        dialect === "mistral-openai" ? withShortIds(message) : message,
      );
      expect(rulesIn(history, dialect)).toEqual([]);
      expect(
        rulesIn(
          [...history, new HumanMessage({ content: [{ ...picture, image_url: "https://a.com" }] })],
          dialect,
        ),
      ).toEqual([]);
    },
  );

  it("in what Claude wrote between calls of Anthropic's tools", () => {
    const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} };
    const found = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] };
    const blank = { type: "text", text: "\n\n" };
    const end = new HumanMessage("and?");
    const response = (content: MessageContent) => [new HumanMessage("go"), new AIMessage({ content }), end];
    expect(rulesIn(response([search, found, blank, { type: "text", text: "Yes." }]), "anthropic")).toEqual(
      [],
    );
    expect(rulesIn(response([blank, { type: "text", text: "Yes." }]), "anthropic")).toEqual(["blank-text"]);
  });

  it("in a function's output for another kind of call of the Responses API", () => {
    const item = {
      type: "tool_search_call",
      id: "tsc_1",
      call_id: "toolu_1",
      execution: "client",
      arguments: {},
    };
    const call = new AIMessage({ content: "", response_metadata: { output: [item] } });
    const result = new ToolMessage({ content: "Found.", tool_call_id: "toolu_1" });
    const history = [new HumanMessage("go"), call, result, new HumanMessage("and?")];
    expect(rulesIn(history, "openai-responses")).toEqual([]);
    expect(rulesIn(history.toSpliced(2, 1), "openai-responses")).toEqual(["missing-result"]);
  });

  it("in a call that OpenAI has run, beside one that waits", () => {
    const search = {
      type: "tool_search_call",
      id: "tsc_1",
      call_id: "tsc_1",
      execution: "server",
      arguments: {},
    };
    const item = { type: "function_call", id: "fc_1", call_id: "toolu_1", name: "look", arguments: "{}" };
    const [user, response, result] = asked("Done.");
    const whole = Object.assign(response as AIMessage, { response_metadata: { output: [search, item] } });
    expect(rulesIn([user as BaseMessage, whole, result as BaseMessage], "openai-responses")).toEqual([]);
  });

  it("in two instructions after one another, before Claude answers", () => {
    const history = [new HumanMessage("go"), new SystemMessage("In French."), new SystemMessage("Be short.")];
    expect(rulesIn(history, "anthropic")).toEqual([]);
  });

  it("that newer models accept, unless an older one is named", () => {
    const blank = [new HumanMessage("")];
    expect(rulesIn(blank, "gemini")).toEqual([]);
    expect(rulesIn(blank, "gemini", "gemini-3-pro")).toEqual([]);
    expect(rulesIn(blank, "gemini", "gemini-2.5-flash")).toContain("blank-user");
    const after = [...asked("Done."), new HumanMessage("and?")];
    expect(rulesIn(after, "bedrock", "us.amazon.nova-pro-v1:0")).toEqual([]);
    expect(rulesIn(after, "bedrock", "meta.llama3-1-70b-instruct-v1:0")).toEqual(["user-after-tool"]);
  });

  it("and such histories are sent as they are to models that accept them", () => {
    const after = [...asked("Done."), new HumanMessage("and?")];
    expect(toModelInput(after, { dialect: "bedrock", modelId: "us.amazon.nova-pro-v1:0" })).toEqual(after);
    expect(toModelInput(after, { dialect: "bedrock", modelId: "meta.llama3" })).toHaveLength(5);
    expect(toModelInput(after, { dialect: "bedrock" })).toHaveLength(5);
    const blank = [new HumanMessage("")];
    expect(toModelInput(blank, { dialect: "gemini", modelId: "gemini-3-pro" })).toEqual(blank);
    expect(toModelInput(blank, { dialect: "gemini", modelId: "gemini-2.5-pro" })[0]?.text).toBe(
      "(empty message)",
    );
  });
});

/** The call's id in Mistral's form. */
function withShortIds(message: BaseMessage): BaseMessage {
  if (message instanceof ToolMessage)
    return new ToolMessage({ content: message.content, tool_call_id: "abcdefghi" });
  if (!(message instanceof AIMessage)) return message;
  return new AIMessage({ content: "", tool_calls: [{ id: "abcdefghi", name: "look", args: {} }] });
}

describe.each([
  ["validateHistory", (dialect: unknown) => validateHistory([], dialect as never)],
  ["toModelInput", (dialect: unknown) => toModelInput([], { dialect: dialect as never })],
] as const)("%s", (_name, ask) => {
  it.each(["opnai", "OpenAI", "constructor", 7])(
    "refuses the dialect %j and names those that there are",
    (dialect) => {
      expect(() => ask(dialect)).toThrow(InvalidSettingError);
      expect(() => ask(dialect)).toThrow(
        `Expected \`dialect\` to be one of openai, openai-responses, responses-compatible, dashscope, dashscope-native, deepseek, anthropic, gemini, mistral, bedrock, openai-compatible, xai, kimi, glm, minimax, anthropic-openai, gemini-openai, mistral-openai, as-stored, strict, got \`${JSON.stringify(dialect)}\`.`,
      );
    },
  );

  it("asks whether a similar name was meant", () => {
    expect(() => ask("antropic")).toThrow(/got `"antropic"`\. Did you mean `anthropic`\?$/);
    expect(() => ask(7)).toThrow(/got `7`\.$/);
  });

  it("accepts a known dialect", () => {
    expect(() => ask("mistral")).not.toThrow();
  });
});
