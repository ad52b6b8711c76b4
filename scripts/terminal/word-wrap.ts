import { stripVTControlCharacters } from "node:util";
import { isWide, textWidth } from "./text-width.js";

const ESCAPE = "\u001b";
/** Signs of list items and of printed run steps. The next lines are indented below the words, not below the sign. */
const SIGN = /^(?:[-*•·→←✗✓?]|\d+[.)])$/u;

/**
 * Breaks streamed text into lines between words. A word is held back until its end is known, because it may belong to
 * the next line. Without a width, everything passes unchanged.
 */
export class WordWrap {
  readonly #readWidth: () => number | undefined;
  /** The filled columns of the current line. */
  #column = 0;
  /** The indentation of the paragraph's next line. Undefined until the first word is known. */
  #indent: number | undefined;
  #gap = "";
  #word = "";
  #isInEscape = false;

  constructor(readWidth: () => number | undefined) {
    this.#readWidth = readWidth;
  }

  get column(): number {
    return this.#column;
  }

  /** @returns the text to write now. */
  push(text: string): string {
    if (this.#readWidth() === undefined) return text;
    let out = "";
    for (const character of text) out += this.#take(character);
    return out;
  }

  #take(character: string): string {
    if (this.#isInEscape || character === ESCAPE) {
      // An escape sequence of a colour ends with a letter, and fills no columns.
      this.#isInEscape = !/[a-z]/iu.test(character);
      this.#word += character;
      return "";
    }
    if (character === "\n") {
      const out = `${this.#placeWord()}\n`;
      this.#column = 0;
      this.#indent = undefined;
      this.#gap = "";
      return out;
    }
    if (character === " " || character === "\t") {
      const out = this.#placeWord();
      this.#gap += character;
      return out;
    }
    // Text in a script without spaces can break anywhere.
    const out = isWide(character) ? this.#placeWord() : "";
    this.#word += character;
    return isWide(character) ? out + this.#placeWord() : out;
  }

  #placeWord(): string {
    const [gap, word] = [this.#gap, this.#word];
    const [gapWidth, wordWidth] = [textWidth(gap), textWidth(word)];
    const width = this.#readWidth() ?? Number.POSITIVE_INFINITY;
    this.#word = "";
    if (wordWidth === 0) return word;
    this.#gap = "";
    if (this.#indent === undefined || this.#column + gapWidth + wordWidth <= width) {
      this.#indent ??= gapWidth + (SIGN.test(stripVTControlCharacters(word)) ? wordWidth + 1 : 0);
      this.#column = fill(this.#column + gapWidth + wordWidth, width);
      return gap + word;
    }
    const indent = Math.min(this.#indent, Math.floor(width / 2));
    this.#column = fill(indent + wordWidth, width);
    return `\n${" ".repeat(indent)}${word}`;
  }
}

/** The terminal itself breaks a word that is longer than a line. */
function fill(columns: number, width: number): number {
  return columns <= width ? columns : columns % width || width;
}
