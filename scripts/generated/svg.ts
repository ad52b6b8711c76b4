/** A picture for a README, for light and dark pages. */

/** The fonts of GitHub's pages. */
export const SANS = '-apple-system, "Segoe UI", Helvetica, Arial, sans-serif';
export const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace';

/** The colours of a class: on a light page, and on a dark one. */
export type Colours = Readonly<Record<string, readonly [light: string, dark: string]>>;

export interface Picture {
  /** What the picture shows, for those who do not see it. */
  readonly title: string;
  readonly width: number;
  readonly height: number;
  /** Rules of CSS for both modes. */
  readonly style: string;
  /** The fill of each selector of CSS. */
  readonly fills: Colours;
  readonly parts: readonly string[];
}

/** @example
 * svgOf({ title: "A dot", width: 9, height: 9, style: "", fills: { circle: ["#000", "#fff"] }, parts: ['<circle r="4"/>'] });
 */
export function svgOf({ title, width, height, style, fills, parts }: Picture): string {
  const rules = (mode: 0 | 1) =>
    Object.entries(fills)
      .map(([selector, colours]) => `${selector} { fill: ${colours[mode]}; }`)
      .join(" ");
  const size = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${escapeXml(title)}">`,
    `<title>${escapeXml(title)}</title>`,
    "<style>",
    style,
    rules(0),
    `@media (prefers-color-scheme: dark) { ${rules(1)} }`,
    "</style>",
    ...parts,
    "</svg>",
  ].join("\n")}\n`;
}

export const escapeXml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
