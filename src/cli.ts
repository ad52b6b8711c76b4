#!/usr/bin/env node
/** The program `langgraph-tether`. */

import "./shared/check-node.js";
import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { text as readToEnd } from "node:stream/consumers";
import { EXIT, type TextOutput } from "./doctor/command/command-io.js";
import { ONLY_GRAPH, runCommandLine, stackOf } from "./doctor/command/run-command-line.js";
import { serveInspector } from "./inspector/serve.js";
import { printableLine } from "./shared/text.js";

const { stdin, stdout, stderr } = process;

/** Waits until a slow reader has taken what was written. A reader that has left, such as `head`, ends nothing. */
function outputTo(stream: NodeJS.WriteStream): TextOutput & { readonly failure: () => string | undefined } {
  const write = stream.write.bind(stream);
  // One for all writes: each listener that is left behind counts.
  const closed = once(stream, "close").catch(() => {});
  let isClosed = false;
  let failure: string | undefined;
  stream.on("error", (error: NodeJS.ErrnoException) => {
    isClosed = true;
    // Such as a full disk. A cut report must not look complete.
    if (error.code !== "EPIPE") failure ??= error.message;
  });
  return {
    failure: () => failure,
    isTerminal: stream.isTTY === true,
    // It asks the environment too, such as NO_COLOR.
    hasColours: stream.isTTY === true && stream.hasColors(),
    write: async (text) => {
      if (isClosed || write(text)) return;
      await Promise.race([once(stream, "drain"), closed]).catch(() => {});
    },
  };
}

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: stdin, output: stderr });
  // Ctrl+C is a no. Without a listener, it would only pause.
  lines.on("SIGINT", () => lines.close());
  const closed = once(lines, "close").then(() => "");
  const answer = await Promise.race([lines.question(question), closed]);
  lines.close();
  return answer;
}

async function main(): Promise<void> {
  const [output, errors] = [outputTo(stdout), outputTo(stderr)];
  const flush = stdout.write.bind(stdout);
  // The user's graph runs in this process. What it prints must not get into the report.
  stdout.write = stderr.write.bind(stderr);
  for (const name of ["log", "info", "debug"] as const) console[name] = console.error;
  // LangChain prints the first for each stored message whose calls its client has not read. It is advice for the program
  // that wrote the message. LangGraph prints the second for each read of a thread of another graph, which is a finding.
  console.warn = (...words) => {
    if (!/^(?:New LangChain packages are available|Ignoring unknown node name)/.test(String(words[0])))
      console.error(...words);
  };
  const interrupted = new AbortController();
  process.on("SIGINT", () => {
    // A second one does not wait.
    if (interrupted.signal.aborted) process.exit(130);
    interrupted.abort();
  });
  // The user's graph runs in this process. Node's own exit code would say that there are findings.
  process.on("uncaughtException", (error) => {
    const isServer = Object(error).syscall === "listen";
    const text = isServer
      ? `The file of your graph starts a server, which fails: ${printableLine(String(error.message))}. ${ONLY_GRAPH}\n`
      : `${stackOf(error)}\n`;
    stderr.write(text, () => process.exit(isServer ? EXIT.usage : EXIT.ownFault));
  });
  const code = await runCommandLine(process.argv.slice(2), {
    output,
    errors,
    readInput: () => readToEnd(stdin),
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    ask,
    // biome-ignore lint/style/noProcessEnv: the program is where the environment enters.
    environment: process.env,
    folder: process.cwd(),
    serveInspector,
    signal: interrupted.signal,
    now: Date.now,
  });
  // The user's graph can keep connections, and so the process, alive. What was written has been taken by then.
  flush("", () => {
    const failure = output.failure();
    const text = failure === undefined ? "" : `The output cannot be written: ${failure}\n`;
    stderr.write(text, () => process.exit(failure !== undefined && code === EXIT.sound ? EXIT.usage : code));
  });
}

void main();
