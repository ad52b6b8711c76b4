/** The findings of a thread. */

import { type BaseMessage, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { callsOf, isAIMessage } from "../history/call.js";
import type { Group } from "../history/group.js";
import { measureInput } from "../history/measure.js";
import { callIdOf, isResult } from "../history/result.js";
import { DEPTH_DEMAND } from "../history/storable.js";
import { readMaker } from "../providers/contract/author.js";
import type { DialectName } from "../providers/contract/dialect-name.js";
import type { RuleName } from "../providers/contract/rule.js";
import { reasoningOf } from "../providers/host-fields/fields.js";
import { ruleNamed } from "../providers/rules/rules.js";
import { type Violation, validateHistory } from "../providers/rules/validate-history.js";
import { DIALECT_NAMES, dialectNamed } from "../providers/table/dialects.js";
import { countFrom, oneOf, type Rules } from "../shared/check-settings.js";
import { listStart, shortened } from "../shared/text.js";
import { madeOnce } from "../shared/values.js";
import { type Examination, examineThread, idIn, isOfOthers, OF_OTHERS, type OpenCall } from "./examine.js";
import { type Finding, type FindingCode, finding, type Severity, type ThreadReport } from "./finding.js";
import { OWN_PATCH } from "./shown-state.js";
import { type StoredThread, storedListOf, threadOfList } from "./thread-store.js";

/** The options of `diagnoseThread`. */
export interface DiagnoseOptions {
  /**
   * The provider family that must accept the thread. With a name, each rule that its messages break is an error. With
   * `"auto"`, errors quote the provider whose model wrote the thread, and only that provider's rules of form are
   * checked, as warnings.
   *
   * @default "auto"
   */
  readonly dialect?: DialectName | "auto" | undefined;
  /** How many tokens the model's input may have, by our estimate. @default not checked */
  readonly maxTokens?: number | undefined;
}

/** A dialect, or `"auto"`. */
export const dialectOrAuto = oneOf(["auto", ...DIALECT_NAMES]);

export const DIAGNOSE_RULES = { dialect: dialectOrAuto, maxTokens: countFrom(1) } satisfies Rules;

/** @throws InvalidSettingError for an unknown dialect. */
export function reportOn(thread: StoredThread, options: DiagnoseOptions = {}): ThreadReport {
  const { dialect = "auto" } = options;
  if (dialect !== "auto") dialectNamed(dialect);
  const { threadId, namespace, checkpointId, status, content } = thread;
  const values = storedListOf(thread);
  const findings = [...stateFindings(thread)];
  let tokens: number | null = null;
  const isSkipped = status === "busy" || isOfOthers(thread) || hasNoList(thread);
  if (!isSkipped && values !== undefined) {
    const found = examineThread(thread, values);
    const messages = found.list.messages.map(({ message }) => message);
    tokens = tokensOf(messages);
    const isOfTask = !isKeptState(thread) && status !== "interrupted";
    const ofMessages = [
      ...formFindings(found.list, content.kind === "bricked"),
      ...callAndRuleFindings(thread, found, messages, dialect),
      ...windowFindings(tokens, options.maxTokens),
    ];
    for (const each of ofMessages) findings.push(isOfTask ? { ...each, severity: "info", ...UNSAID } : each);
  }
  if (!isSkipped) findings.push(...(thread.otherLists ?? []).flatMap((list) => otherFindings(thread, list)));
  const isUnread = "reason" in content && values === undefined;
  const isSound = findings.every(({ severity }) => severity === "info");
  return {
    schemaVersion: 1,
    threadId,
    namespace,
    checkpointId: checkpointId ?? null,
    status,
    outcome: isUnread ? "unreadable" : isSkipped ? "skipped" : isSound ? "sound" : "findings",
    messages: values?.length ?? (content.kind === "none" ? 0 : null),
    tokens,
    findings,
  };
}

/** The worst comes first. */
const OUTCOMES = [
  "unreadable",
  "findings",
  "skipped",
  "sound",
] as const satisfies readonly ThreadReport["outcome"][];

export function worstOutcome(...outcomes: readonly ThreadReport["outcome"][]): ThreadReport["outcome"] {
  return OUTCOMES.find((one) => outcomes.includes(one)) ?? "sound";
}

/** Whether later runs of the thread continue with this state: one with a colon in its namespace belongs to one task. */
export const isKeptState = ({ namespace }: Pick<StoredThread, "namespace">): boolean =>
  !namespace.includes(":");

/** One verdict for a thread and the states that its subgraphs keep. */
export function reportWith(report: ThreadReport, subgraphs: readonly ThreadReport[]): ThreadReport {
  const findings = subgraphs.flatMap((one) =>
    one.findings
      .filter(
        ({ severity, code }) =>
          severity !== "info" || (one.outcome === "skipped" && code !== "state/subgraph"),
      )
      .map((found) => ({
        ...found,
        index: null,
        evidence: `In the subgraph \`${one.namespace}\`: ${found.evidence}`,
        fixes: [],
      })),
  );
  const outcome = worstOutcome(report.outcome, ...subgraphs.map((one) => one.outcome));
  return { ...report, outcome, findings: [...report.findings, ...findings] };
}

/*
 * Findings about the whole thread, and about messages that cannot be read or stored.
 */

function* stateFindings(thread: StoredThread): Generator<Finding> {
  const { namespace, content, status, otherGraph, mayRun = "A run of the thread has not ended." } = thread;
  if (namespace !== "")
    yield finding(
      "state/subgraph",
      "info",
      "This is the state of a subgraph. It is reported, and never changed.",
    );
  if (status === "busy") {
    yield finding("state/busy", "info", `${mayRun} The messages were not judged.`, "wait");
    return;
  }
  if (content.kind === "unreadable")
    yield finding("thread/unreadable", "error", `The thread cannot be read: ${content.reason}`);
  if (content.kind === "bricked") {
    const evidence = `Every read of the thread throws: ${content.reason}`;
    yield finding("thread/bricked", "error", evidence, content.messages && "unbrick");
  }
  if (status === "interrupted") {
    const evidence = "The thread waits for the answer of a human. It is never changed.";
    yield finding("state/waiting-for-approval", "info", evidence, "wait");
  }
  if (hasNoList(thread)) {
    const names = thread.otherChannels.map((name) => `\`${name}\``).join(", ");
    const evidence = `No list of messages was found in the state, so nothing was judged. It has the channels ${names}.`;
    yield finding("state/no-messages", "info", evidence);
  }
  const lists = listsOf(thread);
  if (lists.some(({ channel }) => channel !== "messages")) {
    const names = lists.map(({ channel, length }) => `\`${channel}\` (${length})`).join(" and ");
    const evidence = `The state has messages in ${names}. All were checked. A repair changes only \`messages\`.`;
    yield finding("state/other-channel", "info", evidence);
  }
  if (otherGraph !== undefined) yield finding("state/other-graph", "info", otherGraph);
  if (isOfOthers(thread)) yield finding("state/other-messages", "info", OF_OTHERS);
}

/** Whether the state has values, and no messages among them. An empty thread has nothing to judge. */
function hasNoList({ content, otherChannels }: StoredThread): boolean {
  return content.kind === "none" && otherChannels.length > 0;
}

/** The state's channels with messages. */
function listsOf(thread: StoredThread) {
  const { channel = "messages", otherLists = [] } = thread;
  const own = { channel, length: storedListOf(thread)?.length ?? 0 };
  const others = otherLists.map(({ channel, messages }) => ({ channel, length: messages.length }));
  return [own, ...others].filter(({ length }) => length > 0);
}

/** The findings of another list than the thread's own. Nobody knows whether a model gets it. */
function otherFindings(
  { threadId, namespace }: StoredThread,
  { channel, messages }: NonNullable<StoredThread["otherLists"]>[number],
): Finding[] {
  const list = { ...threadOfList(messages, threadId), namespace, openTasks: [NO_TASK] };
  return reportOn(list)
    .findings.filter(({ code, severity }) => severity !== "info" && !code.startsWith("state/"))
    .map((found) => ({
      ...found,
      ...UNSAID,
      severity: "warning",
      index: null,
      evidence: `In the channel \`${channel}\`: ${found.evidence}`,
      fixes: [],
    }));
}

/** With it, no call counts as left for the caller. */
const NO_TASK = { id: "", node: "", error: undefined, interrupts: [] };

function formFindings({ messages, foreign }: Examination["list"], isBricked: boolean): Finding[] {
  const ofForeign = foreign.map(({ value, index }) =>
    finding("content/not-a-message", "error", `The value at ${index} is not a message.`, "take-out", {
      index,
      messageId: idIn(value) ?? null,
    }),
  );
  const ofShape = messages.flatMap(({ value, message, index, issue }) => {
    if (issue === undefined) return [];
    const code = issue.expectation === DEPTH_DEMAND ? "content/too-deep" : "content/shape";
    const evidence = `\`${issue.path}\` must be ${issue.expectation}.`;
    const messageId = message.id ?? idIn(value) ?? null;
    return finding(code, isBricked ? "error" : "warning", evidence, "rewrite", { index, messageId });
  });
  return [...ofForeign, ...ofShape];
}

const tokensOf = (messages: readonly BaseMessage[]): number =>
  Math.ceil(measureInput(messages, { toolTokens: 0, promptTokens: 0, maxToolCalls: undefined }).tokens);

function windowFindings(tokens: number, maxTokens: number | undefined): Finding[] {
  if (maxTokens === undefined || tokens <= maxTokens) return [];
  const evidence = `The messages have about ${tokens} tokens, and the model accepts ${maxTokens}.`;
  return [finding("size/window", "error", evidence, "at-request")];
}

/*
 * Findings about calls and their results, and about the form of messages, in the order of the messages.
 */

function callAndRuleFindings(
  thread: StoredThread,
  found: Examination,
  messages: readonly BaseMessage[],
  dialect: DialectName | "auto",
): Finding[] {
  const known = dialect === "auto" ? dialectIn(messages) : dialect;
  // A thread gets a user message next. A bare list is sent as it is.
  const sent = thread.openTasks === undefined ? messages : [...messages, new HumanMessage("…")];
  const judging = known ?? "openai";
  const violations = validateHistory(sent, judging).filter(({ index }) => index < messages.length);
  const repairsItself =
    (thread.repairedBy === "agent" || thread.repairedBy === "middleware") && thread.content.kind === "read";
  const pairing = pairingFindings(found, violations, judging, thread.status === "interrupted");
  const severity = dialect === "auto" ? "warning" : "error";
  const ofRules = known === undefined ? [] : ruleFindings(found, violations, known, severity);
  const isList = thread.openTasks === undefined && thread.nodesBefore === undefined;
  const told = repairsItself
    ? pairing.map(asRepaired)
    : isList || thread.content.kind !== "read"
      ? pairing
      : pairing.map(asOfNodes(thread, found));
  return [...told, ...ofRules].sort((one, other) => (one.index ?? -1) - (other.index ?? -1));
}

/** What the next message repairs, whatever a provider would say about the list as it is. */
function asRepaired(found: Finding): Finding {
  const isRepairedByGraph = found.code.startsWith("pairing/") && found.code !== "pairing/reused-id";
  const evidence = `${found.evidence} The graph repairs this when the next message comes.`;
  return isRepairedByGraph ? { ...found, severity: "info", ...UNSAID, evidence } : found;
}

/**
 * What a graph's own nodes do with a fault before they ask a model is not known. Only deepagents' own patch is: it gives
 * each call of `tool_calls` whose id no result has one that says that the call was cancelled, also if the real one is
 * saved.
 */
function asOfNodes(
  { nodesBefore = [], repairedBy }: StoredThread,
  { openCalls, list }: Examination,
): (found: Finding) => Finding {
  if (nodesBefore.length === 0 && repairedBy !== undefined) return (found) => found;
  const isPatching = nodesBefore.includes(OWN_PATCH);
  const answered = new Set(
    list.messages.flatMap(({ message }) => (isResult(message) ? callIdOf(message) : [])),
  );
  const isPatched = ({ call, group: { head } }: OpenCall): boolean =>
    isAIMessage(head) && head.tool_calls?.some(({ id }) => id === call.id) === true && !answered.has(call.id);
  const patched = new Map(
    openCalls.flatMap((open) => (isPatching && isPatched(open) ? [[open.call.id, open] as const] : [])),
  );
  return (found) => {
    const open = patched.get(found.callId ?? "");
    if (found.code === "state/pending-result") {
      const evidence = `${found.evidence} The agent's own patch does not use it: it is lost with the next message.`;
      return open !== undefined && open.standIn === undefined
        ? { ...found, severity: "warning", evidence }
        : found;
    }
    if (found.severity === "info") return found;
    if (open !== undefined && OPEN_CODES.has(found.code)) {
      const evidence = `${found.evidence} The agent's own patch sends a result that says that the call was cancelled.`;
      return { ...found, ...UNSAID, severity: "info", evidence };
    }
    return { ...found, severity: "warning", evidence: `${found.evidence} ${unknownSender(nodesBefore)}` };
  };
}

function unknownSender(nodes: readonly string[]): string {
  const names = nodes.map((name) => `\`${name}\``);
  return nodes.length === 0
    ? "Which agent runs the thread is not known, so it is not known what is sent."
    : `What these nodes do about it before a model is asked is not known: ${listStart(names, MOST_NODES)}.`;
}

const MOST_NODES = 5;

const OPEN_CODES: ReadonlySet<string> = new Set(["pairing/dangling-call", "pairing/open-call"]);

const UNSAID = { dialect: null, providerSays: null } as const;

/** Results that are not where a provider wants them. */
const RESULT_FAULTS = {
  orphan: { rules: ["orphan-result"], fix: "take-out", what: "has no call before it" },
  duplicate: { rules: ["duplicate-result", "orphan-result"], fix: "take-out", what: "is a second one" },
  misplaced: {
    rules: ["orphan-result", "result-order", "missing-result"],
    fix: "move",
    what: "does not directly follow the message with its call",
  },
} as const;

/** @param waits Whether the thread waits for a human. Its last group's calls are then in good order. */
function pairingFindings(
  { list, groups, openCalls, unsentCalls, orphans, duplicates, misplaced }: Examination,
  violations: readonly Violation[],
  dialect: DialectName,
  waits: boolean,
): Finding[] {
  const wordsFor = wordsFinder(list, groups, violations);
  /** The fields about a call, with the provider's words for a fault at its message or at one of its results. */
  const about = (
    message: BaseMessage,
    { id, name }: { readonly id: string; readonly name?: string | undefined },
    rules: readonly RuleName[],
  ) => {
    const words = wordsFor(message, rules);
    return {
      index: list.byMessage.get(message)?.index ?? null,
      messageId: message.id ?? null,
      callId: id,
      tool: name ?? null,
      ...(words === undefined ? UNSAID : { dialect, providerSays: words }),
    };
  };
  const ofResult =
    (kind: keyof typeof RESULT_FAULTS) =>
    (message: ToolMessage): Finding => {
      const { rules, fix, what } = RESULT_FAULTS[kind];
      const call = { id: callIdOf(message), name: message.name };
      const evidence = `The result${of(call.name)} for the call \`${call.id}\` ${what}.`;
      const fields = about(message, call, rules);
      return finding(`pairing/${kind}-result`, "error", evidence, fix, fields);
    };
  return [
    ...openCalls
      .filter(({ group }) => !(waits && group === groups.at(-1)))
      .flatMap((open) => openCallFindings(open, about(open.group.head, open.call, ["missing-result"]))),
    ...unsentCalls.map(({ group: { head }, call, isSentRaw }) => {
      const sends = isSentRaw ? "send them as they are" : "send its result, and not the call";
      const evidence = `The arguments of the call${of(call.name)} \`${call.id}\` are not valid JSON. Clients ${sends}.`;
      const fields = about(head, call, [isSentRaw ? "arguments" : "orphan-result"]);
      return finding("content/arguments", isSentRaw ? "warning" : "error", evidence, "rewrite", fields);
    }),
    ...orphans.map(ofResult("orphan")),
    ...duplicates.map(ofResult("duplicate")),
    ...[...misplaced].map(ofResult("misplaced")),
    ...repeatedCalls(list).map(({ message, isOfMessage, ...call }) => {
      if (isOfMessage) {
        const fields = about(message, call, ["duplicate-call-id", "duplicate-result"]);
        const evidence = `Two calls of one response have the id \`${call.id}\`.`;
        return finding("pairing/duplicate-call", "error", evidence, "at-request", fields);
      }
      // Most providers accept an id again in a later turn, and some models reuse ids by design.
      const fields = about(message, call, ["repeated-call-id"]);
      const severity = fields.providerSays === null ? "info" : "error";
      const evidence = `The call${of(call.name)} has the id of an earlier call.`;
      return finding("pairing/reused-id", severity, evidence, "at-request", fields);
    }),
  ];
}

/**
 * Makes the function that finds a provider's words for the first of these faults: at a message, at the message with the
 * call that it answers, or at the results of its calls. Undefined if the provider would not refuse it, or if nobody
 * knows its words. Many findings can be about one message, so each violation is looked at once.
 */
function wordsFinder(
  { messages }: Examination["list"],
  groups: readonly Group[],
  violations: readonly Violation[],
) {
  const headOf = new Map<BaseMessage | undefined, BaseMessage>(
    groups.flatMap(({ head, results }) => results.map((result) => [result, head] as const)),
  );
  /** For each rule, the place of the first violation at each message, and at the results of each message's calls. */
  const own: FirstPlaces = new Map();
  const ofResults: FirstPlaces = new Map();
  const note = (first: FirstPlaces, rule: RuleName, message: BaseMessage, place: number): void => {
    const places = madeOnce(first, rule, () => new Map());
    if (!places.has(message)) places.set(message, place);
  };
  for (const [place, { rule, index, grade }] of violations.entries()) {
    const message = messages[index]?.message;
    if (message === undefined || grade === "inferred") continue;
    note(own, rule, message, place);
    const head = headOf.get(message);
    if (head !== undefined) note(ofResults, rule, head, place);
  }
  return (message: BaseMessage, rules: readonly RuleName[]): string | undefined => {
    const head = headOf.get(message) ?? message;
    const places = rules.flatMap((rule) => [
      own.get(rule)?.get(message) ?? [],
      own.get(rule)?.get(head) ?? [],
      ofResults.get(rule)?.get(message) ?? [],
    ]);
    const said = violations[Math.min(...places.flat())];
    return said && shortened(said.message, LONGEST_WORDS);
  };
}

type FirstPlaces = Map<RuleName, Map<BaseMessage, number>>;

/** The provider can name all calls of a message, and each of them can be a finding. */
const LONGEST_WORDS = 500;

function openCallFindings(
  { call, recovered, standIn, result }: OpenCall,
  fields: Partial<Finding>,
): Finding[] {
  const name = `The call${of(call.name)} \`${call.id}\``;
  const recoverable = finding(
    "state/pending-result",
    "info",
    "The tool of this call has returned a result, which a run that ended early has saved.",
    "recover",
    { ...fields, ...UNSAID, messageId: recovered?.id ?? null },
  );
  if (standIn !== undefined) return [recoverable];
  if (result === undefined) {
    const evidence = `${name} has no result, and the run has ended. A client may be about to send it.`;
    return [finding("pairing/open-call", "warning", evidence, undefined, fields)];
  }
  if (recovered === undefined)
    return [finding("pairing/dangling-call", "error", `${name} has no result.`, "close", fields)];
  const evidence = `${name} has no result, and its result can be recovered.`;
  return [finding("pairing/dangling-call", "error", evidence, "recover", fields), recoverable];
}

/** Calls with the id of an earlier call: one of the same message, or one of a message before it. */
function repeatedCalls({ messages }: Examination["list"]) {
  /** For each id, the latest message with such a call. */
  const met = new Map<string, BaseMessage>();
  return messages.flatMap(({ message }) =>
    callsOf(message).flatMap(({ id, name }) => {
      const former = id === "" ? undefined : met.get(id);
      met.set(id, message);
      return former === undefined ? [] : [{ message, id, name, isOfMessage: former === message }];
    }),
  );
}

function of(tool: string | undefined): string {
  return tool ? ` of \`${tool}\`` : "";
}

/** The dialect's rules that the messages break, besides pairing rules. */
function ruleFindings(
  { list, unsentCalls }: Examination,
  violations: readonly Violation[],
  dialect: DialectName,
  severity: Severity,
): Finding[] {
  const told = new Set(unsentCalls.map(({ group }) => list.byMessage.get(group.head)?.index));
  // Only a thinking model demands its reasoning back, and this thread shows none.
  const thinks = list.messages.some(
    ({ message }) => isAIMessage(message) && reasoningOf(message) !== undefined,
  );
  return violations
    .filter(({ rule, grade }) => !(rule in PAIRING_CODES) && (severity === "error" || grade !== "inferred"))
    .filter(({ rule, index }) => rule !== "arguments" || !told.has(list.messages[index]?.index))
    .filter(({ rule }) => rule !== "missing-reasoning" || thinks)
    .map(({ rule, index, message, grade }) => {
      const read = list.messages[index];
      const evidence = `The message breaks the rule \`${rule}\` of \`${dialect}\`.`;
      return finding(codeOf(rule), severity, evidence, "at-request", {
        index: read?.index ?? null,
        messageId: read?.message.id ?? null,
        dialect,
        providerSays: grade === "inferred" ? null : message,
      });
    });
}

/** The rules that have their own finding. */
const PAIRING_CODES: Readonly<Partial<Record<RuleName, FindingCode>>> = {
  "missing-result": "pairing/dangling-call",
  "orphan-result": "pairing/orphan-result",
  "duplicate-result": "pairing/duplicate-result",
  "result-order": "pairing/misplaced-result",
  "duplicate-call-id": "pairing/duplicate-call",
  "repeated-call-id": "pairing/reused-id",
};

/** The code of a finding about a broken rule. */
export function codeOf(rule: RuleName): FindingCode {
  return PAIRING_CODES[rule] ?? (ruleNamed(rule).about === "order" ? `order/${rule}` : `content/${rule}`);
}

/** The dialect of the model that wrote the latest response; undefined if the messages do not say. */
export function dialectIn(messages: readonly BaseMessage[]): DialectName | undefined {
  const makers = messages.filter(isAIMessage).map((response) => readMaker(response).provider);
  const latest = makers.findLast((maker) => maker !== undefined);
  // Nothing in a message tells apart dialects that share a maker. The first is meant.
  return DIALECT_NAMES.find((name) => dialectNamed(name).makers.some((maker) => maker === latest));
}
