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
  const [first = "", ...rest] = wrapText(command, indent, `${indent}  `).split("\n");
  return [first, ...rest].join(" \\\n");
}
