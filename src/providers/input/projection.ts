/**
 * The projection: one step after another makes messages that the provider accepts, and only new messages pass again.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { createFollowing, type Follower } from "../../history/follow-list.js";
import { DIALECTS, type DialectName } from "../dialects.js";
import type { Target } from "../rule.js";
import { type InputJournal, whyBridge, whyMerged } from "./journal.js";
import { sizeOfInput } from "./shorten.js";
import type { Change, Step, StepReason } from "./step.js";
import { listCalls, nameTools, pairServerTools, renameCalls } from "./steps/calls.js";
import { carryMedia, cleanContent, fillBlanks, mendTexts, passReasoning } from "./steps/content.js";
import { fitStoredItems, keepOwnState } from "./steps/own-state.js";
import { type Bridge, bridgesAfter, bridgesBefore, isMerged, mergeRun } from "./steps/turns.js";

/** Each of them changes messages one by one. The order matters. Each step reads from the dialect what to do. */
const FORM_STEPS: readonly Step[] = [
  listCalls,
  mendTexts,
  keepOwnState,
  carryMedia,
  cleanContent,
  // After the steps that take blocks out.
  pairServerTools,
  nameTools,
  fillBlanks,
  renameCalls,
  fitStoredItems,
  passReasoning,
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
  readonly #journal: InputJournal | undefined;
  readonly #formed: BaseMessage[] = [];
  readonly #sent: BaseMessage[] = [];
  /** The tokens of the messages that are sent. */
  #size = 0;
  /** The formed messages from here on wait. They have one role. */
  #runStart = 0;
  /** The message before them, without regard to system messages. */
  #before: BaseMessage | undefined;

  constructor(target: Target, first: readonly BaseMessage[], journal?: InputJournal) {
    this.first = first;
    this.#target = target;
    this.#journal = journal;
    this.#steps = FORM_STEPS.flatMap(({ make, why }) => {
      const change = make(target);
      return change === undefined ? [] : [{ change, why }];
    });
    this.#passReasoning = passReasoning.make(target) ?? ((message) => message);
  }

  take(message: BaseMessage): void {
    const formed = this.#form(message);
    if (formed === undefined) return;
    const run = this.#formed[this.#runStart];
    if (run !== undefined && !isMerged(formed, run, this.#target.dialect.rules)) {
      const sent = this.#waiting();
      this.#sent.push(...sent);
      this.#size += sizeOfInput(sent);
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
    return this.first.concat(this.#sent, this.#end());
  }

  /** The tokens of these messages, by our estimate. */
  size(): number {
    return sizeOfInput(this.first) + this.#size + sizeOfInput(this.#end());
  }

  #form(message: BaseMessage): BaseMessage | undefined {
    let formed = message;
    for (const { change, why } of this.#steps) {
      const after = change(formed, this.first.length + this.#formed.length);
      this.#journal?.changed(formed, after, why);
      if (after === undefined) return undefined;
      formed = after;
    }
    return formed;
  }

  /** The messages that wait, and what must stand after them. */
  #end(): BaseMessage[] {
    const run = this.#formed[this.#runStart];
    const last = run === undefined || run.type === "system" ? this.#before : run;
    return this.#waiting().concat(this.#bridged(bridgesAfter(last, this.#target.dialect.rules)));
  }

  /** The messages that wait, as they are sent. */
  #waiting(): BaseMessage[] {
    const run = this.#formed.slice(this.#runStart);
    const [first, ...others] = run;
    if (first === undefined) return [];
    const bridges = bridgesBefore(first, this.#before, this.#target.dialect.rules);
    const merged = mergeRun(first, others);
    if (merged !== first) this.#journal?.made(merged, run, whyMerged(run.length));
    return [...this.#bridged(bridges), merged].map((message) => this.#withReasoning(message));
  }

  #bridged(bridges: readonly Bridge[]): BaseMessage[] {
    return bridges.map(({ message, rule }) => {
      this.#journal?.made(message, [], whyBridge(rule));
      return message;
    });
  }

  #withReasoning(message: BaseMessage): BaseMessage {
    const passed = this.#passReasoning(message, 0) ?? message;
    if (passed !== message) this.#journal?.made(passed, [message]);
    return passed;
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
  journal?: InputJournal,
): Projection {
  const projection = new Projection(target, formSystem(system, target, journal), journal);
  for (const message of messages) projection.take(message);
  return projection;
}

function formSystem(system: BaseMessage | undefined, target: Target, journal?: InputJournal): BaseMessage[] {
  if (system === undefined) return [];
  const projection = new Projection(target, [], journal);
  projection.take(system);
  return projection.formed();
}

const NAMES = Object.keys(DIALECTS) as DialectName[];

function nameOf({ dialect, modelId = "" }: Target): string {
  return `${NAMES.find((name) => DIALECTS[name] === dialect)} ${modelId}`;
}
