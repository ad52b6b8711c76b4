/** Reads what the page of one thread needs. */

import { type DiagnoseOptions, reportOn } from "../../../doctor/findings.js";
import { readServedThread, STATE_FIELDS } from "../../../doctor/targets/server-target.js";
import type { DialectName } from "../../../providers/dialects.js";
import { messagesIn, storedListOf } from "../view/messages-in.js";
import { formOf, type ServedForm } from "../view/request-form.js";
import { type Step, stepOf, type TimedState } from "../view/steps.js";
import type { ThreadReading } from "../view/thread-view.js";
import type { ThreadsOfCaller } from "./threads-of-caller.js";

/** Each state has the whole history, so few states of a long thread are read. */
const MESSAGES_TO_READ = 20_000;
const LEAST_STATES = 2;
const MOST_STATES = 40;

/** What the reader asks for. */
export interface ThreadQuestion {
  readonly threadId: string;
  /** The checkpoint of the step; undefined for the latest. */
  readonly step: string | undefined;
  readonly dialect: DialectName | undefined;
  readonly maxTokens: number | undefined;
}

/** A step with its state. */
interface Told {
  readonly step: Step;
  readonly state: TimedState;
}

/**
 * @param servedFor The settings of a graph that this server runs; undefined for one whose settings are not known.
 * @throws The error of the server, with its `status`, if it refuses the thread or the step.
 */
export async function readThread(
  threads: ThreadsOfCaller,
  { threadId, step: wanted, dialect, maxTokens }: ThreadQuestion,
  servedFor: (graph: string | undefined) => ServedForm | undefined,
): Promise<ThreadReading> {
  const ref = { threadId, namespace: "" };
  const thread = await threads.get(threadId);
  // A run of a busy thread writes its states, and nobody knows how long they are.
  let most = LEAST_STATES;
  const stored = await readServedThread(
    threads,
    ref,
    (text) => text,
    ({ values }) => {
      most = statesFor(values);
      return most;
    },
  );
  const steps = toldIn(await statesOf(threads, threadId, most));
  const { shown, older } = await shownStep(threads, threadId, steps, wanted);
  const options: DiagnoseOptions = { ...(dialect !== undefined && { dialect }) };
  const graph = thread.metadata?.["graph_id"];
  const graphName = typeof graph === "string" ? graph : undefined;
  const served = servedFor(graphName);

  const contexts = new Map<string, Promise<Readonly<Record<string, unknown>> | undefined>>();
  const contextOf = (runId: string) => {
    const context = contexts.get(runId) ?? threads.contextOfRun(threadId, runId);
    contexts.set(runId, context);
    return context;
  };
  const ask = async (told: Told | undefined) => {
    const history = told === undefined ? [] : messagesIn(told.state.values);
    const runId = told?.step.runId;
    const context = runId == null ? undefined : await contextOf(runId);
    const chosen = { dialect, maxTokens };
    return { history, form: formOf({ messages: history, step: told?.step, chosen, served, context }) };
  };
  const before = older.find(({ step }) => step.asksModel);
  return {
    threadId,
    graph: graphName,
    updatedAt: thread.updated_at,
    metadata: thread.metadata,
    report: reportOn(stored, options),
    steps: distinctSteps([...steps, ...(shown === undefined ? [] : [shown]), ...older]),
    step: shown?.step,
    isLatest: shown?.step.checkpointId === steps[0]?.step.checkpointId,
    ...(await ask(shown)),
    before: before && { step: before.step, ...(await ask(before)) },
  };
}

/** The step that is asked for, and those before it, the latest first. */
async function shownStep(
  threads: ThreadsOfCaller,
  threadId: string,
  steps: readonly Told[],
  wanted: string | undefined,
): Promise<{ readonly shown: Told | undefined; readonly older: readonly Told[] }> {
  const place = wanted === undefined ? 0 : steps.findIndex(({ step }) => step.checkpointId === wanted);
  const shown = steps[place];
  const older = steps.slice(place + 1);
  if (shown !== undefined && (older.some(({ step }) => step.asksModel) || wanted === undefined))
    return { shown, older };
  if (wanted === undefined) return { shown: undefined, older: [] };
  const state = shown?.state ?? (await threads.stateAt(threadId, wanted).catch(unreadable));
  if (state === undefined) return { shown: undefined, older: [] };
  const [told] = toldIn([state]);
  if (told?.step.checkpointId !== wanted || storedListOf(state.values) === undefined) throw notFound();
  return { shown: told, older: toldIn(await statesOf(threads, threadId, statesFor(state.values), wanted)) };
}

/** The server has an empty state for each id that is not a checkpoint. */
function notFound(): Error {
  return Object.assign(new Error("Step not found"), { status: 404 });
}

function distinctSteps(told: readonly Told[]): readonly Step[] {
  return [...new Map(told.map(({ step }) => [step.checkpointId, step])).values()];
}

function toldIn(states: readonly TimedState[]): readonly Told[] {
  return states.flatMap((state) => {
    const step = stepOf(state);
    return step === undefined ? [] : [{ step, state }];
  });
}

/** A state that cannot be read is a finding of the doctor. */
async function statesOf(
  threads: ThreadsOfCaller,
  threadId: string,
  limit: number,
  before?: string,
): Promise<readonly TimedState[]> {
  const options = { limit, select: STATE_FIELDS, ...(before !== undefined && { before }) };
  return (await threads.getHistory(threadId, options).catch(unreadable)) ?? [];
}

/** @throws The error itself, if the server says something else than that it cannot read. */
function unreadable(error: unknown): undefined {
  if (Object(error).status !== 500) throw error;
  return undefined;
}

function statesFor(values: unknown): number {
  const list = storedListOf(values);
  if (list === undefined) return LEAST_STATES;
  return Math.min(MOST_STATES, Math.max(LEAST_STATES, Math.floor(MESSAGES_TO_READ / (list.length + 1))));
}
