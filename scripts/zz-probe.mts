import { startDevServer } from "./dev-server.js";
import { writeFileSync } from "node:fs";
const s = await startDevServer({ env: { MODEL: "offline:" }, startTimeoutMs: 120000 });
try {
  const t = await s.client.threads.create({metadata: {title: "x"}});
  await s.client.runs.wait(t.thread_id, "agent", { input: { messages: [{ role: "user", content: "what is 20+22" }] }, context: {systemPrompt: "Be brief."} as any });
  for (const p of ["/tether", "/tether.json", `/tether/threads/${t.thread_id}`, `/tether/threads/${t.thread_id}.json`, "/tether/threads/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/tether/", "/tether/threads/00000000-0000-4000-8000-000000000000.json"]) { const r = await fetch(s.url + p, {redirect: "manual"}); const x = await r.text(); console.log(p, r.status, x.length, r.headers.get("content-security-policy"), x.slice(0, 200)); writeFileSync("/tmp/wt/tmp-inspect-" + p.replaceAll(/[^a-z.]/g, "_").slice(0,30) + ".txt", x); }
  console.log((await fetch(s.url + "/tether", {method: "POST"})).status, (await fetch(s.url + "/tether", {headers: {"x-forwarded-for": "1.2.3.4"}})).status);
} finally { console.log(s.output().slice(-1500)); await s.stop(); }
