import type { BaseMessage } from "@langchain/core/messages";
import type { Follower } from "../../../history/following/follow-list.js";
import { isResult } from "../../../history/messages/result.js";
import type { Target } from "../../dialects/maker.js";
import { sizeOf } from "../bounds/shorten-message.js";
import { bridgesAfter, bridgesBefore } from "./bridge-roles.js";
import { carryMedia } from "./carry-media.js";
import { cleanContent } from "./clean-content.js";
import { fillBlanks } from "./fill-blanks.js";
import { fitStoredItems } from "./fit-stored-items.js";
import { Journal } from "./journal.js";
import { keepOwnState } from "./keep-own-state.js";
import { listCalls } from "./list-calls.js";
import { isMerged, mergeRun } from "./merge-turns.js";
import { nameTools } from "./name-tools.js";
import { pairServerTools } from "./pair-server-tools.js";
import { passReasoning } from "./pass-reasoning.js";
import { renameCalls } from "./rename-calls.js";
import type { Change, Step } from "./step.js";

/** Each of them changes messages one by one. The order matters. Each step reads from the dialect what to do. */
const FORM_STEPS: readonly Step[] = [
  listCalls,
  keepOwnState,
  pairServerTools,
  carryMedia,
  cleanContent,
  nameTools,
  fillBlanks,
  renameCalls,
  fitStoredItems,
  passReasoning,
];

/** How far the projection was before a group. */
interface Place {
  /** How many messages had been taken. */
  readonly taken: number;
  readonly formed: number;
  readonly runStart: number;
  readonly sent: number;
  readonly before: BaseMessage | undefined;
  readonly noted: number;
}

/**
 * Messages on their way to the form in which a provider accepts them. Each one is formed alone. Then adjacent messages
 * are merged and bridged, as the dialect demands. The last of them wait, because the next message may be merged into
 * them.
 */
export class Projection implements Follower {
  readonly #target: Target;
  readonly #offset: number;
  readonly #changes: readonly Change[];
  readonly #passReasoning: Change;
  readonly #journal = new Journal();
  readonly #places: Place[] = [];
  readonly #formed: BaseMessage[] = [];
  readonly #sent: BaseMessage[] = [];
  /** For each message that is sent, the tokens up to its end. They are counted when somebody asks. */
  readonly #sizes: number[] = [];
  /** The formed messages from here on wait. They have one role. */
  #runStart = 0;
  /** The message before them, without regard to system messages. */
  #before: BaseMessage | undefined;

  /** @param offset How many messages are sent before these. */
  constructor(target: Target, offset = 0) {
    this.#target = target;
    this.#offset = offset;
    this.#changes = FORM_STEPS.flatMap((step) => step(target, this.#journal) ?? []);
    this.#passReasoning = passReasoning(target, this.#journal) ?? ((message) => message);
  }

  take(message: BaseMessage, index: number): void {
    if (!isResult(message)) this.#places.push(this.#here(index));
    const formed = this.#form(message);
    if (formed === undefined) return;
    const run = this.#formed[this.#runStart];
    if (run !== undefined && !isMerged(formed, run, this.#target.dialect.rules)) {
      this.#sent.push(...this.#waiting());
      if (run.type !== "system") this.#before = run;
      this.#runStart = this.#formed.length;
    }
    this.#formed.push(formed);
  }

  rewind(length: number): number {
    let place = this.#places.pop();
    while (place !== undefined && place.taken > length) place = this.#places.pop();
    const { taken, formed, runStart, sent, before, noted } = place ?? NOWHERE;
    this.#formed.length = formed;
    this.#sent.length = sent;
    this.#sizes.length = Math.min(this.#sizes.length, sent);
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
    return first.concat(this.#sent, this.#end());
  }

  /** The tokens of these messages, by our estimate. */
  size(): number {
    for (let index = this.#sizes.length; index < this.#sent.length; index += 1)
      this.#sizes.push((this.#sizes.at(-1) ?? 0) + sizeOf(this.#sent[index] as BaseMessage));
    return (this.#sizes.at(-1) ?? 0) + sumOf(this.#end());
  }

  /** The messages that wait, and what must stand after them. */
  #end(): BaseMessage[] {
    const run = this.#formed[this.#runStart];
    const last = run === undefined || run.type === "system" ? this.#before : run;
    return [...this.#waiting(), ...bridgesAfter(last, this.#target.dialect.rules)];
  }

  #form(message: BaseMessage): BaseMessage | undefined {
    let formed: BaseMessage | undefined = message;
    for (const change of this.#changes) {
      formed = change(formed, this.#offset + this.#formed.length);
      if (formed === undefined) return undefined;
    }
    return formed;
  }

  /** The messages that wait, as they are sent. */
  #waiting(): BaseMessage[] {
    const { rules } = this.#target.dialect;
    const run = this.#formed.slice(this.#runStart);
    const [first] = run;
    if (first === undefined) return [];
    const sent = [...bridgesBefore(first, this.#before, rules), ...mergeRun(run)];
    return sent.flatMap((message) => this.#passReasoning(message, 0) ?? []);
  }

  #here(taken: number): Place {
    return {
      taken,
      formed: this.#formed.length,
      runStart: this.#runStart,
      sent: this.#sent.length,
      before: this.#before,
      noted: this.#journal.length,
    };
  }
}

function sumOf(messages: readonly BaseMessage[]): number {
  return messages.reduce((sum, message) => sum + sizeOf(message), 0);
}

const NOWHERE: Place = { taken: 0, formed: 0, runStart: 0, sent: 0, before: undefined, noted: 0 };
