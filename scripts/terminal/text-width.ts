import { stripVTControlCharacters } from "node:util";

const WIDE =
  /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60]/u;
const WITHOUT_WIDTH = /\p{Mark}|\p{Default_Ignorable_Code_Point}/u;

/** The number of terminal columns that a text fills. Colours fill none. */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of stripVTControlCharacters(text)) width += characterWidth(character);
  return width;
}

export function isWide(character: string): boolean {
  return WIDE.test(character);
}

function characterWidth(character: string): number {
  if (WITHOUT_WIDTH.test(character)) return 0;
  return isWide(character) ? 2 : 1;
}
