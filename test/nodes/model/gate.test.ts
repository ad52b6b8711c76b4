import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { decideAtGate } from "../../../src/agent/model.js";
import type { LoopLimits } from "../../../src/agent/settings/settings.js";
import type { SummaryPolicy } from "../../../src/history/plan-summary.js";
import type { AgentState, Turn } from "../../../src/threads/state.js";

const LIMITS: LoopLimits = {
  maxIterations: 3,
  maxToolCalls: 4,
  maxConsecutiveErrors: 2,
  maxToolCallsPerThread: 10,
  maxTokensPerTurn: 1_000,
  maxTokensPerThread: 5_000,
};
const ROOM = 100;

const human = new HumanMessage({ id: "h", content: "x" });
const called = new AIMessage({
  id: "a",
  content: "",
  tool_calls: ["1", "2"].map((id) => ({ id, name: "t", args: {}, type: "tool_call" as const })),
});
const result = (id: string, status: "success" | "error" = "success") =>
  new ToolMessage({ id: `r${id}`, content: "r", tool_call_id: id, status });

const turn = (spent: Partial<Turn> = {}): Turn => ({
  startedBy: "h",
  iterations: 0,
  toolCalls: 0,
  consecutiveErrors: 0,
  ...spent,
});

/** A policy that never makes a summary due. */
const policy: SummaryPolicy = {
  maxTokens: 0,
  maxMessages: 0,
  messagesToKeep: 20,
  tokensToKeep: undefined,
  toolTokens: 0,
  promptTokens: 0,
  maxToolCalls: undefined,
};
const decide = (state: AgentState, stepsLeft = ROOM) =>
  decideAtGate(state, { limits: LIMITS, policy, stepsLeft });

describe("the gate waits", () => {
  const cases: readonly (readonly [when: string, messages: AgentState["messages"]])[] = [
    ["in an empty thread", []],
    ["after a response", [human, new AIMessage("y")]],
    ["while no call has a result", [human, called]],
    ["while the first call has none", [human, called, result("2")]],
    ["while the last call has none", [human, called, result("1")]],
  ];

  it.each(cases)("%s", (_when, messages) => {
    expect(decide({ messages })).toEqual({ kind: "wait" });
  });
});

describe("the gate calls the model", () => {
  it("after a user message, and counts the first iteration of a new turn", () => {
    expect(decide({ messages: [human] })).toEqual({ kind: "call", turn: turn({ iterations: 1 }) });
  });

  it("after a system message", () => {
    expect(decide({ messages: [new SystemMessage("s")] }).kind).toBe("call");
  });

  it("when all results are there, in the running turn", () => {
    const state = {
      messages: [human, called, result("1"), result("2")],
      turn: turn({ iterations: 1, toolCalls: 2 }),
    };
    expect(decide(state)).toEqual({ kind: "call", turn: turn({ iterations: 2, toolCalls: 2 }) });
  });

  it("with fresh counters when another user message came", () => {
    const spent = turn({ startedBy: "earlier", iterations: 3, toolCalls: 4, closing: "max-iterations" });
    expect(decide({ messages: [human], turn: spent })).toEqual({
      kind: "call",
      turn: turn({ iterations: 1 }),
    });
  });
});

describe("the gate counts a round as failed", () => {
  const cases: readonly (readonly [
    what: string,
    statuses: ["success" | "error", "success" | "error"],
    count: number,
  ])[] = [
    ["if all its calls failed", ["error", "error"], 2],
    ["not if its first call succeeded", ["success", "error"], 0],
    ["not if its last call succeeded", ["error", "success"], 0],
  ];

  it.each(cases)("%s", (_what, [first, second], consecutiveErrors) => {
    const messages = [human, called, result("1", first), result("2", second)];
    expect(decide({ messages, turn: turn({ consecutiveErrors: 1 }) })).toMatchObject({
      turn: { consecutiveErrors },
    });
  });

  it("only once, in a turn of several rounds", () => {
    const earlier = [human, called, result("1", "error"), result("2", "error")];
    const again = new AIMessage({ id: "b", content: "", tool_calls: [{ id: "1", name: "t", args: {} }] });
    const messages = [...earlier, again, new ToolMessage({ id: "r3", content: "r", tool_call_id: "1" })];
    expect(decide({ messages, turn: turn({ consecutiveErrors: 1 }) })).toMatchObject({
      turn: { consecutiveErrors: 0 },
    });
  });
});

describe("the gate asks no model where the thread's tokens were used up before the turn", () => {
  const threadUsage = { tokens: 5_000, toolCalls: 0 };

  it("in a new turn", () => {
    const reason = "max-tokens-per-thread";
    const earlier = turn({ startedBy: "earlier", iterations: 2, closing: reason });
    expect(decide({ messages: [human], turn: earlier, threadUsage })).toEqual({
      kind: "used-up",
      turn: turn({ closing: reason }),
      reason,
    });
  });

  it("but one token less is enough", () => {
    const state = { messages: [human], threadUsage: { ...threadUsage, tokens: 4_999 } };
    expect(decide(state).kind).toBe("call");
  });
});

describe("the gate closes the turn", () => {
  const answered = [human, called, result("1"), result("2")];
  const failed = [human, called, result("1", "error"), result("2", "error")];
  const cases: readonly (readonly [reason: string, state: AgentState, stepsLeft: number])[] = [
    ["max-iterations", { messages: answered, turn: turn({ iterations: 3 }) }, ROOM],
    ["max-tool-calls", { messages: answered, turn: turn({ toolCalls: 4 }) }, ROOM],
    ["max-consecutive-errors", { messages: failed, turn: turn({ consecutiveErrors: 1 }) }, ROOM],
    ["recursion-limit", { messages: [human] }, 1],
    ["recursion-limit", { messages: [human] }, 0],
    ["max-tokens-per-turn", { messages: answered, turn: turn({ tokens: 1_000 }) }, ROOM],
    [
      "max-tokens-per-thread",
      {
        messages: answered,
        turn: turn({ iterations: 1 }),
        threadUsage: { tokens: 5_000, toolCalls: 0 },
      },
      ROOM,
    ],
    ["max-tool-calls-per-thread", { messages: [human], threadUsage: { tokens: 0, toolCalls: 10 } }, ROOM],
    ["max-tool-calls", { messages: answered, turn: turn({ closing: "max-tool-calls" }) }, ROOM],
  ];

  it.each(cases)("for %s", (reason, state, stepsLeft) => {
    expect(decide(state, stepsLeft)).toMatchObject({ kind: "close", reason, turn: { closing: reason } });
  });

  const spared: readonly (readonly [string, Partial<Turn>, number])[] = [
    ["maxIterations", { iterations: 2 }, ROOM],
    ["maxToolCalls", { toolCalls: 3 }, ROOM],
    ["maxConsecutiveErrors", { consecutiveErrors: 1 }, ROOM],
    ["maxTokensPerTurn", { tokens: 999 }, ROOM],
    ["the recursion limit", {}, 2],
  ];

  it.each(spared)("not one short of %s", (_limit, spent, stepsLeft) => {
    expect(decide({ messages: answered, turn: turn(spent) }, stepsLeft).kind).toBe("call");
  });
});
