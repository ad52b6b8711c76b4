import type { Client, Command, Message } from "@langchain/langgraph-sdk";
import { isAgentEvent } from "../terminal/describe-event.js";
import { RUN_STREAM_MODES, type RunPart, RunPrinter } from "../terminal/run-printer.js";
import type { Style } from "../terminal/style.js";
import { threadLines } from "../terminal/thread-lines.js";
import { findQuestion, type Question, questionLines, readDecision } from "./approval.js";
import { COMMAND_HELP, readCommand, type TypedCommand } from "./command.js";

export interface ChatSessionOptions {
  readonly client: Client;
  readonly style: Style;
  /** Contract: appends to the output; must not throw. */
  readonly write: (text: string) => void;
  /** The width of the lines of a thread, in columns. */
  readonly readWidth: () => number;
  /** Whether the tokens of each run are printed at its end. */
  readonly tellsUsage: boolean;
}

const GRAPH = "agent";

/** A chat between the user and one thread of the served graph. */
export class ChatSession {
  readonly #client: Client;
  readonly #style: Style;
  readonly #options: ChatSessionOptions;
  #printer: RunPrinter;
  #threadId: string;
  /** The question that the thread waits for. */
  #question: Question | undefined;
  #run: { id: string | undefined; isCancelled: boolean } | undefined;

  private constructor(options: ChatSessionOptions, threadId: string) {
    this.#client = options.client;
    this.#style = options.style;
    this.#options = options;
    this.#threadId = threadId;
    this.#printer = this.#createPrinter();
  }

  /** @throws if the server does not know the thread. */
  static async open(options: ChatSessionOptions, threadId?: string): Promise<ChatSession> {
    const { client } = options;
    const { thread_id } =
      threadId === undefined ? await client.threads.create() : await client.threads.get(threadId);
    const session = new ChatSession(options, thread_id);
    if (threadId !== undefined) await session.#readQuestion();
    return session;
  }

  get threadId(): string {
    return this.#threadId;
  }

  /** Handles one message or command of the user. @returns whether the chat continues. */
  async take(line: string): Promise<boolean> {
    const text = line.trim();
    if (text === "") return true;
    const command = readCommand(text);
    if (command?.name === "quit") return false;
    await this.#attempt(() =>
      command === undefined
        ? this.#stream({ input: { messages: [{ role: "user", content: text }] } })
        : this.#obey(command),
    );
    return true;
  }

  /** Cancels the run. @returns whether there was a run that had not been cancelled yet. */
  interrupt(): boolean {
    if (this.#run === undefined || this.#run.isCancelled) return false;
    this.#run.isCancelled = true;
    if (this.#run.id !== undefined) this.#cancel(this.#run.id);
    return true;
  }

  async #obey(command: TypedCommand): Promise<void> {
    const typed = readDecision(command, this.#question);
    if (typed.kind === "mistake") return this.#printer.printLine(typed.message);
    if (typed.kind === "decision") {
      const answer = { [this.#question?.id ?? ""]: { decisions: [typed.decision] } };
      return this.#stream({ command: { resume: answer } });
    }
    switch (command.name) {
      case "help":
        return this.#printer.printLine(COMMAND_HELP);
      case "history":
        return this.#printHistory();
      case "new":
        if (command.words === "") return this.#beginThread();
        return this.#printer.printLine(
          "/new takes no text. Send your message after the new thread has begun.",
        );
      default:
        return this.#printer.printLine(`There is no command /${command.name}. /help lists the commands.`);
    }
  }

  async #stream(payload: { input: { messages: object[] } } | { command: Command }): Promise<void> {
    const run: { id: string | undefined; isCancelled: boolean } = { id: undefined, isCancelled: false };
    this.#run = run;
    try {
      const parts = this.#client.runs.stream(this.#threadId, GRAPH, {
        ...payload,
        streamMode: [...RUN_STREAM_MODES],
        // The server sends the id only when the run begins, so the run may already be cancelled.
        onRunCreated: ({ run_id }) => {
          run.id = run_id;
          if (run.isCancelled) this.#cancel(run_id);
        },
      });
      // A cancelled run may end with an error, or without any notice. A finished run has sent its end event.
      let isDone = false;
      for await (const part of parts) {
        const error = this.#printer.print(part);
        isDone ||= isRunEnd(part);
        if (error !== undefined && !run.isCancelled) this.#printError(error);
      }
      if (run.isCancelled && !isDone) this.#printer.printLine(this.#style("red", "  ✗ cancelled"));
    } finally {
      this.#run = undefined;
      this.#printer.endRun();
    }
    await this.#readQuestion();
  }

  async #readQuestion(): Promise<void> {
    this.#question = findQuestion(await this.#client.threads.getState(this.#threadId));
    if (this.#question === undefined) return;
    for (const line of questionLines(this.#question))
      this.#printer.printLine(this.#style("yellow", `  ? ${line}`));
  }

  /** The run's stream reports its end. A run that has already ended cannot be cancelled. */
  #cancel(runId: string): void {
    this.#client.runs.cancel(this.#threadId, runId).catch(() => {});
  }

  async #printHistory(): Promise<void> {
    const { values } = await this.#client.threads.getState<{ messages?: Message[] }>(this.#threadId);
    const lines = threadLines(values.messages ?? [], {
      style: this.#style,
      width: this.#options.readWidth(),
    });
    this.#printer.printLine(lines.join("\n") || "The thread is empty.");
  }

  async #beginThread(): Promise<void> {
    const { thread_id } = await this.#client.threads.create();
    this.#threadId = thread_id;
    this.#question = undefined;
    this.#printer = this.#createPrinter();
    this.#printer.printLine(`Thread ${thread_id}`);
  }

  #createPrinter(): RunPrinter {
    const { write, style, tellsUsage } = this.#options;
    return new RunPrinter({ write, style, tellsUsage });
  }

  /** Prints an error, and lets the chat continue. */
  async #attempt(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#printError(error instanceof Error ? error.message : String(error));
    }
  }

  #printError(message: string): void {
    this.#printer.printLine(this.#style("red", `  ✗ error: ${message}`));
  }
}

function isRunEnd({ event, data }: RunPart): boolean {
  return event === "custom" && isAgentEvent(data) && data.type === "run-end";
}
