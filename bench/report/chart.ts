/** Turns by the length of the thread as a picture, in light and dark. It is narrow, so that it can be read on a phone. */

import {
  ARCHIVE_DELTA_SERIALIZER,
  DELTA_SERIALIZER,
  FULL,
  OURS,
  WITH_PATCH,
  WITH_SUMMARY,
} from "../contenders.js";
import { digits } from "./numbers.js";
import { type Results, roundsOf, spreadOf } from "./results.js";

const WIDTH = 480;
const TOP = 56;
const HEIGHT = 230;
const LEGEND_LINE = 20;

const STYLE = `
  text { font: 13px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
  .small { font-size: 12px; fill: #59636e; }
  .title { font-weight: 600; }
  .page { fill: #ffffff; }
  .grid { stroke: #d1d9e0; }
  .ours { fill: #1a7f37; stroke: #1a7f37; } .theirs { fill: #bc4c00; stroke: #bc4c00; }
  path.ours, path.theirs { fill: none; stroke-width: 2; } .dashed { stroke-dasharray: 6 4; } .dotted { stroke-dasharray: 2 4; }
  text.ours, text.theirs { stroke: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .small { fill: #9198a1; }
    .page { fill: #0d1117; }
    .grid { stroke: #3d444d; }
    .ours { fill: #3fb950; stroke: #3fb950; } .theirs { fill: #f0883e; stroke: #f0883e; }
  }`;

const SIZES = [100, 1_000, 10_000];
/** Each line has a pattern beside its colour, for those who do not see the colour. */
const LINES = [
  { contender: WITH_PATCH, group: "theirs", pattern: "" },
  { contender: WITH_SUMMARY, group: "theirs", pattern: "dashed" },
  { contender: FULL, group: "ours", pattern: "" },
  { contender: DELTA_SERIALIZER, group: "ours", pattern: "dotted" },
  { contender: ARCHIVE_DELTA_SERIALIZER, group: "ours", pattern: "dashed" },
] as const;

export function chartOf(results: Results): string {
  const lines = LINES.map((line) => ({
    ...line,
    points: SIZES.flatMap((size) => {
      const rounds = roundsOf(results, `turn/${size}`, line.contender);
      return rounds === undefined ? [] : [{ size, value: spreadOf(rounds).median }];
    }),
  })).filter(({ points }) => points.length > 0);
  const range = decadesAround(lines.flatMap(({ points }) => points.map(({ value }) => value)));
  const [left, right] = [64, WIDTH - 28];
  const xOf = (size: number) => left + ((right - left) * (Math.log10(size) - 2)) / 2;
  const yOf = (value: number) => TOP + (HEIGHT * (range.high - Math.log10(value))) / (range.high - range.low);
  const grid = decades(range).flatMap((value) => [
    `<line x1="${left}" x2="${right}" y1="${round(yOf(value))}" y2="${round(yOf(value))}" class="grid"/>`,
    `<text x="${left - 8}" y="${round(yOf(value) + 4)}" text-anchor="end" class="small">${digits(value)} ms</text>`,
  ]);
  const sizes = SIZES.map(
    (size) =>
      `<text x="${round(xOf(size))}" y="${TOP + HEIGHT + 18}" text-anchor="middle" class="small">${digits(size)}</text>`,
  );
  const legend = TOP + HEIGHT + 46;
  const height = legend + lines.length * LEGEND_LINE;
  const drawn = lines
    .toSorted((one, other) => yOf(one.points.at(-1)?.value ?? 1) - yOf(other.points.at(-1)?.value ?? 1))
    .flatMap(({ contender, group, pattern, points }, index) => {
      const path = points.map(({ size, value }) => `${round(xOf(size))} ${round(yOf(value))}`).join(" L ");
      const y = legend + index * LEGEND_LINE;
      const name = group === "ours" ? `${OURS}: ${contender}` : contender;
      return [
        `<path d="M ${path}" class="${group} ${pattern}"/>`,
        `<path d="M 12 ${y - 4} L 52 ${y - 4}" class="${group} ${pattern}"/>`,
        `<text x="${left}" y="${y}" class="${group}">${escapeXml(name)}</text>`,
      ];
    });
  const title = "A turn by the number of messages in its thread. Both axes are logarithmic.";
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${title}">`,
    `<title>${title}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect width="${WIDTH}" height="${height}" class="page"/>`,
    `<text x="12" y="28" class="title">A turn, by the number of messages in its thread</text>`,
    ...grid,
    ...sizes,
    ...drawn,
    "</svg>",
  ].join("\n")}\n`;
}

/** Powers of ten around the values. */
function decadesAround(values: readonly number[]): { readonly low: number; readonly high: number } {
  const logs = values.filter((value) => value > 0 && Number.isFinite(value)).map(Math.log10);
  const [low, high] = [Math.floor(Math.min(0, ...logs)), Math.ceil(Math.max(1, ...logs))];
  return { low, high };
}

const decades = ({ low, high }: { readonly low: number; readonly high: number }) =>
  Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index));

const round = (value: number): number => Math.round(value * 10) / 10;
const escapeXml = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
