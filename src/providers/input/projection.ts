/**
 * The projection: one step after another makes messages that the provider accepts, and only new messages pass again.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { createFollowing, type Follower } from "../../history/follow-list.js";
import { DIALECTS, type DialectName } from "../dialects.js";
import type { Target } from "../rule.js";
import type { InputLineage } from "./lineage.js";
import { sizeOfInput } from "./shorten.js";
import type { Change, Step, StepReason } from "./step.js";
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
import { bridgesAfter, bridgesBefore, isMerged, mergeRun } from "./steps/turns.js";

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
 * Messages on their way to the form in which a provider accepts them. Each one is formed alone. Then adjacent messages
 * are merged and bridged, as the dialect demands. The last of them wait, because the next message may be merged into
 * them.
 */
class Projection implements Follower {
  /** What is sent before these messages: the system message in its form, or nothing. */
  first: readonly BaseMessage[];
  readonly #target: Target;
  readonly #steps: readonly { readonly change: Change; readonly why: StepReason }[];
  readonly #passReasoning: Change;
  readonly #log: InputLineage | undefined;
  readonly #formed: BaseMessage[] = [];
  readonly #sent: BaseMessage[] = [];
  /** The tokens of the messages that are sent. */
  #size = 0;
  /** The formed messages from here on wait. They have one role. */
  #runStart = 0;
  /** The message before them, without regard to system messages. */
  #before: BaseMessage | undefined;

  constructor(target: Target, first: readonly BaseMessage[], log?: InputLineage) {
    this.first = first;
    this.#target = target;
    this.#log = log;
    this.#steps = FORM_STEPS.flatMap(({ step, why }) => {
      const change = step(target);
      return change === undefined ? [] : [{ change, why }];
    });
    this.#passReasoning = passReasoning(target) ?? ((message) => message);
  }

  take(message: BaseMessage): void {
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

  /** Each message alone. Messages can still stand in a sequence that a provider refuses. */
  formed(): BaseMessage[] {
    return this.first.concat(this.#formed);
  }

  /** The messages in a sequence that the provider accepts. */
  sent(): BaseMessage[] {
    return this.first.concat(this.#sent, this.#end(this.#log));
  }

  /** The tokens of these messages, by our estimate. */
  size(): number {
    return sizeOfInput(this.first) + this.#size + sizeOfInput(this.#end());
  }

  /** The messages that wait, and what must stand after them. */
  #end(log?: InputLineage): BaseMessage[] {
    const run = this.#formed[this.#runStart];
    const last = run === undefined || run.type === "system" ? this.#before : run;
    const end: BaseMessage[] = [];
    this.#sendWaiting(end, log);
    const bridges = bridgesAfter(last, this.#target.dialect.rules);
    const messages = bridges.map(({ message }) => message);
    log?.merged(0, messages, bridges);
    return end.concat(messages);
  }

  #form(message: BaseMessage): BaseMessage | undefined {
    this.#log?.taken();
    let formed = message;
    for (const { change, why } of this.#steps) {
      const after = change(formed, this.first.length + this.#formed.length);
      if (after !== formed) this.#log?.changed(why, after);
      if (after === undefined) return undefined;
      formed = after;
    }
    return formed;
  }

  /** Adds the messages that wait to a list, as they are sent. */
  #sendWaiting(sent: BaseMessage[], log?: InputLineage): void {
    const { rules } = this.#target.dialect;
    const first = this.#formed[this.#runStart];
    if (first === undefined) return;
    const bridges = bridgesBefore(first, this.#before, rules);
    const from = sent.length;
    const run = this.#formed.slice(this.#runStart);
    for (const { message } of bridges) this.#send(message, sent);
    for (const message of mergeRun(run)) this.#send(message, sent);
    log?.merged(run.length, sent.slice(from), bridges);
  }

  #send(message: BaseMessage, sent: BaseMessage[]): void {
    const passed = this.#passReasoning(message, 0);
    if (passed !== undefined) sent.push(passed);
  }
}

/** Messages before their projection. */
export interface Conversation {
  /** It is placed first. Undefined: none. */
  readonly system: BaseMessage | undefined;
  /** Paired messages, without system messages. */
  readonly messages: readonly BaseMessage[];
}

const follow = createFollowing<Projection>();

/**
 * Rewrites paired messages into a form that a provider of this dialect accepts. Only the messages are projected that the
 * thread's request before did not have. The projection is valid until the next one, so read from it at once.
 */
export function projectMessages({ system, messages }: Conversation, target: Target): Projection {
  const first = formSystem(system, target);
  const variant = `${first.length} ${nameOf(target)}`;
  const projection = follow(messages, variant, () => new Projection(target, first));
  projection.first = first;
  return projection;
}

/** The same for messages of one request only, such as shortened copies, or if somebody learns what happens to them. */
export function projectOnce(
  { system, messages }: Conversation,
  target: Target,
  log?: InputLineage,
): Projection {
  log?.begun();
  const projection = new Projection(target, formSystem(system, target, log), log);
  for (const message of messages) projection.take(message);
  return projection;
}

function formSystem(system: BaseMessage | undefined, target: Target, log?: InputLineage): BaseMessage[] {
  if (system === undefined) return [];
  const projection = new Projection(target, [], log);
  projection.take(system);
  return projection.formed();
}

const NAMES = Object.keys(DIALECTS) as DialectName[];

function nameOf({ dialect, modelId = "" }: Target): string {
  return `${NAMES.find((name) => DIALECTS[name] === dialect)} ${modelId}`;
}
