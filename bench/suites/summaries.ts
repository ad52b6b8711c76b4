/**
 * Long threads beside LangChain's `summarizationMiddleware`: the same histories, the same budget, the same models. What
 * is counted depends on no time, so there is one round.
 *
 * lost: messages that are not in the state, and were not shown completely to a summariser whose summary is in the
 * state.
 * invalid: requests that a strict provider would reject.
 */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { countTokens } from "../../src/history/size.js";
import { type Answer, FunctionModel } from "../../test/support/models.js";
import { strictViolations } from "../../test/support/strict-check.js";
import { WITH_SUMMARY } from "../contenders.js";
import type { Suite } from "../suite.js";
import { BUDGET, type MakeAgent, SUMMARISING_AGENTS, words } from "../summarising-agents.js";
import { countWaits, TURNS } from "../summary-waits.js";

const GIST = "The user asked about places, and was told about them.";

const human = (id: string, text = words(id, 30)) => new HumanMessage({ id, content: text });
const ai = (id: string) => new AIMessage({ id, content: words(id, 30) });
const result = (id: string, call: string) =>
  new ToolMessage({ id, tool_call_id: call, name: "look", content: words(id, 80) });
const calls = (id: string, ...ids: string[]) =>
  new AIMessage({
    id,
    content: "",
    tool_calls: ids.map((call) => ({ id: call, name: "look", args: { at: call } })),
  });

const turns = (count: number, turn: (number: number) => readonly BaseMessage[]) =>
  Array.from({ length: count }, (_, number) => turn(number)).flat();

/** A question, one tool call, its result, and a response. */
const plain = (turn: number) => [
  human(`h${turn}`),
  calls(`c${turn}`, `x${turn}`),
  result(`r${turn}`, `x${turn}`),
  ai(`a${turn}`),
];
/** Two messages with tool calls, both before any of their results. */
const interleaved = (turn: number) => [
  human(`h${turn}`),
  calls(`c${turn}`, `x${turn}`),
  calls(`d${turn}`, `y${turn}`),
  result(`r${turn}`, `x${turn}`),
  result(`s${turn}`, `y${turn}`),
];
/** Turns with one, no and eight tool calls. */
const mixed = (turn: number) => {
  if (turn % 3 === 0) return plain(turn);
  if (turn % 3 === 1) return [human(`h${turn}`), ai(`a${turn}`)];
  const ids = Array.from({ length: 8 }, (_, call) => `x${turn}.${call}`);
  return [
    human(`h${turn}`),
    calls(`c${turn}`, ...ids),
    ...ids.map((id) => result(`r-${id}`, id)),
    ai(`a${turn}`),
  ];
};

interface Scenario {
  readonly name: string;
  readonly history: readonly BaseMessage[];
  readonly summarise: Answer;
  /** The number of tool steps in the turn that follows. */
  readonly steps: number;
}

const scenario = (name: string, history: readonly BaseMessage[], more: Partial<Scenario> = {}): Scenario => ({
  name,
  history,
  summarise: () => GIST,
  steps: 1,
  ...more,
});

const SCENARIOS: readonly Scenario[] = [
  scenario("plain turns", turns(14, plain)),
  scenario("interleaved calls", turns(12, interleaved)),
  scenario("mixed runs", turns(14, mixed)),
  scenario("summariser throws", turns(14, plain), { summarise: () => new Error("503 overloaded") }),
  scenario("summariser returns nothing", turns(14, plain), { summarise: () => "" }),
  scenario("system message in the state", [
    new SystemMessage({ id: "sys", content: "Only speak of places." }),
    ...turns(14, plain),
  ]),
  scenario("$& in user text", [human("price", "It costs $& or $1, not $$."), ...turns(14, plain)]),
  scenario("a hundred turns", turns(100, plain)),
  scenario("one turn of 30 tool steps", turns(2, plain), { steps: 30 }),
];

const REQUEST = "Please visit the next places, one after the other.";

const squeeze = (text: string) => text.replaceAll(/\\n|\s+/g, "");
const tokensOf = (messages: readonly BaseMessage[]) =>
  messages.reduce((sum, one) => sum + countTokens(one), 0);

