/** The journal of a model input: follows each message through all steps, and notes what each step did to it. */

import type { BaseMessage } from "@langchain/core/messages";
import { callsOf } from "../../history/call.js";
import { type Grouping, groupMessages, placesInGroups, type Refused } from "../../history/group.js";
import { coveringSummaries, flattenVisible, type VisibleHistory } from "../../history/plan-summary.js";
import { isMessage } from "../../history/read-messages.js";
import { callIdOf, isResult } from "../../history/result.js";
import { addToList } from "../../shared/values.js";
import { type Dialect, RULES, type RuleName, type Target } from "../rule.js";
import { sizeOf } from "./shorten.js";
import type { InputReason, InputReasonCode, StepReason } from "./step.js";
import type { Bridge } from "./steps/turns.js";

/** What is left of each message of the list before; undefined for one that is left out. */
type Each = readonly (BaseMessage | undefined)[];

/** What is left of an input. */
export interface CutInput {
  /** For each message what is left of it; undefined if it is left out. */
  readonly kept: readonly (BaseMessage | undefined)[];
  /** What is sent in the place of a message that is left out. */
  readonly notes: ReadonlyMap<number, BaseMessage>;
}

/**
 * Follows the messages of a history to the input. Each step tells its outcome when it is done, in the order of these
 * methods. A step that does not apply tells nothing.
 */
export class InputLineage {
  /** One for each message of the history. */
  readonly stored: readonly Origin[];
  /** The list of messages after the last step, with the origin of each. */
  #items: readonly Item[];
  readonly #target: Target;
  /** For each message that the projection was given, the changes of its steps. */
  #changes: Change[][] = [];
  /** What the projection sends, from the first message to the last. */
  #sent: Sent[] = [];

