/**
 * The rules about calls and their results. The model input begins with a paired history, so no step keeps most of them:
 * see `repairHistory` and, for tools that the provider runs, `settleServerCalls`.
 */

import { indexesById, isAIMessage } from "../../history/call.js";
import { listOf } from "../../history/read-messages.js";
import { callIdOf, isResult } from "../../history/result.js";
import { serverCallId, serverResultId } from "../../history/server-tools.js";
import { asText } from "../../shared/json.js";
import { madeOnce } from "../../shared/values.js";
import type { Dialect } from "../contract/dialect.js";
import {
  answeredIds,
  callsBeforeText,
  kindOfResult,
  type OutputKind,
  outputKinds,
  waitingCalls,
} from "../contract/stored-items.js";
import { blockType, type Fault, type HistoryRule, type SentMessage } from "./rule.js";

/** A fault of one of several rules. */
interface RuleFault extends Fault {
  readonly rule: HistoryRule["name"];
}

/** Rules whose faults are found together. A list of sent messages is made for one check. */
function foundTogether(
  about: HistoryRule["about"],
  findAll: (messages: readonly SentMessage[], dialect: Dialect) => readonly RuleFault[],
  rules: readonly (readonly [name: HistoryRule["name"], meaning: string])[],
): readonly HistoryRule[] {
  const known = new WeakMap<readonly SentMessage[], readonly RuleFault[]>();
  return rules.map(([name, meaning]) => ({
    name,
    about,
    meaning,
    find: (messages, dialect) =>
      madeOnce(known, messages, () => findAll(messages, dialect)).filter(({ rule }) => rule === name),
  }));
}

export const PAIR_RULES: readonly HistoryRule[] = [
  ...foundTogether("pairing", findPairFaults, [
    ["missing-result", "A tool call has no result directly after its message."],
    ["orphan-result", "A result does not belong to a call of the message before it."],
    ["duplicate-result", "A call has two results."],
    ["result-order", "The results are not in call order."],
  ]),
  ...foundTogether("content", findServerFaults, [
    ["server-result-without-call", "A result of a tool that the provider runs has no call before it."],
    [
      "server-call-without-result",
      "A call of a tool that the provider runs has no result in its message, and none at the beginning of the next response.",
    ],
  ]),
];

/** OpenAI's Responses API has kinds of calls, and takes only a result of the same kind. */
function hasOutput({ callPlaces }: Dialect): boolean {
  return callPlaces.includes("output");
}

/** Each response with the results after it. */
function findPairFaults(messages: readonly SentMessage[], dialect: Dialect): readonly RuleFault[] {
  const faults: RuleFault[] = [];
  let head: SentMessage | undefined;
  let results: SentMessage[] = [];
  const endGroup = () => faults.push(...groupFaults(head, results, hasOutput(dialect)));
  for (const sent of messages) {
    if (sent.role === "tool") {
      results.push(sent);
      continue;
    }
    endGroup();
    head = sent;
    results = [];
  }
  endGroup();
  if (hasOutput(dialect)) faults.push(...waitingFaults(messages));
  return faults;
}

const NO_KINDS: ReadonlyMap<string, OutputKind> = new Map();
const NO_IDS: ReadonlySet<string> = new Set();

/** @param head Undefined if the results are the first messages. */
function* groupFaults(
  head: SentMessage | undefined,
  results: readonly SentMessage[],
  hasKinds: boolean,
): Generator<RuleFault> {
  const calls = head?.calls ?? [];
  const response = hasKinds && head !== undefined && isAIMessage(head.message) ? head.message : undefined;
  const kinds = response === undefined ? NO_KINDS : outputKinds(response);
  /** For each id, the places of its calls without a result. */
  const waiting = indexesById(calls);
  const unlisted = new Set(response === undefined ? [] : waitingCalls(response).map(({ call }) => call.id));
  const isAnswered: boolean[] = [];
  const answered = new Map<string, number>();
  let first = 0;
  for (const { message, index } of results) {
    const id = isResult(message) ? callIdOf(message) : "";
    const former = answered.get(id);
    const isOfKind = !hasKinds || kindOfResult(message) === kinds.get(id);
    const place = isOfKind ? waiting.get(id)?.pop() : undefined;
    if (place !== undefined) {
      while (isAnswered[first]) first += 1;
      isAnswered[place] = true;
      if (place !== first) yield { rule: "result-order", index, id };
    } else if (head !== undefined && former !== undefined) {
      yield { rule: "duplicate-result", index: former, next: index, id };
    } else if (!unlisted.has(id)) {
      yield { rule: "orphan-result", index, id, name: head?.role ?? "system" };
    }
    if (former === undefined) answered.set(id, index);
  }
  const run = response === undefined ? NO_IDS : callsBeforeText(response);
  const left = calls.filter(({ id }, place) => !isAnswered[place] && !run.has(id)).map(({ id }) => id);
  if (head === undefined || left[0] === undefined) return;
  const next = head.index + results.length + 1;
  yield { rule: "missing-result", index: head.index, ids: left, id: left[0], next };
}

/** Calls that the client does not list. Those of the last response can still wait for the caller. */
function* waitingFaults(messages: readonly SentMessage[]): Generator<RuleFault> {
  const rule = "missing-result";
  let [index, ids]: [number, readonly string[]] = [-1, []];
  for (const { message, index: place } of messages) {
    if (ids.length > 0) {
      // A function's output has been taken for them too.
      const answered = new Set(isResult(message) ? [callIdOf(message)] : answeredIds(message));
      ids = ids.filter((id) => !answered.has(id));
    }
    if (!isAIMessage(message)) continue;
    if (ids.length > 0) yield { rule, index, ids };
    [index, ids] = [place, waitingCalls(message).map(({ call }) => call.id)];
  }
  if (ids.length > 0 && index < messages.length - 1) yield { rule, index, ids };
}

/**
 * A provider-run tool's call is open until the provider's next response. If the response also has calls of the caller,
 * or if the provider paused it, the next one begins with the result.
 */
function findServerFaults(messages: readonly SentMessage[]): readonly RuleFault[] {
  const faults: RuleFault[] = [];
  const open = new Map<string, { readonly index: number; readonly name: string }>();
  for (const { content, role, index } of messages) {
    if (role === "tool" || role === "system") continue;
    const before = [...open.keys()];
    for (const block of role === "assistant" ? listOf(content) : []) {
      const call = serverCallId(block);
      const answered = serverResultId(block);
      if (call !== undefined) open.set(call, { index, name: asText(Reflect.get(Object(block), "name")) });
      if (answered !== undefined && !open.delete(answered))
        faults.push({ rule: "server-result-without-call", index, id: answered, name: blockType(block) });
    }
    for (const id of before) {
      const call = open.get(id);
      if (call !== undefined && open.delete(id))
        faults.push({ rule: "server-call-without-result", ...call, id });
    }
  }
  return faults;
}
