import {
  AIMessage,
  type BaseMessage,
  coerceMessageLikeToMessage,
  ToolMessage,
} from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { errorText } from "../../src/doctor/thread-store.js";
import { diagnoseThread, explain, planRepair, type StoredThread } from "../../src/doctor.js";
import { InvalidMessageError, repairHistory } from "../../src/index.js";
import { DIALECT_NAMES, threadOfList } from "../support/internals.js";
import { ai, human, messagesIn, result } from "../support/make-messages.js";
import { codesOf } from "./repair.js";

const sound = messagesIn("u a(c) r:c b()");

function stored(messages: readonly unknown[], fields: Partial<StoredThread> = {}): StoredThread {
  return { ...threadOfList(messages), checkpointId: "1", openTasks: [], ...fields };
}

describe("a report", () => {
  it("quotes for each call the error about this call", () => {
    const thread = stored(messagesIn("u a(c1) v b(c2) w"));
    const says = (call: string) => expect.stringContaining(`blocks immediately after: ${call}.`);
    expect(diagnoseThread(thread, { dialect: "anthropic" }).findings).toMatchObject([
      { index: 1, providerSays: says("c1") },
      { index: 3, providerSays: says("c2") },
    ]);
    expect(diagnoseThread(thread, { dialect: "gemini" }).findings[0]?.providerSays).toContain(
      "number of function response parts is equal",
    );
  });

  it.each(DIALECT_NAMES)("finds nothing in a sound thread, whatever message comes next: %s", (dialect) => {
    const codes = codesOf(diagnoseThread(stored(sound), { dialect }));
    // Mistral's models write ids of another form. A request has them.
    expect(codes.filter((code) => code !== "content/call-id")).toEqual([]);
    expect(diagnoseThread(stored(sound))).toMatchObject({ outcome: "sound", findings: [] });
  });

  it("has a fault of form as an error for a named dialect, and as a warning for the provider that wrote the thread", () => {
    const made = new AIMessage({ id: "a", content: " ", response_metadata: { model_provider: "anthropic" } });
    const thread = stored([human("u"), made, human("v")]);
    expect(diagnoseThread(thread, { dialect: "anthropic" }).findings).toMatchObject([
      { code: "content/empty-assistant", severity: "error", messageId: "a", fixes: [{ kind: "at-request" }] },
    ]);
    expect(diagnoseThread(thread).findings).toMatchObject([{ severity: "warning" }]);
    expect(codesOf(diagnoseThread(thread, { dialect: "openai" }))).not.toContain("content/blank-text");
    const late = stored(messagesIn("u s! v"));
    expect(codesOf(diagnoseThread(late, { dialect: "strict" }))).toContain("order/system-position");
  });

  it("has the window of the model", () => {
    expect(diagnoseThread(stored(sound), { maxTokens: 5 }).findings).toMatchObject([
      { code: "size/window", severity: "error" },
    ]);
    expect(diagnoseThread(stored(sound), { maxTokens: 5_000 }).findings).toEqual([]);
    // The request repairs it.
    expect(planRepair(stored(sound)).kind).toBe("nothing");
  });

  it("is the same twice, has no text of messages, and does not judge what it could not read", () => {
    const thread = stored(messagesIn("u r:x a(c) v"));
    const text = JSON.stringify(diagnoseThread(thread));
    expect(JSON.stringify(diagnoseThread(thread))).toBe(text);
    expect(text).not.toContain("text of");
    const reason = "no such table";
    expect(diagnoseThread({ ...thread, content: { kind: "unreadable", reason } })).toMatchObject({
      outcome: "unreadable",
      messages: null,
      findings: [{ code: "thread/unreadable" }],
    });
    const busy = { ...thread, status: "busy" } as const;
    expect(diagnoseThread(busy)).toMatchObject({ outcome: "skipped", findings: [{ code: "state/busy" }] });
    expect(planRepair(busy)).toMatchObject({ kind: "skip", reason: "busy" });
  });

  it.each<[string, () => unknown]>([
    ["JSON.parse", () => JSON.parse(`{"content": secret`)],
    ["LangChain", () => coerceMessageLikeToMessage({ text: "secret", role: "nobody" } as never)],
    ["LangChain, of a list,", () => coerceMessageLikeToMessage(["secret", "secret"] as never)],
  ])("does not have the stored value that %s quotes in an error", (_, read) => {
    let thrown: unknown;
    try {
      read();
    } catch (error) {
      thrown = error;
    }
    expect(errorText(thrown)).toMatch(/^(?!.*secret).*\w{6}/s);
  });

  it("refuses an unknown dialect by name", () => {
    expect(() => diagnoseThread(stored(sound), { dialect: "antropic" as never })).toThrow(
      /`dialect`.*antropic/,
    );
  });
});

