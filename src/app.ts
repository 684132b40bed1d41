/** The HTTP doors: authentication before all of them, one mount each, and the API's own answer for everything else. */
import { Hono } from "hono";
import type { CorsSetting } from "./config/cors.ts";
import { AiError, toAiError } from "./errors.ts";
import type { Services } from "./request.ts";
import { aliases } from "./surfaces/aliases.ts";
import { allAccounts } from "./surfaces/all-accounts.ts";
import { type Access, authenticate, callerOf } from "./surfaces/authenticate.ts";
import { crossOrigin } from "./surfaces/cross-origin.ts";
import { failureEnvelope } from "./surfaces/envelope.ts";
import { gatewayPaths } from "./surfaces/gateway-wire.ts";
import { gemini, geminiFailure } from "./surfaces/gemini.ts";
import { isGeminiPath } from "./surfaces/gemini-request.ts";
import { health } from "./surfaces/health.ts";
import { localOnly } from "./surfaces/local-only.ts";
import { isAnthropicRequest, messagesFailure } from "./surfaces/messages.ts";
import { metrics } from "./surfaces/metrics.ts";
import { openai, routingFailure } from "./surfaces/openai.ts";
import { RememberingRouter } from "./surfaces/remembering-router.ts";
import { rest } from "./surfaces/rest.ts";
import { tokens, userTokens } from "./surfaces/tokens.ts";
import { usage } from "./surfaces/usage.ts";

const WELCOME = `Ganglion: Workers AI that anyone can run.

POST /client/v4/accounts/{account}/ai/run/{model}             native inputs and outputs
POST /client/v4/accounts/{account}/ai/v1/chat/completions     OpenAI-compatible
POST /v1/chat/completions                                     the same, for the token's account
GET  /client/v4/accounts/{account}/ai/models/search           the catalogue
`;

/** What clients have as their base address. */
const BASE_ADDRESS = /^(?:\/client\/v4\/accounts\/[^/]+\/ai)?(?:\/v1)?\/?$/;

export function createApp(services: Services, { cors, ...access }: Access & { cors?: CorsSetting }): Hono {
	const app = new Hono({ strict: false, router: new RememberingRouter() });
	// Clients send HEAD to their base address, without a credential, to see whether a server is there.
	app.use(async (c, next) =>
		c.req.method === "HEAD" && BASE_ADDRESS.test(c.req.path) ? c.body(null, 204) : next(),
	);
	if (cors) app.use(crossOrigin(cors));
	app.use(localOnly({ ...access, ...(cors && { cors }) }));
	app.use(authenticate(access, services));
	app.get("/", (c) => c.text(WELCOME));
	app.route("/", health(services));
	app.route("/client/v4/accounts/:account/tokens", tokens(services));
	app.route("/client/v4/user/tokens", userTokens(services));
	app.route("/metrics", metrics(services));
	app.route("/client/v4", allAccounts(services));
	app.route("/client/v4/accounts/:account/ai/aliases", aliases(services));
	app.route("/client/v4/accounts/:account/ai/usage", usage(services));
	app.route("/client/v4/accounts/:account/ai/v1", openai(services));
	app.route("/client/v4/accounts/:account/ai/v1beta", gemini(services));
	app.route("/client/v4/accounts/:account/ai", rest(services));
	app.route("/v1beta", gemini(services));
	app.route("/v1", openai(services));
	app.route("/v1", gatewayPaths(services, callerOf));
	app.notFound(() => failureEnvelope(new AiError("noRoute"), ""));
	app.onError((thrown, c) => {
		const error = toAiError(thrown);
		const { path } = c.req;
		const id = isAnthropicRequest(c.req) ? services.uuid() : "";
		services.log(error, id);
		if (isGeminiPath(path)) return geminiFailure(error, id);
		if (id) return messagesFailure(error, id);
		return routingFailure(error, path);
	});
	return app;
}
