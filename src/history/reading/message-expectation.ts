import { didYouMean } from "../../shared/did-you-mean.js";
import { isRecord } from "../../shared/is-record.js";

const ROLES = ["user", "assistant", "system", "developer", "tool", "human", "ai"] as const;
/** Other roles that are accepted. Error texts do not list them, because nobody writes them by hand. */
const OTHER_ROLES: ReadonlySet<string> = new Set(["remove", "function", "generic", "constructor"]);

interface Expectation {
  /** Completes the sentence "Expected … to be …". */
  readonly expectation: string;
  /** What was probably meant; empty if that is unknown. */
  readonly hint: string;
}

/** What an invalid value should have been. The expectation names the roles if the role is wrong. */
export function messageExpectation(value: unknown): Expectation | undefined {
  const role = roleOf(value);
  if (role === undefined || OTHER_ROLES.has(role) || ROLES.some((known) => known === role)) return undefined;
  return {
    expectation: `a message whose \`role\` or \`type\` is one of ${ROLES.join(", ")}`,
    hint: didYouMean(role, ROLES),
  };
}

/** A message can be an object, or a tuple of role and content. */
function roleOf(value: unknown): string | undefined {
  const tuple: readonly unknown[] = Array.isArray(value) ? value : [];
  const role = isRecord(value) ? (value["role"] ?? value["type"]) : tuple[0];
  return typeof role === "string" ? role : undefined;
}
