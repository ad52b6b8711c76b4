/** Findings about calls and their results. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { callsOf } from "../../history/messages/call.js";
import { callIdOf } from "../../history/messages/result.js";
import type { DialectName } from "../../providers/dialects/dialects.js";
import type { RuleName } from "../../providers/dialects/rule.js";
import type { Examination, OpenCall } from "../examine/examine-thread.js";
import type { Finding, FindingCode, FixKind } from "../finding.js";
import { finding, fix } from "./finding-of.js";
import { violationsOf, wordsAt, wordsFor } from "./provider-words.js";

export interface FindingContext {
  readonly found: Examination;
  /** The messages as the next request would have them. */
  readonly sent: readonly BaseMessage[];
  readonly dialect: DialectName;
  /** Whether the thread waits for a human. The calls of its last group are then in good order. */
  readonly waits: boolean;
}

export function pairingFindings(context: FindingContext): Finding[] {
  const { found, sent, dialect, waits } = context;
  const { list, groups, openCalls, unsentCalls, orphans, duplicates, misplaced } = found;
  const words = wordsAt(violationsOf(sent, dialect, list.messages.length));
  const headOf = new Map(
    groups.flatMap(({ head, results }) => results.map((result) => [result, head] as const)),
  );
  const placeIn = new Map(list.messages.map(({ message }, place) => [message, place]));
  const says = (
    rules: readonly RuleName[],
    messages: readonly BaseMessage[],
  ): Pick<Finding, "dialect" | "providerSays"> => {
    const places = messages.map((message) => placeIn.get(message) ?? -1);
    const providerSays = wordsFor(words, rules, places);
    return { dialect: providerSays === null ? null : dialect, providerSays };
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