  constructor(history: readonly BaseMessage[], target: Target) {
    this.stored = Array.from(history, (_, index) => ({ index, reasons: [] }));
    this.#items = this.stored.map((origin, index) => ({
      message: history[index] as BaseMessage,
      origins: [origin],
    }));
    this.#target = target;
  }

  /** Values were read as messages. */
  read(after: Each): void {
    this.#change(after, (before, message) => {
      if (message !== undefined) return MENDED;
      return isMessage(before)
        ? reason("removed", "A removal in the history takes it out.")
        : reason("not-a-message", "The value is not a message.");
    });
  }

  /** Summaries hide the messages that they cover. */
  visible(visible: VisibleHistory): void {
    const before = this.#items.map(({ message }) => message);
    const summaryOf = representing(coveringSummaries(before));
    const fixed = new Set(visible.rest);
    const shown = [...visible.system, ...visible.summaries, ...visible.lateResults, ...visible.rest];
    this.#arrange(shown, groupMessages(before), (message) => fixed.has(message), {
      leftOut: (message, refused) => {
        const summary = summaryOf(message);
        if (summary !== undefined) return reason("covered", `The summary ${nameOf(summary)} represents it.`);
        if (refused !== undefined) return this.#refused(`${refused}-result`, message);
        return reason("covered", `A summary represents the call ${nameOfCall(message)}, which it answers.`);
      },
      moved: () => reason("moved", "System messages and summaries are sent before the other messages."),
    });
    this.#change(flattenVisible(visible), (message) =>
      reason(
        "late-result",
        `A summary represents the call ${nameOfCall(message)}, so the result is told as a text.`,
      ),
    );
  }

  /** Odd roles became common ones. */
  plainRoles(after: readonly BaseMessage[]): void {
    this.#change(after, (before, message) =>
      this.#demanded(
        "role-changed",
        `Not every provider knows the role ${roleOf(before)}, so it is sent as ${message?.type}.`,
        "role",
      ),
    );
  }

  /** Each call has its result. What stays is the same object. */
  repaired(after: readonly BaseMessage[]): void {
    const before = this.#items.map(({ message }) => message);
    this.#arrange(after, groupMessages(before, callsOf), (message) => !isResult(message), {
      leftOut: (message, refused = "duplicate") => this.#refused(`${refused}-result`, message),
      moved: (message) =>
        this.#demanded(
          "moved",
          `It is sent after the message with the call ${nameOfCall(message)}, in the order of the calls.`,
          "missing-result",
          "result-order",
        ),
      added: (message) =>
        this.#demanded(
          "placeholder",
          `The call ${nameOfCall(message)} has no result. Providers refuse a call without one.`,
          "missing-result",
        ),
    });
  }

  /** Messages that the provider has compacted itself were left out. */
  compacted(after: readonly (BaseMessage | undefined)[]): void {
    this.#change(after, () =>
      reason(
        "compacted",
        "The provider has compacted the conversation after it, and does not read it any more.",
      ),
    );
  }

  /** Malformed messages were brought into a sound form. */
  sound(after: readonly BaseMessage[]): void {
    this.#change(after, () => MENDED);
  }

  /** Earlier calls were left out. */
  filtered(after: Each): void {
    this.#change(after, (before, message) => {
      const left = new Set(message === undefined ? [] : idsOf(message));
      const gone = idsOf(before).filter((id) => !left.has(id));
      return reason(
        "filtered",
        `\`maxToolCallsFromHistory\` leaves out calls of earlier turns, and these are among them: ${gone.join(", ")}.`,
      );
    });
  }

  /** One system message was made of the system prompt and of these stored ones. The others of them are left out. */
  joinedSystems(system: BaseMessage | undefined, joined: readonly BaseMessage[]): void {
    const isPart = new Set(joined);
    const systems = this.#items.filter(({ message }) => message.type === "system");
    const others = this.#items.filter(({ message }) => message.type !== "system");
    const parts = systems.filter(({ message }) => isPart.has(message));
    const whole = this.#demanded(
      "system-joined",
      "It is a part of the one system message at the front.",
      "system-position",
    );
    for (const item of systems) tell(item, isPart.has(item.message) ? whole : BLANK);
    const origins = parts.flatMap((item) => item.origins);
    const prompt = reason("system-prompt", "It is the system prompt of the request.");
    const made = {
      message: system as BaseMessage,
      origins: parts.length > 0 ? origins : [addedFor(prompt)],
    };
    this.#items = system === undefined ? others : [made, ...others];
  }

  /** A projection begins. Only the last one that was begun counts. */
  begun(): void {
    this.#changes = [];
    this.#sent = [];
  }

  /** The projection takes the next message. */
  taken(): void {
    this.#changes.push([]);
  }

  /** A step changed the message that was taken last, or left it out. @param why Says what the step did. */
  changed(why: StepReason, after: BaseMessage | undefined): void {
    this.#changes.at(-1)?.push({ why, after });
  }

  /**
   * The next `count` messages that no step left out are sent as the last of these messages. Before it there are bridges.
   * If `count` is 0, all of them are bridges.
   */
  merged(count: number, messages: readonly BaseMessage[], bridges: readonly Bridge[]): void {
    this.#sent.push({ count, messages, bridges });
  }

  /** The messages that the projection has formed are cut. */
  formed(): void {
    this.#items = this.#formedItems();
  }

  /** They were cut to this many tokens. The projection that was begun last is one of what is left. */
  cut({ kept, notes }: CutInput, tokens: number): void {
    const why = (before: BaseMessage, after: BaseMessage | undefined): InputReason =>
      after === undefined
        ? reason("over-bound", `The messages may have ${tokens} tokens, so the oldest messages are left out.`)
        : reason(
            "shortened",
            `The messages may have ${tokens} tokens, so ${sizeOf(after)} of its ${sizeOf(before)} tokens are sent.`,
          );
    this.#items = this.#items.flatMap((item, place): readonly Item[] => {
      const left = changedItem(item, kept[place], why);
      const note = notes.get(place);
      if (left.length > 0 || note === undefined) return left;
      const gap = reason("gap-note", "It says how many messages are left out here.");
      return [{ message: note, origins: [addedFor(gap)] }];
    });
  }

  /** The messages of the input, with their origins. */
  sent(): readonly Item[] {
    const formed = this.#formedItems();
    let next = formed.length - this.#sent.reduce((sum, { count }) => sum + count, 0);
    const sent = formed.slice(0, next);
    for (const { count, messages, bridges } of this.#sent) {
      for (const [index, { rule }] of bridges.entries()) {
        const text = `The provider would refuse the input without it. ${RULES[rule].meaning}`;
        const origins = [addedFor(this.#demanded("bridge", text, rule))];
        sent.push({ message: messages[index] as BaseMessage, origins });
      }
      if (count > 0)
        sent.push(this.#joined(formed.slice(next, next + count), messages.at(-1) as BaseMessage));
      next += count;
    }
    return sent;
  }

  #joined(run: readonly Item[], message: BaseMessage): Item {
    const text = `It is one of ${run.length} messages of the same role that are sent as one.`;
    const merged = this.#demanded("merged", text, "alternation");
    if (run.length > 1) for (const item of run) tell(item, merged);
    return { message, origins: run.flatMap(({ origins }) => origins) };
  }

  /** The messages that the projection was given, as its steps have formed them. */
  #formedItems(): readonly Item[] {
    return this.#items.flatMap((item, index) => {
      let formed: readonly Item[] = [item];
      for (const { why, after } of this.#changes[index] ?? [])
        formed = formed.flatMap((one) =>
          changedItem(one, after, (before) => this.#reasonOf(why, before, after)),
        );
      return formed;
    });
  }

  #reasonOf(why: StepReason, before: BaseMessage, after: BaseMessage | undefined): InputReason {
    const { code, text, rules = [] } = why({ before, after, target: this.#target });
    return this.#demanded(code, text, ...rules);
  }

  /** A step that changed messages one by one. `after` has what is left of each message. */
  #change(after: Each, why: Why): void {
    this.#items = this.#items.flatMap((item, index) => changedItem(item, after[index], why));
  }

  /**
   * A step that kept, left out, moved and added messages, and changed none.
   *
   * @param grouping The list before the step. An object that it has twice is what the grouping says of its place.
   * @param isFixed Whether a message is moved only if it changes places with another fixed one.
   */
  #arrange(
    after: readonly BaseMessage[],
    { groups, refusedAt }: Grouping,
    isFixed: (message: BaseMessage) => boolean,
    why: {
      readonly leftOut: (message: BaseMessage, refused: Refused | undefined) => InputReason;
      readonly moved: (message: BaseMessage) => InputReason;
      /** Undefined if the step adds nothing. */
      readonly added?: (message: BaseMessage) => InputReason;
    },
  ): void {
    const left = new Map<BaseMessage, Item[]>();
    for (const place of placesInGroups(groups).toReversed()) {
      const item = this.#items[place];
      if (item !== undefined) addToList(left, item.message, item);
    }
    const items = after.map(
      (message): Item => left.get(message)?.pop() ?? { message, origins: [addedFor(why.added?.(message))] },
    );
    const kept = new Set(items);
    const before = this.#items.filter((item) => kept.has(item));
    for (const [place, item] of this.#items.entries())
      if (!kept.has(item)) tell(item, why.leftOut(item.message, refusedAt.get(place)));
    for (const item of movedItems(before, items, isFixed)) tell(item, why.moved(item.message));
    this.#items = items;
  }

  #refused(code: "orphan-result" | "duplicate-result", message: BaseMessage): InputReason {
    const text =
      code === "orphan-result"
        ? `No call before it has the id ${nameOfCall(message)}.`
        : `Another result of the call ${nameOfCall(message)} is sent.`;
    return this.#demanded(code, text, code);
  }

  #demanded(code: InputReasonCode, text: string, ...rules: readonly RuleName[]): InputReason {
    return { code, text, ...sourceOf(this.#target.dialect, rules) };
  }
}

