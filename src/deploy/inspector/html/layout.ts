/** What all pages have. */

import { createHash } from "node:crypto";
import { html, raw } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import { listLink } from "./links.js";
import { STYLES } from "./styles.js";

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** The page has no script, and the browser runs none: every other source is refused. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLES).digest("base64")}'`,
  "img-src data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The headers of every response. What it shows is somebody's conversation, so nobody keeps it. */
export const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cache-control": "no-store",
};

interface Frame {
  readonly title: string;
  /** What stays in sight at the top, beside the link to the list. */
  readonly heading: Html;
  readonly body: Html;
}

export function layout({ title, heading, body }: Frame): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · tether</title>
<link rel="icon" href="data:,">
<style>${raw(STYLES)}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top"><nav aria-label="Inspector"><a class="brand" href="${listLink()}">tether</a></nav>${heading}</header>
<main id="content" tabindex="-1">${body}</main>
</body>
</html>`;
}
