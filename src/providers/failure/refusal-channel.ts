/** Tells listeners of the process that a provider refused a request for what is in it. */

import { channel } from "node:diagnostics_channel";

/** The `node:diagnostics_channel` on which each {@link ModelRefusal} is published. */
export const REFUSAL_CHANNEL = "langgraph-tether:refusal";

/** A request that a provider refused. It has no text of messages, and no text of the provider. */
export interface ModelRefusal {
  /** `overflow`: it was too long. `rule`: it broke a rule, or was refused for an unknown reason. */
  readonly kind: "overflow" | "rule";
  /** The dialect of the rule. If no rule is known, that of the model. */
  readonly dialect: string;
  /** The rule that was probably broken. Undefined if none is known. */
  readonly rule: string | undefined;
}

const refusals = channel(REFUSAL_CHANNEL);

export function publishRefusal(refusal: ModelRefusal): void {
  if (refusals.hasSubscribers) refusals.publish(refusal);
}
