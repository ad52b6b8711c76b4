/** A run from start to end: it is admitted, and passes through the graph, alone or inside agent middleware. */

import { randomUUID } from "node:crypto";
import { interruptsOf, isDrained } from "../../providers/failure/langgraph-signal.js";
import { endOfKilledRun, usageOfGraph } from "../../threads/ended-runs/killed-run.js";
import { type AgentEvent, publishEvent } from "../../threads/events.js";
import { customChunk, givenRunId, isReadAsEvents, isSubgraphRun } from "../../threads/langgraph/run-host.js";
import { type RunOutcome, RunTally } from "../../threads/usage.js";
import { type AgentRun, admit } from "./admit.js";
import { runInMiddleware } from "./in-middleware.js";
import { isConflict, startPass } from "./pass.js";

/**
 * Gives a run's chunks to its reader. The last one is the event `run-end`.
 *
 * @throws InvalidCommandError, InvalidSettingError or InvalidMessageError for an invalid input or option.
 */
export async function runAgent<Chunk>(given: Omit<AgentRun<Chunk>, "tally">): Promise<void> {
  // A subgraph has a run of its own.
  const runId = isSubgraphRun(given.options) ? undefined : givenRunId(given.options);
  let isRead = false;
  const give = (chunk: Chunk): void => {
    isRead = true;
    given.reader.give(chunk);
  };
  const run = {
    ...given,
    reader: { ...given.reader, give },
    tally: new RunTally(runId ?? randomUUID()),
  };
  // What LangChain reads as events must begin with a chunk of the graph.
  const isOpen = () => !given.reader.hasLeft() && (isRead || !isReadAsEvents(given.options));
  let outcome: RunOutcome = "cancelled";
  let asksHuman = false;
  try {
    const record = await execute(run);
    asksHuman = record.interrupts.length > 0;
    // A run that only takes over what tasks of the killed one had written has no task of its own.
    if (record.killedTold === undefined) {
      const killed = await endOfKilledRun(run.saver.checkpoints, usageOfGraph);
      if (killed !== undefined) tell(run, killed, isOpen());
    }
    outcome = asksHuman || run.saver.isPaused ? "waiting" : "done";
  } catch (error) {
    // A subgraph's question is thrown to its parent.
    asksHuman = interruptsOf(error).length > 0;
    const { signal } = run.options;
    const isLeft = run.reader.hasLeft() || isDrained(error);
    const isCancelled = signal?.aborted === true ? !isConflict(signal.reason) : isLeft;
    if (!isCancelled) outcome = asksHuman ? "waiting" : "failed";
    throw error;
  } finally {
    run.tally.finish(outcome, (end) => tell(run, end, isOpen()));
    // LangGraph saves that a run is done, or asks a human.
    const { runId, isStored: hasUsed } = run.tally;
    if (!asksHuman && run.saver.isPaused) await run.saver.noteEnd({ runId, outcome, hasUsed, settled: [] });
  }
}

async function execute<Chunk>(run: AgentRun<Chunk>) {
  const admitted = await admit(run);
  if (run.middleware.agent.length > 0) return runInMiddleware(admitted);
  const { input, chosen } = admitted;
  const { record, ended } = startPass(admitted, { input, chosen });
  await ended;
  if (record.failure !== undefined) throw record.failure.error;
  return record;
}

/** Tells it on the channel, and in the run's stream if that is open. */
function tell<Chunk>(run: AgentRun<Chunk>, end: AgentEvent, isOpen: boolean): void {
  const { latestId } = run.saver;
  const event = publishEvent(run.options, {
    ...(latestId !== undefined && { checkpointId: latestId }),
    ...end,
  });
  if (isOpen) writeCustom(run, event);
}

/** Writes a chunk of the `custom` stream after the graph's own. */
function writeCustom<Chunk>({ options, reader }: AgentRun<Chunk>, value: unknown): void {
  const parentWriter: unknown = Reflect.get(options, "writer");
  if (isSubgraphRun(options) && typeof parentWriter === "function") parentWriter(value);
  const made = customChunk(value, options);
  if (made !== undefined) reader.give(made.chunk as Chunk);
}
