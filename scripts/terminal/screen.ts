import type { Style } from "./style.js";
import { textWidth } from "./text-width.js";
import { WordWrap } from "./word-wrap.js";

/** The parts of a stream that a screen needs. */
export interface ScreenStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface ScreenOptions {
  readonly stream: ScreenStream;
  readonly style: Style;
  /** The text that the user has typed during a run. Contract: must not throw. @default nothing */
  readonly readDraft?: () => string;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const FRAME_MS = 100;
/** A shorter silence is not shown. */
const SILENCE_MS = 1000;

/**
 * Writes to a terminal. Lines break between words. During a wait, the line below the text shows the seconds of
 * silence and what the user types. Any other output, such as a file, gets only the text.
 */
export class Screen {
  readonly #stream: ScreenStream;
  readonly #style: Style;
  readonly #readDraft: () => string;
  readonly #wrap: WordWrap;
  #hasStatus = false;
  #frame = 0;
  #silentSince = 0;

  constructor({ stream, style, readDraft = () => "" }: ScreenOptions) {
    this.#stream = stream;
    this.#style = style;
    this.#readDraft = readDraft;
    this.#wrap = new WordWrap(() => (stream.isTTY === true ? (stream.columns ?? 80) : undefined));
  }

  readonly write = (text: string): void => {
    this.#clearStatus();
    this.#silentSince = Date.now();
    this.#stream.write(this.#wrap.push(text));
  };

  /** Shows that something is in progress until the work has ended. */
  async whileWaiting<T>(work: () => Promise<T>): Promise<T> {
    if (this.#stream.isTTY !== true) return work();
    this.#silentSince = Date.now();
    const timer = setInterval(() => this.#showStatus(), FRAME_MS);
    try {
      return await work();
    } finally {
      clearInterval(timer);
      this.#clearStatus();
    }
  }

  #showStatus(): void {
    const silence = Date.now() - this.#silentSince;
    const draft = this.#readDraft();
    this.#clearStatus();
    if (silence < SILENCE_MS && draft === "") return;
    this.#frame = (this.#frame + 1) % FRAMES.length;
    const sign = `${FRAMES[this.#frame]} ${Math.floor(silence / 1000)} s`;
    // One column less than the terminal has, because a full line would wrap.
    const room = (this.#stream.columns ?? 80) - sign.length - 1;
    const words = this.#style("dim", sign) + endOf(draft === "" ? "" : `  ▸ ${draft}`, room);
    this.#stream.write(this.#wrap.column > 0 ? `\n${words}` : words);
    this.#hasStatus = true;
  }

  /** Moves the cursor back to the end of the text. */
  #clearStatus(): void {
    if (!this.#hasStatus) return;
    this.#hasStatus = false;
    const { column } = this.#wrap;
    this.#stream.write(column > 0 ? `\r\u001b[2K\u001b[1A\u001b[${column + 1}G` : "\r\u001b[2K");
  }
}

function endOf(text: string, width: number): string {
  let end = [...text.replace(/\s/gu, " ")];
  if (textWidth(text) <= width) return end.join("");
  while (end.length > 0 && textWidth(end.join("")) > width - 1) end = end.slice(1);
  return `…${end.join("")}`;
}
