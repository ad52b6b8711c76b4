/** The columns of a line. Terminals of operators are often this wide. */
const WIDTH = 80;

/** The text in lines of 80 columns, each with this indent. A longer word has a line of its own. */
export function wrapText(text: string, indent: string, hanging = indent): string {
  const lines: string[] = [];
  let line = indent;
  let isEmpty = true;
  for (const word of text.split(/\s+/)) {
    if (!isEmpty && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = hanging;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line].join("\n");
}

/**
 * A command line, at most 80 columns wide as far as its words allow. Each line but the last ends with a backslash, so
 * that it can be pasted.
 */
export function wrapCommand(command: string, indent: string): string {
  // A quoted word stays whole, and an option and its value stay on one line.
  const words = command.match(WORDS) ?? [];
  const whole = words.map((word) => word.replaceAll(" ", JOINT)).join(" ");
  const kept = whole.replaceAll(/(--[\w-]+) (?!--)/g, `$1${JOINT}`);
  return wrapText(kept, indent, `${indent}  `).replaceAll("\n", " \\\n").replaceAll(JOINT, " ");
}

const JOINT = "\u0001";
/** The words of a command, as a shell divides it. */
const WORDS = /(?:\\.|\$'(?:\\.|[^'\\])*'|'[^']*'|"[^"]*"|[^\s'"])+/g;
