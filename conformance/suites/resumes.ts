/** Runs that were cancelled or died after a call had been started, and go on with `null` or a decision. */

import { Command, interrupt } from "@langchain/langgraph";
import { DASH, fault, type Outcome } from "../suite.js";
import {
  DURABILITIES,
  type Durability,
  finishedAt,
  greet,
  judge,
  type Moment,
  type Play,
  type RunTool,
  startedTwice,
  suiteOfThreads,
  type Thread,
  textsOf,
} from "./ended-run.js";

const HEEDFUL: Moment = { calls: ["fast", "heedful"], ended: 1 };
const FINISHED: Moment = { calls: ["fast", "fast"], ended: 2, holds: "before" };
const DEAF: Moment = { calls: ["fast", "deaf"], ended: 1 };
/** The first call asks, and the other one runs beside the question. */
const BESIDE: Moment = { calls: ["ask", "heedful"], ended: 0 };
/** The only call waits for a decision, and then runs. */
const DECIDED: Moment = { calls: ["heedful"], ended: 0 };

const ask: RunTool = (label) => `${interrupt("Who?")} says done ${label}`;
const approval = () => new Command({ resume: { decisions: [{ type: "approve" }] } });

type Asked = ReturnType<Thread["ask"]>;

/** The run goes on, and then the user writes. */
async function goOn(thread: Thread, input: unknown, asked: Asked, moment: Moment): Promise<Outcome> {
  const answer = await thread.run(input);
  if (!answer.startsWith("The tools returned: "))
    return fault("The resumed run did not come to its end.", input, answer);
  // A tool that asks begins once more with the answer.
  const again = startedTwice(thread, "ask");
  if (again !== undefined) return again;
  const greeting = `hello ${thread.label}`;
  const unanswered = await greet(thread, greeting);
  const expected = { said: [...textsOf(asked), greeting], finished: finishedAt(moment, thread) };
  return unanswered ?? judge(thread, expected);
}

const ended =
  (how: "cancel" | "die", moment: Moment, durability: Durability): Play =>
  async (open) => {
    const thread = open({ durability });
    const asked = thread.ask(moment.calls);
    await thread[how](moment, asked);
    return goOn(thread, null, asked, moment);
  };

const askedBeside =
  (durability: Durability): Play =>
  async (open) => {
    const thread = open({ durability, tools: { ask } });
    const asked = thread.ask(BESIDE.calls);
    await thread.cancel(BESIDE, asked);
    return goOn(thread, new Command({ resume: "Ada" }), asked, BESIDE);
  };

const approvedBeside =
  (durability: Durability): Play =>
  async (open, { hasApprovals = false }) => {
    if (!hasApprovals) return DASH;
    const thread = open({ durability, parts: { approvals: ["fast"] } });
    const asked = thread.ask(["fast", "heedful"]);
    try {
      await thread.cancel(DECIDED, asked);
    } catch (error) {
      // Some start no call of a response before all of its questions are answered.
      if (thread.begun.length === 0) return DASH;
      throw error;
    }
    return goOn(thread, approval(), asked, HEEDFUL);
  };

const approved =
  (again: () => unknown, durability: Durability): Play =>
  async (open, { hasApprovals = false }) => {
    if (!hasApprovals) return DASH;
    const thread = open({ durability, parts: { approvals: DECIDED.calls } });
    const asked = thread.ask(DECIDED.calls);
    await thread.run(asked);
    await thread.cancel(DECIDED, approval());
    return goOn(thread, again(), asked, DECIDED);
  };

/** With the durability `exit`, nothing of a run is left when its process dies. */
const SAVED = ["sync", "async"] as const;

export const resumes = suiteOfThreads(
  "resumes",
  "A run was cancelled, or its process died, after a call had been started. It goes on with `null`, with the answer to a question, or with a decision. No call that was started is started again, except one that asks, the results of finished tools are there, and the next message is answered.",
  Object.fromEntries([
    ...DURABILITIES.flatMap((durability) => [
      [`cancelled, then null: ${durability}`, ended("cancel", HEEDFUL, durability)],
      [`cancelled, a tool ignores it, then null: ${durability}`, ended("cancel", DEAF, durability)],
      [
        `cancelled when all tools have finished, then null: ${durability}`,
        ended("cancel", FINISHED, durability),
      ],
      [`cancelled beside a tool's question, then the answer: ${durability}`, askedBeside(durability)],
      [`cancelled beside an approval, then the decision: ${durability}`, approvedBeside(durability)],
      [
        `cancelled in an approved call, then the decision again: ${durability}`,
        approved(approval, durability),
      ],
      [`cancelled in an approved call, then null: ${durability}`, approved(() => null, durability)],
    ]),
    ...SAVED.flatMap((durability) => [[`died, then null: ${durability}`, ended("die", HEEDFUL, durability)]]),
  ]),
);
