/**
 * AI Search's REST API: `/client/v4/accounts/{account}/ai-search` (developers.cloudflare.com/api/resources/aisearch).
 *
 * Differences: public endpoints (`public-routes.ts`) have paths instead of hosts, and namespaces have none; items also exist below
 * `/instances` of the namespace `default`.
 */
import { type AppRoute, defineRoutes } from "../route.ts";
import { failure, INSTANCES, NAMESPACES, TAG, TOKENS } from "./call.ts";
import { instanceRoutes } from "./instance-routes.ts";
import { itemRoutes } from "./item-routes.ts";
import { jobRoutes } from "./job-routes.ts";
import { namespaceRoutes } from "./namespace-routes.ts";
import { ragRoutes } from "./rag-routes.ts";
import { tokenRoutes } from "./token-routes.ts";

export const searchRoutes: readonly AppRoute[] = [
	...defineRoutes({ bases: [NAMESPACES], tag: TAG, failure }, namespaceRoutes),
	...defineRoutes({ bases: [TOKENS], tag: TAG, failure }, tokenRoutes),
	...ragRoutes,
	...defineRoutes({ bases: INSTANCES, tag: TAG, failure }, [...instanceRoutes, ...itemRoutes, ...jobRoutes]),
];
