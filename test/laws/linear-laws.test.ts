/** The work of each function on messages grows in proportion to the messages. Steps are counted, not time. */

import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pendingApprovals } from "../../src/agent/calls/patch.js";
import { callsOf } from "../../src/history/call.js";
import { withArguments, withDistinctCallIds } from "../../src/history/change-calls.js";
import { filterToolCalls, findSafeCutoff } from "../../src/history/cut.js";
import { measureInput } from "../../src/history/measure.js";
import { contentText, withTextFor } from "../../src/history/message.js";
import { unansweredCalls } from "../../src/history/open-calls.js";
import { coverPlan, isSummaryDue, planSummary, type SummaryPolicy } from "../../src/history/plan-summary.js";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { repairHistory } from "../../src/history/reducer/repair-history.js";
import { rewriteHistory } from "../../src/history/reducer/rewrite-history.js";
import { excerptOf, renderTranscript } from "../../src/history/transcript.js";
import { flattenVisible, visibleHistory } from "../../src/history/visible-history.js";
import type { DialectName } from "../../src/providers/contract/dialect-name.js";
import { explainInput } from "../../src/providers/input/explain-input.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { validateHistory } from "../../src/providers/rules/validate-history.js";
import { DIALECTS } from "../../src/providers/table/dialects.js";
import { examineCalls } from "../../src/threads/ended-runs/close-calls.js";
import type { Leftovers } from "../../src/threads/ended-runs/leftovers.js";
import { learnClasses, SAMPLE_MESSAGES } from "../../src/threads/serializer/message-classes.js";
import { createMessageBytes, readValue, writeValue } from "../../src/threads/serializer/values.js";
import { countSteps } from "../support/count-steps.js";
import { buildShape, type Part, shapes } from "../support/long-shapes.js";
import { human, result, summary } from "../support/make-messages.js";
import { law } from "../support/test-tools.js";

/** Parts of which each is one message with many calls. */
const CALLS: readonly Part["kind"][] = ["batch", "orders", "blocks"];
/** Names that several messages or calls of a part have. */
const SHARED: readonly Part["ids"][] = ["pairs", "same"];

const SIZE = 64;
/** Four times the messages take four times the steps, and a little more in a heap. Quadratic work takes 16 times. */
const GREATEST_FACTOR = 6;

/** How often an input is made until it has at most as many tokens as it may have, and once more. */
const MOST_ATTEMPTS = 6;

function expectLinear(stepsOf: (size: number) => number): void {
  const few = stepsOf(SIZE);
  expect(stepsOf(4 * SIZE)).toBeLessThan(GREATEST_FACTOR * few);
}

const DIALECT_NAMES = Object.keys(DIALECTS) as DialectName[];

const FUNCTIONS: readonly (readonly [name: string, run: (messages: BaseMessage[]) => unknown])[] = [
  ["reduceMessages, for a history that is not in order", (messages) => reduceMessages(messages, [])],
  ["repairHistory", repairHistory],
  ["rewriteHistory", rewriteHistory],
  ["unansweredCalls", unansweredCalls],
  ["filterToolCalls", (messages) => filterToolCalls(messages, messages.length >> 1)],
  ["findSafeCutoff", (messages) => findSafeCutoff(messages, { messages: messages.length >> 1 })],
  ["visibleHistory", (messages) => flattenVisible(visibleHistory(messages))],
  ["renderTranscript", (messages) => renderTranscript(messages, 100)],
  ["withDistinctCallIds", (messages) => messages.map(distinct)],
  ...DIALECT_NAMES.flatMap((dialect): (readonly [string, (messages: BaseMessage[]) => unknown])[] => [
    [`validateHistory for ${dialect}`, (messages) => validateHistory(messages, dialect)],
    [`toModelInput for ${dialect}`, (messages) => toModelInput(messages, { dialect })],
  ]),
  ["explainInput", (messages) => explainInput(messages, { dialect: "strict" })],
  ["isSummaryDue", (messages) => isSummaryDue(messages, POLICY)],
  ["planSummary and coverPlan", (messages) => planOf(messages, "keep")],
  ["planSummary and coverPlan with an archive", (messages) => planOf(messages, "archive")],
  ["measureInput", (messages) => measureInput(messages, { ...POLICY, maxToolCalls: 3 })],
];

const LIMITED: typeof FUNCTIONS = [
  ["toModelInput with a limit", (messages) => toModelInput(messages, { maxTokens: 100 })],
  ["toModelInput with a limit that grows", (messages) => toModelInput(messages, limitOf(messages))],
  ["explainInput with a limit", (messages) => explainInput(messages, limitOf(messages))],
];

