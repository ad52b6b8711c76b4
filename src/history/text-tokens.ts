/**
 * Estimates how many tokens a provider counts for a text.
 *
 * A tokenizer first splits a text into pieces: a word with the space before it, up to three digits, a run of marks, a
 * run of spaces. Then it splits the pieces that are not in its vocabulary. This function reads a text once, finds the
 * same pieces, and adds the average tokens for their kind and length. The weights were fitted to OpenAI's `o200k`.
 */

const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const SPACE = 4;
const LINE_END = 5;
const MARK = 6;
/**
 * Every character that is not ASCII. That includes letters with accents, so the rest of their word counts as another
 * one.
 */
const OTHER = 0;
/** The end of what is read. */
const END = 7;

const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) return LOWER;
  if (/[A-Z]/.test(character)) return UPPER;
  if (/[0-9]/.test(character)) return DIGIT;
  if (/[\n\r]/.test(character)) return LINE_END;
  return /\s/.test(character) ? SPACE : MARK;
});

/** The tokens of a word with this many letters. Each further letter adds `PER_LETTER`. */
const WORD = [0, 1, 1, 1, 1, 1.05, 1.1, 1.15, 1.2, 1.25, 1.35, 1.45, 1.6];
const LONG_WORD = 1.75;
const PER_LETTER = 0.25;
/** A mark directly before a word is often one token with it, such as `.get` and `_id`. */
const MARK_BEFORE_WORD = 0.5;
/** What a run of marks adds for each mark that differs from the one before, and for each mark. */
const PER_OTHER_MARK = 0.15;
const PER_MARK = 1 / 16;
const PER_SPACE = 1 / 50;
const DIGITS_PER_TOKEN = 3;

/** A longer run of letters and digits in this many pieces is not a word or name, but base64 or an id. */
const LONGEST_NAME = 12;
const PIECES_OF_RANDOM = 0.25;
const ALL_KINDS = (1 << LOWER) | (1 << UPPER) | (1 << DIGIT);
const PER_RANDOM = 0.68;

/** Tokens per UTF-16 unit of other characters, up to this one. */
const SCRIPTS: readonly (readonly [before: number, tokens: number])[] = [
  [0x00c0, 0.9], // signs of Latin-1
  [0x0100, 0.2], // Latin letters with accents.
  [0x0250, 0.8], // such letters of Polish, Czech, Turkish
  [0x0370, 0.6], // combining marks
  [0x0400, 0.42], // Greek
  [0x0530, 0.28], // Cyrillic
  [0x0590, 0.6], // Armenian
  [0x0600, 0.4], // Hebrew
  [0x0780, 0.31], // Arabic
  [0x0900, 0.8],
  [0x0980, 0.34], // Devanagari
  [0x0e00, 0.4], // other Indic scripts
  [0x0e80, 0.37], // Thai
  [0x1000, 0.6],
  [0x1100, 0.5], // Burmese, Georgian
  [0x1e00, 0.8],
  [0x2000, 0.55], // letters of Vietnamese
  [0x2e80, 0.9], // punctuation, symbols, arrows, boxes
  [0x3040, 0.75], // punctuation of Chinese
  [0x3100, 0.72], // kana
  [0xa000, 0.73], // ideographs
  [0xac00, 0.8],
  [0xd7b0, 0.73], // Hangul
  [0x10000, 0.9], // pairs of units, such as emoji, and wide forms
];

/** The same by blocks of 16 characters. */
const BLOCKS = Float64Array.from(
  { length: 0x1000 },
  (_, block) => SCRIPTS.find(([before]) => block * 16 < before)?.[1] ?? 1,
);

/**
 * Up to this length a text is read whole. After that, the first part of each block stands for the block. The block
 * length is a prime, so that few lists have records of that length.
 */
const READ_WHOLE = 2_000;
const BLOCK = 1_511;
const PART = 250;