describe("a plan", () => {
  it("prefers a real result to one that deepagents wrote in its place, and names what has no place", () => {
    const content =
      "Tool call look with id c was cancelled - another message came in before it could be completed.";
    const madeUp = new ToolMessage({ id: "made-up", name: "look", tool_call_id: "c", content });
    const ended = {
      checkpointId: "0",
      fate: "discarded",
      history: messagesIn("u a(c)"),
      written: messagesIn("r:c s:unknown"),
      interrupts: [],
      removed: new Set<string>(),
      nodes: [],
      unstarted: [],
      late: [],
      headId: undefined,
      otherChannels: ["files"],
    } as const;
    const thread = stored([...messagesIn("u a(c)"), madeUp, human("v")], { endedRuns: [ended] });
    const plan = planRepair(thread);
    expect(plan).toMatchObject({
      kind: "write",
      steps: [{ kind: "replace", callId: "c" }],
      unplaced: [{ messageId: "made-up" }, { messageId: "s" }],
      after: ["u", "a", "r", "v"].map((id) => ({ id })),
    });
  });

  it("closes the calls of a structured response, and those that a run was about to make", () => {
    const list = messagesIn("u a(c)");
    const open = { id: "t", node: "tools", error: undefined, interrupts: [] };
    const responded = stored(list, { otherChannels: ["structuredResponse"] });
    for (const thread of [responded, stored(list, { openTasks: [open] }), threadOfList(list)])
      expect(planRepair(thread)).toMatchObject({ kind: "write", steps: [{ kind: "close" }] });
  });
});

