import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import type { LineReader } from "./line-reader.js";
import { PasteGatherer } from "./paste-gatherer.js";

export interface TerminalReaderOptions {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream & { readonly columns?: number };
  readonly prompt: string;
  /** The prompt of the lines after the first line of a message. */
  readonly continuation: string;
  /** Called for Ctrl-C, which does not reach the process while lines are read. Contract: must not throw. */
  readonly onInterrupt: () => void;
}

/** Asks the terminal to mark pasted text, and to stop marking it. */
const MARK_PASTES = "\u001b[?2004h";
const MARK_NO_PASTES = "\u001b[?2004l";

interface ReadyMessage {
  readonly text: string;
  /** Whether the user could see the text while typing. */
  readonly wasShown: boolean;
}

/**
 * Reads text that a user types or pastes in a terminal. During a run, keys are read but not shown, because the run
 * prints. The typed text is shown when the next message is requested.
 */
export class TerminalReader implements LineReader {
  readonly #options: TerminalReaderOptions;
  readonly #lines: Interface;
  readonly #paste = new PasteGatherer();
  readonly #ready: ReadyMessage[] = [];
  #isShown = false;
  #isClosed = false;
  #deliver: ((message: ReadyMessage | undefined) => void) | undefined;

  constructor(options: TerminalReaderOptions) {
    this.#options = options;
    const { input, output, prompt, onInterrupt } = options;
    this.#lines = createInterface({ input, output: this.#createGate(), terminal: true, prompt });
    this.#lines.on("line", (line) => this.#take(line));
    this.#lines.on("SIGINT", onInterrupt);
    this.#lines.on("close", () => {
      this.#isClosed = true;
      output.write(MARK_NO_PASTES);
      this.#deliver?.(undefined);
    });
    input.on("keypress", (_text: unknown, key: { readonly name?: string } | undefined) => {
      if (key?.name === "paste-start") this.#paste.begin();
      if (key?.name === "paste-end") this.#paste.end();
    });
    output.write(MARK_PASTES);
  }

  async next(): Promise<string | undefined> {
    const message = this.#ready.shift() ?? (await this.#ask());
    if (message === undefined) return undefined;
    if (!message.wasShown) this.#show(message.text.split("\n"));
    return message.text;
  }

  readDraft(): string {
    const lines = [...this.#ready.map(({ text }) => text), ...this.#paste.lines];
    return [...lines.map((line) => `${line} ⏎`), this.#lines.line].join(" ").trim();
  }

  discardDraft(): boolean {
    if (this.#paste.lines.length === 0 && this.#lines.line === "") return false;
    this.#paste.clear();
    // The same as readline's own key for it.
    this.#lines.write(null, { ctrl: true, name: "e" });
    this.#lines.write(null, { ctrl: true, name: "u" });
    if (this.#isShown) {
      this.#options.output.write("\n");
      this.#prompt();
    }
    return true;
  }

  close(): void {
    this.#lines.close();
  }

  #ask(): Promise<ReadyMessage | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#deliver = (message) => {
        this.#deliver = undefined;
        this.#isShown = false;
        resolve(message);
      };
      this.#isShown = true;
      this.#show(this.#paste.lines);
      this.#prompt();
    });
  }

  #show(lines: readonly string[]): void {
    const { output, prompt, continuation } = this.#options;
    for (const [index, line] of lines.entries()) {
      output.write(`${index === 0 ? prompt : continuation}${line}\n`);
    }
  }

  #prompt(): void {
    const { prompt, continuation } = this.#options;
    this.#lines.setPrompt(this.#paste.lines.length === 0 ? prompt : continuation);
    this.#lines.prompt(true);
  }

  #take(line: string): void {
    const text = this.#paste.take(line);
    if (text === undefined) {
      if (this.#isShown) this.#prompt();
      return;
    }
    const message = { text, wasShown: this.#isShown };
    if (this.#deliver === undefined) this.#ready.push(message);
    else this.#deliver(message);
  }

  /** The stream that readline writes to. */
  #createGate(): NodeJS.WritableStream {
    const { output } = this.#options;
    const gate = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (this.#isShown) output.write(chunk);
        done();
      },
    });
    // Readline moves up by the number of rows that it believes to have filled. Hidden text fills none.
    Object.defineProperty(gate, "columns", { get: () => (this.#isShown ? output.columns : undefined) });
    output.on("resize", () => gate.emit("resize"));
    return gate;
  }
}