async function count(make: MakeAgent, { history, summarise, steps }: Scenario) {
  const answered: { shown: string; answer: string }[] = [];
  const summariser = new FunctionModel(async (asked) => {
    const answer = await summarise(asked);
    if (typeof answer === "string") answered.push({ shown: squeeze(asked.text), answer });
    return answer;
  });
  const model = new FunctionModel(({ index }) =>
    index < steps ? calls(`step-${index}`, `z${index}`) : new AIMessage({ id: "end", content: "All done." }),
  );
  const entered = [...history, new HumanMessage({ id: "request", content: REQUEST })];
  let state: readonly BaseMessage[] = [];
  let failed = 0;
  try {
    const config = { configurable: { thread_id: "t" }, recursionLimit: 500 };
    ({ messages: state } = await make(model, summariser).invoke({ messages: [...entered] }, config));
  } catch {
    failed = 1;
  }
  const stated = state.map(({ text }) => text);
  const standing = answered.filter(
    ({ answer }) => answer.trim() !== "" && stated.some((text) => text.includes(answer)),
  );
  const shown = standing.map((each) => each.shown).join("");
  const stepTexts = Array.from({ length: steps }, (_, step) => words(`found-z${step}`, 80));
  const texts = [...entered.map(({ text }) => text), ...stepTexts].filter((text) => text !== "");
  return {
    failed,
    lost: texts.filter((text) => !stated.includes(text) && !shown.includes(squeeze(text))).length,
    invalid: model.requests.filter(({ messages }) => strictViolations(messages).length > 0).length,
    withoutRequest: model.requests.filter(
      ({ messages }) => !messages.some(({ text }) => text.includes(REQUEST)),
    ).length,
    summaries: summariser.requests.length,
    tokens: Math.max(0, ...model.requests.map(({ messages }) => tokensOf(messages))),
  };
}

type Counted = Awaited<ReturnType<typeof count>>;

const COUNTS: Readonly<Record<keyof Counted, readonly [title: string, unit: string]>> = {
  failed: ["Runs that fail", "runs"],
  lost: ["Messages that are lost", "messages"],
  invalid: ["Requests that a strict provider rejects", "requests"],
  withoutRequest: ["Requests without the user's last message", "requests"],
  summaries: ["Requests for a summary", "requests"],
  tokens: [`Tokens of the longest request, with a budget of ${BUDGET}`, "tokens"],
};

const WAITS = {
  waitingTurns: [`Turns whose response waits for a summary, of ${TURNS}`, "turns"],
  requests: [`Requests for a summary that responses wait for, in ${TURNS} turns`, "requests"],
} as const;

export const summaries: Suite = {
  name: "summaries",
  measure: async ({ note }) => {
    const counted: Record<string, Counted[]> = {};
    for (const [name, make] of Object.entries(SUMMARISING_AGENTS)) {
      note(name);
      const all: Counted[] = [];
      for (const one of SCENARIOS) all.push(await count(make, one));
      counted[name] = all;
    }
    const waits: Record<string, Awaited<ReturnType<typeof countWaits>>> = {};
    for (const [name, make] of Object.entries(SUMMARISING_AGENTS)) waits[name] = await countWaits(make);
    const ofWaits = Object.entries(WAITS).map(([key, [title, unit]]) => ({
      id: key,
      title,
      unit,
      base: WITH_SUMMARY,
      rounds: Object.fromEntries(
        Object.entries(waits).map(([name, counts]) => [name, [counts[key as keyof typeof counts]]]),
      ),
    }));
    const ofHistories = Object.entries(COUNTS).map(([key, [title, unit]]) => ({
      id: key,
      title: `${title}, ${SCENARIOS.length} histories`,
      unit,
      base: WITH_SUMMARY,
      rounds: Object.fromEntries(
        Object.entries(counted).map(([name, all]) => {
          const numbers = all.map((each) => each[key as keyof Counted]);
          return [
            name,
            [key === "tokens" ? Math.max(...numbers) : numbers.reduce((sum, one) => sum + one, 0)],
          ];
        }),
      ),
    }));
    return [...ofHistories, ...ofWaits];
  },
};