const POLICY: SummaryPolicy = {
  maxTokensBeforeSummary: 100,
  maxMessagesBeforeSummary: 10,
  messagesToKeep: 5,
  tokensToKeep: undefined,
  toolTokens: 0,
  promptTokens: 0,
  maxToolCalls: undefined,
};

/** As many tokens as the messages need if each of them, and of their calls, is short. */
function limitOf(messages: readonly BaseMessage[]) {
  const calls = messages.reduce((sum, message) => sum + callsOf(message).length, 0);
  return { maxTokens: 100 + 4 * (messages.length + calls), maxToolCallsFromHistory: messages.length >> 1 };
}

function planOf(messages: readonly BaseMessage[], kind: "keep" | "archive"): void {
  const { messages: paired } = repairHistory(messages);
  const plan = planSummary(paired, POLICY);
  if (plan !== undefined) coverPlan(plan, paired, kind === "archive" ? "c" : undefined);
}

function distinct(message: BaseMessage): BaseMessage {
  return AIMessage.isInstance(message) ? withDistinctCallIds(message) : message;
}

const stepsOf = (parts: readonly Part[], size: number, run: (messages: BaseMessage[]) => unknown) =>
  countSteps(buildShape(parts, size), (messages) => void run(messages));

describe("The work of an update grows with the update and the history", () => {
  const expectLinearUpdate = (history: readonly Part[], update: readonly Part[]): void =>
    expectLinear((size) => {
      const state = reduceMessages([], buildShape(history, size)).messages;
      return countSteps([[...state], buildShape(update, size)], ([before, written]) => {
        reduceMessages(before, written);
      });
    });

  /**
   * Whether results can move between the calls of one message that share ids. Only the order of its results is stored,
   * so each move costs a pass over the calls of that message.
   */
  const movesResults = (parts: readonly Part[]): boolean => {
    const results = parts.filter(({ kind }) => ["results", "reports", "placeholders"].includes(kind));
    return (
      parts.some(({ kind, callIds }) => CALLS.includes(kind) && SHARED.includes(callIds)) &&
      (results.length > 1 || results.some(({ ids }) => SHARED.includes(ids)))
    );
  };

  law("whatever it holds", 50, [shapes(), shapes()], (history, update) => {
    fc.pre(!movesResults([...history, ...update]));
    expectLinearUpdate(history, update);
  });

  it("if results with the ids of other messages answer calls that share an id", () => {
    expectLinearUpdate(
      [{ kind: "users", ids: "reversed", callIds: "own" }],
      [
        { kind: "batch", ids: "own", callIds: "pairs" },
        { kind: "results", ids: "reversed", callIds: "same" },
      ],
    );
  });
});

