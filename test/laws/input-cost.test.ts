/** What a model input costs in a thread that grows: the new messages, and not the history. */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { unansweredCalls } from "../../src/history/open-calls.js";
import { isSummaryDue } from "../../src/history/plan-summary.js";
import type { DialectName } from "../../src/providers/contract/dialect-name.js";
import { type PreparedInputOptions, prepareModelInput } from "../../src/providers/input/to-model-input.js";
import { DIALECTS } from "../../src/providers/table/dialects.js";
import { policyOf } from "../support/long-histories.js";

const policy = policyOf({ maxTokensBeforeSummary: 1e9, maxMessagesBeforeSummary: 1e9, messagesToKeep: 20 });

/** Turns whose call ids repeat, so that the projection renames them. */
const turn = (index: number): BaseMessage[] => [
  new HumanMessage({ id: `h${index}`, content: "Look" }),
  new AIMessage({
    id: `a${index}`,
    content: "",
    tool_calls: [{ id: `c${index % 7}`, name: "look", args: {} }],
  }),
  new ToolMessage({ id: `r${index}`, content: "found", tool_call_id: `c${index % 7}` }),
  new AIMessage({ id: `t${index}`, content: "Done" }),
];

/** How many properties of messages are read while the thread gets one more turn, with a model call in its middle. */
function readsOfTurn(turns: number, ask: (list: BaseMessage[]) => void): number {
  let reads = 0;
  const counted = (message: BaseMessage): BaseMessage =>
    new Proxy(message, {
      get: (target, key) => {
        reads += 1;
        return Reflect.get(target, key, target);
      },
    });
  let history = Array.from({ length: turns }, (_, index) => turn(index).map(counted)).flat();
  ask(history);
  reads = 0;
  const [request, response, result, answer] = turn(turns).map(counted);
  for (const added of [[request], [response, result], [answer, counted(new HumanMessage("Next"))]]) {
    history = [...history, ...added.filter((message) => message !== undefined)];
    ask(history);
  }
  return reads;
}

const FORMS: readonly (readonly [string, PreparedInputOptions])[] = [
  ...(Object.keys(DIALECTS) as DialectName[]).map((dialect) => [dialect, { dialect }] as const),
  ["a system prompt", { dialect: "openai", systemPrompt: "Be brief." }],
  ["a window", { dialect: "openai", maxTokens: 1e9, toolTokens: 100 }],
];

describe("one more turn of a long thread", () => {
  it.each(FORMS)("costs what one of a short thread does: %s", (_name, options) => {
    const ask = (list: BaseMessage[]) => void prepareModelInput(list, options);
    expect(readsOfTurn(400, ask)).toBe(readsOfTurn(100, ask));
  });

  it("is counted, and has its open calls found, without a look at the others", () => {
    const ask = (list: BaseMessage[]) => {
      expect(isSummaryDue(list, policy)).toBe(false);
      expect(unansweredCalls(list).pending).toEqual([]);
    };
    expect(readsOfTurn(400, ask)).toBe(readsOfTurn(100, ask));
  });

  it.each([3, { max: 4, clearAtLeast: 2 }])(
    "sends the same objects again if calls are left out: %j",
    (max) => {
      const options = { dialect: "mistral", maxToolCallsFromHistory: max } as const;
      const texts = (index: number) =>
        turn(index).map((message) =>
          message.type === "ai" ? Object.assign(message, { content: "So" }) : message,
        );
      const history = Array.from({ length: 40 }, (_, index) => texts(index)).flat();
      const before = prepareModelInput(history, options).messages;
      const after = prepareModelInput([...history, new HumanMessage("Next")], options).messages;
      expect(before.filter((message) => after.includes(message)).length).toBeGreaterThan(100);
    },
  );

  it("costs the same with the system message of an agent before it", () => {
    const own = new SystemMessage("You are an agent.");
    const ask = (list: BaseMessage[]) => void prepareModelInput([own, ...list], { dialect: "openai" });
    expect(readsOfTurn(400, ask)).toBe(readsOfTurn(100, ask));
  });
});

it.each([1, 1_003, 1_990])("a thread that changes at message %i is sent as a new one is", (place) => {
  const create = () => Array.from({ length: 500 }, (_, index) => turn(index)).flat();
  const ask = (list: BaseMessage[]) => {
    const { messages, size } = prepareModelInput(list, { dialect: "mistral" });
    return { sent: messages.map((message) => message.toJSON()), size, isDue: isSummaryDue(list, policy) };
  };
  const changed = (list: BaseMessage[]) =>
    list.toSpliced(place, 0, new HumanMessage({ id: "new", content: "Wait" }));
  const history = create();
  ask(history);
  expect(ask(changed(history))).toEqual(ask(changed(create())));
  expect(ask(history)).toEqual(ask(create()));
});
