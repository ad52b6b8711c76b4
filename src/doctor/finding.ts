/** What the doctor finds. The codes, and the fields in JSON, are stable. */

import type { DialectName } from "../providers/contract/dialect-name.js";
import type { RuleName } from "../providers/contract/rule.js";

/**
 * - `thread/bricked`: every read of the thread throws, because a removal names an unknown message.
 * - `thread/unreadable`: the thread cannot be read, so nothing is known about it.
 * - `pairing/dangling-call`: a tool call without a result.
 * - `pairing/orphan-result`: a result without a call before it.
 * - `pairing/misplaced-result`: a result that is not among those directly after the message with its call.
 * - `pairing/duplicate-result`: a second result of one call.
 * - `pairing/duplicate-call`: two calls of one response with the same id. The request gives them distinct ids.
 * - `pairing/reused-id`: a call that has the id of one in an earlier message. Some models do this by design.
 * - `pairing/open-call`: the last run ended on purpose with calls that the caller may answer.
 * - `content/not-a-message`: a value in the list that is not a message.
 * - `content/shape`: a field of a message has another shape than its type says.
 * - `content/too-deep`: a value is nested deeper than a checkpoint can be read back.
 * - `content/…`, `order/…`: a rule that a provider applies, by its name in `validateHistory`.
 * - `size/window`: the messages do not fit into the window of a model.
 * - `state/pending-result`: a finished result that is not in the list, but can be recovered.
 * - `state/waiting-for-approval`: the thread waits for a human. It is never changed.
 * - `state/busy`: a run is going on. The messages were not judged.
 * - `state/subgraph`: the state of a subgraph. It is reported, and never changed.
 * - `state/other-channel`: lists of messages are in channels with other names than `messages`. They are checked, and never
 *   changed.
 * - `state/no-messages`: no list of messages was found in the state, so nothing was judged.
 * - `state/other-messages`: the list has no message of LangChain, but values of another kind. It is never changed.
 * - `state/other-graph`: the thread belongs to another graph than the one that it was read with, so it is not repaired.
 */
export type FindingCode =
  | "thread/bricked"
  | "thread/unreadable"
  | "pairing/dangling-call"
  | "pairing/orphan-result"
  | "pairing/misplaced-result"
  | "pairing/duplicate-result"
  | "pairing/duplicate-call"
  | "pairing/reused-id"
  | "pairing/open-call"
  | "content/not-a-message"
  | "content/shape"
  | "content/too-deep"
  | `content/${RuleName}`
  | `order/${RuleName}`
  | "size/window"
  | "state/pending-result"
  | "state/waiting-for-approval"
  | "state/busy"
  | "state/subgraph"
  | "state/other-channel"
  | "state/no-messages"
  | "state/other-messages"
  | "state/other-graph";

/** How bad a finding is. `error`: a model would refuse the thread. `info`: nothing has to be done. */
export type Severity = "error" | "warning" | "info";

/**
 * What a repair does:
 *
 * - `recover`: a result that its tool returned is put after its call.
 * - `close`: a placeholder is put after a call without a result, and says why there is none.
 * - `move`: a message goes to another place.
 * - `take-out`: a message leaves the list. The receipt keeps it.
 * - `rewrite`: a message is replaced by one that can be read and sent.
 * - `replace`: a placeholder, or a result that a client made up, gives way to the real result.
 * - `unbrick`: the thread is written again without a removal of an unknown message, so that its own graph can read it.
 */
export type RepairStepKind = "recover" | "close" | "move" | "take-out" | "rewrite" | "replace" | "unbrick";

/**
 * What ends a finding: what a repair does, or
 *
 * - `at-request`: nothing has to be stored. `toModelInput`, `tetherMiddleware` or `createAgentGraph` change the request.
 * - `wait`: nothing is done until the human has answered, or the run has ended.
 */
export type FixKind = RepairStepKind | "at-request" | "wait";

/** Something that ends a finding. */
export interface Fix {
  readonly kind: FixKind;
  /** One sentence. */
  readonly description: string;
  /** The command that does it; null if there is none. The library does not know the target: the command line sets it. */
  readonly command: string | null;
}

/** One thing that was found in a thread. It contains no text of messages, arguments or results. */
export interface Finding {
  readonly code: FindingCode;
  readonly severity: Severity;
  /** The place in the list of messages; null if the finding is about the whole thread. */
  readonly index: number | null;
  readonly messageId: string | null;
  readonly callId: string | null;
  /** The name of the called tool; null if the finding is about no call. */
  readonly tool: string | null;
  /** The provider family that would refuse the messages; null if the finding is not about one. */
  readonly dialect: DialectName | null;
  /** The provider's error in its own words; null if the words are not known. It can contain ids and names of tools. */
  readonly providerSays: string | null;
  /** One sentence that says what is wrong, with ids, names, counts and lengths. */
  readonly evidence: string;
  readonly fixes: readonly Fix[];
}

/** What was found in one thread. */
export interface ThreadReport {
  readonly schemaVersion: 1;
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string | null;
  /** The status of the thread: see `StoredThread`. */
  readonly status: "idle" | "busy" | "interrupted" | "error";
  /**
   * - `sound`: there is no finding, or only findings with the severity `info`.
   * - `findings`: there is an error or a warning.
   * - `unreadable`: the messages could not be read. Such a thread is never sound.
   * - `skipped`: the messages were not judged, because a run is or may be going on, none of them is one of LangChain, or
   *   the state has no list of messages.
   */
  readonly outcome: "sound" | "findings" | "unreadable" | "skipped";
  /** How many messages the list has; null if they could not be read. */
  readonly messages: number | null;
  /** About how many tokens the messages have, by our estimate; null if they were not judged. */
  readonly tokens: number | null;
  /** In the order of the messages; those about the whole thread first. */
  readonly findings: readonly Finding[];
}

/** How many findings are more than information. */
export function worthALook(findings: readonly Finding[]): number {
  return findings.filter(({ severity }) => severity !== "info").length;
}

const NOTHING = {
  index: null,
  messageId: null,
  callId: null,
  tool: null,
  dialect: null,
  providerSays: null,
} as const;

/** A finding. Missing fields are null. @param kind What ends it; undefined if nothing does. */
export function finding(
  code: FindingCode,
  severity: Severity,
  evidence: string,
  kind?: FixKind,
  fields: Partial<Finding> = {},
): Finding {
  const fixes = kind === undefined ? [] : [{ kind, description: DESCRIPTIONS[kind], command: null }];
  return { code, severity, ...NOTHING, ...fields, evidence, fixes };
}

const DESCRIPTIONS: Readonly<Record<FixKind, string>> = {
  recover: "Put the result that the tool returned after its call.",
  close: "Write a result that says why there is none.",
  "take-out": "Take the message out of the thread, and keep it in the receipt.",
  move: "Move the result to its call.",
  rewrite: "Replace the message by one that can be read.",
  replace: "Put the result that the tool returned in place of one that was made up.",
  unbrick: "Write the thread again, so that its own graph can read it.",
  "at-request":
    "Nothing has to be stored. `toModelInput`, `tetherMiddleware` and `createAgentGraph` change the request.",
  wait: "Wait until the human has answered, or the run has ended.",
};
