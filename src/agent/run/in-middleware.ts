/** A run inside agent middleware, which can change its input and its result. */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { isCommand } from "@langchain/langgraph";
import { MiddlewareError } from "../../errors.js";
import { callsOf, isAIMessage } from "../../history/call.js";
import { cloneMessage, isSameMessage } from "../../history/message.js";
import { isResult } from "../../history/result.js";
import { type Reader, untilAborted } from "../../shared/waiting.js";
import { readUpdate } from "../../threads/commands.js";
import { customChunk, followingOptions, isReadAsEvents } from "../../threads/langgraph/run-host.js";
import { defaultsOf } from "../../threads/own-state.js";
import { threadIdOf } from "../../threads/stores.js";
import { agentHook, type RunScope } from "../middleware/contexts.js";
import { runOnion } from "../middleware/run-onion.js";
import { planRun } from "../plan.js";
import type { AdmittedRun } from "./admit.js";
import type { RunRecord } from "./handle.js";
import { messagesOfInput, withMessages } from "./input.js";
import { assertRead, type Pass, startPass } from "./pass.js";

/** Runs the graph inside middleware. A middleware continues after `next()` once the graph's run has ended. */
export async function runInMiddleware<Chunk>(run: AdmittedRun<Chunk>): Promise<RunRecord> {
  const passes = new Passes(run);
  try {
    // After an abort, a middleware that ignores the signal is abandoned.
    return await untilAborted(runLayers(run, passes), run.options.signal);
  } finally {
    // The run still saves its last writes.
    await passes.ended?.catch(() => {});
  }
}

/** @returns What the last pass has recorded. */
async function runLayers<Chunk>(run: AdmittedRun<Chunk>, passes: Passes<Chunk>): Promise<RunRecord> {
  const { plan, options, input, isSubgraph, saver } = run;
  passes.assertGoesOn();
  const hook = agentHook(await middlewareScope(run, passes), {
    stream: run.isStreamed,
    messages: messagesOfInput(input),
    options: { ...run.chosen },
  });
  const readChosen = () => planRun(plan, hook.fields.options, isSubgraph);
  /** The result that is stored in the thread. */
  let last: BaseMessage | undefined;
  const core = async (): Promise<void> => {
    const { history, interrupts, failure } = await passes.start({
      input: withMessages(input, hook.fields.messages),
      chosen: readChosen(),
    });
    last = resultOfRun(history?.at(-1));
    // A copy, so that a middleware's changes are noticed.
    hook.settle({ result: last && cloneMessage(last), interrupts });
    if (failure !== undefined) throw failure.error;
  };
  const exit = await runOnion({ layers: run.middleware.agent, core }, hook.view);
  if (exit.kind === "threw") throw exit.error;
  passes.assertGoesOn();

  const { record } = passes;
  const { result: left, messages } = hook.fields;
  const result = left && cloneMessage(left);
  // The input is stored with the given response. The model is not asked.
  if (record === undefined)
    return passes.start({
      input: isCommand(input)
        ? { ...readUpdate(input.update), messages }
        : withMessages(input ?? {}, messages),
      chosen: readChosen(),
      given: { kind: "response", messages: result === undefined ? [] : [result] },
    });
  if (result === undefined || isSameMessage(result, last)) return record;
  const isAnswer = isAIMessage(result) && callsOf(result).length === 0;
  if (record.interrupts.length > 0 && !isAnswer) throw new MiddlewareError(WAITING);
  const keepsHistory = saver.checkpointer !== undefined && !isSubgraph;
  return passes.start({
    input: { messages: keepsHistory ? [] : (record.history ?? messages) },
    chosen: run.chosen,
    options: followingOptions(options),
    given: { kind: "correction", messages: correctionOf(last, result) },
    structuredResponse: plan.formatPlan && record.structuredResponse,
  });
}

/** The passes through the graph that middleware leads to. */
class Passes<Chunk> {
  readonly #run: AdmittedRun<Chunk>;
  /** What middleware wrote before the first chunk of the graph, if that must be the first. */
  #early: Chunk[] | undefined;
  /** What the last pass has recorded. */
  record: RunRecord | undefined;
  /** The end of the last pass. */
  ended: Promise<void> | undefined;

  constructor(run: AdmittedRun<Chunk>) {
    this.#early = isReadAsEvents(run.options) ? [] : undefined;
    const { reader } = run;
    this.#run = { ...run, reader: { ...reader, give: (chunk) => this.#give(chunk, reader) } };
  }

  /** Gives a chunk of the graph. */
  #give(chunk: Chunk, reader: Reader<Chunk>): void {
    for (const early of this.#early ?? []) reader.give(early);
    this.#early = undefined;
    reader.give(chunk);
  }

  /** Gives a chunk that a middleware wrote. */
  write(chunk: Chunk): void {
    if (this.#early === undefined) this.#run.reader.give(chunk);
    else this.#early.push(chunk);
  }

  /** Starts a pass, and waits for its end. */
  async start(pass: Pass): Promise<RunRecord> {
    this.assertGoesOn();
    const { record, ended } = startPass(this.#run, pass);
    this.record = record;
    this.ended = ended;
    try {
      await ended;
    } finally {
      // A middleware gets the abort's reason, not what the graph makes of it.
      this.assertGoesOn();
    }
    return record;
  }

  /** @throws The reason of the run's abort, or an Error if nobody reads the run any more. */
  assertGoesOn(): void {
    this.#run.options.signal?.throwIfAborted();
    assertRead(this.#run.reader);
  }
}

/** What the middleware reads of the run, and where it writes. */
async function middlewareScope<Chunk>(run: AdmittedRun<Chunk>, passes: Passes<Chunk>): Promise<RunScope> {
  const { plan, options, chosen, isSubgraph, bag } = run;
  const thread = await run.readThread?.();
  const parentWriter: unknown = Reflect.get(options, "writer");
  return {
    bag,
    threadId: threadIdOf(options),
    signal: options.signal,
    stateKeys: [],
    context: { ...run.ownContext, ...chosen },
    store: run.store,
    readState: () => ({
      messages: [],
      ...defaultsOf(plan.ownState),
      ...thread?.values,
      ...passes.record?.ownValues(plan.ownState),
      ...(passes.record?.history !== undefined && { messages: passes.record.history }),
    }),
    write: (value) => {
      if (isSubgraph && typeof parentWriter === "function") parentWriter(value);
      const made = customChunk(value, options);
      if (made !== undefined) passes.write(made.chunk as Chunk);
    },
  };
}

const WAITING =
  "An agent middleware changed `context.result` of a run that waits for a human. Leave it as it is while `context.interrupts` is not empty, or set a text, which ends the wait.";

/** The result of a run: its last message, if that is a response or a tool result. */
function resultOfRun(last: BaseMessage | undefined): BaseMessage | undefined {
  return last !== undefined && (isAIMessage(last) || isResult(last)) ? last : undefined;
}

/**
 * A text after a tool result is a new message. So is a text that ends a wait: replacing the message with the calls
 * would remove their results, though some tools may have run.
 */
function correctionOf(last: BaseMessage | undefined, result: BaseMessage): BaseMessage[] {
  const endsWait = last !== undefined && callsOf(last).length > 0 && callsOf(result).length === 0;
  return last?.id === undefined || last.type !== result.type || endsWait
    ? [result]
    : [new RemoveMessage({ id: last.id }), result];
}
