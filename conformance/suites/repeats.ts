/** Jobs that are sent again: the same message of the user, with the same id. */

import { fault, type Outcome } from "../suite.js";
import {
  DURABILITIES,
  type Durability,
  finishedAt,
  greet,
  judge,
  type Moment,
  type Play,
  startedTwice,
  suiteOfThreads,
  type Thread,
  textsOf,
} from "./ended-run.js";

const DONE = "The tools returned: ";
const IN_A_TOOL: Moment = { calls: ["fast", "heedful"], ended: 1 };
const IN_A_REQUEST: Moment = { calls: ["fast", "fast"], ended: 2, holds: "before" };

type Job = ReturnType<Thread["ask"]>;

/** The thread with its answer, and whether anybody was asked for it. */
async function judgeFinished(thread: Thread, job: Job, more: readonly string[] = []): Promise<Outcome> {
  const before = thread.requests().length;
  await thread.run(job);
  const asked = thread.requests().length - before;
  if (asked > 0) return fault(`The model was asked ${asked} times for a finished turn.`);
  const texts = (await thread.read()).messages.map(({ text }) => text);
  const answers = texts.filter((text) => text.startsWith(DONE)).length;
  if (answers !== 1) return fault(`The thread has the answer ${answers} times.`, undefined, texts);
  const again = startedTwice(thread);
  if (again !== undefined) return again;
  const greeting = `bye ${thread.label}`;
  return (
    (await greet(thread, greeting)) ??
    judge(thread, { said: [...textsOf(job), ...more, greeting], finished: [] })
  );
}

const finished =
  (durability: Durability): Play =>
  async (open) => {
    const thread = open({ durability });
    const job = thread.ask(["fast"], "job");
    await thread.run(job);
    return judgeFinished(thread, job);
  };

/** An engine sends an older job again, when the user has already written the next message. */
const overtaken =
  (durability: Durability): Play =>
  async (open) => {
    const thread = open({ durability });
    const job = thread.ask(["fast"], "job");
    await thread.run(job);
    const greeting = `hello ${thread.label}`;
    return (await greet(thread, greeting)) ?? judgeFinished(thread, job, [greeting]);
  };

const unfinished =
  (how: "cancel" | "die", moment: Moment, durability: Durability): Play =>
  async (open) => {
    const thread = open({ durability });
    const job = thread.ask(moment.calls, "job");
    await thread[how](moment, job);
    const answer = await thread.run(job);
    if (!answer.startsWith(DONE)) return fault("The job did not come to its end.", job, answer);
    // With the durability `exit`, nothing of a run is left when its process dies: its calls are made once more.
    const isLost = how === "die" && durability === "exit";
    const again = isLost ? undefined : startedTwice(thread);
    return again ?? judge(thread, { said: textsOf(job), finished: isLost ? [] : finishedAt(moment, thread) });
  };

/** What becomes of a job before it is sent again. */
const FATES: Readonly<Record<string, (durability: Durability) => Play>> = {
  "its turn was finished": finished,
  "its turn was finished, and the user has written since": overtaken,
  "cancelled in a tool": (durability) => unfinished("cancel", IN_A_TOOL, durability),
  "cancelled in a request": (durability) => unfinished("cancel", IN_A_REQUEST, durability),
  "died in a tool": (durability) => unfinished("die", IN_A_TOOL, durability),
};

export const repeats = suiteOfThreads(
  "repeats",
  "A job is sent again, with the same id and content of its message. If its turn was finished, the model is not asked, and the answer is there. If not, it comes to its end: no call that was started is started again, and the thread has the user's message and each result once.",
  Object.fromEntries(
    Object.entries(FATES).flatMap(([fate, play]) =>
      DURABILITIES.map((durability) => [`${fate}: ${durability}`, play(durability)]),
    ),
  ),
);
