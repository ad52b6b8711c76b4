/** Says what is wrong with a thread. Pure: nothing is read or written. */

import { HumanMessage } from "@langchain/core/messages";
import { type DialectName, dialectNamed } from "../../providers/dialects/dialects.js";
import { examineThread } from "../examine/examine-thread.js";
import type { Finding, FixKind, ThreadReport } from "../finding.js";
import type { StoredThread } from "../stored-thread.js";
import { contentFindings } from "./content-findings.js";
import { dialectIn } from "./dialect-in.js";
import { finding } from "./finding-of.js";
import { pairingFindings } from "./pairing-findings.js";
import { sizeFindings } from "./size-findings.js";
import { stateFindings } from "./state-findings.js";

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
  /** From how many stored bytes of messages on a full channel is reported. @default 5,000,000 */
  readonly largeBytes?: number | undefined;
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
    findings.push(...sizeFindings(thread, messages, options));
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
