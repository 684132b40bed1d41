/** All routes over HTTP. A path matches the first pattern that it fits. */
import type { UnknownPaths } from "../http/route.ts";
import { absentRooms } from "./absent-rooms.ts";
import { aliasRoutes } from "./accounts/aliases.ts";
import { operatorRoutes } from "./accounts/all-accounts.ts";
import { boundGatewayRoutes } from "./accounts/bound-gateway.ts";
import { chargedLeaseRoutes } from "./accounts/charged-leases.ts";
import { deletionRoutes } from "./accounts/deletion.ts";
import { limitRoutes } from "./accounts/limits.ts";
import { placeRoutes } from "./accounts/place.ts";
import { tokenRoutes } from "./accounts/tokens.ts";
import { usageRoutes } from "./accounts/usage.ts";
import { vectorUsageRoutes } from "./accounts/vector-usage.ts";
import { publicSearchRoutes } from "./aisearch/public-routes.ts";
import { searchRoutes } from "./aisearch/routes.ts";
import { CONSOLE_PATH, consoleRoutes, isBrowser } from "./console/console.ts";
import { gatewayAliasRoutes } from "./gateway/aliases.ts";
import { cacheRoutes } from "./gateway/cache-routes.ts";
import { customProviderRoutes } from "./gateway/custom-providers.ts";
import { dynamicRouteRoutes } from "./gateway/dynamic-routes.ts";
import { gatewayRoutes } from "./gateway/gateway-wire.ts";
import { gatewayLogRoutes } from "./gateway/logs.ts";
import { gatewayManagementRoutes } from "./gateway/management.ts";
import { managementUnknown } from "./gateway/management-absent.ts";
import { providerConfigRoutes } from "./gateway/provider-configs.ts";
import { geminiRoutes, geminiUnknown } from "./gemini/gemini.ts";
import { adapterRoutes } from "./jobs/adapter-routes.ts";
import { replayRoutes } from "./jobs/replay-routes.ts";
import { shadowRoutes } from "./jobs/shadow-routes.ts";
import { markdownRoutes } from "./markdown/markdown.ts";
import { azureRoutes } from "./openai/azure-routes.ts";
import { openAiRoutes } from "./openai/openai.ts";
import { anyUnknown, openAiUnknown } from "./openai/openai-absent.ts";
import { engineRoutes } from "./operations/engines.ts";
import { healthRoutes } from "./operations/health.ts";
import { localModelRoutes } from "./operations/local-models.ts";
import { metricsRoutes } from "./operations/metrics.ts";
import { openApiRoutes } from "./operations/openapi.ts";
import { poolRoutes } from "./operations/pools.ts";
import { responseExportRoutes } from "./responses/export-route.ts";
import { catalogRoutes } from "./rest/catalog.ts";
import { explainRoutes } from "./rest/explain.ts";
import { runRoutes } from "./rest/run.ts";
import { type AppRoute, defineRoutes } from "./route.ts";
import { vectorizeRoutes } from "./vectorize/routes.ts";
import { webSearchRoutes } from "./websearch/websearch.ts";

const WELCOME = `Ganglion: Workers AI that anyone can run.

POST /client/v4/accounts/{account}/ai/run/{model}             native inputs and outputs
POST /client/v4/accounts/{account}/ai/v1/chat/completions     OpenAI-compatible
POST /v1/chat/completions                                     the same, for the token's account
GET  /client/v4/accounts/{account}/ai/models/search           the catalogue
GET  /openapi.json                                            all routes; /docs shows them to people
GET  /console                                                 the web console
`;

const welcomeRoutes = defineRoutes({ bases: [{ path: "" }], tag: "Operations" }, [
	{
		method: "GET",
		path: "/",
		summary: "Names the most important routes; leads a browser to the console",
		permission: "none",
		output: { type: "text/plain" },
		handler: (c, { services }) => {
			c.header("vary", "accept");
			return services.assets && isBrowser(c) ? c.redirect(CONSOLE_PATH) : c.text(WELCOME);
		},
	},
]);

export const ROUTES: readonly AppRoute[] = [
	...welcomeRoutes,
	...consoleRoutes,
	...healthRoutes,
	...metricsRoutes,
	...engineRoutes,
	...localModelRoutes,
	...poolRoutes,
	...openApiRoutes(),
	...tokenRoutes,
	...operatorRoutes,
	...placeRoutes,
	...deletionRoutes,
	...aliasRoutes,
	...usageRoutes,
	...vectorUsageRoutes,
	...chargedLeaseRoutes,
	...gatewayManagementRoutes,
	...dynamicRouteRoutes,
	...gatewayAliasRoutes,
	...cacheRoutes,
	...limitRoutes,
	...boundGatewayRoutes,
	...gatewayLogRoutes,
	...replayRoutes,
	...shadowRoutes,
	...providerConfigRoutes,
	...customProviderRoutes,
	...responseExportRoutes,
	...openAiRoutes,
	...azureRoutes,
	...geminiRoutes,
	...runRoutes,
	...explainRoutes,
	...catalogRoutes,
	...adapterRoutes,
	...markdownRoutes,
	...webSearchRoutes,
	...vectorizeRoutes,
	...searchRoutes,
	...publicSearchRoutes,
	// After OpenAI's routes, because both are below `/v1`.
	...gatewayRoutes,
];

export const UNKNOWN_PATHS: readonly UnknownPaths[] = [
	...absentRooms,
	...geminiUnknown,
	...openAiUnknown,
	...managementUnknown,
	...anyUnknown,
];