function reason(code: InputReasonCode, text: string): InputReason {
  return { code, text };
}

const MENDED = reason(
  "mended",
  "A field had a wrong type, or the message was not an instance of a message class.",
);
const BLANK = reason("blank", "It says nothing.");

/**
 * Finds the summary that is sent in place of a message. A summary of it can be covered by a later one, and so on: what was
 * found for one of them is found for all.
 */
function representing(
  covering: ReadonlyMap<string, BaseMessage>,
): (message: BaseMessage) => BaseMessage | undefined {
  const coveringOf = ({ id }: BaseMessage) => (id === undefined ? undefined : covering.get(id));
  const known = new Map<BaseMessage, BaseMessage>();
  return (message) => {
    const passed = new Set([message]);
    let last = message;
    for (let next = coveringOf(message); next !== undefined && !passed.has(next); ) {
      passed.add(next);
      const end = known.get(next);
      // Summaries that cover one another have no end.
      last = end === undefined || passed.has(end) ? next : end;
      next = coveringOf(last);
    }
    for (const one of passed) known.set(one, last);
    return last === message ? coveringOf(message) : last;
  };
}

function nameOf({ id }: BaseMessage): string {
  return `"${id ?? ""}"`;
}

function nameOfCall(message: BaseMessage): string {
  return isResult(message) ? `"${callIdOf(message)}"` : nameOf(message);
}

