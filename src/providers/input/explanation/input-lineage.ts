import type { BaseMessage } from "@langchain/core/messages";
import { groupMessages } from "../../../history/calls/group.js";
import {
  coveringSummaries,
  flattenVisible,
  type VisibleHistory,
} from "../../../history/long-threads/visible-history.js";
import { callsOf } from "../../../history/messages/call.js";
import { callIdOf, isResult } from "../../../history/messages/result.js";
import { isMessage } from "../../../history/reading/coerce-message.js";
import type { Target } from "../../dialects/maker.js";
import type { RuleName } from "../../dialects/rule.js";
import type { CutInput } from "../bounds/input-draft.js";
import { sizeOf } from "../bounds/shorten-message.js";
import type { InputTrace } from "../input-trace.js";
import type { InputReason, InputReasonCode } from "./explanation.js";
import { addedFor, changedItem, type Item, Lineage, tell } from "./lineage.js";
import { LoggedProjection } from "./logged-projection.js";
import { sourceOf } from "./source-of.js";

/** Follows the messages of a history through all steps to the input. */
export class InputLineage implements InputTrace {
  readonly lineage: Lineage;
  readonly #target: Target;
  #projection: LoggedProjection;

  constructor(history: readonly BaseMessage[], target: Target) {
    this.lineage = new Lineage(history);
    this.#target = target;
    this.#projection = new LoggedProjection(target);
  }

  /** The messages of the input, with their origins. */
  sent(): readonly Item[] {
    return this.#projection.sentItems(this.lineage.items);
  }

  read(after: readonly (BaseMessage | undefined)[]): void {
    this.lineage.change(after, (before, message) => {
      if (message !== undefined) return MENDED;
      return isMessage(before)
        ? reason("removed", "A removal in the history takes it out.")
        : reason("not-a-message", "The value is not a message.");
    });
  }

  visible(visible: VisibleHistory): void {
    const before = this.lineage.items.map(({ message }) => message);
    const summaryOf = representing(coveringSummaries(before));
    const fixed = new Set(visible.rest);
    const shown = [...visible.system, ...visible.summaries, ...visible.lateResults, ...visible.rest];
    this.lineage.arrange(shown, groupMessages(before), (message) => fixed.has(message), {
      leftOut: (message, refused) => {
        const summary = summaryOf(message);
        if (summary !== undefined) return reason("covered", `The summary ${nameOf(summary)} represents it.`);
        if (refused !== undefined) return this.#refused(`${refused}-result`, message);
        return reason("covered", `A summary represents the call ${nameOfCall(message)}, which it answers.`);
      },
      moved: () => reason("moved", "System messages and summaries are sent before the other messages."),
    });
    this.lineage.change(flattenVisible(visible), (message) =>
      reason(
        "late-result",
        `A summary represents the call ${nameOfCall(message)}, so the result is told as a text.`,
      ),
    );
  }

  plainRoles(after: readonly BaseMessage[]): void {
    this.lineage.change(after, (before, message) =>
      this.#demanded(
        "role-changed",
        `Not every provider knows the role ${roleOf(before)}, so it is sent as ${message?.type}.`,
        "role",
      ),
    );
  }

  repaired(after: readonly BaseMessage[]): void {
    const before = this.lineage.items.map(({ message }) => message);
    this.lineage.arrange(after, groupMessages(before, callsOf), (message) => !isResult(message), {
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

  sound(after: readonly BaseMessage[]): void {
    this.lineage.change(after, () => MENDED);
  }

  filtered(after: readonly (BaseMessage | undefined)[]): void {
    this.lineage.change(after, (before, message) => {
      const left = new Set(message === undefined ? [] : idsOf(message));
      const gone = idsOf(before).filter((id) => !left.has(id));
      return reason(
        "filtered",
        `\`maxToolCallsFromHistory\` leaves out calls of earlier turns, and these are among them: ${gone.join(", ")}.`,
      );
    });
  }

  joinedSystems(system: BaseMessage | undefined, joined: readonly BaseMessage[]): void {
    const isPart = new Set(joined);
    const systems = this.lineage.items.filter(({ message }) => message.type === "system");
    const others = this.lineage.items.filter(({ message }) => message.type !== "system");
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
    this.lineage.items = system === undefined ? others : [made, ...others];
  }

  projection(): LoggedProjection {
    this.#projection = new LoggedProjection(this.#target);
    return this.#projection;
  }

  formed(): void {
    this.lineage.items = this.#projection.formedItems(this.lineage.items);
  }

  cut({ kept, notes }: CutInput, tokens: number): void {
    const why = (before: BaseMessage, after: BaseMessage | undefined): InputReason =>
      after === undefined
        ? reason("over-bound", `The messages may have ${tokens} tokens, so the oldest messages are left out.`)
        : reason(
            "shortened",
            `The messages may have ${tokens} tokens, so ${sizeOf(after)} of its ${sizeOf(before)} tokens are sent.`,
          );
    this.lineage.items = this.lineage.items.flatMap((item, place): readonly Item[] => {
      const left = changedItem(item, kept[place], why);
      const note = notes.get(place);
      if (left.length > 0 || note === undefined) return left;
      const gap = reason("gap-note", "It says how many messages are left out here.");
      return [{ message: note, origins: [addedFor(gap)] }];
    });
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
