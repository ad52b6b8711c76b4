import type { StructuredToolInterface } from "@langchain/core/tools";
import type { ToolTask } from "../tools/tool-task.js";
import type { Decision, ReadAnswer } from "./approval-request.js";
import { findArgumentIssue } from "./argument-issue.js";
import { readTextArguments } from "./read-text-arguments.js";

type ToolsByName = ReadonlyMap<string, StructuredToolInterface>;

/**
 * Asks again for edited arguments that the tool would refuse, because the human wrote them and not the model. Text is
 * accepted where the tool expects another type, because chat UIs send every edited field as text.
 */
export async function checkEdits(
  answer: ReadAnswer,
  tasks: readonly ToolTask[],
  toolsByName: ToolsByName,
): Promise<ReadAnswer> {
  if (answer.kind === "refused") return answer;
  const decisions: Decision[] = [];
  for (const [index, decision] of answer.decisions.entries()) {
    if (decision.type !== "edit") {
      decisions.push(decision);
      continue;
    }
    const { name, args: given } = decision.edited_action;
    const schema: unknown = toolsByName.get(name)?.schema;
    const args = await readTextArguments(given, tasks[index]?.args ?? {}, schema);
    const issue = await findArgumentIssue(schema, args);
    if (issue !== undefined) {
      const place = ["decisions", index, "edited_action", "args", ...issue.path].join(".");
      return { kind: "refused", problem: `\`${place}\`: ${issue.message}` };
    }
    decisions.push({ ...decision, edited_action: { name, args } });
  }
  return { kind: "decisions", decisions };
}
