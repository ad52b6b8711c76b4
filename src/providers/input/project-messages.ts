import type { BaseMessage } from "@langchain/core/messages";
import { createFollowing } from "../../history/following/follow-list.js";
import { DIALECTS, type DialectName } from "../dialects/dialects.js";
import type { Target } from "../dialects/maker.js";
import { sizeOf } from "./bounds/shorten-message.js";
import { Projection } from "./projection/projection.js";

/** Messages before their projection. */
export interface Conversation {
  /** It is placed first. Undefined: none. */
  readonly system: BaseMessage | undefined;
  /** Paired messages, without system messages. */
  readonly messages: readonly BaseMessage[];
}

/** Messages after it. Contract: valid until the next projection, so read from it at once. */
export interface Projected {
  /** The messages in a form that a provider accepts. */
  readonly sent: () => BaseMessage[];
  /** The tokens of these messages, by our estimate. */
  readonly size: () => number;
  /** Each message alone. Messages can still stand in a sequence that a provider refuses. */
  readonly formed: () => BaseMessage[];
}

type Project = (conversation: Conversation, target: Target) => Projected;

const follow = createFollowing<Projection>();

/**
 * Rewrites paired messages into a form that a provider of this dialect accepts. Only the messages are projected that the
 * thread's request before did not have.
 */
export const projectMessages: Project = ({ system, messages }, target) => {
  const first = formSystem(system, target);
  const variant = `${first.length} ${nameOf(target)}`;
  return withFirst(
    first,
    follow(messages, variant, () => new Projection(target, first.length)),
  );
};

/** The same for messages of one request only, such as shortened copies. */
export const projectOnce: Project = ({ system, messages }, target) => {
  const first = formSystem(system, target);
  const projection = new Projection(target, first.length);
  for (const [index, message] of messages.entries()) projection.take(message, index);
  return withFirst(first, projection);
};

function formSystem(system: BaseMessage | undefined, target: Target): BaseMessage[] {
  if (system === undefined) return [];
  const projection = new Projection(target);
  projection.take(system, 0);
  return projection.formed();
}

function withFirst(first: readonly BaseMessage[], projection: Projection): Projected {
  return {
    sent: () => projection.sent(first),
    size: () => first.reduce((sum, message) => sum + sizeOf(message), projection.size()),
    formed: () => first.concat(projection.formed()),
  };
}

const NAMES = Object.keys(DIALECTS) as DialectName[];

function nameOf({ dialect, modelId = "" }: Target): string {
  return `${NAMES.find((name) => DIALECTS[name] === dialect)} ${modelId}`;
}
