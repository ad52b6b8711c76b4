import type { ToolTask } from "../tools/tool-task.js";
import type { Decision, ReadAnswer } from "./approval-request.js";
import { findArgumentIssue } from "./argument-issue.js";
import { readTextArguments } from "./read-text-arguments.js";

/** Contract: returns the schemas that edited arguments of the tool must match. Undefined accepts all arguments. */
type SchemasFor = (toolName: string) => readonly unknown[];

/**
 * Asks again for edited arguments that the tool or `argsSchema` would refuse, because the human wrote them and not the model. Text is
 * accepted where the tool expects another type, because chat UIs send every edited field as text.
 */
export async function checkEdits(
  answer: ReadAnswer,
  tasks: readonly ToolTask[],
  schemasFor: SchemasFor,
): Promise<ReadAnswer> {
  if (answer.kind === "refused") return answer;
  const decisions: Decision[] = [];
  for (const [index, decision] of answer.decisions.entries()) {
    if (decision.type !== "edit") {
      decisions.push(decision);
      continue;
    }
    const { name, args: given } = decision.edited_action;
    const schemas = schemasFor(name);
    let args = given;
    for (const schema of schemas) args = await readTextArguments(args, tasks[index]?.args ?? {}, schema);
    for (const schema of schemas) {
      const issue = await findArgumentIssue(schema, args);
      if (issue === undefined) continue;
      const place = ["decisions", index, "edited_action", "args", ...issue.path].join(".");
      return { kind: "refused", problem: `\`${place}\`: ${issue.message}` };
    }
    decisions.push({ ...decision, edited_action: { name, args } });
  }
  return { kind: "decisions", decisions };
}
