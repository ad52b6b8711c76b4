/**
 * How a run or state update reads and writes its thread through its checkpointer:
 *
 * 1. A saver that does not answer is abandoned: `boundedSaver`.
 * 2. No two runs use the same channel version: `versionsOfOneRun`.
 * 3. A checkpoint is saved only after the latest one that the run knows: `guardHead`.
 * 4. What the run began on and what it saved are remembered: `RunCheckpoints`.
 * 5. After a failed write nothing is saved, and after the run's end only diary entries: `RunSaver`.
 */

import { randomInt } from "node:crypto";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { toJson } from "../../shared/json.js";
import { areEntries, diaryWritten, type NotedEnd, type Page, writeEnd, writeEntry } from "../diary.js";
import { hasTasks, type StoredState, saveResumeValue, unanswered } from "../langgraph/read-checkpoints.js";
import { replaceMethods } from "../langgraph/replace-methods.js";
import { isCheckpointNamed } from "../langgraph/run-host.js";
import { boundedSaver } from "./bounded-saver.js";
import { type GuardedHead, type GuardedThread, guardHead } from "./guard-head.js";
import { PendingWrites } from "./pending-writes.js";
import { checkpointsOf, isPassed, type RunCheckpoints, type WriteIntoDiary } from "./run-checkpoints.js";

type DeltaOptions = Parameters<BaseCheckpointSaver["getDeltaChannelHistory"]>[0];
type DeltaHistory = ReturnType<BaseCheckpointSaver["getDeltaChannelHistory"]>;
type Config = RunnableConfig;
type Tuple = CheckpointTuple | undefined;

interface RunAccess {
  readonly signal: AbortSignal | undefined;
  /** The thread that no other process may write to. Undefined: others ensure that. */
  readonly guarded?: GuardedThread | undefined;
}

/** The view of a checkpointer for one run, in the run's order: it begins, continues, and ends. */
export class RunSaver<Saver extends BaseCheckpointSaver | undefined = BaseCheckpointSaver | undefined> {
  /** What the run can know about its thread. */
  readonly checkpoints: RunCheckpoints;
  /** Replaces the original checkpointer. Undefined: the run is not saved. */
  readonly checkpointer: Saver;
  readonly #signal: AbortSignal | undefined;
  readonly #saver: BaseCheckpointSaver | undefined;
  readonly #guard: GuardedHead | undefined;

