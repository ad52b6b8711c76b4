import type { BaseMessage } from "@langchain/core/messages";
import type { VisibleHistory } from "../../history/long-threads/visible-history.js";
import type { CutInput } from "./bounds/input-draft.js";
import type { ProjectionLog } from "./projection/projection.js";

/** What is left of each message of the list before; undefined for one that is left out. */
type Each = readonly (BaseMessage | undefined)[];

/**
 * Learns what the steps from a history to a model input did. Each step tells its outcome when it is done, in this order.
 * A step that does not apply tells nothing.
 *
 * Contract: reads the messages only.
 */
export interface InputTrace {
  /** Values were read as messages. */
  read(after: Each): void;
  /** Summaries hide the messages that they cover. */
  visible(visible: VisibleHistory): void;
  /** Odd roles became common ones. */
  plainRoles(after: readonly BaseMessage[]): void;
  /** Each call has its result. What stays is the same object. */
  repaired(after: readonly BaseMessage[]): void;
  /** Malformed messages were brought into a sound form. */
  sound(after: readonly BaseMessage[]): void;
  /** Earlier calls were left out. */
  filtered(after: Each): void;
  /** One system message was made of the system prompt and of these stored ones. The others of them are left out. */
  joinedSystems(system: BaseMessage | undefined, joined: readonly BaseMessage[]): void;
  /** A projection begins. Only the last one that was begun counts. */
  projection(): ProjectionLog;
  /** The messages that the projection has formed are cut. */
  formed(): void;
  /** They were cut to this many tokens. The projection that was begun last is one of what is left. */
  cut(after: CutInput, tokens: number): void;
}
