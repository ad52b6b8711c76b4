/** The repair of a list that is met for the first time: a sound one, and one in which every fifth call has no result. */

import type { BaseMessage } from "@langchain/core/messages";
import { createPatchToolCallsMiddleware } from "deepagents";
import { repairHistory } from "../../src/history.js";
import { OURS, PATCH } from "../contenders.js";
import { createBrokenHistory, createHistory, written } from "../histories.js";
import { type CaseSpec, measureRounds, median, type Suite, timeOf } from "../suite.js";

/** How many lists a round has. */
const SAMPLES = { 1000: 15, 10000: 3 };
type Size = keyof typeof SAMPLES;
const SIZES = Object.keys(SAMPLES).map(Number) as Size[];
const LISTS = { sound: createHistory, broken: createBrokenHistory };

const { beforeAgent } = createPatchToolCallsMiddleware();
const patch = beforeAgent as unknown as (state: { messages: BaseMessage[] }) => Promise<unknown>;

const WAYS: Readonly<Record<string, (messages: BaseMessage[]) => unknown>> = {
  [OURS]: (messages) => repairHistory(messages),
  [PATCH]: (messages) => patch({ messages }),
};

async function measure(
  run: (messages: BaseMessage[]) => unknown,
  create: (size: number) => BaseMessage[],
  size: Size,
): Promise<number> {
  const samples: number[] = [];
  for (let sample = 0; sample < SAMPLES[size]; sample += 1) {
    const messages = create(size);
    samples.push(await timeOf(() => run(messages)));
  }
  return median(samples);
}

export const repair: Suite = {
  name: "repair",
  measure: (conditions) => {
    const cases = Object.entries(LISTS).flatMap(([kind, create]) =>
      SIZES.map(
        (size): CaseSpec => ({
          id: `${kind}/${size}`,
          title: `Repair a ${kind} list of ${written(size)} messages`,
          unit: "ms",
          base: OURS,
          contenders: Object.fromEntries(
            Object.entries(WAYS).map(([name, run]) => [name, () => measure(run, create, size)]),
          ),
        }),
      ),
    );
    return measureRounds(cases, { ...conditions, rounds: 9 });
  },
};
