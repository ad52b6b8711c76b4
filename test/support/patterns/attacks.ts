/** Texts that are hard for one pattern. They are built from its own parts, and grow. */

import type { AST } from "@eslint-community/regexpp";
import { countMatching, MOST_STEPS, parsePattern } from "./count-matching.js";

/** A text by its size. */
interface Attack {
  readonly title: string;
  readonly build: (size: number) => string;
}

const SIZE = 8;
/** A repetition with an upper bound, such as `{0,60}`, costs its bound at each place. Longer texts show that. */
const LONG_SIZE = 64;
/** Linear work grows by 4. */
const MOST_GROWTH = 6;
/** Many of the first hard texts are of one kind. */
const MOST_FOUND = 3;

/** The texts whose matching takes more than in proportion to their length, with the steps that show it. */
export function slowTexts(pattern: RegExp): readonly string[] {
  const found: string[] = [];
  for (const { title, build } of attacksOn(pattern)) {
    const grows = (size: number): boolean => {
      const few = countMatching(pattern, build(size));
      const many = few > MOST_STEPS ? few : countMatching(pattern, build(4 * size));
      return many > MOST_STEPS || many > MOST_GROWTH * few;
    };
    if (grows(SIZE) && grows(LONG_SIZE)) found.push(title);
    if (found.length === MOST_FOUND) break;
  }
  return found;
}

/** What a class of characters is tried with: other patterns' signs, blanks, letters of several scripts, and halves. */
const CHARACTERS = [..."aA0_-.,:;/\\|<>=&?!#%@+*^$~`'\"()[]{} \n\té汉\u2028\u001a\ud83d"];
/** A text that ends so matches few patterns. */
const ENDS = ["", "\u0001", "\n\u0001"];
const MOST_TOKENS = 8;

/** Repeated parts after each beginning, pairs of parts by turns, and one part's run after another's. */
export function attacksOn(pattern: RegExp): readonly Attack[] {
  const { alternatives } = parsePattern(pattern);
  const read: Read = {
    tokens: new Set(),
    beginnings: new Set([""]),
    ends: new Set(),
    members: membersIn(pattern),
  };
  const whole = alternatives.flatMap((alternative) => textsOf(read, alternative.elements, ""));
  for (const text of whole) read.tokens.add(text).add(text.slice(0, -1));
  // Whole parts say more about a pattern than the characters of its classes.
  const tokens = [...read.tokens].filter((token) => token !== "");
  const [parts, characters] = [tokens.filter(isLong), tokens.filter((token) => !isLong(token))];
  const chosen = [...spread(parts, MOST_TOKENS), ...spread(characters, MOST_TOKENS)];
  const beginnings = spread([...read.beginnings], MOST_TOKENS);
  read.ends.delete("");
  const ends = [...ENDS, ...spread([...read.ends], ENDS.length)];
  const attacks: Attack[] = [];
  const add = (title: string, build: Attack["build"]): void => {
    for (const end of ends)
      attacks.push({ title: `${title}, then ${JSON.stringify(end)}`, build: (size) => build(size) + end });
  };
  for (const beginning of beginnings) {
    for (const token of chosen) {
      add(`${quote(beginning)} and many ${quote(token)}`, (size) => beginning + token.repeat(size));
      add(`many of ${quote(beginning + token)}`, (size) => (beginning + token).repeat(size));
    }
  }
  for (const [index, one] of chosen.entries())
    for (const other of chosen.slice(index + 1)) {
      add(`many ${quote(one)}${quote(other)}`, (size) => (one + other).repeat(size));
      add(`many ${quote(one)}, many ${quote(other)}`, (size) => one.repeat(size) + other.repeat(size));
    }
  return attacks;
}

const isLong = (token: string): boolean => token.length > 1;
const quote = (text: string): string => JSON.stringify(text);

/** Some of a long list, from all of its parts. */
function spread(list: readonly string[], most: number): readonly string[] {
  return list.length <= most ? list : list.filter((_, index) => (index * most) % list.length < most);
}

interface Read {
  /** Texts that a part matches. */
  readonly tokens: Set<string>;
  /** What comes before a repeated part. */
  readonly beginnings: Set<string>;
  /** Characters that a class has not. */
  readonly ends: Set<string>;
  /** Characters that a class has, and one that it has not. */
  readonly members: (raw: string) => { readonly members: readonly string[]; readonly other: string };
}

/** A short and a long text that these parts match. What stands before a repetition is noted. */
function textsOf(read: Read, elements: readonly AST.Element[], before: string): readonly string[] {
  let short = "";
  let long = "";
  for (const element of elements) {
    const [first = "", last = first] = textsOfElement(read, element, before + long);
    short += element.type === "Quantifier" && element.min === 0 ? "" : first;
    long += last;
  }
  return [short, long];
}

function textsOfElement(read: Read, element: AST.Element, before: string): readonly string[] {
  switch (element.type) {
    case "Group":
    case "CapturingGroup": {
      const texts = element.alternatives.flatMap(({ elements }) => textsOf(read, elements, before));
      for (const text of texts) read.tokens.add(text);
      return [texts[0] ?? "", texts.at(-1) ?? ""];
    }
    case "Quantifier": {
      read.beginnings.add(before);
      const [first = "", last = first] = textsOfElement(read, element.element, before);
      read.tokens.add(first).add(last);
      const least = Math.max(element.min, 1);
      return [first.repeat(least), last.repeat(least)];
    }
    case "Assertion":
      if ("alternatives" in element) {
        const texts = element.alternatives.flatMap(({ elements }) => textsOf(read, elements, before));
        for (const text of texts) read.tokens.add(text);
        if (element.kind === "lookbehind") for (const text of texts) read.beginnings.add(text);
      }
      return [""];
    default: {
      const { members, other } = read.members(element.raw);
      if (element.type !== "Character") read.ends.add(other);
      for (const member of members) read.tokens.add(member);
      return [members[0] ?? "", members.at(-1) ?? ""];
    }
  }
}

/** Up to three characters of a class: blanks and signs also match other parts. */
function membersIn(pattern: RegExp): Read["members"] {
  const flags = pattern.flags.replaceAll(/[gmyd]/g, "");
  return (raw) => {
    const one = new RegExp(`^(?:${raw})$`, flags);
    const known = CHARACTERS.filter((character) => one.test(character));
    const chosen =
      known.length === 0
        ? [String.fromCodePoint(codeOf(one) ?? 0)]
        : [known[0], known[known.length >> 1], known.at(-1)];
    const other = CHARACTERS.find((character) => !one.test(character)) ?? "";
    return { members: [...new Set(chosen)].filter((character) => character !== undefined), other };
  };
}

/** The first character that matches. */
function codeOf(one: RegExp): number | undefined {
  for (let code = 1; code <= 0xffff; code += 1) if (one.test(String.fromCodePoint(code))) return code;
  return undefined;
}
