/** What a client resumes a run with: it must answer a question that waits, and counts once. */

import { type CheckpointTuple, Command, isCommand } from "@langchain/langgraph";
import { InvalidCommandError } from "../../errors.js";
import { toJson } from "../../shared/json.js";
import { listWithOr } from "../../shared/text.js";
import { isRecord, textIn } from "../../shared/values.js";
import { fieldsOfCommand } from "../../threads/commands.js";
import { walkBack } from "../../threads/ended-runs/leftovers.js";
import {
  answersAt,
  hasAnswers,
  hasTasks,
  idOfInterrupt,
  interruptsAt,
  isResumedWith,
  nodesToEnter,
  questionsNamed,
  sentNodes,
  sentTasks,
  waitingInterrupts,
} from "../../threads/langgraph/read-checkpoints.js";
import { isPassed, type RunCheckpoints } from "../../threads/saver/run-checkpoints.js";
import { asUnnamed, withoutMark } from "./approval-request.js";

interface AnsweredThread {
  readonly threadId: string;
  /** The checkpoint that the caller named. */
  readonly checkpointId: unknown;
  /** The checkpoint that the run begins on. Undefined: there is none. */
  readonly start: CheckpointTuple | undefined;
  readonly read: RunCheckpoints["read"];
  /** Whether a client sent the answer to a server. */
  readonly isServed: boolean;
}

/** What an answer is held against. */
interface Questions {
  /** The ids of the questions that it names. */
  readonly named: readonly string[];
  /** The ids of the questions that it can answer. */
  readonly open: readonly string[];
  /** The ids that it names although no such question is open. */
  readonly strange: readonly string[];
  /** Whether the thread has gone on since the checkpoint that the run begins on. */
  readonly hasPassed: boolean;
  /** Whether it may be meant for another question than the one that is open. */
  readonly isUnnamed: boolean;
}

/**
 * The run's input, if its answer reaches a question. An answer that its thread has already, and has not acted on, is one
 * that is sent again after a crash: it continues the run. An answer that names no question is marked.
 *
 * @throws InvalidCommandError for an answer to a question that was answered, declined, or asked by another agent.
 * LangGraph would end the run silently.
 */
export async function admitAnswer(input: unknown, thread: AnsweredThread): Promise<unknown> {
  if (!isCommand(input) || input.resume === undefined || input.resume === null) return input;
  const { threadId, start, read } = thread;
  if (start === undefined)
    throw new InvalidCommandError(`Nothing to resume: the thread \`${threadId}\` has no interrupted run.`);
  const questions = await findQuestions(input.resume, start, thread);
  const answer = questions.isUnnamed ? marked(input) : input;
  const hasOpen = questions.open.length > 0;
  if (hasOpen && questions.strange.length === 0) {
    assertAnswerable(input.resume, questions, start, thread);
    return answer;
  }
  if (await isSentAgain(start, read, [answer, input], hasOpen)) return withoutAnswer(input);
  throw hasOpen ? nameOpenOne(questions, threadId) : noneWaits(threadId);
}

async function findQuestions(
  resume: unknown,
  start: CheckpointTuple,
  { threadId, checkpointId, read }: AnsweredThread,
): Promise<Questions> {
  const thread = { configurable: { thread_id: threadId, checkpoint_ns: "" } };
  const hasPassed = checkpointId !== undefined && read !== undefined && (await isPassed(start, thread, read));
  const interrupts = hasPassed ? interruptsAt(start) : openQuestions(start);
  const open = interrupts.map(idOfInterrupt);
  const named = questionsNamed(resume);
  const isUnnamed = checkpointId === undefined && named.length === 0 && interrupts.every(isApproval);
  return { named, open, strange: named.filter((id) => !open.includes(id)), hasPassed, isUnnamed };
}

/** @throws InvalidCommandError for an answer to questions that are open, but that this run cannot take. */
function assertAnswerable(
  resume: unknown,
  { named, open, hasPassed }: Questions,
  start: CheckpointTuple,
  { threadId, isServed }: AnsweredThread,
): void {
  const thread = `the thread \`${threadId}\``;
  if (hasPassed && !decidesAgain(resume, named, start, isServed))
    throw refuse(
      `answer a question that waits, but ${thread} has gone on since this one: it was answered before, or a message ` +
        "declined it. To decide otherwise in another branch, name the question by its id.",
    );
  const left = open.filter((id) => !named.includes(id));
  // What waits at a checkpoint that is not the latest would be seen by nobody.
  if (hasPassed && open.length > 1 && left.length > 0)
    throw refuse(
      `answer all questions of the checkpoint at once, because ${thread} has gone on from there. It lacks ` +
        `${listWithOr(left.map(quoted))}.`,
    );
  if (asksHere(start)) return;
  const nodes = listWithOr([...nodesToEnter(start), ...sentNodes(start)].map(quoted));
  throw refuse(
    `answer a question of this agent, but ${thread} waits in ${nodes} of another one. Answer it there, or send a ` +
      "message, which declines the calls.",
  );
}

