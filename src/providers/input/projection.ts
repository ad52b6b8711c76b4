/**
 * The projection: one step after another makes messages that the provider accepts, and only new messages pass again.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { createFollowing, type Follower } from "../../history/follow-list.js";
import { isResult } from "../../history/result.js";
import { DIALECTS, type DialectName } from "../dialects.js";
import type { Target } from "../rule.js";
import { sizeOfInput } from "./shorten.js";
import { type Change, Journal, type Step, type StepReason } from "./step.js";
import {
  listCalls,
  nameTools,
  pairServerTools,
  renameCalls,
  whyListCalls,
  whyNameTools,
  whyPairServerTools,
  whyRenameCalls,
} from "./steps/calls.js";
import {
  carryMedia,
  cleanContent,
  fillBlanks,
  mendTexts,
  passReasoning,
  whyCarryMedia,
  whyCleanContent,
  whyFillBlanks,
  whyMendTexts,
  whyPassReasoning,
} from "./steps/content.js";
import { fitStoredItems, keepOwnState, whyFitStoredItems, whyKeepOwnState } from "./steps/own-state.js";
import { type Bridge, bridgesAfter, bridgesBefore, isMerged, mergeRun } from "./steps/turns.js";

interface StepRow {
  readonly step: Step;
  readonly why: StepReason;
}

/** Each of them changes messages one by one. The order matters. Each step reads from the dialect what to do. */
const FORM_STEPS: readonly StepRow[] = [
  { step: listCalls, why: whyListCalls },
  { step: mendTexts, why: whyMendTexts },
  { step: keepOwnState, why: whyKeepOwnState },
  { step: carryMedia, why: whyCarryMedia },
  { step: cleanContent, why: whyCleanContent },
  // After the steps that take blocks out.
  { step: pairServerTools, why: whyPairServerTools },
  { step: nameTools, why: whyNameTools },
  { step: fillBlanks, why: whyFillBlanks },
  { step: renameCalls, why: whyRenameCalls },
  { step: fitStoredItems, why: whyFitStoredItems },
  { step: passReasoning, why: whyPassReasoning },
];

/**
 * Learns where the messages that are sent come from.
 *
 * Contract: for each message that a projection takes, first `taken` is called, and then `changed` for each step that
 * changed it, in order. A message that no step left out is formed. `sent` tells, from the first to the last, which formed
 * messages were sent as one.
 */
export interface ProjectionLog {
  taken(): void;
  /** @param why Says what the step did. */
  changed(why: StepReason, before: BaseMessage, after: BaseMessage | undefined): void;
  /**
   * The next `count` formed messages are sent as the last of these messages. Before it there are bridges. If `count` is
   * 0, all of them are bridges.
   */
  sent(count: number, messages: readonly BaseMessage[], bridges: readonly Bridge[]): void;
}

/** How far the projection was before a group. */
interface GroupPlace {
  readonly taken: number;
  readonly formed: number;
  readonly runStart: number;
  readonly sent: number;
  readonly size: number;
  readonly before: BaseMessage | undefined;
  readonly noted: number;
}

/**
 * Messages on their way to the form in which a provider accepts them. Each one is formed alone. Then adjacent messages
 * are merged and bridged, as the dialect demands. The last of them wait, because the next message may be merged into
 * them.
 */
class Projection implements Follower {
  readonly #target: Target;
  readonly #offset: number;
  readonly #steps: readonly { readonly change: Change; readonly why: StepReason }[];
  readonly #passReasoning: Change;
  readonly #log: ProjectionLog | undefined;
  readonly #journal = new Journal();
  readonly #places: GroupPlace[] = [];
  readonly #formed: BaseMessage[] = [];
  readonly #sent: BaseMessage[] = [];
  /** The tokens of the messages that are sent. */
  #size = 0;
  /** The formed messages from here on wait. They have one role. */
  #runStart = 0;
  /** The message before them, without regard to system messages. */
  #before: BaseMessage | undefined;

