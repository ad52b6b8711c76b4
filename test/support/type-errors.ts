import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = resolve(fileURLToPath(import.meta.url), "../../..");

/**
 * What the compiler says of the files with the options of a user: `strict`, and none of our own. Only these files are
 * checked, not what they import.
 */
export function typeErrorsOf(files: readonly string[]): readonly string[] {
  const entry = (name: string) => [join(ROOT, `src/${name}.ts`)];
  const program = ts.createProgram([...files], {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules/@types")],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    paths: {
      "langgraph-tether": entry("index"),
      ...Object.fromEntries(
        ["history", "langchain", "doctor", "inspector"].map((name) => [
          `langgraph-tether/${name}`,
          entry(name),
        ]),
      ),
    },
  });
  return files.flatMap((file) => {
    const source = program.getSourceFile(file);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ messageText }) => `${basename(file)}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`,
    );
  });
}
