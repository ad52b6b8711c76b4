import { Screen } from "../terminal/screen.js";
import { createStyle, readWidth, type Style } from "../terminal/style.js";
import { WordWrap } from "../terminal/word-wrap.js";

/** The output of the demo. */
export interface Page {
  readonly style: Style;
  readonly width: number;
  readonly write: (text: string) => void;
  readonly line: (text?: string) => void;
  /** Text that is wrapped between words. */
  readonly paragraph: (text: string) => void;
  readonly heading: (text: string) => void;
}

export function createPage(stream: NodeJS.WriteStream): Page {
  const style = createStyle(stream);
  const width = readWidth(stream);
  const { write } = new Screen({ stream, style });
  const line = (text = "") => write(`${text}\n`);
  return {
    style,
    width,
    write,
    line,
    paragraph: (text) => write(new WordWrap(() => width).push(`${text}\n`)),
    heading: (text) => {
      line();
      line(style("bold", text));
      line(style("dim", "─".repeat(Math.min(width, text.length))));
    },
  };
}
