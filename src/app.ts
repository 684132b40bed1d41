/** The HTTP doors: authentication before all of them, one mount each, and the API's own answer for everything else. */
import { Hono } from "hono";
import { AiError, toAiError } from "./errors.ts";
import type { Services } from "./request.ts";
import { type Access, authenticate, callerOf } from "./surfaces/authenticate.ts";
import { failureEnvelope } from "./surfaces/envelope.ts";
import { gatewayPaths } from "./surfaces/gateway-wire.ts";
import { isMessagesPath, messagesFailure } from "./surfaces/messages.ts";
import { metrics } from "./surfaces/metrics.ts";
import { openai } from "./surfaces/openai.ts";
import { RememberingRouter } from "./surfaces/remembering-router.ts";
import { rest } from "./surfaces/rest.ts";
import { tokens, userTokens } from "./surfaces/tokens.ts";
import { usage } from "./surfaces/usage.ts";

const WELCOME = `Ganglion: Workers AI that anyone can run.

POST /client/v4/accounts/{account}/ai/run/{model}             native inputs and outputs
POST /client/v4/accounts/{account}/ai/v1/chat/completions     OpenAI-compatible
GET  /client/v4/accounts/{account}/ai/models/search           the catalogue
`;

export function createApp(services: Services, access: Access): Hono {
	const app = new Hono({ strict: false, router: new RememberingRouter() });
	app.use(authenticate(access, services.ledgers));
	app.get("/", (c) => c.text(WELCOME));
	app.route("/client/v4/accounts/:account/tokens", tokens(services));
	app.route("/client/v4/user/tokens", userTokens(services));
	app.route("/metrics", metrics(services));
	app.route("/client/v4/accounts/:account/ai/usage", usage(services));
	app.route("/client/v4/accounts/:account/ai/v1", openai(services));
	app.route("/client/v4/accounts/:account/ai", rest(services));
	app.route("/v1", gatewayPaths(services, callerOf));
	app.notFound(() => failureEnvelope(new AiError("noRoute"), ""));
	app.onError((thrown, c) => {
		const error = toAiError(thrown);
		const id = isMessagesPath(c.req.path) ? services.uuid() : "";
		services.log(error, id);
		return id ? messagesFailure(error, id) : failureEnvelope(error, "");
	});
	return app;
}
