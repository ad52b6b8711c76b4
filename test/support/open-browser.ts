/** A real browser for tests of pages. Tests install none: they use the one of the machine, and are skipped without it. */

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, chromium, type Page } from "playwright-core";

const PLACES = [
  process.env["CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** The program of the browser. Undefined: this machine has none. The variable `CHROMIUM` can name it. */
export const BROWSER = PLACES.find((place) => place !== "" && existsSync(place));

/** Said in the title of a test that is skipped. */
export const NEEDS_BROWSER = BROWSER === undefined ? " (skipped: there is no Chromium)" : "";

export async function openBrowser(): Promise<Browser> {
  if (BROWSER === undefined) throw new Error("Expected Chromium on this machine.");
  // Chromium refuses its sandbox to root.
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: BROWSER, args });
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeViolation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** What hinders people who use a screen reader, a keyboard or large contrast: one line for each place. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found: { readonly violations: readonly AxeViolation[] } = await page.evaluate("axe.run(document)");
  return found.violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html }) => `${id}: ${help}: ${html}`),
  );
}
