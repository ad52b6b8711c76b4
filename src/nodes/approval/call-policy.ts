/** Decides who runs a tool call: its tool at once, its tool after a human's approval, or the caller of the run. */

import { InvalidSettingError } from "../../errors.js";
import type { ApprovalRuntime, ApprovalState, RequireApproval } from "../../settings/require-approval.js";
import type { ToolTask } from "../tools/tool-task.js";
import type { AskedTask } from "./approval-request.js";
import { ANY_DECISION, type ApprovalRule, type ApprovalRules, readApprovalRules } from "./approval-rules.js";

/** The moment at which a call is decided about. It is made only for rules with functions. */
export interface ApprovalScene {
  readonly state: ApprovalState;
  readonly runtime: ApprovalRuntime;
}

export interface CallPolicy {
  /** Whether the caller of the run is to answer the call. */
  readonly isHandedOver: (task: Pick<ToolTask, "call">) => boolean;
  /** Whether any call can need a human. */
  readonly asksHumans: boolean;
  /**
   * The question about a call that needs a human; undefined for a call that runs at once.
   *
   * @param mayBeServed Whether function middleware can answer calls of tools that the graph does not have.
   */
  readonly questionFor: (
    task: ToolTask,
    scene: () => ApprovalScene,
    mayBeServed?: boolean,
  ) => Promise<AskedTask | undefined>;
  /** How a human is asked about the calls of a tool. */
  readonly ruleFor: (toolName: string) => ApprovalRule;
}

export interface CallPolicyOptions {
  readonly autoInvoke: boolean;
  readonly toolNames: readonly string[];
  /** Names of tools that are declared to the model but run by the caller. */
  readonly additionalNames: readonly string[];
  readonly requireApproval: RequireApproval;
}

/** @throws InvalidSettingError if a tool that needs approval does not exist, or its options are not valid. */
export function createCallPolicy({
  autoInvoke,
  toolNames,
  additionalNames,
  requireApproval,
}: CallPolicyOptions): CallPolicy {
  const handed = new Set(additionalNames);
  const rules: ApprovalRules =
    typeof requireApproval === "function" ? new Map() : readApprovalRules(requireApproval, toolNames);
  const questionFor: CallPolicy["questionFor"] = async (task, scene, mayBeServed = false) => {
    const { call, args, offered } = task;
    const canRun = mayBeServed || (toolNames.includes(call.name) && offered === undefined);
    // A call that cannot be run needs no approval. Its result says what is wrong with it.
    if (args === undefined || !canRun) return undefined;
    if (typeof requireApproval === "function") {
      const answer: unknown = await requireApproval({
        id: call.id,
        name: call.name,
        args: structuredClone(args),
      });
      return decided("requireApproval", answer) ? task : undefined;
    }
    const rule = rules.get(call.name);
    return rule && askByRule(rule, { ...task, args }, scene);
  };
  return {
    isHandedOver: ({ call }) => !autoInvoke || handed.has(call.name),
    asksHumans: typeof requireApproval === "function" || rules.size > 0,
    questionFor,
    // A question of before can be about a tool whose calls need no human now.
    ruleFor: (toolName) => rules.get(toolName) ?? ANY_DECISION,
  };
}

async function askByRule(
  { when, description }: ApprovalRule,
  task: ToolTask & { readonly args: Record<string, unknown> },
  scene: () => ApprovalScene,
): Promise<AskedTask | undefined> {
  const { call, args } = task;
  const place = `requireApproval.${call.name}`;
  const toolCall = () =>
    ({ type: "tool_call", id: call.id, name: call.name, args: structuredClone(args) }) as const;
  if (when !== undefined) {
    const answer: unknown = await when({ toolCall: toolCall(), tool: undefined, ...scene() });
    if (!decided(`${place}.when`, answer)) return undefined;
  }
  if (description === undefined) return task;
  if (typeof description === "string") return { ...task, description };
  const { state, runtime } = scene();
  const text: unknown = await description(toolCall(), state, runtime);
  if (typeof text === "string") return { ...task, description: text };
  throw InvalidSettingError.expected(`${place}.description`, "a function that returns a text", text);
}

/** A predicate that forgets to return a value must not let a call pass. */
function decided(place: string, answer: unknown): boolean {
  if (typeof answer === "boolean") return answer;
  throw InvalidSettingError.expected(place, "a function that returns true or false", answer);
}
