/** The HTTP doors: authentication before all of them, one mount each, and the API's own answer for everything else. */
import { Hono } from "hono";
import { AiError, toAiError } from "./core/errors.ts";
import { type Access, authenticate, callerOf } from "./http/authenticate.ts";
import { RememberingRouter } from "./http/caching-router.ts";
import { type CorsSetting, crossOrigin } from "./http/cross-origin.ts";
import { failureEnvelope } from "./http/envelope.ts";
import { isGeminiPath } from "./http/gemini-request.ts";
import { localOnly } from "./http/local-only.ts";
import { isAnthropicRequest, messagesFailure } from "./http/messages.ts";
import type { Services } from "./pipeline/services.ts";
import { aliases } from "./surfaces/accounts/aliases.ts";
import { allAccounts } from "./surfaces/accounts/all-accounts.ts";
import { tokens, userTokens } from "./surfaces/accounts/tokens.ts";
import { usage } from "./surfaces/accounts/usage.ts";
import { gatewayPaths } from "./surfaces/gateway/gateway-wire.ts";
import { gemini } from "./surfaces/gemini/gemini.ts";
import { geminiFailure } from "./surfaces/gemini/gemini-call.ts";
import { openai, routingFailure } from "./surfaces/openai/openai.ts";
import { health } from "./surfaces/operations/health.ts";
import { metrics } from "./surfaces/operations/metrics.ts";
import { rest } from "./surfaces/rest.ts";

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
