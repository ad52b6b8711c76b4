/** The findings of a thread. */

import { type BaseMessage, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { callsOf, isAIMessage } from "../history/call.js";
import { measureInput } from "../history/plan-summary.js";
import { callIdOf } from "../history/result.js";
import { DEPTH_DEMAND } from "../history/storable.js";
import { reasoningOf } from "../providers/deepseek/dialect.js";
import { DIALECT_NAMES, type DialectName, dialectNamed } from "../providers/dialects.js";
import { type RuleName, readMaker } from "../providers/rule.js";
import { type Violation, validateHistory } from "../providers/validate-history.js";
import { type Examination, examineThread, idIn, type OpenCall, readList } from "./examine.js";
import {
  type Finding,
  type FindingCode,
  type FixKind,
  finding,
  fix,
  type Severity,
  type ThreadReport,
} from "./finding.js";
import type { StoredThread } from "./thread-store.js";

/** The options of `diagnoseThread`. */
export interface DiagnoseOptions {
  /**
   * The provider family that is to accept the thread. With a name, each rule that its messages break is an error. With
   * `"auto"`, the errors are quoted in the words of the provider whose model wrote the thread, and only that provider's
   * rules of form are checked, as warnings.
   *
   * @default "auto"
   */
  readonly dialect?: DialectName | "auto" | undefined;
  /** How many tokens the model's input may have, by our estimate. @default not checked */
  readonly maxTokens?: number | undefined;
  /** Whether results of ended runs are looked for. @default true */
  readonly harvest?: boolean | undefined;
}

/** @throws InvalidSettingError for an unknown dialect. */
export function reportOn(thread: StoredThread, options: DiagnoseOptions = {}): ThreadReport {
  const { dialect = "auto" } = options;
  if (dialect !== "auto") dialectNamed(dialect);
  const { threadId, namespace, checkpointId, status, content } = thread;
  const values = content.kind === "read" || content.kind === "bricked" ? content.messages : undefined;
  const findings: Finding[] = [...stateFindings(thread)];
  const isJudged = status !== "busy" && values !== undefined;
  if (isJudged) {
    const found = examineThread(thread, values, options);
    const messages = found.list.messages.map(({ message }) => message);
    const known = dialect === "auto" ? dialectIn(messages) : dialect;
    const waits = status === "interrupted";
    // A thread gets a message of the user next. A bare list is sent as it is.
    const sent = thread.openTasks === undefined ? messages : [...messages, new HumanMessage("…")];
    const context = { found, sent, dialect: known ?? "openai", waits } as const;
    const inDialect =
      known === undefined ? [] : contentFindings(context, dialect === "auto" ? "warning" : "error");
    const heals = thread.mendsItself === true && content.kind === "read" && thread.otherGraph === undefined;
    const pairing = pairingFindings(context);
    const list = [...(heals ? pairing.map(asHealing) : pairing), ...inDialect];
    findings.push(...list.sort((one, other) => (one.index ?? -1) - (other.index ?? -1)));
    findings.push(...windowFindings(messages, options.maxTokens));
  }
  const isSkipped = status === "busy";
  const isUnread = content.kind === "unreadable" || (content.kind === "bricked" && values === undefined);
  const isSound = findings.every(({ severity }) => severity === "info");
  return {
    schemaVersion: 1,
    threadId,
    namespace,
    checkpointId: checkpointId ?? null,
    status,
    outcome: isUnread ? "unreadable" : isSkipped ? "skipped" : isSound ? "sound" : "findings",
    messages: values?.length ?? (content.kind === "none" ? 0 : null),
    findings: namespace === "" ? findings : [finding("state/subgraph", "info", SUBGRAPH), ...findings],
  };
}

/** What the next message mends, whatever a provider would say about the list as it is. */
function asHealing(found: Finding): Finding {
  const heals = found.fixes.some(({ kind }) => HEALED.has(kind));
  if (!heals || !found.code.startsWith("pairing/")) return found;
  return {
    ...found,
    severity: "info",
    providerSays: null,
    dialect: null,
    evidence: `${found.evidence} The graph mends this when the next message comes.`,
  };
}

const HEALED: ReadonlySet<FixKind> = new Set<FixKind>(["recover-result", "close-call", "take-out", "move"]);

const SUBGRAPH = { evidence: "This is the state of a subgraph. It is reported, and never changed." };

/*
 * Findings about calls and their results.
 */

interface FindingContext {
  readonly found: Examination;
  /** The messages as the next request would have them. */
  readonly sent: readonly BaseMessage[];
  readonly dialect: DialectName;
  /** Whether the thread waits for a human. The calls of its last group are then in good order. */
  readonly waits: boolean;
}

function pairingFindings(context: FindingContext): Finding[] {
  const { found, sent, dialect, waits } = context;
  const { list, groups, openCalls, unsentCalls, orphans, duplicates, misplaced } = found;
  const violations = violationsOf(sent, dialect, list.messages.length);
  const headOf = new Map(
    groups.flatMap(({ head, results }) => results.map((result) => [result, head] as const)),
  );
  const placeIn = new Map(list.messages.map(({ message }, place) => [message, place]));
  /** The provider's words for a fault at one of these messages. Null if it would not refuse it, or if nobody knows them. */
  const says = (
    rules: readonly RuleName[],
    messages: readonly BaseMessage[],
  ): Pick<Finding, "dialect" | "providerSays"> => {
    const places = messages.map((message) => placeIn.get(message));
    const said = violations.find(
      ({ rule, index, grade }) => rules.includes(rule) && grade !== "inferred" && places.includes(index),
    );
    return { dialect: said === undefined ? null : dialect, providerSays: said?.message ?? null };
  };
  const ofResult = (
    code: FindingCode,
    message: ToolMessage,
    rules: readonly RuleName[],
    kind: FixKind,
    what: string,
  ): Finding =>
    finding(code, "error", {
      index: list.byMessage.get(message)?.index ?? null,
      messageId: message.id ?? null,
      callId: callIdOf(message),
      tool: message.name ?? null,
      ...says(rules, [message, headOf.get(message) ?? message]),
      evidence: `The result${of(message.name)} for the call \`${callIdOf(message)}\` ${what}.`,
      fixes: [fix(kind)],
    });
  const isWaiting = ({ group }: OpenCall): boolean => waits && group === groups.at(-1);
  return [
    ...openCalls
      .filter((open) => !isWaiting(open))
      .flatMap((open) => {
        const index = list.byMessage.get(open.group.head)?.index ?? null;
        return openCallFindings(open, index, says(["missing-result"], [open.group.head]));
      }),
    ...unsentCalls.map(({ group, call, isSentRaw }) =>
      finding("content/arguments", isSentRaw ? "warning" : "error", {
        index: list.byMessage.get(group.head)?.index ?? null,
        messageId: group.head.id ?? null,
        callId: call.id,
        tool: call.name,
        ...says(isSentRaw ? ["arguments"] : ["orphan-result"], [
          group.head,
          ...group.results.flatMap((result) => result ?? []),
        ]),
        evidence: `The arguments of the call${of(call.name)} \`${call.id}\` are not valid JSON. Clients ${isSentRaw ? "send them as they are" : "send its result, and not the call"}.`,
        fixes: [fix("mend")],
      }),
    ),
    ...orphans.map((message) =>
      ofResult("pairing/orphan-result", message, ["orphan-result"], "take-out", "has no call before it"),
    ),
    ...duplicates.map((message) =>
      ofResult(
        "pairing/duplicate-result",
        message,
        ["duplicate-result", "orphan-result"],
        "take-out",
        "is a second one",
      ),
    ),
    ...[...misplaced].map((message) =>
      ofResult(
        "pairing/misplaced-result",
        message as ToolMessage,
        ["orphan-result", "result-order", "missing-result"],
        "move",
        "does not directly follow the message with its call",
      ),
    ),
    ...reusedIds(context, (message) => says(["repeated-call-id"], [message])),
  ];
}

function openCallFindings(
  { group, call, recovered, standIn, isLeftOpen }: OpenCall,
  index: number | null,
  says: Pick<Finding, "dialect" | "providerSays">,
): Finding[] {
  const fields = { index, messageId: group.head.id ?? null, callId: call.id, tool: call.name };
  const name = `The call${of(call.name)} \`${call.id}\``;
  const recoverable = finding("state/pending-result", "info", {
    ...fields,
    messageId: recovered?.id ?? null,
    evidence: `The tool of this call has returned a result, which a run that ended early has saved.`,
    fixes: [fix("recover-result")],
  });
  if (standIn !== undefined) return [recoverable];
  if (isLeftOpen)
    return [
      finding("pairing/open-call", "warning", {
        ...fields,
        ...says,
        evidence: `${name} has no result, and the run has ended. A client may be about to send it.`,
        fixes: [fix("close-call")],
      }),
    ];
  const dangling = finding("pairing/dangling-call", "error", {
    ...fields,
    ...says,
    evidence: `${name} has no result${recovered === undefined ? "" : ", and its result can be recovered"}.`,
    fixes: [fix(recovered === undefined ? "close-call" : "recover-result")],
  });
  return recovered === undefined ? [dangling] : [dangling, recoverable];
}

/** Most providers accept that an id is used again in a later turn, and some models do it by design. */
function reusedIds(
  { found: { list } }: FindingContext,
  says: (message: BaseMessage) => Pick<Finding, "dialect" | "providerSays">,
): Finding[] {
  const met = new Set<string>();
  return list.messages.flatMap(({ message, index }) =>
    callsOf(message).flatMap(({ id, name }) => {
      if (id === "" || !met.has(id)) {
        met.add(id);
        return [];
      }
      const words = says(message);
      const isRefused = words.providerSays !== null;
      return [
        finding("pairing/reused-id", isRefused ? "error" : "info", {
          index,
          messageId: message.id ?? null,
          callId: id,
          tool: name,
          ...words,
          evidence: `The call${of(name)} has the id of an earlier call.`,
          fixes: [fix("at-request")],
        }),
      ];
    }),
  );
}

function of(tool: string | undefined): string {
  return tool ? ` of \`${tool}\`` : "";
}

/*
 * Findings about the form of messages.
 */

/** The rules about the order of messages. All others are about the content of one. */
const ORDER_RULES: ReadonlySet<RuleName> = new Set<RuleName>([
  "system-position",
  "first-user",
  "assistant-last",
  "user-after-tool",
  "alternation",
  "call-position",
  "text-after-call",
  "empty-history",
]);

/** The rules of the dialect that the messages break, besides those of pairing. */
function contentFindings({ found, sent, dialect }: FindingContext, severity: Severity): Finding[] {
  const { list, unsentCalls } = found;
  const told = new Set(unsentCalls.map(({ group }) => list.byMessage.get(group.head)?.index));
  const thinks = sent.some((message) => isAIMessage(message) && reasoningOf(message) !== undefined);
  return (
    violationsOf(sent, dialect, list.messages.length)
      .filter(({ rule, grade }) => !PAIRING_RULES.has(rule) && (severity === "error" || grade !== "inferred"))
      .filter(({ rule, index }) => rule !== "arguments" || !told.has(list.messages[index]?.index))
      // Only a model that thinks demands its reasoning back, and this thread shows none.
      .filter(({ rule }) => rule !== "missing-reasoning" || thinks)
      .map(({ rule, index, message, grade }) => {
        const read = list.messages[index];
        return finding(codeOf(rule), severity, {
          index: read?.index ?? null,
          messageId: read?.message.id ?? null,
          dialect,
          providerSays: grade === "inferred" ? null : message,
          evidence: `The message breaks the rule \`${rule}\` of \`${dialect}\`.`,
          fixes: [fix("at-request")],
        });
      })
  );
}

export function codeOf(rule: RuleName): FindingCode {
  return ORDER_RULES.has(rule) ? `order/${rule}` : `content/${rule}`;
}

/*
 * Findings about the whole thread, and about messages that cannot be read or stored.
 */

function stateFindings({ content, status, otherGraph }: StoredThread): Finding[] {
  if (status === "busy")
    return [
      finding("state/busy", "info", {
        evidence: "A run of the thread has not ended, so its messages were not judged.",
        fixes: [fix("wait")],
      }),
    ];
  const findings: Finding[] = [];
  if (content.kind === "unreadable")
    findings.push(
      finding("thread/unreadable", "error", { evidence: `The thread cannot be read: ${content.reason}` }),
    );
  if (content.kind === "bricked")
    findings.push(
      finding("thread/bricked", "error", {
        evidence: `Every read of the thread throws: ${content.reason}`,
        fixes: content.messages === undefined ? [] : [fix("rewrite")],
      }),
    );
  if (status === "interrupted")
    findings.push(
      finding("state/waiting-for-approval", "info", {
        evidence: "The thread waits for the answer of a human. It is never changed.",
        fixes: [fix("wait")],
      }),
    );
  if (otherGraph !== undefined) findings.push(finding("state/other-graph", "info", { evidence: otherGraph }));
  const values = content.kind === "read" || content.kind === "bricked" ? (content.messages ?? []) : [];
  return [...findings, ...formFindings(values, content.kind === "bricked")];
}

function formFindings(values: readonly unknown[], isBricked: boolean): Finding[] {
  const { messages, foreign } = readList(values);
  const ofForeign = foreign.map(({ value, index }) =>
    finding("content/not-a-message", "error", {
      index,
      messageId: idIn(value) ?? null,
      evidence: `The value at ${index} is not a message.`,
      fixes: [fix("take-out")],
    }),
  );
  const ofShape = messages.flatMap(({ value, message, index, issue }) => {
    if (issue === undefined) return [];
    const isDeep = issue.expectation === DEPTH_DEMAND;
    return [
      finding(isDeep ? "content/too-deep" : "content/shape", isBricked ? "error" : "warning", {
        index,
        messageId: message.id ?? idIn(value) ?? null,
        evidence: `\`${issue.path}\` must be ${issue.expectation}.`,
        fixes: [fix("mend")],
      }),
    ];
  });
  return [...ofForeign, ...ofShape];
}

function windowFindings(messages: readonly BaseMessage[], maxTokens: number | undefined): Finding[] {
  const tokens = measureInput(messages, { toolTokens: 0, promptTokens: 0, maxToolCalls: undefined });
  if (maxTokens === undefined || tokens <= maxTokens) return [];
  const evidence = `The messages have about ${tokens} tokens, and the model takes ${maxTokens}.`;
  return [finding("size/window", "error", { evidence, fixes: [fix("at-request")] })];
}

/*
 * What a provider says about the messages of a thread.
 */

/** The rules that have a finding of their own, under `pairing/`. */
const PAIRING_RULES: ReadonlySet<RuleName> = new Set<RuleName>([
  "missing-result",
  "orphan-result",
  "duplicate-result",
  "result-order",
  "repeated-call-id",
]);

/** The violations of the messages, without those of messages that are not stored. */
function violationsOf(messages: readonly BaseMessage[], dialect: DialectName, stored: number): Violation[] {
  return validateHistory(messages, dialect).filter(({ index }) => index < stored);
}

/** The dialect of the model that wrote the latest response; undefined if the messages do not say. */
export function dialectIn(messages: readonly BaseMessage[]): DialectName | undefined {
  const makers = messages.filter(isAIMessage).map((response) => readMaker(response).provider);
  const latest = makers.findLast((maker) => maker !== undefined);
  // Dialects that share a maker are told apart by nothing in a message. The first of them is meant.
  return DIALECT_NAMES.find((name) => dialectNamed(name).makers.some((maker) => maker === latest));
}