/** Estimates a text's tokens. A longer beginning never has fewer than a shorter one. */
export function countTextTokens(text: string): number {
  const { length } = text;
  let tokens = tokensBetween(text, 0, Math.min(length, READ_WHOLE));
  for (let start = READ_WHOLE; start < length; start += BLOCK) {
    const end = Math.min(start + PART, length);
    const blockEnd = Math.min(start + BLOCK, length);
    tokens += (tokensBetween(text, start, end) * (blockEnd - start)) / (end - start);
  }
  return Math.ceil(tokens);
}

/** Goes from one run of like characters to the next. In each turn, every message of a thread is read. */
function tokensBetween(text: string, from: number, to: number): number {
  let tokens = 0;
  let capitals = 0;
  let isAfterMarks = false;
  /**
   * The letters and digits read so far: their beginning, the tokens before it, the number of pieces, and their kinds.
   */
  let first = 0;
  let before = 0;
  let pieces = 0;
  let kinds = 0;
  let kind = from < to ? kindOf(text.charCodeAt(from)) : END;
  for (let start = from, end = from; start < to; start = end) {
    let next = kind;
    // Reading past the end would make every read slower.
    for (end += 1; end < to; end += 1) {
      next = kindOf(text.charCodeAt(end));
      if (next !== kind) break;
    }
    if (end === to) next = END;
    const run = end - start;
    if (isAlphanumeric(kind)) {
      if (kinds === 0) [first, before] = [start, tokens];
      // A word can begin with capitals.
      const isBeginning = kind === UPPER && next === LOWER;
      if (kind === DIGIT) tokens += Math.ceil(run / DIGITS_PER_TOKEN);
      else if (!isBeginning) tokens += tokensOfWord(capitals + run);
      capitals = isBeginning ? run : 0;
      if (!isBeginning) pieces += 1;
      kinds |= 1 << kind;
      if (!isAlphanumeric(next)) {
        if (isRandom(end - first, pieces, kinds))
          tokens = Math.max(tokens, before + (end - first) * PER_RANDOM);
        pieces = 0;
        kinds = 0;
      }
    } else if (kind === SPACE) {
      // The last space belongs to the word or marks after it. All spaces before a line's end belong to that end.
      const isLone = run > 1 || next === DIGIT || next === END;
      if (isLone && next !== LINE_END) tokens += 1 + run * PER_SPACE;
    } else if (kind === MARK) {
      const isBeforeWord = run === 1 && (next === LOWER || next === UPPER);
      tokens += isBeforeWord ? MARK_BEFORE_WORD : tokensOfMarks(text, start, end);
    } else if (kind === OTHER) {
      for (let index = start; index < end; index += 1) tokens += BLOCKS[text.charCodeAt(index) >> 4] ?? 1;
    } else if (!isAfterMarks) {
      // Otherwise the line's end belongs to the marks.
      tokens += 1 + run * PER_SPACE;
    }
    isAfterMarks = kind === MARK;
    kind = next;
  }
  return tokens;
}

function kindOf(code: number): number {
  return code < 128 ? (KINDS[code] ?? OTHER) : OTHER;
}

function isAlphanumeric(kind: number): boolean {
  return kind > OTHER && kind <= DIGIT;
}

function isRandom(length: number, pieces: number, kinds: number): boolean {
  return length > LONGEST_NAME && kinds === ALL_KINDS && pieces > length * PIECES_OF_RANDOM;
}

function tokensOfWord(letters: number): number {
  return WORD[letters] ?? LONG_WORD + (letters - WORD.length) * PER_LETTER;
}

function tokensOfMarks(text: string, start: number, end: number): number {
  let others = 0;
  for (let index = start + 1; index < end; index += 1)
    if (text.charCodeAt(index) !== text.charCodeAt(index - 1)) others += 1;
  return 1 + others * PER_OTHER_MARK + (end - start) * PER_MARK;
}
