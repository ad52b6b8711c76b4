/** The projection: step by step, it makes messages that the provider accepts. Only new messages pass again. */

import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { createFollowing, type Follower, takeAll } from "../../history/follow-list.js";
import { isResult } from "../../history/result.js";
import type { Target } from "../contract/author.js";
import type { Block } from "../contract/dialect.js";
import { cacheMarksIn, withLastMarks } from "../contract/text-fields.js";
import {
  bridgeBetween,
  isMerged,
  mayMerge,
  mergeRun,
  misplacedSystem,
  systemInFront,
} from "../rules/order.js";
import { passFields } from "../rules/reasoning.js";
import type { Change } from "../rules/rule.js";
import { STEPS } from "../rules/rules.js";
import { isEmptied } from "../rules/texts.js";
import { limitMedia } from "./limit-media.js";
import { describesMedia, introduced, partResult, resultMedia } from "./result-media.js";
import { sizeOfInput } from "./shorten.js";

/**
 * Messages on their way to the form that a provider accepts. Each is formed alone. Then adjacent messages are merged
 * and bridged, as the dialect demands. The last ones wait, because the next message may be merged into them.
 */
class Projection implements Follower {
  readonly #target: Target;
  readonly #steps: readonly Change[];
  readonly #passFields: Change;
  readonly #limitMedia: Change;
  readonly #formed: BaseMessage[] = [];
  readonly #sent: BaseMessage[] = [];
  /** How many formed messages are not system messages, which a later message can move to the front. */
  #talk = 0;
  #size = 0;
  /** From here on, the formed messages wait. They have one role, and may become one message. */
  #runStart = 0;
  /** The last message before them that is not a system message. */
  #before: BaseMessage | undefined;
  /** The names of the last response's calls, as they are sent, by their ids. */
  #names: ReadonlyMap<string | undefined, string> = new Map();
  /** The pictures and files of the results after that response. */
  readonly #media: Block[] = [];
  #describedIn: BaseMessage[] = [];
  /** How many blocks of the sent messages have a prompt cache mark. */
  #marks = 0;

  constructor(target: Target) {
    this.#target = target;
    this.#steps = STEPS.map((step) => step(target));
    this.#passFields = passFields(target);
    this.#limitMedia = limitMedia(target);
  }

  take(given: BaseMessage): void {
    const { dialect } = this.#target;
    const mayShow = !isAIMessage(given) && Array.isArray(given.content);
    // Before the results' pictures are moved.
    const message = (mayShow && this.#limitMedia(given, this.#talk)) || given;
    if (!isResult(message)) this.#endBatch();
    if (isAIMessage(message)) this.#describedIn = [];
    else if (mayShow && describesMedia(message, dialect)) this.#describedIn.push(message);
    const { rest, moved } =
      mayShow && isResult(message) ? partResult(message, dialect) : { rest: message, moved: [] };
    const formed = this.#form(rest);
    if (formed === undefined) return;
    if (isResult(formed)) this.#media.push(...introduced(formed, this.#nameOf(formed), moved));
    if (isAIMessage(formed)) this.#names = namesIn(formed);
    this.#add(formed);
  }

  #nameOf({ tool_call_id, name }: ToolMessage): string {
    return this.#names.get(tool_call_id) ?? name ?? "";
  }

  /** The batch has all its results. */
  #endBatch(): void {
    const media = resultMedia(this.#media.splice(0));
    if (media !== undefined) this.#add(media);
  }

  #add(formed: BaseMessage): void {
    const run = this.#formed[this.#runStart];
    if (run !== undefined && !mayMerge(formed, run, this.#target.dialect.rules)) {
      const sent = this.#waiting();
      for (const message of sent) this.#sent.push(message);
      this.#size += sizeOfInput(sent);
      this.#marks += countMarks(sent);
      if (run.type !== "system") this.#before = run;
      this.#runStart = this.#formed.length;
    }
    this.#formed.push(formed);
    if (formed.type !== "system") this.#talk += 1;
  }

