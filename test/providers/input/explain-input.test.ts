import { AIMessage, type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import {
  explainInput,
  type InputReason,
  type ModelInputOptions,
  toModelInput,
} from "../../../src/history.js";
import { InvalidMessageError, InvalidSettingError } from "../../../src/index.js";
import { ai, human, messagesIn, result, summary } from "../../support/make-messages.js";
import { rowsOf } from "../../support/test-tools.js";

/** Each stored message, then each added one: where it is sent, and why. */
function told(history: readonly BaseMessage[], options: ModelInputOptions): string[] {
  const { stored, added } = explainInput(history, options);
  const codes = (reasons: readonly InputReason[]) => reasons.map(({ code }) => code);
  return [
    ...stored.map(({ id, fate, inputIndexes, reasons }) =>
      [id, fate, ...inputIndexes, ...codes(reasons)].join(" "),
    ),
    ...added.map(({ inputIndex, reasons }) => [`+${inputIndex}`, ...codes(reasons)].join(" ")),
  ];
}

const answer = result("r", "x");
const unread = { id: "c1", name: "look", args: "{" };
const unlisted = new AIMessage({ id: "a1", content: "", invalid_tool_calls: [unread] });
const worded = Object.assign(ai("a2", "c2"), { content: "I look." });
const french = new SystemMessage({ id: "s1", content: "In French." });
const blank = new SystemMessage({ id: "s2", content: " " });
const foreign = [human("h1"), null, { role: "user", content: "Said." }, human("h2")] as BaseMessage[];

type Row = [history: BaseMessage[], options: ModelInputOptions, told: string];

describe("explainInput tells", () => {
  it.each(
    rowsOf<Row>({
      "that messages are sent as they are": [
        messagesIn("h1 a1(c1) r1:c1"),
        {},
        "h1 sent 0 | a1 sent 1 | r1 sent 2",
      ],
      "each place of a message that is in the history twice": [
        [answer, ai("a", "x"), human("h"), answer, answer],
        {},
        "r left-out orphan-result | a sent 0 missing-result | h sent 2 | r moved 1 orphan-result duplicate-result | r left-out duplicate-result",
      ],
      "what the pairing of calls and results does": [
        messagesIn("a1(c1,c2) h1 r2:c2 again:c2 lost:none"),
        {},
        "a1 sent 0 missing-result | h1 sent 3 | r2 moved 2 orphan-result duplicate-result | again left-out duplicate-result | lost left-out orphan-result | +1 placeholder",
      ],
      "what becomes of a message whose calls are not in one list": [
        [unlisted, human("h1")],
        {},
        "a1 changed 0 form | h1 sent 2 | +1 placeholder",
      ],
      "what a summary hides, and what of a hidden call is told": [
        messagesIn("h1 a1(c1,c2) r1:c1 r2:c2 h2 s[h1,a1,r1]"),
        {},
        "h1 left-out covered | a1 left-out covered | r1 left-out covered | r2 changed 1 covered | h2 sent 2 | s moved 0",
      ],
      "of summaries that cover one another": [
        messagesIn("h s1[h,s2] s2[s1] end"),
        {},
        "h left-out covered | s1 left-out covered | s2 left-out covered | end sent 0",
      ],
      "what is left out by the limit of calls": [
        [...messagesIn("h1 a1(c1) r1:c1"), worded, ...messagesIn("r2:c2 h2")],
        { maxToolCallsFromHistory: 0 },
        "h1 sent 0 | a1 left-out filtered | r1 left-out filtered | a2 changed 1 filtered | r2 left-out filtered | h2 sent 2",
      ],
      "that system messages are joined": [
        [human("h1"), french, blank],
        { systemPrompt: "Be brief.", dialect: "strict" },
        "h1 sent 1 | s1 joined 0 system-position | s2 left-out blank-text",
      ],
      "the prompt apart": [[human("h1")], { systemPrompt: "Be brief." }, "h1 sent 1 | +0 system-prompt"],
      "what is described": [
        [new HumanMessage({ id: "h1", content: [{ type: "image", data: "", mimeType: "image/png" }] })],
        {},
        "h1 changed 0 foreign-block described",
      ],
      "what is not a message": [
        foreign,
        {},
        "h1 sent 0 |  left-out not-a-message |  changed 1 repaired | h2 sent 2",
      ],
    }),
  )("%s", (_title, history, options, lines) => {
    expect(told(history, { dialect: "openai", ...options })).toEqual(lines.split(" | "));
  });

  it("nothing by another list if nothing changes", () => {
    const history = messagesIn("h1 a1(c1) r1:c1");
    expect(explainInput(history, { dialect: "openai" }).input).toBe(history);
  });
});

describe("explainInput", () => {
  it("names the summary that is sent, if that covers the one that was made first", () => {
    const first = summary("s1", { kind: "keep", messages: ["h1"] });
    const second = summary("s2", { kind: "keep", messages: ["s1", "h2"] });
    const history = [human("h1"), first, human("h2"), second, human("h3")];
    const { stored } = explainInput(history, { dialect: "strict" });
    expect(stored.map(({ fate }) => fate)).toEqual(["left-out", "left-out", "left-out", "joined", "joined"]);
    for (const { reasons } of stored.slice(0, 3))
      expect(reasons).toEqual([{ code: "covered", text: 'The summary "s2" represents it.' }]);
  });

  it("tells what is cut to a window, and names the number", () => {
    const long = (id: string) => new HumanMessage({ id, content: "word ".repeat(400) });
    const history = [long("h1"), ...messagesIn("a1() h2 a2(c1)"), result("r1", "c1", "word ".repeat(400))];
    const { stored, added, input } = explainInput(history, { dialect: "openai", maxTokens: 200 });
    expect(stored.map(({ fate }) => fate)).toEqual(["left-out", "left-out", "sent", "sent", "changed"]);
    expect(stored[0]?.reasons).toEqual([
      { code: "over-window", text: "The messages may have 200 tokens, so the oldest messages are left out." },
    ]);
    expect(stored[4]?.reasons).toEqual([
      { code: "shortened", text: "The messages may have 200 tokens, so a part of it is sent." },
    ]);
    expect(added.map(({ reasons }) => reasons[0]?.code)).toEqual(["gap-note"]);
    expect(input[added[0]?.inputIndex ?? -1]?.text).toContain("2 earlier messages are left out here");
  });

  it("names the bridges that a provider demands, with the report", () => {
    const { added } = explainInput(messagesIn("h1 a1(c1) r1:c1 h2 a2()"), { dialect: "strict" });
    const bridge = (why: string, page: string) => ({
      code: "bridge",
      text: `The provider would refuse the input without it. ${why}`,
      source: `https://github.com/${page}`,
    });
    expect(added.map(({ inputIndex, reasons }) => [inputIndex, reasons[0]])).toEqual([
      [3, bridge("A user message follows a result.", "datapizza-labs/datapizza-ai/issues/98")],
      [6, bridge("The last message is the assistant's.", "0xPlaygrounds/rig/pull/1130")],
    ]);
  });

  it("tells messages without ids apart when they are cut to a window", () => {
    const long = () => new HumanMessage("word ".repeat(400));
    const { stored } = explainInput([long(), new AIMessage("Yes."), long()], {
      dialect: "openai",
      maxTokens: 250,
    });
    expect(stored.map(({ reasons }) => reasons.map(({ code }) => code).join())).toEqual([
      "over-window",
      "over-window",
      "shortened",
    ]);
  });

  it("names the rules that a message breaks, with the report of each", () => {
    const call = { id: "call:1", name: "my tool", args: {} };
    const history = [new AIMessage({ id: "a1", content: "", tool_calls: [call] }), result("r1", "call:1")];
    const [first] = explainInput(history, { dialect: "openai" }).stored;
    expect(first?.fate).toBe("changed");
    expect(first?.reasons).toEqual([
      {
        code: "call-id",
        text: "The id of a call or of its result has the wrong form.",
        source: "https://github.com/BerriAI/litellm/issues/17343",
      },
      {
        code: "tool-name",
        text: "The name of a called tool has the wrong form.",
        source: "https://github.com/mcp-use/mcp-use/pull/94",
      },
    ]);
  });

  it("names the fields that have another form although no rule refuses them", () => {
    const thinking = { type: "thinking", thinking: "Hm.", signature: "c2ln" };
    const thought = new AIMessage({
      content: [thinking, { type: "text", text: "I look." }],
      additional_kwargs: { reasoning_content: "Hm.", other: 1 },
      response_metadata: { model_provider: "anthropic" },
    });
    const [first] = explainInput([thought, human("h1")], { dialect: "openai" }).stored;
    expect(first?.reasons).toEqual([
      {
        code: "form",
        text: "These fields are sent in another form, or not at all: content, additional_kwargs.reasoning_content, additional_kwargs.other.",
      },
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
