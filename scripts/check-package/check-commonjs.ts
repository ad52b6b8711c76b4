/** Checks the package in projects that are CommonJS through and through: one of NestJS's kind, and tests of Jest. */

import { join } from "node:path";
import type { Consumer } from "./install-consumer.js";
import { runCommand } from "./run-command.js";
import { comparePrinted, runProgram } from "./run-example.js";

/** As `nest new` writes it. TypeScript's resolution of Node 10 does not read `exports`. */
const NEST = {
  compilerOptions: {
    module: "commonjs",
    moduleResolution: "node10",
    target: "ES2023",
    esModuleInterop: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    strict: true,
    skipLibCheck: true,
    rootDir: ".",
    outDir: "nest",
  },
  files: ["nest.ts"],
};

const NEST_APPLICATION = `
import "reflect-metadata";
import { Injectable, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { createAgent } from "langchain";
import { type AgentGraph, createAgentGraph, createModel } from "langgraph-tether";
import { diagnoseThread } from "langgraph-tether/doctor";
import { repairHistory } from "langgraph-tether/history";
import { createInspector } from "langgraph-tether/inspector";
import { tetherMiddleware } from "langgraph-tether/langchain";

@Injectable()
class AgentService {
  readonly graph: AgentGraph = createAgentGraph({ model: "offline:" });

  async ask(content: string): Promise<string[]> {
    const messages = [
      { role: "user", content: "How is it?" },
      { role: "assistant", content: "", tool_calls: [{ id: "c1", name: "sky", args: {} }] },
      { role: "user", content },
    ] as const;
    const model = await createModel("offline:");
    const agent = createAgent({ model, tools: [], middleware: [tetherMiddleware()] });
    const results = [await this.graph.invoke({ messages }), await agent.invoke({ messages } as never)];
    return results.map((result) => result.messages.map(({ type }: { type: string }) => type).join(" "));
  }
}

@Module({ providers: [AgentService] })
class AppModule {}

void (async () => {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  console.log((await app.get(AgentService).ask("Hello?")).join("; "));
  console.log([diagnoseThread, repairHistory, createInspector].map((each) => typeof each).join(" "));
  await app.close();
})();
`;

const JEST_TEST = `
const { createAgent } = require("langchain");
const { createAgentGraph, createModel } = require("langgraph-tether");
const { tetherMiddleware } = require("langgraph-tether/langchain");
const messages = [
  { role: "user", content: "How is it?" },
  { role: "assistant", content: "", tool_calls: [{ id: "c1", name: "sky", args: {} }] },
  { role: "user", content: "Hello?" },
];
const typesOf = ({ messages }) => messages.map(({ type }) => type).join(" ");
test("a graph", async () => {
  const graph = createAgentGraph({ model: "offline:" });
  expect(typesOf(await graph.invoke({ messages }))).toBe("human ai tool human ai");
});
test("an agent of LangChain", async () => {
  const model = await createModel("offline:");
  const agent = createAgent({ model, tools: [], middleware: [tetherMiddleware()] });
  expect(typesOf(await agent.invoke({ messages }))).toBe("human ai tool human ai");
});
test("a package that is loaded when it is used", async () => {
  const environment = { OPENAI_API_KEY: "a-key-of-nobody" };
  expect((await createModel("openai:m", { environment }))._llmType()).toBe("openai");
});
`;

/** A program that imports the library in one part, and requires it in another one. */
const BOTH = `
import { createRequire } from "node:module";
import { MemorySaver } from "@langchain/langgraph";
import * as imported from "langgraph-tether";
const required = createRequire(import.meta.url)("langgraph-tether");
const checkpointer = new MemorySaver();
const run = (copy, content) =>
  copy.createAgentGraph({ model: "offline:", checkpointer })
    .invoke({ messages: [{ role: "user", content }] }, { configurable: { thread_id: "1" } });
const [, { messages }] = await Promise.all([run(imported, "one"), run(required, "two")]);
console.log(imported === required, messages.map(({ type }) => type).join(" "));
`;

/** Compiles and runs an application of NestJS. */
export async function checkNest(consumer: Consumer): Promise<string> {
  await consumer.install("@nestjs/common", "@nestjs/core", "reflect-metadata", "rxjs");
  await consumer.write("nest.ts", NEST_APPLICATION);
  await consumer.write("tsconfig.json", JSON.stringify(NEST));
  await runCommand(consumer.folder, "tsc", ["-p", "."]);
  // The project around it has the type of the README's command.
  await consumer.write(join("nest", "package.json"), '{ "type": "commonjs" }\n');
  comparePrinted(await consumer.run(join("nest", "nest.js")), [
    "human ai tool human ai; human ai tool human ai",
    "function function function",
  ]);
  return "compiled with `node10` resolution, it runs";
}

/** Runs tests of Jest, without the flag of Node that lets it load ES modules. */
export async function checkJest(consumer: Consumer): Promise<string> {
  await consumer.install("jest", "@langchain/openai");
  await consumer.write("agent.test.cjs", JEST_TEST);
  const options = ["--config", '{"testEnvironment":"node","testMatch":["**/agent.test.cjs"]}', "--ci"];
  await runCommand(consumer.folder, join("node_modules", ".bin", "jest"), options);
  return "an agent graph, an agent of LangChain and a model run in its tests";
}

/** Both copies know the queue of a thread. */
export async function checkBoth(consumer: Consumer): Promise<string> {
  await runProgram(consumer, "both", "esm", BOTH, ["false human ai human ai"]);
  return "their runs of a thread wait for one another";
}