function roleOf(message: BaseMessage): string {
  return "role" in message ? String(message.role) : message.type;
}

function idsOf(message: BaseMessage): readonly string[] {
  return isResult(message) ? [nameOfCall(message)] : callsOf(message).map(({ id }) => `"${id}"`);
}

/** Where a message of the input comes from: a message of the history, or a step that added one. */
export interface Origin {
  /** The index in the history. Undefined for a message that is not stored. */
  readonly index: number | undefined;
  readonly reasons: InputReason[];
}

/** A message on its way to the input. Several messages can become one. */
interface Item {
  readonly message: BaseMessage;
  readonly origins: readonly Origin[];
}

type Why = (before: BaseMessage, after: BaseMessage | undefined) => InputReason;

/** The origin of a message that is not stored. */
function addedFor(reason?: InputReason): Origin {
  return { index: undefined, reasons: reason === undefined ? [] : [reason] };
}

/** An item that a step has changed, or nothing if it left it out. */
function changedItem(item: Item, after: BaseMessage | undefined, why: Why): readonly Item[] {
  if (after !== undefined && after === item.message) return [item];
  tell(item, why(item.message, after));
  return after === undefined ? [] : [{ message: after, origins: item.origins }];
}

/** Adds a reason, once. */
function tell({ origins }: Item, reason: InputReason): void {
  for (const { reasons } of origins)
    if (!reasons.some(({ code, text }) => code === reason.code && text === reason.text)) reasons.push(reason);
}

/** The items that are in another place. Fixed ones keep their order; each other one is between two of them. */
function movedItems(
  before: readonly Item[],
  after: readonly Item[],
  isFixed: (message: BaseMessage) => boolean,
): readonly Item[] {
  const places = new Map<Item, { readonly gap: number; readonly place: number }>();
  let gap = 0;
  for (const [place, item] of before.entries()) {
    if (isFixed(item.message)) gap += 1;
    places.set(item, { gap, place });
  }
  let last = { gap: 0, place: -1 };
  gap = 0;
  return after.filter((item) => {
    const own = places.get(item);
    if (own === undefined) return false;
    if (isFixed(item.message)) gap += 1;
    if (own.gap !== gap || own.place < last.place) return true;
    last = own;
    return false;
  });
}

interface Change {
  readonly why: StepReason;
  readonly after: BaseMessage | undefined;
}

interface Sent {
  /** How many formed messages are sent as the last of these messages. */
  readonly count: number;
  readonly messages: readonly BaseMessage[];
  readonly bridges: readonly Bridge[];
}

/** Where the demand of a provider was reported: of the first of these rules that the dialect has, and whose source is known. */
function sourceOf({ rules }: Dialect, names: readonly RuleName[]): { readonly source?: string } {
  const source = names.map((name) => rules[name]?.source).find((path) => path !== undefined);
  return source === undefined ? {} : { source: `https://github.com/${source}` };
}
