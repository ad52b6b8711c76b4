import { html } from "hono/html";
import { type Html, layout } from "./layout.js";
import { listLink } from "./links.js";

/** A page that says what is wrong in one sentence. */
export function errorPage(title: string, text: string): Html {
  return layout({
    title,
    heading: html`<h1>${title}</h1>`,
    body: html`<div class="panel"><p>${text}</p><p><a href="${listLink()}">All threads</a></p></div>`,
  });
}
