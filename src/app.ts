/** The HTTP doors: authentication before all of them, one mount each, and the API's own answer for everything else. */
import { Hono } from "hono";
import { AiError, toAiError } from "./errors.ts";
import type { Services } from "./request.ts";
import { authenticate, checkAccount } from "./surfaces/authenticate.ts";
import { failureEnvelope } from "./surfaces/envelope.ts";
import { openai } from "./surfaces/openai.ts";
import { rest } from "./surfaces/rest.ts";

const WELCOME = `Ganglion: Workers AI that anyone can run.

POST /client/v4/accounts/{account}/ai/run/{model}             native inputs and outputs
POST /client/v4/accounts/{account}/ai/v1/chat/completions     OpenAI-compatible
GET  /client/v4/accounts/{account}/ai/models/search           the catalogue
`;

export function createApp(services: Services, allowAnonymous: boolean): Hono {
	const app = new Hono({ strict: false });
	app.use(authenticate(allowAnonymous));
	app.get("/", (c) => c.text(WELCOME));
	app.use("/client/v4/accounts/:account/*", checkAccount);
	app.route("/client/v4/accounts/:account/ai/v1", openai(services));
	app.route("/client/v4/accounts/:account/ai", rest(services));
	app.notFound(() => failureEnvelope(new AiError("noRoute"), ""));
	app.onError((error) => failureEnvelope(toAiError(error), ""));
	return app;
}
