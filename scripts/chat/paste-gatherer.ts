/** Joins lines that were pasted together into one message. */
export class PasteGatherer {
  readonly #lines: string[] = [];
  #isPasting = false;

  /** The terminal reports that the next input is pasted. */
  begin(): void {
    this.#isPasting = true;
  }

  /** The next input is typed: the next line ends the message. */
  end(): void {
    this.#isPasting = false;
  }

  /** The lines of the message so far. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  /** @returns the message, or undefined if the line does not end it. */
  take(line: string): string | undefined {
    this.#lines.push(line);
    return this.#isPasting ? undefined : this.#lines.splice(0).join("\n");
  }

  clear(): void {
    this.#lines.length = 0;
  }
}
