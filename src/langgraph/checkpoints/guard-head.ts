import { setTimeout as delay } from "node:timers/promises";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { ThreadConflictError } from "../../errors.js";
import { answered } from "../../shared/answered.js";
import { replaceMethods } from "../replace-methods.js";
import { belongsToNextRun } from "./input-writes.js";
import { type HeadOf, threadHead } from "./thread-head.js";

export interface GuardedThread extends HeadOf {
  /** The ids of the messages that the run brings, as far as they are known by now. */
  readonly messageIds: () => readonly string[];
}

export interface GuardedSaver {
  readonly saver: BaseCheckpointSaver;
  /**
   * Contract: call it when the run has ended without an error.
   *
   * @throws ThreadConflictError if another writer has replaced the last checkpoint of the run.
   */
  readonly assertKept: () => Promise<void>;
}

type PutWrites = Parameters<BaseCheckpointSaver["putWrites"]>;

/** A clock can be behind that of another machine by this time, in milliseconds. A run waits for it. */
const LONGEST_CLOCK_WAIT = 10_000;

/**
 * A view of a checkpointer for one run of a thread. It saves a checkpoint only if the latest one is still the one that
 * the run has read or written last. Otherwise another process has written to the thread, and the two would continue as
 * two branches, of which the thread shows only one.
 *
 * A run from an older checkpoint makes a new branch on purpose. The check then begins with the latest checkpoint too.
 *
 * @throws ThreadConflictError from each write after another writer has moved the thread on.
 */
export function guardHead(thread: GuardedThread): GuardedSaver {
  const { saver, signal } = thread;
  const latest = threadHead(thread);
  /** The latest checkpoint as this run knows it; undefined before the run has read it. */
  let head: { readonly id: string | undefined; readonly isOwn: boolean } | undefined;
  let conflict: ThreadConflictError | undefined;
  /** Whether a task's writes at the checkpoint that the run began on are those of this run. */
  let isFromThisRun: (task: string) => boolean = () => false;
  /** Such writes. They are saved together with the checkpoint that follows, or not at all. */
  let held: PutWrites[] = [];

  const fail = async (): Promise<never> => {
    conflict ??= movedOn(thread, await whatIsLeft(thread, head?.isOwn ? head.id : undefined));
    throw conflict;
  };
  const isAtStart: (config: PutWrites[0]) => boolean = (config) =>
    isRoot(config) && head?.isOwn === false && head.id === config.configurable?.["checkpoint_id"];

  return {
    saver: replaceMethods(saver, {
      getTuple: async (config) => {
        const tuple = await saver.getTuple(config);
        const isOfHead = isRoot(config) && !config.configurable?.["checkpoint_id"];
        if (!isOfHead || head !== undefined) return tuple;
        head = { id: tuple?.checkpoint.id, isOwn: false };
        if (tuple !== undefined) {
          isFromThisRun = belongsToNextRun(tuple);
          await clockAfter(tuple.checkpoint.id, signal);
        }
        return tuple;
      },
      put: async (config, checkpoint, metadata, versions) => {
        if (!isRoot(config)) return saver.put(config, checkpoint, metadata, versions);
        if (conflict !== undefined) return fail();
        const writes = held;
        held = [];
        let saved: Awaited<ReturnType<BaseCheckpointSaver["put"]>> | undefined;
        const write = async (to: BaseCheckpointSaver): Promise<void> => {
          for (const each of writes) await to.putWrites(...each);
          saved = await to.put(config, checkpoint, metadata, versions);
        };
        if (head === undefined || head.id === checkpoint.id) await write(saver);
        else if (!(await latest.writeAfter(head.id, write))) return fail();
        head = { id: checkpoint.id, isOwn: true };
        return saved ?? config;
      },
      // A reader of a delta channel would apply them to whatever continues the checkpoint.
      putWrites: async (...given) => {
        const [config, , task] = given;
        if (!isAtStart(config) || !isFromThisRun(task)) return saver.putWrites(...given);
        if (conflict !== undefined) return fail();
        held.push(given);
      },
      // LangGraph can save in the background, and asks for a version in each superstep. So the run stops here, before
      // it runs more tools.
      getNextVersion: (current) => {
        if (conflict !== undefined) throw conflict;
        return saver.getNextVersion(current);
      },
    }),
    assertKept: async () => {
      if (!head?.isOwn) return;
      const { id } = head;
      const isKept = latest.is(id).then((isLatest) => isLatest || isInThread(thread, id));
      if (!(await answered(isKept, { what: "The checkpointer", signal }))) await fail();
    },
  };
}

