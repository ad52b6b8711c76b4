import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diagnoseThread, explain, planRepair, type StoredThread, threadOfList } from "../../src/doctor.js";
import { repairHistory } from "../../src/index.js";
import { DIALECTS } from "../../src/providers/dialects.js";

const human = (id: string) => new HumanMessage({ id, content: `secret ${id}` });
const calling = (id: string, ...ids: string[]) =>
  new AIMessage({ id, content: "", tool_calls: ids.map((call) => ({ id: call, name: "look", args: {} })) });
const result = (call: string) =>
  new ToolMessage({ id: `r-${call}`, tool_call_id: call, name: "look", content: "secret" });

const sound = [human("u"), calling("a", "c"), result("c"), new AIMessage({ id: "b", content: "Fine." })];

function stored(messages: readonly unknown[], fields: Partial<StoredThread> = {}): StoredThread {
  return { ...threadOfList(messages), checkpointId: "1", openTasks: [], ...fields };
}

describe("a report", () => {
  it("quotes for each call the error about this call", () => {
    const thread = stored([human("u"), calling("a", "c1"), human("v"), calling("b", "c2"), human("w")]);
    const words = "blocks immediately after:";
    expect(diagnoseThread(thread, { dialect: "anthropic" }).findings).toMatchObject([
      { index: 1, providerSays: expect.stringContaining(`${words} c1.`) },
      { index: 3, providerSays: expect.stringContaining(`${words} c2.`) },
    ]);
    expect(diagnoseThread(thread, { dialect: "gemini" }).findings[0]?.providerSays).toContain(
      "number of function response parts is equal",
    );
  });

  it.each(Object.keys(DIALECTS))(
    "finds nothing in a sound thread, whatever message comes next: %s",
    (dialect) => {
      const report = diagnoseThread(stored(sound), { dialect: dialect as never });
      // Mistral's models write ids of another form. A request has them.
      const codes = report.findings.map(({ code }) => code);
      expect(codes.filter((code) => code !== "content/call-id")).toEqual([]);
      expect(diagnoseThread(stored(sound))).toMatchObject({ outcome: "sound", findings: [] });
    },
  );

  it("has a fault of form as an error for a named dialect, and as a warning for the provider that wrote the thread", () => {
    const made = new AIMessage({ id: "a", content: " ", response_metadata: { model_provider: "anthropic" } });
    const thread = stored([human("u"), made, human("v")]);
    expect(diagnoseThread(thread, { dialect: "anthropic" }).findings).toMatchObject([
      { code: "content/empty-assistant", severity: "error", messageId: "a", fixes: [{ kind: "at-request" }] },
    ]);
    expect(diagnoseThread(thread).findings).toMatchObject([{ severity: "warning" }]);
    expect(diagnoseThread(thread, { dialect: "openai" }).findings.map(({ code }) => code)).not.toContain(
      "content/blank-text",
    );
    const late = stored([human("u"), new SystemMessage({ id: "s", content: "Be kind." }), human("v")]);
    expect(diagnoseThread(late, { dialect: "strict" }).findings.map(({ code }) => code)).toContain(
      "order/system-position",
    );
  });

  it("has the window of the model", () => {
    expect(diagnoseThread(stored(sound), { maxTokens: 5 }).findings).toMatchObject([
      { code: "size/window", severity: "error" },
    ]);
    expect(diagnoseThread(stored(sound), { maxTokens: 5_000 }).findings).toEqual([]);
  });

  it("is the same twice, has no text of messages, and does not judge what it could not read", () => {
    const thread = stored([human("u"), result("x"), calling("a", "c"), human("v")]);
    expect(JSON.stringify(diagnoseThread(thread))).toBe(JSON.stringify(diagnoseThread(thread)));
    expect(JSON.stringify(diagnoseThread(thread))).not.toContain("secret");
    const reason = "no such table";
    expect(diagnoseThread({ ...thread, content: { kind: "unreadable", reason } })).toMatchObject({
      outcome: "unreadable",
      messages: null,
      findings: [{ code: "thread/unreadable" }],
    });
    expect(diagnoseThread({ ...thread, status: "busy" })).toMatchObject({
      outcome: "skipped",
      findings: [{ code: "state/busy" }],
    });
    expect(planRepair({ ...thread, status: "busy" })).toMatchObject({ kind: "skip", reason: "busy" });
  });

  it("refuses an unknown dialect by name", () => {
    expect(() => diagnoseThread(stored(sound), { dialect: "antropic" as never })).toThrow(
      /`dialect`.*antropic/,
    );
  });
});

