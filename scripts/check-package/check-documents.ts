/** Checks that every block of TypeScript in the documents compiles under `strict`, as a reader has it. */

import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { BrokenDoorError } from "./broken-door-error.js";
import type { Consumer } from "./install-consumer.js";
import { REPOSITORY, tryCommand } from "./run-command.js";

/** What the blocks import, beside what the README installs and other checks have installed. */
const PACKAGES = [
  "@langchain/google",
  "@langchain/langgraph-checkpoint-postgres",
  "@langchain/langgraph-sdk",
  "@langchain/mcp-adapters",
  "@langchain/mistralai",
  "@langchain/openai",
  "@opentelemetry/api",
  "@types/pg",
  "@types/react",
  "deepagents",
  "hono",
  "langchain",
  "pg",
  "react",
];

/** Files of the reader that blocks import. */
const FILES: Readonly<Record<string, string>> = {
  "agent.ts": `
    import { MemorySaver } from "@langchain/langgraph";
    import { createAgentGraph } from "langgraph-tether";
    export const graph = createAgentGraph({ model: "offline:", checkpointer: new MemorySaver() });
    export const agent = graph;
  `,
  "tools.ts": `
    import { tool } from "@langchain/core/tools";
    import { z } from "zod";
    const schema = z.object({ city: z.string() });
    export const sky = tool(({ city }) => city, { name: "sky", description: "Looks at the sky.", schema });
  `,
};

/**
 * What a block may use without a word: what an earlier block has, and what is the reader's own. A block that declares a
 * name of its own hides the one here.
 */
const PRELUDE = `
  import type { BaseMessage } from "@langchain/core/messages";
  import type { StructuredToolInterface } from "@langchain/core/tools";
  import type { LangGraphRunnableConfig } from "@langchain/langgraph";
  import type { z as zod } from "zod";

  declare global {
    ${valuesOf("langgraph-tether", "askModel", "chatMiddleware", "createAgentGraph", "ModelError", "postgresThreadLock", "readFullHistory", "repairHistory", "TetherError", "toModelInput")}
    ${valuesOf("langgraph-tether/langchain", "tetherMiddleware", "tetherState")}
    ${valuesOf("@langchain/core/messages", "SystemMessage", "HumanMessage")}
    ${valuesOf("@langchain/core/tools", "tool")}
    ${valuesOf("@langchain/langgraph", "Command", "MemorySaver", "REMOVE_ALL_MESSAGES")}
    ${valuesOf("@langchain/langgraph-sdk/react", "useStream")}
    ${valuesOf("@langchain/mistralai", "ChatMistralAI")}
    ${valuesOf("langchain", "createAgent")}
    ${valuesOf("zod", "z")}
    const pg: typeof import("pg");
    type Message = import("@langchain/langgraph-sdk").Message;
    type ToolRuntime = import("langchain").ToolRuntime;

    const model: import("@langchain/openai").ChatOpenAI;
    const tools: StructuredToolInterface[];
    const pay: StructuredToolInterface;
    const weather: StructuredToolInterface;
    const checkpointer: import("@langchain/langgraph").MemorySaver;
    const store: import("@langchain/langgraph").InMemoryStore;
    const agent: import("langgraph-tether").AgentGraph;
    const client: import("@langchain/langgraph-sdk").Client;
    const schema: zod.ZodObject<{ question: zod.ZodString; amount: zod.ZodNumber }>;
    const systemPrompt: string;
    const state: { messages: BaseMessage[] };
    const messages: BaseMessage[];
    const message: Message;
    const content: string;
    const input: { messages: string };
    const thread: LangGraphRunnableConfig;
    const thread_id: string;
    var threadId: string;
    const checkpoint_id: string;
    const apiUrl: string;
    const connectionString: string;
    function add(row: object): Promise<void>;
    function askInChat(question: string): Promise<string>;
    function charge(amount: number, options: { idempotencyKey: string | undefined }): Promise<string>;
  }
`;

function valuesOf(entry: string, ...names: readonly string[]): string {
  return names.map((name) => `const ${name}: typeof import("${entry}").${name};`).join("\n    ");
}

const BLOCK = /^( *)```ts(?: run)?\n([\s\S]*?)^ *```/gm;

interface Block {
  /** Such as `docs-production-47`, after the page and the line. */
  readonly name: string;
  readonly code: string;
}

async function readBlocks(): Promise<readonly Block[]> {
  const names = await readdir(join(REPOSITORY, "docs"));
  const pages = ["README.md", ...names.filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`)];
  const blocks: Block[] = [];
  for (const page of pages) {
    // Its signatures are not programs, and its examples run in `test/documents.test.ts`.
    if (page === "docs/api.md") continue;
    const text = await readFile(join(REPOSITORY, page), "utf8");
    for (const found of text.matchAll(BLOCK)) {
      const line = text.slice(0, found.index).split("\n").length;
      // Without it, a block that imports nothing would share its names with the others.
      const code = `${found[2] ?? ""}\nexport {};\n`;
      blocks.push({ name: `${page.replace(".md", "").replaceAll(/\W/g, "-")}-${line}`, code });
    }
  }
  return blocks;
}

/** The files of a project that has all blocks, by name. */
export async function documentFiles(): Promise<ReadonlyMap<string, string>> {
  const blocks = await readBlocks();
  const files = new Map(Object.entries({ ...FILES, "prelude.ts": PRELUDE }));
  for (const { name, code } of blocks) files.set(`${name}.ts`, code);
  return files;
}

/** Compiles every block in one run of the compiler. @throws BrokenDoorError for a block that does not compile. */
export async function checkDocuments(consumer: Consumer): Promise<string> {
  await consumer.install(...PACKAGES);
  const files = await documentFiles();
  await mkdir(join(consumer.folder, "documents"));
  for (const [name, text] of files) await consumer.write(`documents/${name}`, text);
  const compilerOptions = {
    target: "ES2023",
    module: "NodeNext",
    types: ["node"],
    typeRoots: [join(REPOSITORY, "node_modules/@types")],
    strict: true,
    skipLibCheck: true,
    noEmit: true,
  };
  await consumer.write("documents/package.json", '{ "private": true, "type": "module" }');
  const tsconfig = JSON.stringify({ compilerOptions, files: [...files.keys()] });
  await consumer.write("documents/tsconfig.json", tsconfig);
  const { output } = await tryCommand(consumer.folder, "tsc", ["-p", "documents", "--pretty", "false"]);
  const errors = output.split("\n").filter((line) => /error TS\d+/.test(line));
  if (errors.length > 0) throw new BrokenDoorError(`a block, named after its page and line:\n${output}`);
  return `${files.size - Object.keys(FILES).length - 1} blocks compile under strict`;
}
