/** Decides who runs a tool call: its tool at once, its tool after a human's approval, or the caller of the run. */

import { InvalidSettingError } from "../../errors.js";
import type { ApprovalCall, RequireApproval } from "../../settings/require-approval.js";
import type { ToolTask } from "../tools/tool-task.js";

export interface CallPolicy {
  /** Whether the caller of the run is to answer the call. */
  readonly isHandedOver: (task: Pick<ToolTask, "call">) => boolean;
  /** @param mayBeServed Whether function middleware can answer calls of tools that the graph does not have. */
  readonly needsApproval: (task: ToolTask, mayBeServed?: boolean) => Promise<boolean>;
}

export interface CallPolicyOptions {
  readonly autoInvoke: boolean;
  readonly toolNames: readonly string[];
  /** Names of tools that are declared to the model but run by the caller. */
  readonly additionalNames: readonly string[];
  readonly requireApproval: RequireApproval;
}

/** @throws InvalidSettingError if a tool that needs approval does not exist. */
export function createCallPolicy({
  autoInvoke,
  toolNames,
  additionalNames,
  requireApproval,
}: CallPolicyOptions): CallPolicy {
  const handed = new Set(additionalNames);
  if (typeof requireApproval !== "function") {
    for (const name of requireApproval) {
      if (toolNames.includes(name)) continue;
      throw InvalidSettingError.expected(
        "requireApproval",
        `names of tools (${toolNames.join(", ") || "there are none"})`,
        name,
      );
    }
  }
  const asks = typeof requireApproval === "function" ? requireApproval : byName(new Set(requireApproval));
  return {
    isHandedOver: ({ call }) => !autoInvoke || handed.has(call.name),
    // A call that cannot be run needs no approval. Its result says what is wrong with it.
    needsApproval: async ({ call, args, offered }, mayBeServed = false) =>
      args !== undefined &&
      ((toolNames.includes(call.name) && offered === undefined) || mayBeServed) &&
      decided(await asks({ id: call.id, name: call.name, args: structuredClone(args) })),
  };
}

/** A predicate that forgets to return a value must not let a call pass. */
function decided(answer: unknown): boolean {
  if (typeof answer === "boolean") return answer;
  throw InvalidSettingError.expected("requireApproval", "a function that returns true or false", answer);
}

function byName(names: ReadonlySet<string>) {
  return ({ name }: ApprovalCall) => names.has(name);
}
