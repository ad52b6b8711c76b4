import type { BaseMessage } from "@langchain/core/messages";
import { groupMessages } from "../../../history/calls/group.js";
import {
  coveringSummaries,
  flattenVisible,
  type VisibleHistory,
} from "../../../history/long-threads/visible-history.js";
import { callIdOf, isResult } from "../../../history/messages/result.js";
import { isMessage } from "../../../history/reading/coerce-message.js";
import type { Target } from "../../dialects/maker.js";
import type { RuleName } from "../../dialects/rule.js";
import type { CutInput } from "../bounds/input-draft.js";
import { sizeOf } from "../bounds/shorten-message.js";
import type { InputTrace } from "../input-trace.js";
import type { Conversation } from "../project-messages.js";
import type { InputReason, InputReasonCode } from "./explanation.js";
import { changedItem, type Item, Lineage, tell } from "./lineage.js";
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
    const covering = coveringSummaries(before);
    const { orphans, duplicates } = groupMessages(before);
    const fixed = new Set(visible.rest);
    const shown = [...visible.system, ...visible.summaries, ...visible.lateResults, ...visible.rest];
    this.lineage.arrange(shown, (message) => fixed.has(message), {
      leftOut: (message) => {
        const summary = covering.get(message.id ?? "");
        if (summary !== undefined) return reason("covered", `The summary ${nameOf(summary)} represents it.`);
        if (isResult(message) && orphans.includes(message)) return this.#refused("orphan-result", message);
        if (isResult(message) && duplicates.includes(message))
          return this.#refused("duplicate-result", message);
        return reason("covered", "A summary represents the call that it answers.");
      },
      moved: () => reason("moved", "System messages and summaries are sent before the other messages."),
      added: () => reason("placeholder", "It was added."),
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
        `The role ${roleOf(before)} is not known to all providers, so it is sent with the role ${message?.type}.`,
        "role",
      ),
    );
  }

  repaired(after: readonly BaseMessage[]): void {
    const before = this.lineage.items.map(({ message }) => message);
    const orphans = new Set<BaseMessage>(groupMessages(before).orphans);
    this.lineage.arrange(after, (message) => !isResult(message), {
      leftOut: (message) =>
        this.#refused(orphans.has(message) ? "orphan-result" : "duplicate-result", message),
      moved: (message) =>
        this.#demanded(
          "moved",
          `It is sent directly after the message with the call ${nameOfCall(message)}, in the order of the calls.`,
          "missing-result",
          "result-order",
        ),
      added: (message) =>
        this.#demanded(
          "placeholder",
          `The call ${nameOfCall(message)} has no result, and providers refuse a call without one.`,
          "missing-result",
        ),
    });
  }

  sound(after: readonly BaseMessage[]): void {
    this.lineage.change(after, () => MENDED);
  }

  filtered(after: readonly (BaseMessage | undefined)[]): void {
    this.lineage.change(after, (before, message) => {
      if (message !== undefined)
        return reason(
          "filtered",
          "`maxToolCallsFromHistory` leaves out calls of earlier turns, and it loses some of its own.",
        );
      return isResult(before)
        ? reason(
            "filtered",
            `\`maxToolCallsFromHistory\` leaves out the call ${nameOfCall(before)} of an earlier turn.`,
          )
        : reason("filtered", "`maxToolCallsFromHistory` leaves out its calls, and it has no text.");
    });
  }

  systemFirst({ system, messages }: Conversation, systemPrompt: string | undefined): void {
    const { items } = this.lineage;
    const stored = items.filter(({ message }) => message.type === "system");
    const others = items.filter(({ message }) => message.type !== "system");
    if (others.length !== messages.length) throw new Error("Expected all other messages.");
    this.lineage.items = others;
    if (system === undefined) {
      for (const item of stored) tell(item, BLANK);
      return;
    }
    if (stored.length === 1 && stored[0]?.message === system) {
      this.lineage.items = [...stored, ...others];
      return;
    }
    const prompt = reason("system-prompt", "It is the system prompt of the request.");
    const parts = stored.filter(({ message }) => message.text.trim() !== "");
    for (const item of stored) {
      if (!parts.includes(item)) tell(item, BLANK);
      else
        tell(
          item,
          this.#demanded(
            "system-joined",
            `Its text is a part of the one system message, ${(systemPrompt ?? "").trim() === "" ? "" : "after the system prompt, "}at the front.`,
            "system-position",
          ),
        );
    }
    const origins = parts.flatMap((item) => item.origins);
    const own = {
      message: system,
      origins: origins.length > 0 ? origins : [{ index: undefined, reasons: [prompt] }],
    };
    this.lineage.items = [own, ...others];
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
        ? reason("over-bound", `The messages may have ${tokens} tokens, so older ones are left out.`)
        : reason(
            "shortened",
            `The messages may have ${tokens} tokens, so ${sizeOf(after)} of its ${sizeOf(before)} tokens are sent.`,
          );
    this.lineage.items = this.lineage.items.flatMap((item, place): readonly Item[] => {
      const left = changedItem(item, kept[place], why);
      const note = notes.get(place);
      if (left.length > 0 || note === undefined) return left;
      const gap = reason("gap-note", "It says how many messages are left out here.");
      return [{ message: note, origins: [{ index: undefined, reasons: [gap] }] }];
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

function nameOf({ id }: BaseMessage): string {
  return `"${id ?? ""}"`;
}

function nameOfCall(message: BaseMessage): string {
  return isResult(message) ? `"${callIdOf(message)}"` : nameOf(message);
}

function roleOf(message: BaseMessage): string {
  return "role" in message ? String(message.role) : message.type;
}