  constructor(given: Saver, { signal, guarded }: RunAccess) {
    this.#signal = signal;
    const saver = given && boundedSaver(given, signal);
    this.#saver = saver;
    this.#guard = saver && guarded && guardHead(saver, guarded, signal);
    // Savers older than the delta channel do not have it.
    const rebuilds = typeof saver?.getDeltaChannelHistory === "function" && {
      getDeltaChannelHistory: (options: DeltaOptions) => this.#rebuild(saver, options),
    };
    this.checkpoints = {
      ...checkpointsOf(saver && replaceMethods<BaseCheckpointSaver>(saver, { ...rebuilds })),
      ...(saver && { read: (config: Config) => this.#read(config) }),
      whenSent: (step) => this.#whenSent(step),
    };
    const view =
      saver &&
      replaceMethods<BaseCheckpointSaver>(saver, {
        ...rebuilds,
        getTuple: (config) => (this.#isFirst ? this.#readFirst(config) : this.#read(config)),
        put: (...written) => this.#put(saver, ...written),
        putWrites: (...written) =>
          areEntries(written[1])
            ? saver.putWrites(...written)
            : this.#save(() => (this.#guard ?? saver).putWrites(...written)),
        getNextVersion: versionsOfOneRun(saver, () => this.#guard?.assertUnmoved()),
      });
    this.checkpointer = view as Saver;
  }

  async #read(config: Config): Promise<Tuple> {
    const tuple = await this.#saver?.getTuple(config);
    await this.#guard?.noteRead(config, tuple);
    return tuple;
  }

  /*
   * The run begins.
   */

  #isFirst = true;
  #peeked: Promise<Tuple> | undefined;
  #answer: unknown;
  #isSavedAtExit = false;
  /** A delta channel's history that was rebuilt before the run, which also needs it. */
  #rebuilt: { readonly of: string | undefined; readonly history: DeltaHistory } | undefined;

  /**
   * Call it before each run. The next checkpoint that is read becomes `begunOn`.
   *
   * @param isSavedAtExit Whether the run is saved only at its end.
   * @param answer What the run is resumed with. It is saved with that checkpoint if the run is not.
   */
  restart(isSavedAtExit: boolean, answer?: unknown): void {
    this.#closed = undefined;
    this.#isFirst = true;
    this.#latest = undefined;
    this.checkpoints.savesAtOnce = this.#saver !== undefined && !isSavedAtExit;
    this.#isSavedAtExit = isSavedAtExit;
    this.#answer = answer;
  }

  /** Reads a checkpoint before the run does. The next run gets the same one. */
  peek(config: Config): Promise<Tuple> {
    this.#peeked ??= this.#readWithDiary(config);
    return this.#peeked;
  }

  /** The latest checkpoint of a run's thread, whichever the run begins on. */
  async readLatest({ configurable }: Config): Promise<Tuple> {
    const { thread_id } = { ...configurable };
    if (thread_id === undefined) return undefined;
    return this.#saver?.getTuple({ configurable: { thread_id, checkpoint_ns: "" } });
  }

  async #readWithDiary(config: Config): Promise<Tuple> {
    await diaryWritten(config.configurable?.["thread_id"], this.#signal);
    return this.#read(config);
  }

  async #readFirst(config: Config): Promise<Tuple> {
    this.#isFirst = false;
    this.#namespace = namespaceIn(config);
    const tuple = await this.peek(config);
    this.#peeked = undefined;
    this.checkpoints.begunOn = tuple;
    if (tuple !== undefined) this.#setLatest(tuple, tuple.config);
    // A client can also name the thread's latest checkpoint.
    const mayBeFork =
      isCheckpointNamed(config) && tuple !== undefined && (tuple.pendingWrites ?? []).length > 0;
    const isFork = mayBeFork && (await isPassed(tuple, config, (other) => this.#read(other)));
    this.checkpoints.isFork = isFork;
    const answer = this.#answer;
    if (tuple === undefined || answer === undefined || answer === null) return tuple;
    if (isFork) return unanswered(tuple);
    if (this.#isSavedAtExit && this.#saver !== undefined) await saveResumeValue(this.#saver, tuple, answer);
    return tuple;
  }

  #rebuild(saver: BaseCheckpointSaver, options: DeltaOptions): DeltaHistory {
    const of = toJson([options.config.configurable?.["checkpoint_id"], options.channels]);
    const known = this.#rebuilt?.of === of ? this.#rebuilt?.history : undefined;
    const history = known ?? saver.getDeltaChannelHistory(options);
    this.#rebuilt = this.#isFirst ? { of, history } : undefined;
    return history;
  }

  /*
   * The run continues, and saves its checkpoints.
   */

  /** Where the run's own graph saves its checkpoints. */
  #namespace = "";
  /** The last saved checkpoint of the run's own graph, and who waits for a later one. */
  #latest: { readonly state: StoredState; readonly config: Config } | undefined;
  readonly #waiting: (() => void)[] = [];

  /** Its diary. */
  get #page(): Page | undefined {
    return this.#saver && this.#latest && { saver: this.#saver, config: this.#latest.config };
  }

  #setLatest(state: StoredState, config: Config): void {
    this.#latest = { state, config };
    this.checkpoints.savedStep = stepAt(state);
    this.#wake();
  }

  #wake(): void {
    for (const lookAgain of this.#waiting.splice(0)) lookAgain();
  }

  async #put(saver: BaseCheckpointSaver, ...written: Parameters<BaseCheckpointSaver["put"]>) {
    const [before, checkpoint, metadata] = written;
    const config = await this.#save(() => (this.#guard ?? saver).put(...written));
    this.checkpoints.saved = checkpoint.channel_values;
    // Subgraphs save their checkpoints too.
    if (namespaceIn(before) === this.#namespace) this.#setLatest({ checkpoint, metadata }, config);
    return config;
  }

  async #whenSent(step: number): Promise<WriteIntoDiary | undefined> {
    while (this.#latest === undefined || stepAt(this.#latest.state) < step - 1) {
      if (this.#closed !== undefined) throw this.#closed.reason();
      if (!this.checkpoints.savesAtOnce) return undefined;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    const page = this.#page;
    return page && ((entry, count) => this.#save(() => writeEntry(page, entry, count)));
  }

  /** LangGraph saves one checkpoint after another. If one is not saved, the next would continue nothing. */
  async #save<Result>(write: () => Promise<Result>): Promise<Result> {
    if (this.#closed !== undefined) throw this.#closed.reason();
    try {
      return await this.#pending.during(write);
    } catch (reason) {
      this.#close(() => reason);
      throw reason;
    }
  }

  /*
   * The run ends.
   */

  /** Why nothing more is saved. */
  #closed: { readonly reason: () => unknown } | undefined;
  readonly #pending = new PendingWrites();

  #close(reason: () => unknown): void {
    this.#closed ??= { reason };
    this.#wake();
  }

  /**
   * Contract: call it when the run has ended. It resolves once all started writes have ended, and lets no other begin.
   * LangGraph waits for a run's own writes. It does not wait for its subgraphs' writes after an abort, nor for the
   * others once one has failed.
   */
  async saved(): Promise<void> {
    this.#close(() => new Error("The run has ended, so nothing more of it is saved, besides its diary."));
    await this.#pending.ended();
  }

  /** The id of the last checkpoint that the run saved, or of the one that it began on. */
  get latestId(): string | undefined {
    return this.#latest?.state.checkpoint.id;
  }

  /** Whether something was left to do at that checkpoint. */
  get isPaused(): boolean {
    return this.#latest !== undefined && hasTasks(this.#latest.state);
  }

  /** Notes beside that checkpoint how the run ended. Never rejects. */
  async noteEnd(end: NotedEnd): Promise<void> {
    const page = this.#page;
    if (page !== undefined) await writeEnd(page, end).catch(() => {});
  }

  /**
   * Contract: call it when the run has ended without an error.
   *
   * @throws ThreadConflictError if another writer has replaced the run's last checkpoint.
   */
  async assertKept(): Promise<void> {
    await this.#guard?.assertKept();
  }
}

const stepAt = ({ metadata }: StoredState): number => metadata?.step ?? -2;

function namespaceIn({ configurable }: Config): string {
  return String(configurable?.["checkpoint_ns"] ?? "");
}

/** A fraction has this many values. A double holds one beside a count of two million supersteps. */
const FRACTIONS = 2 ** 32;

/**
 * Numbers the versions of channels so that two runs never use the same number: 3.42 instead of 3.
 *
 * A saver can store a channel's value under its version and keep each version's first value, as `PostgresSaver` does.
 * If two runs start from the same checkpoint and both count 4, 5, 6, each reads what the other wrote. That happens
 * after a fork, after an edit of the past, with two processes, and when a killed process's last write arrives late.
 * https://github.com/langchain-ai/langgraphjs/issues/1812, up to saver 1.0.5 at least.
 *
 * A thread's numbers still grow, so threads with plain numbers can continue. Versions that are not numbers stay as they
 * are.
 *
 * @param assertGoesOn Contract: throws if the run must stop. LangGraph can save in the background, and requests a
 * version in each superstep. So the run stops here, before it runs more tools.
 */
function versionsOfOneRun(
  saver: BaseCheckpointSaver,
  assertGoesOn: () => void,
): BaseCheckpointSaver["getNextVersion"] {
  const fraction = randomInt(1, FRACTIONS) / FRACTIONS;
  return (current) => {
    assertGoesOn();
    const next: unknown = saver.getNextVersion(typeof current === "number" ? Math.floor(current) : current);
    return (Number.isInteger(next) ? Number(next) + fraction : next) as number;
  };
}