function noneWaits(threadId: string): InvalidCommandError {
  return refuse(
    `answer a question, but the thread \`${threadId}\` has none that waits. It was answered before, or a message ` +
      "declined it. The state shows what waits, and the input `null` continues a run.",
  );
}

function nameOpenOne({ open, strange }: Questions, threadId: string): InvalidCommandError {
  return refuse(
    `name a question that waits, but the thread \`${threadId}\` waits for ${listWithOr(open.map(quoted))}, and not ` +
      `for ${listWithOr(strange.map(quoted))}: it was answered or declined before, or is of another thread.`,
  );
}

function refuse(what: string): InvalidCommandError {
  return new InvalidCommandError(`Expected \`resume\` to ${what}`);
}

const quoted = (name: string) => `\`${name}\``;

/**
 * Whether an answer from the checkpoint of an earlier question is meant as another decision. Some chat UIs name the
 * checkpoint that they show with every request to a server, so a late or a second click names it too.
 */
function decidesAgain(
  resume: unknown,
  ids: readonly string[],
  start: CheckpointTuple,
  isServed: boolean,
): boolean {
  const before = answersAt(start);
  if (ids.length === 0 && !namesCalls(resume) && (isServed || before.size === 0)) return false;
  const isSame = ([id, answer]: readonly [string, unknown]) =>
    toJson(withoutMark(ids.length > 0 ? Object(resume)[id] : resume)) === toJson(withoutMark(answer));
  const meant = [...before].filter(([id]) => ids.length === 0 || ids.includes(id));
  return meant.length === 0 || !meant.every(isSame);
}

function namesCalls(resume: unknown): boolean {
  const decisions: unknown = Object(resume).decisions;
  const isNamed = (decision: unknown) =>
    ["tool_call_id", "toolCallId"].some((name) => textIn(decision, name));
  return Array.isArray(decisions) && decisions.length > 0 && decisions.every(isNamed);
}

/** A task of ours asks once. A tool can ask several times, so it may wait for another answer. */
function openQuestions(tuple: CheckpointTuple): unknown[] {
  const waiting = new Set(waitingInterrupts(tuple));
  return interruptsAt(tuple, { isFinished: false }).filter((one) => !isApproval(one) || waiting.has(one));
}

function isApproval(interrupt: unknown): boolean {
  const value: unknown = Object(interrupt).value;
  return isRecord(value) && Array.isArray(value["action_requests"]) && Array.isArray(value["actionRequests"]);
}

function marked(command: Command): Command {
  const { resume, ...rest } = fieldsOfCommand(command);
  return isRecord(resume) ? new Command({ ...rest, resume: asUnnamed(resume) }) : command;
}

/** What continues the run. A second copy of an answer without a name would answer the next question too. */
function withoutAnswer(command: Command): Command | null {
  const { resume: _, goto = [], ...rest } = fieldsOfCommand(command);
  const isEmpty = [goto].flat().length === 0 && rest.update === undefined;
  return isEmpty ? null : new Command({ ...rest, goto });
}

/** Whether the run waits in a node of this graph. */
function asksHere(tuple: CheckpointTuple): boolean {
  return sentNodes(tuple).includes("approve") || sentTasks(tuple).length > 0;
}

/** Whether an unfinished run has this answer. A run that waits for another one has acted on it. */
async function isSentAgain(
  start: CheckpointTuple,
  read: RunCheckpoints["read"],
  forms: readonly Command[],
  isWaiting: boolean,
): Promise<boolean> {
  if (!hasTasks(start)) return false;
  // A run takes few supersteps between two questions.
  for await (const { checkpoint, fate } of walkBack(start, read, isWaiting ? { most: 1 } : {})) {
    if (fate !== "continued") return false;
    if (hasAnswers(checkpoint)) return forms.some(({ resume }) => isResumedWith(checkpoint, resume));
  }
  return false;
}
