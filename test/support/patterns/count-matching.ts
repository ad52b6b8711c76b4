/**
 * Counts the steps in which a backtracking engine, as Node's is, looks for the matches of a pattern. The time that the
 * engine takes is about their number, on every machine.
 */

import { type AST, RegExpParser } from "@eslint-community/regexpp";

/** The first match from a place on, and what the search took. */
export interface Search {
  readonly steps: number;
  readonly match: { readonly start: number; readonly end: number } | undefined;
}

/** The search was given up after this many steps. No test needs as many for a linear pattern. */
export const MOST_STEPS = 6_000_000;

/** Looks for the first match from a place on. A sticky pattern is tried at that place alone. */
export function searchFrom(pattern: RegExp, text: string, from: number): Search {
  const program = programOf(pattern);
  const machine: Machine = { text, isUnicode: /[uv]/.test(pattern.flags), steps: 0 };
  for (let start = from; start <= text.length; start = next(machine, start, 1)) {
    const end = run(machine, program, start);
    if (end !== undefined) return { steps: machine.steps, match: { start, end } };
    if (machine.steps > MOST_STEPS || pattern.sticky) break;
  }
  return { steps: machine.steps, match: undefined };
}

/** The steps in which all matches are found, as `matchAll`, `replaceAll` and `split` look for them. */
export function countMatching(pattern: RegExp, text: string): number {
  let steps = 0;
  for (let from = 0; from <= text.length; ) {
    const search = searchFrom(pattern, text, from);
    steps += search.steps;
    if (search.match === undefined || steps > MOST_STEPS) break;
    from = Math.max(search.match.end, search.match.start + 1);
  }
  return steps;
}

/*
 * A pattern as a program. Where two ways are open, the machine takes the first and comes back for the second.
 */

type Test = (character: string) => boolean;

type Instruction =
  | { readonly kind: "character"; readonly test: Test; readonly direction: Direction }
  | { readonly kind: "assert"; readonly holds: (machine: Machine, place: number) => boolean }
  | { readonly kind: "look"; readonly program: Program; readonly isNegative: boolean }
  | { readonly kind: "fork"; readonly first: number; readonly second: number }
  | { readonly kind: "jump"; readonly to: number }
  /** The beginning of a round of a loop, and its end: an empty round fails. */
  | { readonly kind: "enter"; readonly loop: number }
  | { readonly kind: "leave"; readonly loop: number };

type Program = Instruction[];
type Direction = 1 | -1;

interface Machine {
  readonly text: string;
  readonly isUnicode: boolean;
  steps: number;
}

interface Thread {
  readonly at: number;
  readonly place: number;
  /** Where the round of each loop began. */
  readonly rounds: ReadonlyMap<number, number>;
}

/** Where the match ends. Undefined if there is none at this place. */
function run(machine: Machine, program: Program, start: number): number | undefined {
  const waiting: Thread[] = [{ at: 0, place: start, rounds: new Map() }];
  for (let thread = waiting.pop(); thread !== undefined; thread = waiting.pop()) {
    let { at, place, rounds } = thread;
    for (let isAlive = true; isAlive; ) {
      const instruction = program[at];
      if (instruction === undefined) return place;
      machine.steps += 1;
      if (machine.steps > MOST_STEPS) return undefined;
      at += 1;
      switch (instruction.kind) {
        case "character": {
          const character = characterAt(machine, place, instruction.direction);
          isAlive = character !== "" && instruction.test(character);
          place += character.length * instruction.direction;
          break;
        }
        case "assert":
          isAlive = instruction.holds(machine, place);
          break;
        case "look":
          isAlive = (run(machine, instruction.program, place) === undefined) === instruction.isNegative;
          break;
        case "fork":
          waiting.push({ at: instruction.second, place, rounds });
          at = instruction.first;
          break;
        case "jump":
          at = instruction.to;
          break;
        case "enter":
          rounds = new Map(rounds).set(instruction.loop, place);
          break;
        case "leave":
          isAlive = rounds.get(instruction.loop) !== place;
          break;
      }
    }
  }
  return undefined;
}

function characterAt({ text, isUnicode }: Machine, place: number, direction: Direction): string {
  if (direction === 1) {
    const code = isUnicode ? text.codePointAt(place) : undefined;
    return code === undefined ? text.charAt(place) : String.fromCodePoint(code);
  }
  const pair = isUnicode && place > 1 ? text.slice(place - 2, place) : "";
  return pair.length === 2 && Number(pair.codePointAt(0)) > 0xffff ? pair : text.charAt(place - 1);
}

function next(machine: Machine, place: number, direction: Direction): number {
  return place + direction * Math.max(characterAt(machine, place, direction).length, 1);
}

const PROGRAMS = new Map<string, Program>();