describe("The work grows with the messages", () => {
  for (const [name, run] of FUNCTIONS)
    law(`of ${name}`, 8, [shapes("removals")], (parts) => expectLinear((size) => stepsOf(parts, size, run)));

  for (const [name, run] of LIMITED)
    law(`of ${name}`, 4, [shapes("removals")], (parts) => {
      // An input is brought under its limit in one attempt or in several, so the lists must differ by more than that.
      expect(stepsOf(parts, 16 * SIZE, run)).toBeLessThan(16 * MOST_ATTEMPTS * stepsOf(parts, SIZE, run));
    });

  law("of repairHistory with removals", 50, [shapes()], (parts) =>
    expectLinear((size) => stepsOf(parts, size, repairHistory)),
  );

  const calls = (size: number) =>
    Array.from({ length: size }, (_, index) => ({ id: `c${index}`, name: "look", args: { index } }));
  const batch = (size: number) => new AIMessage({ id: "a", content: "", tool_calls: calls(size) });
  const unanswered = (size: number) => [...unansweredCalls([human("h"), batch(size)]).pending];

  it.each(
    Object.entries<(size: number) => number>({
      "explainInput with summaries that each cover the one before": (size) => {
        const chain = Array.from({ length: size }, (_, index) => [
          human(`h${index}`),
          summary(`s${index}`, { kind: "keep", messages: [`h${index}`, `s${index - 1}`] }),
        ]);
        return countSteps(chain.flat(), (messages) => void explainInput(messages));
      },
      "the search for the results of the calls of one message": (size) => {
        const written = calls(size).map(({ id }) => result(`r-${id}`, id));
        const history = [human("h"), batch(size)];
        const lists = { interrupts: [], late: [], nodes: [], unstarted: [] };
        const leftovers = { history, written: written.reverse(), ...lists };
        return countSteps(
          unanswered(size),
          (waiting) => void examineCalls(waiting, [leftovers as unknown as Leftovers], history),
        );
      },
      "the search for the questions about the calls of one message": (size) =>
        countSteps(unanswered(size), (waiting) => {
          const asked = calls(size).map((call) => ({ ...call, description: "May it?" }));
          pendingApprovals(
            waiting.map((one, index) => {
              const question = asked[index];
              return { ...one, remains: question && { kind: "question", asked: question } };
            }),
          );
        }),
      "the search for LangChain's questions about the calls of one message": (size) =>
        countSteps(unanswered(size), (waiting) => {
          const interrupts = [{ value: { actionRequests: calls(size) } }];
          const history = [human("h"), batch(size)];
          const none = {
            written: [],
            nodes: [],
            unstarted: [],
            late: [],
            removed: new Set<string>(),
            headId: undefined,
            checkpointId: "0",
          };
          examineCalls(waiting, [{ history, interrupts, ...none }], history);
        }),
      "new arguments for the calls of one message": (size) => {
        const changes = new Map(calls(size).map((_, index) => [index, { index: 0 }]));
        return countSteps([batch(size)], ([message]) => void (message && withArguments(message, changes)));
      },
      "the text of results of tools that the provider ran": (size) => {
        const content = calls(size).flatMap(({ id }) => [
          { type: "server_tool_use", id, name: "web_search", input: { query: id } },
          { type: "web_search_tool_result", tool_use_id: id, content: "found" },
        ]);
        return countSteps([new AIMessage({ content })], ([message]) => {
          if (message === undefined) return;
          contentText(message);
          withTextFor(message.content as Parameters<typeof withTextFor>[0], () => false);
        });
      },
      "an excerpt with as many lines about the request": (size) => {
        const text = calls(16 * size).map(({ id }) => `A line about weather ${id}.`);
        return countSteps([], () => void excerptOf(text.join("\n"), 32 * size, ["weather"]));
      },
    }),
  )("of %s", (_, stepsOf) => expectLinear(stepsOf));
});

describe("The work of the serializer grows with what it reads and writes", async () => {
  const snapshot = { lc: 2, type: "delta_snapshot", value: [] };
  const samples = JSON.stringify([SAMPLE_MESSAGES, snapshot]);
  const [messages, made] = Object(await new JsonPlusSerializer().loadsTyped("json", samples));
  const classes = learnClasses(messages, made);
  const fieldsOf = (size: number, value: unknown) =>
    Object.fromEntries(Array.from({ length: size }, (_, index) => [`field-${index}`, value]));
  const listOf = (size: number, make: (index: number) => unknown) =>
    Array.from({ length: size }, (_, index) => make(index));
  const withKwargs = (additional_kwargs: Record<string, unknown>) =>
    new HumanMessage({ content: "hi", additional_kwargs });
  const VALUES: readonly (readonly [name: string, make: (size: number) => unknown])[] = [
    ["many messages", (size) => listOf(size, (index) => new HumanMessage(`${index}`))],
    ["a message with many undefined fields", (size) => withKwargs(fieldsOf(size, undefined))],
    [
      "a message with a long list of undefined",
      (size) => withKwargs({ list: listOf(size, () => undefined) }),
    ],
    ["a message with nested undefined fields", (size) => withKwargs({ inner: fieldsOf(size, undefined) })],
    ["many messages with undefined fields", (size) => listOf(size, () => withKwargs({ none: undefined }))],
    ["many undefined fields", (size) => fieldsOf(size, undefined)],
    [
      "a message with many calls",
      (size) => {
        const tool_calls = Array.from({ length: size }, (_, at) => ({
          id: `c${at}`,
          name: "look",
          args: {},
        }));
        return new AIMessage({ content: "", tool_calls });
      },
    ],
  ];

  it.each(VALUES)("%s", async (_, make) => {
    const texts = new Map<number, string>();
    for (const size of [SIZE, 4 * SIZE]) {
      const [, bytes] = await new JsonPlusSerializer().dumpsTyped(make(size));
      texts.set(size, new TextDecoder().decode(bytes));
    }
    expectLinear((size) =>
      countSteps(
        { value: JSON.parse(texts.get(size) ?? "") },
        (holder) => void readValue(holder, "value", classes),
      ),
    );
    const writeMember = () => Promise.resolve(undefined);
    expectLinear((size) =>
      countSteps(
        [],
        () => void writeValue(make(size), { classes, messageBytes: createMessageBytes(), writeMember }),
      ),
    );
  });
});
