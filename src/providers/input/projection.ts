/**
 * The projection: one step after another makes messages that the provider accepts, and only new messages pass again.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { createFollowing, type Follower } from "../../history/follow-list.js";
import { DIALECT_NAMES, DIALECTS } from "../dialects.js";
import type { Target } from "../rule.js";
import { sizeOfInput } from "./shorten.js";
import type { Change, Step } from "./step.js";
import { listCalls, nameCalls } from "./steps/calls.js";
import { carryMedia, cleanContent, fillBlanks, mendTexts, passReasoning } from "./steps/content.js";
import { limitMedia } from "./steps/media.js";
import { fitStoredItems, keepOwnState } from "./steps/own-state.js";
import { bridgeBetween, isMerged, mergeRun } from "./steps/turns.js";

/** Each of them changes messages one by one. The order matters. Each step reads from the dialect what to do. */
const FORM_STEPS: readonly Step[] = [
  listCalls,
  mendTexts,
  keepOwnState,
  limitMedia,
  carryMedia,
  cleanContent,
  fillBlanks,
  nameCalls,
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
  readonly #steps: readonly Change[];
  readonly #passReasoning: Change;
  readonly #formed: BaseMessage[] = [];
  readonly #sent: BaseMessage[] = [];
  /** The tokens of the messages that are sent. */
  #size = 0;
  /** The formed messages from here on wait. They have one role. */
  #runStart = 0;
  /** The message before them. */
  #before: BaseMessage | undefined;

  constructor(target: Target, first: readonly BaseMessage[]) {
    this.first = first;
    this.#target = target;
    this.#steps = FORM_STEPS.map((step) => step(target));
    this.#passReasoning = passReasoning(target);
  }

  take(message: BaseMessage): void {
    const formed = this.#form(message);
    if (formed === undefined) return;
    const run = this.#formed[this.#runStart];
    if (run !== undefined && !isMerged(formed, run, this.#target.dialect.rules)) {
      const sent = this.#waiting();
      this.#sent.push(...sent);
      this.#size += sizeOfInput(sent);
      this.#before = run;
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

  /** How many messages these are. */
  count(): number {
    return this.first.length + this.#sent.length + this.#end().length;
  }

  /** The tokens of these messages, by our estimate. */
  size(): number {
    return sizeOfInput(this.first) + this.#size + sizeOfInput(this.#end());
  }

  #form(message: BaseMessage): BaseMessage | undefined {
    let formed = message;
    for (const change of this.#steps) {
      const after = change(formed, this.first.length + this.#formed.length);
      if (after === undefined) return undefined;
      formed = after;
    }
    return formed;
  }

  /** The messages that wait, and what must stand after them. */
  #end(): BaseMessage[] {
    const last = this.#formed[this.#runStart] ?? this.#before;
    return this.#waiting().concat(this.#bridge(last, undefined));
  }

  /** The messages that wait, as they are sent. */
  #waiting(): BaseMessage[] {
    const [first, ...others] = this.#formed.slice(this.#runStart);
    if (first === undefined) return [];
    return [...this.#bridge(this.#before, first), mergeRun([first, ...others])];
  }

  #bridge(before: BaseMessage | undefined, after: BaseMessage | undefined): BaseMessage[] {
    const bridge = bridgeBetween(before, after, this.#target.dialect.rules);
    if (bridge === undefined) return [];
    return [this.#passReasoning(bridge.message, 0) ?? bridge.message];
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

/** The same for messages of one request only, such as shortened copies. */
export function projectOnce({ system, messages }: Conversation, target: Target): Projection {
  const projection = new Projection(target, formSystem(system, target));
  for (const message of messages) projection.take(message);
  return projection;
}

function formSystem(system: BaseMessage | undefined, target: Target): BaseMessage[] {
  if (system === undefined) return [];
  const projection = new Projection(target, []);
  projection.take(system);
  return projection.formed();
}

function nameOf({ dialect, modelId = "", described }: Target): string {
  const name = DIALECT_NAMES.find((each) => DIALECTS[each] === dialect);
  return [name, modelId, ...(described?.keys() ?? [])].join(" ");
}