describe("an explanation", () => {
  const broken = messagesIn("u a(c1,c2) r:c2 v");

  it.each(["openai", "anthropic", "deepseek", "mistral", "gemini"] as const)(
    "says what %s answers, and what repairs it",
    (dialect) => {
      const { refused, reasons, text } = explain(broken, { dialect });
      expect(refused).toBe(true);
      expect(reasons[0]).toMatchObject({ code: "pairing/dangling-call", rule: "missing-result", index: 1 });
      expect(text).toContain(reasons[0]?.providerSays ?? "nothing");
      expect(text).toContain("repairHistory");
      expect(text).not.toContain("text of");
      const repaired = explain(repairHistory(broken).messages, { dialect });
      expect(repaired.reasons.map(({ rule }) => rule)).not.toContain("missing-result");
    },
  );

  it("names only the calls that a reason is about", () => {
    const list = messagesIn("u a(c1,c2,c3) r:c2 v b(c2,c4,c5,c5) s:c2 t:c4 w:c5 x:c5");
    const named = explain(list, { dialect: "deepseek" }).reasons.map(({ rule, callIds }) => [rule, callIds]);
    expect(named).toEqual([
      ["missing-result", ["c1", "c3"]],
      ["repeated-call-id", ["c2"]],
      ["duplicate-call-id", ["c5"]],
    ]);
  });

  it("names calls for each fault of pairing, the same as the provider's words", () => {
    const ids = fc.constantFrom("c1", "c2", "c3");
    const message = fc.oneof(
      fc.constant(human("u")),
      ids.map((id) => result(`r-${id}`, id)),
      fc.array(ids, { minLength: 1, maxLength: 4 }).map((calls) => ai("a", ...calls)),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 9 }), (list) => {
        const { reasons } = explain(list, { dialect: "openai" });
        for (const { code, rule, callIds, providerSays } of reasons) {
          expect(callIds.length > 0).toBe(code.startsWith("pairing/"));
          if (rule === "missing-result") expect(providerSays).toContain(callIds.join(", "));
        }
        const repeated = explain(list, { dialect: "strict" }).reasons.filter(
          ({ rule }) => rule === "repeated-call-id",
        );
        for (const { callIds, providerSays } of repeated) expect(providerSays).toMatch(`id: ${callIds}`);
      }),
    );
  });

  it.each(["tool_calls", "additional_kwargs"])(
    "reads each of many calls in %s a few times, and names each a few times",
    (place) => {
      let reads = 0;
      const calls = Array.from({ length: 300 }, (_, index) => ({
        get id() {
          reads += 1;
          return `repeated-${index % 2}`;
        },
        type: "function",
        function: { name: "look", arguments: "{}" },
        name: "look",
        args: {},
      }));
      const asking = new AIMessage("");
      if (place === "tool_calls") asking.tool_calls = calls as never;
      else asking.additional_kwargs["tool_calls"] = calls as never;
      const { reasons, text } = explain([human("u"), asking, human("v")], { dialect: "strict" });
      expect(reasons.filter(({ rule }) => rule === "duplicate-call-id")).toHaveLength(298);
      expect(reads).toBeLessThan(300 * 20);
      expect(text.match(/Calls: .*|repeated-\d/g)?.length).toBeLessThan(300 * 10);
      expect(reasons.flatMap(({ callIds }) => callIds).length).toBeLessThan(300 * 3);
    },
  );

  it("reads chat completions as LangChain does, and says that a sound list is accepted", () => {
    const call = { id: "c1", type: "function", function: { name: "look", arguments: '{"a": 1}' } };
    const plain = [
      { role: "developer", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "Hello!" }] },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: "18" },
    ];
    const { text } = explain(plain, { dialect: "openai" });
    expect(text).toBe("openai: no known rule refuses these 4 messages.");
    const { reasons } = explain(plain.slice(0, 3), { dialect: "openai" });
    expect(reasons).toMatchObject([{ code: "pairing/dangling-call", index: 2, callIds: ["c1"] }]);
  });

  it("takes the dialect that the latest response tells, and otherwise none", () => {
    const made = (model_provider: string) =>
      new AIMessage({ content: "Yes.", response_metadata: { model_provider } });
    const of = (...list: BaseMessage[]) => explain([human("u"), ...list, human("v")]).dialect;
    expect(of(made("openai"), human("w"), made("anthropic"))).toBe("anthropic");
    expect(of(new AIMessage("Yes."))).toBe("as-stored");
    const untold = "No response tells its provider, so name a dialect to check its other rules.";
    expect(explain([human("u")]).text).toBe(`No rule of pairing refuses this 1 message. ${untold}`);
    expect(explain([human("u"), ai("a", "c")]).text).toContain(
      `Providers refuse these 2 messages. ${untold}\n`,
    );
    expect(explain([human("u"), made("anthropic")], { dialect: "mistral" }).dialect).toBe("mistral");
    expect(explain([human("u"), made("anthropic")], { dialect: "auto" }).dialect).toBe("anthropic");
  });

  const use = { type: "tool_use", id: "a", name: "look", input: {} };
  const user = { role: "user", content: "Hello?" };
  it.each<[title: string, list: readonly unknown[], at: number, fields: string]>([
    ["Anthropic's calls", [user, { role: "assistant", content: [use] }], 1, '["role","content"]'],
    ["Anthropic's results", [{ role: "user", content: [{ type: "tool_result" }] }], 0, '["role","content"]'],
    ["Gemini's turns", [{ role: "user", parts: [{ text: "fish" }] }], 0, '["role","parts"]'],
    ["items of Responses", [user, { type: "function_call", call_id: "fish" }], 1, '["type","call_id"]'],
    ["their texts", [{ role: "user", content: [{ type: "input_text" }] }], 0, '["role","content"]'],
    ["anything else", [user, { type: "nothing" }], 1, '["type"]'],
    ["no message", [user, null], 1, '"object"'],
  ])("names no fault of a form that it does not read: %s", (_, list, at, fields) => {
    const message = `Expected \`messages[${at}]\` to be a message as LangChain, a state or chat completions have it, got \`${fields}\`. The form is unknown.`;
    expect(() => explain(list)).toThrow(message);
  });

  it("reads what a state has of Anthropic's calls", () => {
    const call = { id: "a", name: "look", args: {} };
    const list = [
      user,
      { type: "ai", content: [use], tool_calls: [call] },
      { type: "tool", tool_call_id: "a", content: "18" },
    ];
    expect(explain(list, { dialect: "anthropic" }).reasons).toEqual([]);
    expect(() => explain("no list" as never)).toThrow(InvalidMessageError);
  });
});