  /**
   * Undefined if the provider does not take a system message in its place. The formed messages decide again, because
   * those around it may have been left out.
   *
   * @param first The system messages in front, in their form.
   */
  after(first: readonly BaseMessage[], mostMarks: number | undefined): ProjectedInput | undefined {
    const { dialect, modelId = "" } = this.#target;
    const formed = first.concat(this.#formed, resultMedia(this.#media) ?? []);
    if (this.#formed.length > this.#talk && misplacedSystem(formed, dialect, modelId) >= 0) return undefined;
    const end = this.#end();
    const messages = first.concat(this.#sent, end);
    const isOverMarked =
      mostMarks !== undefined && countMarks(first) + this.#marks + countMarks(end) > mostMarks;
    return {
      messages: isOverMarked ? withLastMarks(messages, mostMarks) : messages,
      formed,
      size: sizeOfInput(first) + this.#size + sizeOfInput(end),
      describedIn: this.#describedIn.slice(),
    };
  }

  #form(message: BaseMessage): BaseMessage | undefined {
    let formed = message;
    for (const change of this.#steps) {
      const after = change(formed, this.#talk);
      if (after === undefined) return undefined;
      formed = after;
    }
    return isEmptied(message, formed) ? undefined : formed;
  }

  /** The waiting messages, and what must follow them. */
  #end(): BaseMessage[] {
    const run = this.#formed[this.#runStart];
    const last = run === undefined || run.type === "system" ? this.#before : run;
    const media = resultMedia(this.#media);
    return this.#waiting().concat(this.#bridge(last, media), media ?? []);
  }

  /** The waiting messages, as they are sent. */
  #waiting(): BaseMessage[] {
    const [first, ...others] = this.#formed.slice(this.#runStart);
    if (first === undefined) return [];
    const run = [first, ...others] as const;
    return [
      ...(first.type === "system" ? [] : this.#bridge(this.#before, first)),
      ...(isMerged(run, this.#target.dialect.rules) ? [mergeRun(run, this.#target)] : run),
    ];
  }

  #bridge(before: BaseMessage | undefined, after: BaseMessage | undefined): BaseMessage[] {
    const bridge = bridgeBetween(before, after, this.#target.dialect.rules);
    if (bridge === undefined) return [];
    return [this.#passFields(bridge.message, 0) ?? bridge.message];
  }
}

/** If several calls have one id, the first counts. */
function namesIn({ tool_calls = [] }: AIMessage): ReadonlyMap<string | undefined, string> {
  return new Map(tool_calls.toReversed().map(({ id, name }) => [id, name]));
}

/** Messages in the form that a provider accepts. */
export interface ProjectedInput {
  readonly messages: readonly BaseMessage[];
  /** Each message alone. Together they may still be in a sequence that a provider refuses. */
  readonly formed: readonly BaseMessage[];
  /** The tokens of the messages, by our estimate. */
  readonly size: number;
  /** The messages since the last response whose pictures or files the model gets only as text. */
  readonly describedIn: readonly BaseMessage[];
}

/** Messages before their projection. */
export interface Conversation {
  /** The system messages in front. */
  readonly system: readonly BaseMessage[];
  /** Paired messages. System messages among them stay in their places. */
  readonly messages: readonly BaseMessage[];
  /** How many blocks of the messages may have a prompt cache mark. @default any number */
  readonly mostMarks?: number | undefined;
}

function countMarks(messages: readonly BaseMessage[]): number {
  return messages.reduce((count, message) => count + cacheMarksIn(message).length, 0);
}

const follow = createFollowing<Projection>();

/**
 * Rewrites paired messages into a form that a provider of this dialect accepts. Only messages that are new since the
 * thread's last request are projected.
 */
export function projectMessages(conversation: Conversation, target: Target): ProjectedInput {
  const { system, messages, mostMarks } = conversation;
  const { dialect, client, host, modelId, described } = target;
  const first = formSystem(system, target);
  const variant = [first.length, dialect, client, host, modelId, ...(described?.keys() ?? [])];
  const projected = follow(
    messages,
    variant,
    () => new Projection(target),
    (projection) => projection.after(first, mostMarks),
  );
  return projected ?? projectMessages(systemInFront(conversation, dialect), target);
}

/** The same for messages of only one request, such as shortened copies. */
export function projectOnce(conversation: Conversation, target: Target): ProjectedInput {
  const { system, messages, mostMarks } = conversation;
  const projected = takeAll(new Projection(target), messages).after(formSystem(system, target), mostMarks);
  return projected ?? projectOnce(systemInFront(conversation, target.dialect), target);
}

function formSystem(system: readonly BaseMessage[], target: Target): readonly BaseMessage[] {
  if (system.length === 0) return [];
  return takeAll(new Projection(target), system).after([], undefined)?.formed ?? [];
}
