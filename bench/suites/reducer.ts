/**
 * What one update of a long history costs: one message is appended, replaced or removed.
 *
 * warm: the history comes from the reducer, as between the steps of a run.
 * cold: the history is a list of new messages, as after a checkpoint was loaded.
 */

import { type BaseMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { messagesDeltaReducer, messagesStateReducer } from "@langchain/langgraph";
import { pairedMessagesReducer } from "../../src/history/reducer/paired-messages.js";
import { DELTA_REDUCER, OURS, STATE_REDUCER } from "../contenders.js";
import { createHistory, MESSAGES_A_TURN, written } from "../histories.js";
import { type CaseSpec, measureRounds, median, type Suite, timeOfCall } from "../suite.js";

/** How many updates a round has. */
const SAMPLES = { 1000: { warm: 200, cold: 5 }, 10000: { warm: 40, cold: 2 } };
type Size = keyof typeof SAMPLES;
const SIZES = Object.keys(SAMPLES).map(Number) as Size[];

/** Contract: returns a new list. */
type Apply = (history: BaseMessage[], message: BaseMessage) => BaseMessage[];

interface Operation {
  readonly title: string;
  /** @param sample Each sample concerns another message, from the end of the history backwards. */
  readonly update: (size: number, sample: number) => BaseMessage;
}

/** The id of a question. A removal of one has no effect on other messages. */
const questionId = (size: number, sample: number) => `h${size / MESSAGES_A_TURN - 1 - sample}`;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  append: {
    title: "Append a message",
    update: (_, sample) => new HumanMessage({ id: `new-${sample}`, content: "next" }),
  },
  update: {
    title: "Replace a message",
    update: (size, sample) => new HumanMessage({ id: questionId(size, sample), content: "edited" }),
  },
  remove: {
    title: "Remove a message",
    update: (size, sample) => new RemoveMessage({ id: questionId(size, sample) }),
  },
};

const REDUCERS: Readonly<Record<string, Apply>> = {
  [OURS]: (history, message) => pairedMessagesReducer(history, [message]),
  [STATE_REDUCER]: (history, message) => messagesStateReducer(history, [message]),
  [DELTA_REDUCER]: (history, message) => messagesDeltaReducer(history, [[message]]),
};

/** No reducer changes a message, so the warm ones share them. */
const histories = new Map<Size, BaseMessage[]>();

function sharedHistory(size: Size): BaseMessage[] {
  const history = histories.get(size) ?? createHistory(size);
  histories.set(size, history);
  return history;
}

function measureWarm(apply: Apply, { update }: Operation, size: Size): number {
  // The first update is cold.
  let history = apply(sharedHistory(size), update(size, 0));
  const samples = Array.from({ length: SAMPLES[size].warm }, (_, sample) => {
    const message = update(size, sample + 1);
    return timeOfCall(() => {
      history = apply(history, message);
    });
  });
  return median(samples) * 1_000;
}

function measureCold(apply: Apply, { update }: Operation, size: Size): number {
  const samples = Array.from({ length: SAMPLES[size].cold }, (_, sample) => {
    const history = createHistory(size);
    const message = update(size, sample);
    return timeOfCall(() => apply(history, message));
  });
  return median(samples) * 1_000;
}

const WAYS = { warm: measureWarm, cold: measureCold };

export const reducer: Suite = {
  name: "reducer",
  measure: (conditions) => {
    const cases = Object.entries(OPERATIONS).flatMap(([name, operation]) =>
      SIZES.flatMap((size) =>
        Object.entries(WAYS).map(
          ([way, measure]): CaseSpec => ({
            id: `${name}/${way}/${size}`,
            title: `${operation.title}, ${written(size)} messages, ${way}`,
            unit: "µs",
            base: OURS,
            contenders: Object.fromEntries(
              Object.entries(REDUCERS).map(([reducerName, apply]) => [
                reducerName,
                () => measure(apply, operation, size),
              ]),
            ),
          }),
        ),
      ),
    );
    return measureRounds(cases, { ...conditions, rounds: 5 });
  },
};