describe("a plan", () => {
  it("prefers a real result to one that deepagents wrote in its place, and names what has no place", () => {
    const madeUp = new ToolMessage({
      id: "made-up",
      name: "look",
      tool_call_id: "c",
      content:
        "Tool call look with id c was cancelled - another message came in before it could be completed.",
    });
    const thread = stored([human("u"), calling("a", "c"), madeUp, human("v")], {
      endedRuns: [
        {
          checkpointId: "0",
          fate: "discarded",
          history: [human("u"), calling("a", "c")],
          written: [result("c"), result("unknown")],
          interrupts: [],
          removed: new Set(),
          nodes: [],
          unstarted: [],
          otherChannels: ["files"],
        },
      ],
    });
    const plan = planRepair(thread);
    expect(plan).toMatchObject({
      kind: "write",
      steps: [{ kind: "replace", callId: "c" }],
      unplaced: [{ messageId: "made-up" }, { messageId: "r-unknown" }],
    });
    expect(plan.kind === "write" && plan.after.map((message) => (message as HumanMessage).id)).toEqual([
      "u",
      "a",
      "r-c",
      "v",
    ]);
    expect(planRepair(thread, { harvest: false })).toMatchObject({ kind: "nothing" });
  });

  it("closes the calls of a structured response, and those that a run was about to make", () => {
    const list = [human("u"), calling("a", "c")];
    const open = { id: "t", node: "tools", error: undefined, interrupts: [] };
    expect(planRepair(stored(list, { otherChannels: ["structuredResponse"] }))).toMatchObject({
      kind: "write",
    });
    expect(planRepair(stored(list, { openTasks: [open] }))).toMatchObject({ steps: [{ kind: "close" }] });
    expect(planRepair(threadOfList(list))).toMatchObject({ steps: [{ kind: "close" }] });
  });
});

describe("an explanation", () => {
  const broken = [human("u"), calling("a", "c1", "c2"), result("c2"), human("v")];

  it.each(["openai", "anthropic", "deepseek", "mistral", "gemini"] as const)(
    "says what %s answers, and what mends it",
    (dialect) => {
      const { refused, reasons, text } = explain(broken, { dialect });
      expect(refused).toBe(true);
      expect(reasons[0]).toMatchObject({ code: "pairing/dangling-call", rule: "missing-result", index: 1 });
      expect(text).toContain(reasons[0]?.providerSays ?? "nothing");
      expect(text).toContain("repairHistory");
      expect(text).not.toContain("secret");
      const mended = explain(repairHistory(broken).messages, { dialect });
      expect(mended.reasons.map(({ rule }) => rule)).not.toContain("missing-result");
    },
  );

  it("names only the calls that a reason is about", () => {
    const list = [
      human("u"),
      calling("a", "c1", "c2", "c3"),
      result("c2"),
      human("v"),
      calling("b", "c2", "c4", "c5", "c5"),
      ...["c2", "c4", "c5", "c5"].map(result),
    ];
    const named = explain(list, { dialect: "anthropic" }).reasons.map(({ rule, callIds }) => [rule, callIds]);
    expect(named).toEqual([
      ["missing-result", ["c1", "c3"]],
      ["repeated-call-id", ["c2"]],
      ["repeated-call-id", ["c5"]],
    ]);
  });

  it("names calls for each fault of pairing, the same as the provider's words", () => {
    const ids = fc.constantFrom("c1", "c2", "c3");
    const message = fc.oneof(
      fc.constant(human("u")),
      ids.map(result),
      fc.array(ids, { minLength: 1, maxLength: 4 }).map((calls) => calling("a", ...calls)),
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
      const { reasons, text } = explain([human("u"), asking, human("v")]);
      expect(reasons.filter(({ rule }) => rule === "repeated-call-id")).toHaveLength(298);
      expect(reads).toBeLessThan(300 * 20);
      expect(text.match(/Calls: .*|repeated-\d/g)?.length).toBeLessThan(300 * 10);
      expect(reasons.flatMap(({ callIds }) => callIds).length).toBeLessThan(300 * 3);
    },
  );

  it("reads plain objects, and says that a sound list is accepted", () => {
    const plain = [{ role: "user", content: "Hello!" }, { type: "nothing" }];
    expect(explain(plain, { dialect: "openai" }).reasons).toMatchObject([
      { code: "content/not-a-message", index: 1 },
    ]);
    expect(explain(plain.slice(0, 1), { dialect: "openai" }).text).toBe(
      "openai: no known rule refuses this 1 message.",
    );
  });
});
