/** Text that is markup. Everything else in a template is text, and cannot become markup. */

const SPECIAL: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  static of(value: Part): string {
    if (typeof value === "string")
      return value.replaceAll(/[&<>"']/g, (character) => SPECIAL[character] ?? "");
    if (typeof value === "number") return String(value);
    if (typeof value !== "object" || value === null) return "";
    return #text in value ? value.#text : value.map(Markup.of).join("");
  }
}

type Part = Markup | string | number | false | null | undefined | readonly Part[];

/** Makes markup from a template. False, null and undefined are nothing. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(texts.map((text, index) => text + Markup.of(parts[index])).join(""));
}
