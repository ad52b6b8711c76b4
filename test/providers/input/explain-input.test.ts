import { AIMessage, type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { InvalidMessageError, InvalidSettingError } from "../../../src/errors.js";
import {
  explainInput,
  type InputReason,
  type ModelInputOptions,
  toModelInput,
} from "../../../src/history.js";
import { ai, human, messagesIn, result, summary } from "../../support/make-messages.js";

/** Each stored message, then each added one: where it is sent, and why. */
function told(history: readonly BaseMessage[], options: ModelInputOptions): string[] {
  const { stored, added } = explainInput(history, options);
  const codes = (reasons: readonly InputReason[]) => reasons.map(({ code }) => ` ${code}`).join("");
  return [
    ...stored.map(({ id, fate, inputIndexes, reasons }) => `${id} ${fate} ${inputIndexes}${codes(reasons)}`),
    ...added.map(({ inputIndex, reasons }) => `+${inputIndex}${codes(reasons)}`),
  ];
}

describe("explainInput", () => {
  it("says that messages are sent as they are", () => {
    const history = [human("h1"), ai("a1", "c1"), result("r1", "c1")];
    expect(told(history, { dialect: "openai" })).toEqual(["h1 sent 0", "a1 sent 1", "r1 sent 2"]);
    expect(explainInput(history, { dialect: "openai" }).input).toBe(history);
  });

  it("tells each place of a message that is in the history twice", () => {
    const answer = result("r", "x");
    const history = [answer, ai("a", "x"), human("h"), answer, answer];
    expect(told(history, { dialect: "openai" })).toEqual([
      "r left-out  orphan-result",
      "a sent 0",
      "h sent 2",
      "r changed 1 moved",
      "r left-out  duplicate-result",
    ]);
  });

  it("tells what the pairing of calls and results does", () => {
    const history = messagesIn("a1(c1,c2) h1 r2:c2 again:c2 lost:none");
    expect(told(history, { dialect: "openai" })).toEqual([
      "a1 sent 0",
      "h1 sent 3",
      "r2 changed 2 moved",
      "again left-out  duplicate-result",
      "lost left-out  orphan-result",
      "+1 placeholder",
    ]);
  });

  it("tells what becomes of a message whose calls are not in one list", () => {
    const unread = { id: "c1", name: "look", args: "{" };
    const message = new AIMessage({ id: "a1", content: "", invalid_tool_calls: [unread] });
    expect(told([message, human("h1")], { dialect: "openai" })).toEqual([
      "a1 changed 0 calls-listed",
      "h1 sent 2",
      "+1 placeholder",
    ]);
  });

  it("tells what a summary hides, and what of a hidden call is told", () => {
    const history = messagesIn("h1 a1(c1,c2) r1:c1 r2:c2 h2 s[h1,a1,r1]");
    expect(told(history, { dialect: "openai" })).toEqual([
      "h1 left-out  covered",
      "a1 left-out  covered",
      "r1 left-out  covered",
      "r2 changed 1 late-result",
      "h2 sent 2",
      "s changed 0 moved",
    ]);
  });

  it("names the summary that is sent, if that covers the one that was made first", () => {
    const first = summary("s1", { kind: "keep", messages: ["h1"] });
    const second = summary("s2", { kind: "keep", messages: ["s1", "h2"] });
    const { stored } = explainInput([human("h1"), first, human("h2"), second, human("h3")]);
    expect(stored.map(({ reasons }) => reasons[0]?.text)).toEqual([
      'The summary "s2" represents it.',
      'The summary "s2" represents it.',
      'The summary "s2" represents it.',
      expect.stringContaining("one of 2 messages"),
      expect.stringContaining("one of 2 messages"),
    ]);
  });

  it("names a summary where summaries cover one another", () => {
    const round = messagesIn("h s1[h,s2] s2[s1]");
    expect(told([...round, human("end")], { dialect: "openai" })).toEqual([
      "h left-out  covered",
      "s1 left-out  covered",
      "s2 left-out  covered",
      "end sent 0",
    ]);
  });

  it("tells what is left out by the limit of calls", () => {
    const both = new AIMessage({
      id: "a2",
      content: "I look.",
      tool_calls: [{ id: "c2", name: "look", args: {} }],
    });
    const history = [human("h1"), ai("a1", "c1"), result("r1", "c1"), both, result("r2", "c2"), human("h2")];
    expect(told(history, { dialect: "openai", maxToolCallsFromHistory: 0 })).toEqual([
      "h1 sent 0",
      "a1 left-out  filtered",
      "r1 left-out  filtered",
      "a2 changed 1 filtered",
      "r2 left-out  filtered",
      "h2 sent 2",
    ]);
  });

  it("tells what is cut to a bound, and names the number", () => {
    const long = (id: string) => new HumanMessage({ id, content: "word ".repeat(400) });
    const history = [long("h1"), ai("a1"), human("h2"), ai("a2", "c1"), result("r1", "c1")];
    (history[4] as BaseMessage).content = "word ".repeat(400);
    const { stored, added, input } = explainInput(history, { dialect: "openai", maxTokens: 200 });
    expect(stored.map(({ fate }) => fate)).toEqual(["left-out", "left-out", "sent", "sent", "changed"]);
    expect(stored[0]?.reasons).toEqual([
      { code: "over-bound", text: "The messages may have 200 tokens, so the oldest messages are left out." },
    ]);
    expect(stored[4]?.reasons[0]?.text).toMatch(
      /^The messages may have 200 tokens, so \d+ of its 504 tokens/,
    );
    expect(added.map(({ reasons }) => reasons[0]?.code)).toEqual(["gap-note"]);
    expect(input[added[0]?.inputIndex ?? -1]?.text).toContain("2 earlier messages are left out here");
  });

  it("joins system messages, and tells the prompt apart", () => {
    const history = [human("h1"), new SystemMessage({ id: "s1", content: "In French." })];
    const blank = new SystemMessage({ id: "s2", content: " " });
    expect(told([...history, blank], { dialect: "openai", systemPrompt: "Be brief." })).toEqual([
      "h1 sent 1",
      "s1 changed 0 system-joined",
      "s2 left-out  blank",
    ]);
    expect(told([human("h1")], { dialect: "openai", systemPrompt: "Be brief." })).toEqual([
      "h1 sent 1",
      "+0 system-prompt",
    ]);
  });

  it("names the bridges that a provider demands, with the report", () => {
    const history = [human("h1"), ai("a1", "c1"), result("r1", "c1"), human("h2"), ai("a2")];
    const { added } = explainInput(history, { dialect: "mistral" });
    expect(added.map(({ inputIndex, reasons }) => [inputIndex, reasons[0]])).toEqual([
      [
        3,
        {
          code: "bridge",
          text: "The provider would refuse the input without it. A user message follows a result.",
          source: "https://github.com/datapizza-labs/datapizza-ai/issues/98",
        },
      ],
      [
        6,
        {
          code: "bridge",
          text: "The provider would refuse the input without it. The last message is the assistant's.",
          source: "https://github.com/0xPlaygrounds/rig/pull/1130",
        },
      ],
    ]);
  });

  it("says in plain sentences what the dialect changes", () => {
    const history = [
      new AIMessage({
        id: "a1",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "c2ln" },
          { type: "text", text: "I look." },
        ],
        tool_calls: [{ id: "call:1", name: "my tool", args: {} }],
        response_metadata: { model_provider: "anthropic" },
      }),
      result("r1", "call:1"),
    ];
    const [first] = explainInput(history, { dialect: "openai" }).stored;
    expect(first?.reasons).toEqual([
      {
        code: "state-removed",
        text: "Only the model that wrote it can read this, so it is not sent as it is: thinking.",
      },
      {
        code: "name-changed",
        text: 'The provider does not accept these names, so they are sent in another form: "my tool" as "my_tool".',
        source: "https://github.com/mcp-use/mcp-use/pull/94",
      },
      {
        code: "call-id-renamed",
        text: expect.stringMatching(
          /^The provider does not accept the id, so it is sent in another form: "call:1" as "\w{9}"\.$/,
        ),
        source: "https://github.com/BerriAI/litellm/issues/17343",
      },
    ]);
  });

  it("leaves out what is not a message, and what a removal names", () => {
    const values = [human("h1"), null, { role: "user", content: "Said." }, human("h2")];
    expect(told(values as BaseMessage[], { dialect: "openai" })).toEqual([
      "h1 sent 0",
      "undefined left-out  not-a-message",
      "undefined changed 1 mended",
      "h2 sent 2",
    ]);
  });

  it("refuses what toModelInput refuses", () => {
    for (const explain of [explainInput, toModelInput]) {
      expect(() => explain([], { maxTokens: -1 })).toThrow(InvalidSettingError);
      expect(() => explain([], { dialect: "nobody" as never })).toThrow(InvalidSettingError);
      expect(() => explain("no list" as never)).toThrow(InvalidMessageError);
      expect(() => explain([], { maxTokns: 5 } as never)).toThrow(
        "Unknown option `maxTokns`. Did you mean `maxTokens`?",
      );
      expect(() => explain([], { systemPrompt: 5 } as never)).toThrow(
        "Expected `systemPrompt` to be a string",
      );
      expect(() => explain([], { maxToolCallsFromHistory: Number.NaN })).toThrow(InvalidSettingError);
      expect(() => explain([], null as never)).toThrow("Expected `options` to be an object");
    }
  });
});
