/** A turn of a thread that has lived through many, beside one of a thread that has lived through few. */

import { AGENTS } from "../agents.js";
import { ARCHIVE_DELTA_SERIALIZER, FEW_TURNS, MANY_TURNS } from "../contenders.js";
import { DATABASES } from "../databases.js";
import { written } from "../histories.js";
import { type CaseSpec, measureRounds, type Suite, timeOf } from "../suite.js";
import { openThread } from "../thread.js";

const FEW = 100;
const MANY = 2_400;
const ROUNDS = 5;
/** One of them or more makes a summary. */
const TURNS_A_ROUND = 20;

const PLACES = { memory: "memory", sqlite: "SQLite" } as const;

export const lived: Suite = {
  name: "lived",
  measure: async (conditions) => {
    const kind = AGENTS[ARCHIVE_DELTA_SERIALIZER];
    if (kind === undefined) throw new Error("Expected the agent with an archive.");
    const cases: CaseSpec[] = [];
    const closers: (() => Promise<void>)[] = [];
    for (const [id, place] of Object.entries(PLACES)) {
      const database = await DATABASES[id as keyof typeof PLACES]();
      const parts = await database.connect(kind.createSerializer());
      const play = async (turns: number) => {
        const thread = await openThread(kind, parts, 0);
        for (let turn = 0; turn < turns; turn += 1) await thread.play();
        return async () => {
          const taken = await timeOf(async () => {
            for (let turn = 0; turn < TURNS_A_ROUND; turn += 1) await thread.play();
          });
          return taken / TURNS_A_ROUND;
        };
      };
      conditions.note(`plays ${MANY} turns in ${place}`);
      const many = await play(conditions.isQuick ? FEW * 2 : MANY);
      const contenders = { [FEW_TURNS]: await play(FEW), [MANY_TURNS]: many };
      const title = `A turn after ${written(MANY)} turns and after ${FEW}, ${place}`;
      cases.push({ id, title, unit: "ms", base: FEW_TURNS, contenders });
      closers.push(database.close);
    }
    const results = await measureRounds(cases, { ...conditions, rounds: ROUNDS });
    for (const close of closers) await close();
    return results;
  },
};