function programOf(pattern: RegExp): Program {
  const known = PROGRAMS.get(String(pattern));
  if (known !== undefined) return known;
  const program: Program = [];
  const { alternatives } = parsePattern(pattern);
  write({ program, pattern, tests: new Map() }, alternatives, 1);
  PROGRAMS.set(String(pattern), program);
  return program;
}

export function parsePattern({ source, flags }: RegExp): AST.Pattern {
  const mode = { unicode: flags.includes("u"), unicodeSets: flags.includes("v") };
  return new RegExpParser().parsePattern(source, 0, source.length, mode);
}

interface Writer {
  readonly program: Program;
  readonly pattern: RegExp;
  readonly tests: Map<string, Test>;
}

function write(writer: Writer, alternatives: readonly AST.Alternative[], direction: Direction): void {
  const { program } = writer;
  const ends: number[] = [];
  for (const [index, { elements }] of alternatives.entries()) {
    const fork = program.length;
    const isLast = index === alternatives.length - 1;
    if (!isLast) program.push({ kind: "fork", first: fork + 1, second: -1 });
    for (const element of direction === 1 ? elements : elements.toReversed())
      writeElement(writer, element, direction);
    if (isLast) continue;
    ends.push(program.push({ kind: "jump", to: -1 }) - 1);
    program[fork] = { kind: "fork", first: fork + 1, second: program.length };
  }
  for (const end of ends) program[end] = { kind: "jump", to: program.length };
}

function writeElement(writer: Writer, element: AST.Element, direction: Direction): void {
  const { program } = writer;
  switch (element.type) {
    case "Group":
    case "CapturingGroup":
      write(writer, element.alternatives, direction);
      break;
    case "Quantifier":
      writeQuantifier(writer, element, direction);
      break;
    case "Assertion":
      program.push(assertion(writer, element));
      break;
    case "Character":
    case "CharacterSet":
    case "CharacterClass":
      program.push({ kind: "character", test: testOf(writer, element.raw), direction });
      break;
    default:
      throw new Error(`The counter does not know ${element.type}, which is in ${writer.pattern}.`);
  }
}

function writeQuantifier(
  writer: Writer,
  { min, max, greedy, element }: AST.Quantifier,
  direction: Direction,
): void {
  const { program } = writer;
  const fork = (place: number, end: number): Instruction =>
    greedy
      ? { kind: "fork", first: place + 1, second: end }
      : { kind: "fork", first: end, second: place + 1 };
  /** A round that may be left out. */
  const writeRound = (writeEnd: (begin: number) => void): number => {
    const begin = program.push({ kind: "jump", to: -1 }) - 1;
    program.push({ kind: "enter", loop: begin });
    writeElement(writer, element, direction);
    program.push({ kind: "leave", loop: begin });
    writeEnd(begin);
    return begin;
  };
  for (let round = 0; round < min; round += 1) writeElement(writer, element, direction);
  if (max === Number.POSITIVE_INFINITY) {
    const begin = writeRound((place) => program.push({ kind: "jump", to: place }));
    program[begin] = fork(begin, program.length);
    return;
  }
  const begins = Array.from({ length: max - min }, () => writeRound(() => {}));
  for (const begin of begins) program[begin] = fork(begin, program.length);
}

function assertion(writer: Writer, element: AST.Assertion): Instruction {
  const at = (machine: Machine, place: number, direction: Direction) =>
    characterAt(machine, place, direction);
  if (element.kind === "lookahead" || element.kind === "lookbehind") {
    const program: Program = [];
    write({ ...writer, program }, element.alternatives, element.kind === "lookahead" ? 1 : -1);
    return { kind: "look", program, isNegative: element.negate };
  }
  if (element.kind === "word") {
    const isWord = testOf(writer, "\\w");
    const isBoundary = (machine: Machine, place: number) =>
      isWord(at(machine, place, 1)) !== isWord(at(machine, place, -1));
    return { kind: "assert", holds: (machine, place) => isBoundary(machine, place) !== element.negate };
  }
  const isBreak = testOf(writer, "[\\n\\r\\u2028\\u2029]");
  const direction = element.kind === "end" ? 1 : -1;
  const { multiline } = writer.pattern;
  return {
    kind: "assert",
    holds: (machine, place) => {
      const character = at(machine, place, direction);
      return character === "" || (multiline && isBreak(character));
    },
  };
}

/** Asks the engine about one character. */
function testOf({ pattern, tests }: Writer, raw: string): Test {
  const known = tests.get(raw);
  if (known !== undefined) return known;
  const one = new RegExp(`^(?:${raw})$`, pattern.flags.replaceAll(/[gmyd]/g, ""));
  const answers = new Map<string, boolean>();
  const test = (character: string): boolean => {
    const answer = answers.get(character) ?? one.test(character);
    answers.set(character, answer);
    return answer;
  };
  tests.set(raw, test);
  return test;
}