/** Subgraphs save their own checkpoints in namespaces of the thread. */
function isRoot({ configurable }: Parameters<BaseCheckpointSaver["getTuple"]>[0]): boolean {
  return (configurable?.["checkpoint_ns"] ?? "") === "";
}

/**
 * Waits until this machine's clock is after that of a checkpoint. LangGraph takes the checkpoint with the latest time for
 * the latest one, so a run that is ahead of its clock would be saved and never be seen.
 */
async function clockAfter(id: string, signal: AbortSignal | undefined): Promise<void> {
  const ahead = timeOf(id) - Date.now();
  if (!(ahead >= 0)) return;
  if (ahead > LONGEST_CLOCK_WAIT)
    throw new Error(
      `The latest checkpoint of the thread is ${Math.ceil(ahead / 1_000)} seconds ahead of the clock of this ` +
        "machine, so nothing that follows it would be seen. Set the clocks of the machines.",
    );
  await delay(ahead + 1, undefined, signal && { signal });
}

/** The milliseconds in a UUID of version 6: the first 60 bits without the version count 100 ns since 1582. */
function timeOf(id: string): number {
  const [high, middle, low] = id.split("-");
  const ticks = Number.parseInt(`${high}${middle}${low?.slice(1)}`, 16);
  return low?.startsWith("6") ? ticks / 10_000 - 12_219_292_800_000 : Number.NaN;
}

/** Whether the latest checkpoint is this one, or continues it: the next run may have started already. */
async function isInThread({ saver, threadId }: HeadOf, id: string | undefined): Promise<boolean> {
  let tuple = await saver.getTuple({ configurable: { thread_id: threadId, checkpoint_ns: "" } });
  while (tuple !== undefined && tuple.checkpoint.id !== id)
    tuple = tuple.parentConfig && (await saver.getTuple(tuple.parentConfig));
  return tuple !== undefined;
}

/** What the thread has of a run that cannot go on. */
type Left =
  | { readonly kind: "nothing" }
  | { readonly kind: "part" | "branch"; readonly checkpointId: string };

async function whatIsLeft(thread: HeadOf, own: string | undefined): Promise<Left> {
  if (own === undefined) return { kind: "nothing" };
  return { kind: (await isInThread(thread, own)) ? "part" : "branch", checkpointId: own };
}

function movedOn({ threadId, messageIds }: GuardedThread, left: Left): ThreadConflictError {
  const ids = messageIds();
  const input = ids.length === 0 ? "its input" : `its input (${ids.map((id) => `\`${id}\``).join(", ")})`;
  const told = {
    nothing: `The thread has nothing of this run, so send ${input} again.`,
    part:
      `The thread has ${input} and what was saved until the checkpoint \`${idIn(left)}\`, and the other run ` +
      "continues from there. Do not send the input again: read the thread, and continue it with the input `null` or with another message.",
    branch:
      `What this run has saved is not part of the thread. Read it with \`getState\` from the checkpoint ` +
      `\`${idIn(left)}\`, where the results of its tools are, or send ${input} again.`,
  };
  return new ThreadConflictError(
    "THREAD_MOVED",
    `Expected to be the only run of the thread \`${threadId}\`, but another process or graph wrote to it. ${told[left.kind]}`,
    { threadId: String(threadId), checkpointId: idIn(left), isInThread: left.kind === "part" },
  );
}

function idIn(left: Left): string | undefined {
  return left.kind === "nothing" ? undefined : left.checkpointId;
}
