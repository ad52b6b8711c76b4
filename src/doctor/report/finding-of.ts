import type { Finding, FindingCode, Fix, FixKind, Severity } from "../finding.js";

const NOTHING = {
  index: null,
  messageId: null,
  callId: null,
  tool: null,
  dialect: null,
  providerSays: null,
  fixes: [],
} as const;

/** A finding. Fields that are missing are null. */
export function finding(
  code: FindingCode,
  severity: Severity,
  fields: Partial<Omit<Finding, "code" | "severity">> & Pick<Finding, "evidence">,
): Finding {
  return { code, severity, ...NOTHING, ...fields };
}

const DESCRIPTIONS: Readonly<Record<FixKind, string>> = {
  "recover-result": "Put the result that the tool returned after its call.",
  "close-call": "Write a result that says why there is none.",
  "take-out": "Take the message out of the thread, and keep it in the receipt.",
  move: "Move the result to its call.",
  mend: "Replace the message by one that can be read.",
  rewrite: "Write the thread again, so that its own graph can read it.",
  "at-request":
    "Nothing has to be stored. `toModelInput`, `tetherMiddleware` and `createAgentGraph` change the request.",
  "use-delta": "Use a delta channel for the messages, or archive what a summary covers.",
  wait: "Wait until the human has answered, or the run has ended.",
};

export function fix(kind: FixKind): Fix {
  return { kind, description: DESCRIPTIONS[kind], command: null };
}
