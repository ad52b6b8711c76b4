/** What the findings of one code are called, in the text for people. */

import type { Finding, FindingCode } from "../../finding.js";

const WORDS: Readonly<Partial<Record<FindingCode, readonly [one: string, many: string]>>> = {
  "thread/bricked": ["bricked: every read of the thread throws", "bricked"],
  "thread/unreadable": ["cannot be read", "cannot be read"],
  "pairing/dangling-call": ["1 dangling call", "dangling calls"],
  "pairing/orphan-result": ["1 orphan result", "orphan results"],
  "pairing/misplaced-result": ["1 misplaced result", "misplaced results"],
  "pairing/duplicate-result": ["1 duplicate result", "duplicate results"],
  "pairing/reused-id": ["1 call with the id of an earlier one", "calls with ids of earlier ones"],
  "pairing/open-call": ["1 call left for the caller to answer", "calls left for the caller to answer"],
  "content/not-a-message": ["1 value that is not a message", "values that are not messages"],
  "content/shape": ["1 message with a wrong field", "messages with wrong fields"],
  "content/too-deep": ["1 value nested too deep", "values nested too deep"],
  "size/window": ["longer than the window of the model", "longer than the window of the model"],
  "size/quadratic": ["grows with the square of its length", "grows with the square of its length"],
  "state/pending-result": ["1 result can be recovered", "results can be recovered"],
  "state/waiting-for-approval": ["waits for a human, and is never changed", "waits for a human"],
  "state/busy": ["busy, so it was not judged", "busy"],
  "state/other-graph": ["belongs to another graph, so it is not repaired", "belongs to another graph"],
  "state/subgraph": ["the state of a subgraph, which is never changed", "subgraphs"],
};

/** Such as `2 dangling calls (weather, pay)`. */
export function describeFindings(findings: readonly Finding[]): string {
  const [first] = findings;
  if (first === undefined) return "";
  const { code } = first;
  const [one, many] = WORDS[code] ?? [`1 message against ${code}`, `messages against ${code}`];
  const text = findings.length === 1 ? one : `${findings.length} ${many}`;
  const tools = [...new Set(findings.flatMap(({ tool }) => tool || []))];
  const isAboutCalls = code.startsWith("pairing/");
  return isAboutCalls && tools.length > 0
    ? `${text} (${tools.slice(0, 5).join(", ")}${tools.length > 5 ? ", …" : ""})`
    : text;
}

/** The findings of each code, in the order in which the codes first appear. */
export function groupByCode(findings: readonly Finding[]): readonly (readonly Finding[])[] {
  const groups = new Map<FindingCode, Finding[]>();
  for (const finding of findings) groups.set(finding.code, [...(groups.get(finding.code) ?? []), finding]);
  return [...groups.values()];
}