  /** @param offset How many messages are sent before these. */
  constructor(target: Target, offset = 0, log?: ProjectionLog) {
    this.#target = target;
    this.#offset = offset;
    this.#log = log;
    this.#steps = FORM_STEPS.flatMap(({ step, why }) => {
      const change = step(target, this.#journal);
      return change === undefined ? [] : [{ change, why }];
    });
    this.#passReasoning = passReasoning(target, this.#journal) ?? ((message) => message);
  }

  take(message: BaseMessage, index: number): void {
    if (!isResult(message)) this.#places.push(this.#here(index));
    const formed = this.#form(message);
    if (formed === undefined) return;
    const run = this.#formed[this.#runStart];
    if (run !== undefined && !isMerged(formed, run, this.#target.dialect.rules)) {
      const from = this.#sent.length;
      this.#sendWaiting(this.#sent, this.#log);
      this.#size += sizeOfInput(this.#sent.slice(from));
      if (run.type !== "system") this.#before = run;
      this.#runStart = this.#formed.length;
    }
    this.#formed.push(formed);
  }

  rewind(length: number): number {
    let place = this.#places.pop();
    while (place !== undefined && place.taken > length) place = this.#places.pop();
    const { taken, formed, runStart, sent, size, before, noted } = place ?? NOWHERE;
    this.#formed.length = formed;
    this.#sent.length = sent;
    this.#size = size;
    this.#runStart = runStart;
    this.#before = before;
    this.#journal.rewind(noted);
    return taken;
  }

  /** Each message alone. Messages can still stand in a sequence that a provider refuses. */
  formed(): BaseMessage[] {
    return this.#formed.slice();
  }

  /** The messages in a sequence that the provider accepts, after those that are sent first. */
  sent(first: readonly BaseMessage[]): BaseMessage[] {
    return first.concat(this.#sent, this.#end(this.#log));
  }

  /** The tokens of these messages, by our estimate. */
  size(): number {
    return this.#size + sizeOfInput(this.#end());
  }

  /** The messages that wait, and what must stand after them. */
  #end(log?: ProjectionLog): BaseMessage[] {
    const run = this.#formed[this.#runStart];
    const last = run === undefined || run.type === "system" ? this.#before : run;
    const end: BaseMessage[] = [];
    this.#sendWaiting(end, log);
    const bridges = bridgesAfter(last, this.#target.dialect.rules);
    const messages = bridges.map(({ message }) => message);
    log?.sent(0, messages, bridges);
    return end.concat(messages);
  }

  #form(message: BaseMessage): BaseMessage | undefined {
    this.#log?.taken();
    let formed = message;
    for (const { change, why } of this.#steps) {
      const after = change(formed, this.#offset + this.#formed.length);
      if (after !== formed) this.#log?.changed(why, formed, after);
      if (after === undefined) return undefined;
      formed = after;
    }
    return formed;
  }

  /** Adds the messages that wait to a list, as they are sent. */
  #sendWaiting(sent: BaseMessage[], log?: ProjectionLog): void {
    const { rules } = this.#target.dialect;
    const first = this.#formed[this.#runStart];
    if (first === undefined) return;
    const bridges = bridgesBefore(first, this.#before, rules);
    const from = sent.length;
    // Nearly every message is sent alone.
    if (bridges.length === 0 && this.#formed.length === this.#runStart + 1) {
      this.#send(first, sent);
      log?.sent(1, sent.slice(from), bridges);
      return;
    }
    const run = this.#formed.slice(this.#runStart);
    for (const { message } of bridges) this.#send(message, sent);
    for (const message of mergeRun(run)) this.#send(message, sent);
    log?.sent(run.length, sent.slice(from), bridges);
  }

  #send(message: BaseMessage, sent: BaseMessage[]): void {
    const passed = this.#passReasoning(message, 0);
    if (passed !== undefined) sent.push(passed);
  }

  #here(taken: number): GroupPlace {
    return {
      taken,
      formed: this.#formed.length,
      runStart: this.#runStart,
      sent: this.#sent.length,
      size: this.#size,
      before: this.#before,
      noted: this.#journal.length,
    };
  }
}

const NOWHERE: GroupPlace = {
  taken: 0,
  formed: 0,
  runStart: 0,
  sent: 0,
  size: 0,
  before: undefined,
  noted: 0,
};

/** Messages before their projection. */
export interface Conversation {
  /** It is placed first. Undefined: none. */
  readonly system: BaseMessage | undefined;
  /** Paired messages, without system messages. */
  readonly messages: readonly BaseMessage[];
}

/** Messages after it. Contract: valid until the next projection, so read from it at once. */
interface Projected {
  /** The messages in a form that a provider accepts. */
  readonly sent: () => BaseMessage[];
  /** The tokens of these messages, by our estimate. */
  readonly size: () => number;
  /** Each message alone. Messages can still stand in a sequence that a provider refuses. */
  readonly formed: () => BaseMessage[];
}

type Project = (conversation: Conversation, target: Target, log?: ProjectionLog) => Projected;

const follow = createFollowing<Projection>();

/**
 * Rewrites paired messages into a form that a provider of this dialect accepts. Only the messages are projected that the
 * thread's request before did not have.
 */
export const projectMessages: Project = ({ system, messages }, target) => {
  const first = formSystem(system, target);
  const variant = `${first.length} ${nameOf(target)}`;
  return withFirst(
    first,
    follow(messages, variant, () => new Projection(target, first.length)),
  );
};

/** The same for messages of one request only, such as shortened copies, or if somebody learns what happens to them. */
export const projectOnce: Project = ({ system, messages }, target, log) => {
  const first = formSystem(system, target, log);
  const projection = new Projection(target, first.length, log);
  for (const [index, message] of messages.entries()) projection.take(message, index);
  return withFirst(first, projection);
};

function formSystem(system: BaseMessage | undefined, target: Target, log?: ProjectionLog): BaseMessage[] {
  if (system === undefined) return [];
  const projection = new Projection(target, 0, log);
  projection.take(system, 0);
  return projection.formed();
}

function withFirst(first: readonly BaseMessage[], projection: Projection): Projected {
  return {
    sent: () => projection.sent(first),
    size: () => sizeOfInput(first) + projection.size(),
    formed: () => first.concat(projection.formed()),
  };
}

const NAMES = Object.keys(DIALECTS) as DialectName[];

function nameOf({ dialect, modelId = "" }: Target): string {
  return `${NAMES.find((name) => DIALECTS[name] === dialect)} ${modelId}`;
}
