/** The inspector: pages that show what is stored in a thread, and what a model is sent of it. They change nothing. */

import { type Context, Hono, type MiddlewareHandler } from "hono";
import type { ServerFetch } from "../../threads/langgraph/run-host.js";
import { admitThisMachine } from "./admit-this-machine.js";
import { answerError } from "./answer-error.js";
import { HEADERS } from "./html/layout.js";
import { listPage } from "./html/list-page.js";
import { threadPage } from "./html/thread-page.js";
import { listJson, threadJson } from "./json.js";
import { chosenIn, listQuestionOf, threadQuestionOf } from "./questions.js";
import { readList } from "./reading/read-list.js";
import { readThread } from "./reading/read-thread.js";
import { threadsOfCaller } from "./reading/threads-of-caller.js";
import type { ServedForm } from "./view/request-form.js";
import { viewThread } from "./view/thread-view.js";

interface InspectorOptions {
  readonly serverFetch: ServerFetch;
  /** Whether the server has users. Without them the inspector answers programs of this machine only. */
  readonly hasUsers: boolean;
  /**
   * Contract: resolves to the settings with which this server asks the model of a graph; undefined for a graph whose
   * settings it does not know. Never rejects.
   */
  readonly servedForm: () => Promise<(graph: string | undefined) => ServedForm | undefined>;
}

const PATHS = ["/tether", "/tether/", "/tether.json", "/tether/threads/*"];

/** Makes the routes `/tether` and `/tether/threads/:id`, and both with `.json`. */
export function createInspector({ serverFetch, hasUsers, servedForm }: InspectorOptions): Hono {
  const app = new Hono();
  for (const path of PATHS) {
    app.use(path, setHeaders, readOnly);
    if (!hasUsers) app.use(path, admitThisMachine);
  }

  const list = (context: Context) =>
    readList(threadsOfCaller(context, serverFetch), listQuestionOf(context.req));
  const thread = async (context: Context, threadId: string) => {
    const question = threadQuestionOf(context.req, threadId);
    const forms = await servedForm();
    const servedFor = (graph: string | undefined) => {
      const form = forms(graph);
      // The operator's instructions are not for users.
      return form && hasUsers ? { ...form, systemPrompt: undefined } : form;
    };
    const reading = await readThread(threadsOfCaller(context, serverFetch), question, servedFor);
    return viewThread(reading, question.page);
  };

  app.get("/tether", async (context) => context.html(listPage(await list(context))));
  app.get("/tether/", (context) => context.redirect("/tether"));
  app.get("/tether.json", async (context) => context.json(listJson(await list(context))));
  app.get("/tether/threads/:id", async (context) => {
    const given = context.req.param("id");
    const id = given.replace(/\.json$/, "");
    const view = await thread(context, id);
    if (id !== given) return context.json(threadJson(view));
    return context.html(threadPage(view, chosenIn(context.req), hasUsers));
  });
  app.onError(answerError);
  return app;
}

const setHeaders: MiddlewareHandler = async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(HEADERS)) context.res.headers.set(name, value);
};

const readOnly: MiddlewareHandler = async ({ req, text }, next) => {
  if (req.method !== "GET" && req.method !== "HEAD")
    return text("The inspector only reads.", 405, { allow: "GET, HEAD" });
  await next();
  return undefined;
};
