/** Checks that a consumer's program compiles, including the declarations of all packages. */

import { join } from "node:path";
import { BrokenDoorError } from "./broken-door-error.js";
import type { Consumer } from "./install-consumer.js";
import type { Readme } from "./read-readme.js";
import { REPOSITORY, tryCommand } from "./run-command.js";
import { withoutTopLevelAwait } from "./without-top-level-await.js";

const HISTORY_PROGRAM = `
import { HumanMessage } from "@langchain/core/messages";
import * as history from "langgraph-tether/history";
import { type DialectName, type Keep, type Repair, repairHistory } from "langgraph-tether/history";

const keep: Keep = { messages: 3 };
const dialect: DialectName = "openai";
const { messages, repairs } = repairHistory([new HumanMessage("Hello")]);
const kinds: Repair["kind"][] = repairs.map(({ kind }) => kind);
export const results = [
  kinds,
  history.findSafeCutoff(messages, keep),
  history.toModelInput(messages, { dialect }),
  history.validateHistory(messages, dialect),
];
`;

/**
 * A compiler run for each. Most of its work is on the declarations of all packages, so that there are few. With the
 * resolution of Node 10, LangGraph's own entries beside its first one are not found, so declarations are not checked.
 */
const PROJECTS = [
  { title: "NodeNext", module: "NodeNext", resolution: "NodeNext", extensions: ["mts", "cts"] },
  { title: "Node16, CommonJS", module: "Node16", resolution: "Node16", extensions: ["cts"] },
  { title: "Node10, CommonJS", module: "CommonJS", resolution: "Node10", extensions: ["cts"] },
  { title: "bundler", module: "ESNext", resolution: "Bundler", extensions: ["mts"] },
] as const;

/** Checks the README's first example, and a program with every export of the history entry. */
export async function checkTypes(consumer: Consumer, readme: Readme): Promise<string> {
  return checkPrograms(consumer, { example: readme.example, history: HISTORY_PROGRAM });
}

/** Checks one program. */
export async function checkProgram(consumer: Consumer, name: string, program: string): Promise<string> {
  return checkPrograms(consumer, { [name]: program });
}

/**
 * Errors in the declarations of other packages are counted separately. With `exactOptionalPropertyTypes`, LangChain's
 * own declarations fail, so that option is off.
 */
async function checkPrograms(
  consumer: Consumer,
  programs: Readonly<Record<string, string>>,
): Promise<string> {
  const results: string[] = [];
  for (const { title, module, resolution, extensions } of PROJECTS) {
    const files: string[] = [];
    for (const extension of extensions) {
      for (const [name, program] of Object.entries(programs)) {
        const file = `${name}.${extension}`;
        const isWrapped = extension === "cts" && program.includes("await ");
        await consumer.write(file, isWrapped ? withoutTopLevelAwait(program) : program);
        files.push(file);
      }
    }
    const compilerOptions = {
      target: "ES2023",
      lib: ["ES2023"],
      module,
      moduleResolution: resolution,
      types: ["node"],
      typeRoots: [join(REPOSITORY, "node_modules/@types")],
      strict: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: resolution === "Node10",
      noEmit: true,
    };
    await consumer.write("tsconfig.json", JSON.stringify({ compilerOptions, files }));
    const { output } = await tryCommand(consumer.folder, "tsc", ["-p", ".", "--pretty", "false"]);
    results.push(`${title}: 0 errors${describeForeign(errorsOf(output, title))}`);
  }
  return results.join("; ");
}

/** The errors in other packages. @throws BrokenDoorError for errors in this package or in the consumer's program. */
function errorsOf(output: string, title: string): readonly string[] {
  const errors = output.split("\n").filter((line) => /error TS\d+/.test(line));
  const isForeign = (line: string): boolean =>
    /^node_modules\//.test(line) && !/^node_modules\/langgraph-tether\//.test(line);
  const own = errors.filter((line) => !isForeign(line));
  if (own.length > 0) throw new BrokenDoorError(`${title}:\n${own.join("\n")}`);
  return errors;
}

function describeForeign(errors: readonly string[]): string {
  return errors.length === 0 ? "" : ` (${errors.length} in other packages)`;
}
