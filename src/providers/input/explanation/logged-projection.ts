import type { BaseMessage } from "@langchain/core/messages";
import type { Target } from "../../dialects/maker.js";
import { RULES } from "../../dialects/rule.js";
import type { Bridge } from "../projection/bridge-roles.js";
import type { ProjectionLog, StepName } from "../projection/projection.js";
import type { InputReason } from "./explanation.js";
import { addedFor, changedItem, type Item, tell } from "./lineage.js";
import { sourceOf } from "./source-of.js";
import { STEP_REASONS } from "./step-reasons.js";

interface Change {
  readonly step: StepName;
  readonly after: BaseMessage | undefined;
}

interface Sent {
  /** How many formed messages are sent as the last of these messages. */
  readonly count: number;
  readonly messages: readonly BaseMessage[];
  readonly bridges: readonly Bridge[];
}

/** What a projection did, message by message. */
export class LoggedProjection implements ProjectionLog {
  readonly #target: Target;
  readonly #changes: Change[][] = [];
  readonly #sent: Sent[] = [];

  constructor(target: Target) {
    this.#target = target;
  }

  taken(): void {
    this.#changes.push([]);
  }

  changed(step: StepName, _before: BaseMessage, after: BaseMessage | undefined): void {
    this.#changes.at(-1)?.push({ step, after });
  }

  sent(count: number, messages: readonly BaseMessage[], bridges: readonly Bridge[]): void {
    this.#sent.push({ count, messages, bridges });
  }

  /** The messages that it was given, as it has formed them. */
  formedItems(items: readonly Item[]): readonly Item[] {
    return items.flatMap((item, index) => {
      let formed: readonly Item[] = [item];
      for (const { step, after } of this.#changes[index] ?? [])
        formed = formed.flatMap((one) =>
          changedItem(one, after, (before) => this.#reasonOf(step, before, after)),
        );
      return formed;
    });
  }

  /** The same, in the sequence in which they are sent. */
  sentItems(items: readonly Item[]): readonly Item[] {
    const formed = this.formedItems(items);
    let next = formed.length - this.#sent.reduce((sum, { count }) => sum + count, 0);
    const sent = formed.slice(0, next);
    for (const { count, messages, bridges } of this.#sent) {
      const bridging = bridges.map(({ rule }, index): Item => {
        const text = `The provider would refuse the input without it. ${RULES[rule]}`;
        const reason = { code: "bridge", text, ...sourceOf(this.#target.dialect, [rule]) } as const;
        return { message: messages[index] as BaseMessage, origins: [addedFor(reason)] };
      });
      sent.push(...bridging);
      if (count > 0)
        sent.push(this.#merged(formed.slice(next, next + count), messages.at(-1) as BaseMessage));
      next += count;
    }
    return sent;
  }

  #merged(run: readonly Item[], message: BaseMessage): Item {
    const [first] = run;
    if (run.length === 1) return { message, origins: first?.origins ?? [] };
    const text = `It is sent as one message with ${run.length - 1} others of the same role.`;
    const merged = { code: "merged", text, ...sourceOf(this.#target.dialect, ["alternation"]) } as const;
    for (const item of run) tell(item, merged);
    return { message, origins: run.flatMap(({ origins }) => origins) };
  }

  #reasonOf(step: StepName, before: BaseMessage, after: BaseMessage | undefined): InputReason {
    const { code, text, rules = [] } = STEP_REASONS[step]({ before, after, target: this.#target });
    return { code, text, ...sourceOf(this.#target.dialect, rules) };
  }
}
