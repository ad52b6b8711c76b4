/** Draws two parts of the demo's output beside each other, or below each other for a phone, in light and dark. */

import { type Colours, escapeXml, MONO, SANS, svgOf } from "../generated/svg.js";

/** The lines between one heading of the demo and the next, without the line below the heading. */
function partOf(output: string, number: number): readonly string[] {
  const lines = output.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`${number}. `));
  if (start < 0) throw new Error(`Expected the demo to have a part ${number}.`);
  const end = lines.findIndex((line, index) => index > start && /^\d\. /.test(line));
  const part = lines.slice(start + 2, end < 0 ? undefined : end).filter((line) => line.trim() !== "");
  return part.reduce<string[]>((joined, line) => {
    // The demo has wrapped this line. The picture wraps it at another width.
    if (/^ {4}\S/.test(line)) joined.push(`${joined.pop() ?? ""} ${line.trim()}`);
    else joined.push(line);
    return joined;
  }, []);
}

interface Panel {
  readonly title: string;
  readonly kind: "bad" | "good";
  readonly lines: readonly string[];
}

const WIDTH = 840;
const PANEL = 412;
const LINE = 19;
const GAP = 12;
const TOP = 62;
const COLUMNS = 50;

const STYLE = `text { font: 12.5px ${MONO}; white-space: pre; } .title { font: 600 14px ${SANS}; }`;
const FILLS: Colours = {
  text: ["#1f2328", "#f0f6fc"],
  ".panel": ["#f6f8fa", "#151b23"],
  ".bad": ["#b3261e", "#ff8a80"],
  ".good": ["#11702c", "#56d364"],
  ".call": ["#0b5cad", "#79c0ff"],
};

function classOf(line: string): string {
  const [first = ""] = line.trim();
  if (first === "✗") return "bad";
  if (first === "✓" || first === "·") return "good";
  return first === "→" || first === "←" ? "call" : "";
}

/** Breaks a line between words, and keeps its indentation. */
function wrap(line: string): string[] {
  const indent = /^\s*(?:[✗·→←✓] )?/.exec(line)?.[0].length ?? 0;
  const lines: string[] = [];
  let rest = line;
  while (rest.length > COLUMNS) {
    const at = rest.lastIndexOf(" ", COLUMNS);
    const place = at > indent ? at : COLUMNS;
    lines.push(rest.slice(0, place));
    rest = " ".repeat(indent) + rest.slice(place).trimStart();
  }
  return [...lines, rest];
}

/** What was printed up to the summary of the part. */
function until(lines: readonly string[], end: string): readonly string[] {
  const place = lines.findIndex((line) => line.startsWith(end));
  if (place < 0) throw new Error(`Expected the demo to print "${end}".`);
  return lines.slice(0, place);
}

/** @param output What the demo has printed. */
export function pictureOfDemo(output: string, form: "wide" | "narrow"): string {
  const panels: readonly Panel[] = [
    { title: "A plain LangGraph agent", kind: "bad", lines: until(partOf(output, 1), "The thread has") },
    { title: "With langgraph-tether", kind: "good", lines: until(partOf(output, 2), "Changes of") },
  ];
  const drawn = panels.map(({ lines, ...panel }) => ({
    ...panel,
    lines: lines.flatMap((line) => wrap(line).map((text) => ({ text, kind: classOf(line) }))),
  }));
  const heights = drawn.map(({ lines }) => TOP + lines.length * LINE + 14);
  const tallest = Math.max(...heights);
  const [first = 0, second = 0] = heights;
  const [width, height] = form === "wide" ? [WIDTH, tallest] : [PANEL + 1, first + GAP + second];
  const title = "The same cancelled run with a plain agent and with langgraph-tether";
  const parts = drawn.flatMap(({ title: head, kind, lines }, index) => {
    const [x, y] = form === "wide" ? [index * (WIDTH - PANEL - 1) + 0.5, 0] : [0.5, index * (first + GAP)];
    const panel = form === "wide" ? tallest : (heights[index] ?? 0);
    return [
      `<rect x="${x}" y="${y + 0.5}" width="${PANEL}" height="${panel - 1}" rx="8" class="panel"/>`,
      `<text x="${x + 16}" y="${y + 30}" class="title ${kind}">${escapeXml(head)}</text>`,
      ...lines.map(
        (line, row) =>
          `<text x="${x + 16}" y="${y + TOP + row * LINE}" class="${line.kind}" xml:space="preserve">${escapeXml(line.text)}</text>`,
      ),
    ];
  });
  return svgOf({ title, width, height, style: STYLE, fills: FILLS, parts });
}
