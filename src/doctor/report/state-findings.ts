/** Findings about the whole thread, and about messages that cannot be read or stored. */

import { DEPTH_DEMAND } from "../../history/reading/storable.js";
import { idIn } from "../examine/id-in.js";
import { readList } from "../examine/read-list.js";
import type { Finding } from "../finding.js";
import type { StoredThread } from "../stored-thread.js";
import { finding, fix } from "./finding-of.js";

export function stateFindings({ content, status, otherGraph }: StoredThread): Finding[] {
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
