import type { Client, Command, Message } from "@langchain/langgraph-sdk";
import { RUN_STREAM_MODES, RunPrinter } from "../terminal/run-printer.js";
import { readWidth, type Style } from "../terminal/style.js";
import { threadLines } from "../terminal/thread-lines.js";
import { APPROVAL_HELP, findQuestion, type Question, questionLines, readDecision } from "./approval.js";

export interface ChatSessionOptions {
  readonly client: Client;
  readonly style: Style;
  readonly output: NodeJS.WriteStream;
}

const GRAPH = "agent";
const HELP = `/history  shows the thread
/new      begins a new thread
${APPROVAL_HELP}
/help     shows these lines
/quit     ends the chat, as Ctrl-D and Ctrl-C do; during a run, Ctrl-C cancels the run`;

/** What goes on between the user and one thread of the served graph. */
export class ChatSession {
  readonly #client: Client;
  readonly #style: Style;
  readonly #output: NodeJS.WriteStream;
  #printer: RunPrinter;
  #threadId: string;
  /** What the thread waits for. */
  #question: Question | undefined;
  #run: { id: string | undefined; isCancelled: boolean } | undefined;

  private constructor(options: ChatSessionOptions, threadId: string) {
    this.#client = options.client;
    this.#style = options.style;
    this.#output = options.output;
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

  /** Takes one line of the user. @returns whether the chat goes on. */
  async take(line: string): Promise<boolean> {
    const text = line.trim();
    const typed = readDecision(text, this.#question);
    if (typed.kind === "mistake") this.#printer.printLine(typed.message);
    if (typed.kind === "decision") {
      const answer = { [this.#question?.id ?? ""]: { decisions: [typed.decision] } };
      await this.#attempt(() => this.#stream({ command: { resume: answer } }));
    }
    if (typed.kind !== "other") return true;
    switch (text) {
      case "":
        return true;
      case "/quit":
        return false;
      case "/help":
        this.#printer.printLine(HELP);
        return true;
      case "/history":
        await this.#attempt(() => this.#printHistory());
        return true;
      case "/new":
        await this.#attempt(() => this.#beginThread());
        return true;
      default:
        if (/^\/\w*$/u.test(text))
          this.#printer.printLine(`There is no command ${text}. /help shows those that are.`);
        else
          await this.#attempt(() => this.#stream({ input: { messages: [{ role: "user", content: text }] } }));
        return true;
    }
  }

  /** Cancels the run. @returns whether there was one that had not been cancelled yet. */
  interrupt(): boolean {
    if (this.#run === undefined || this.#run.isCancelled) return false;
    this.#run.isCancelled = true;
    if (this.#run.id !== undefined) this.#cancel(this.#run.id);
    return true;
  }

  async #stream(payload: { input: { messages: object[] } } | { command: Command }): Promise<void> {
    const run: { id: string | undefined; isCancelled: boolean } = { id: undefined, isCancelled: false };
    this.#run = run;
    try {
      const parts = this.#client.runs.stream(this.#threadId, GRAPH, {
        ...payload,
        streamMode: [...RUN_STREAM_MODES],
        // The server tells the id only when the run begins, so it may have been cancelled before.
        onRunCreated: ({ run_id }) => {
          run.id = run_id;
          if (run.isCancelled) this.#cancel(run_id);
        },
      });
      // A run that is cancelled ends with an error, or without any part; one that was done has done its work.
      let isCutOff = true;
      for await (const part of parts) {
        const error = this.#printer.print(part);
        isCutOff = error !== undefined;
        if (error !== undefined && !run.isCancelled) this.#printError(error);
      }
      if (run.isCancelled && isCutOff) this.#printer.printLine(this.#style("red", "  ✗ cancelled"));
    } finally {
      this.#run = undefined;
      this.#printer.endLine();
    }
    await this.#readQuestion();
  }

  async #readQuestion(): Promise<void> {
    this.#question = findQuestion(await this.#client.threads.getState(this.#threadId));
    if (this.#question === undefined) return;
    for (const line of questionLines(this.#question))
      this.#printer.printLine(this.#style("yellow", `  ? ${line}`));
  }

  /** The stream of the run tells that it has ended; a run that ended before cannot be cancelled any more. */
  #cancel(runId: string): void {
    this.#client.runs.cancel(this.#threadId, runId).catch(() => {});
  }

  async #printHistory(): Promise<void> {
    const { values } = await this.#client.threads.getState<{ messages?: Message[] }>(this.#threadId);
    const lines = threadLines(values.messages ?? [], { style: this.#style, width: readWidth(this.#output) });
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
    return new RunPrinter({ write: (text) => this.#output.write(text), style: this.#style });
  }

  /** A failure is told, and the chat goes on. */
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
