/** Schemas of the answers of AI Gateway's management API, for the OpenAPI document. A test calls each operation and compares. */
import * as z from "zod";
import { Elements } from "../../gateways/dynamic/elements.ts";
import { GatewayCreate } from "../../gateways/settings.ts";
import type { Payload } from "../../http/route.ts";
import { Count, enveloped, Instant, json, Page } from "../answers.ts";

/** Credentials in it are replaced by a placeholder. */
const Gateway = GatewayCreate().extend({
	created_at: Instant,
	modified_at: Instant,
	is_default: z.boolean(),
});
export const gatewayAnswer = enveloped(Gateway);
export const gatewaysAnswer = enveloped(z.array(Gateway), Page);
export const urlAnswer = enveloped(z.string());
export const purgedAnswer = enveloped(z.object({ purged: Count }));

const CustomProvider = z.object({
	id: z.string(),
	name: z.string(),
	slug: z.string(),
	base_url: z.string(),
	enable: z.boolean(),
	beta: z.boolean().optional(),
	headers: z.string().optional(),
	created_at: Instant,
	modified_at: Instant,
});
export const customProviderAnswer = enveloped(CustomProvider);
export const customProvidersAnswer = enveloped(z.array(CustomProvider), Page);

const GatewayAlias = z.object({
	name: z.string(),
	model: z.string(),
	routing: z.enum(["fallback", "smart"]),
	models: z.array(z.string()),
	created_at: Instant,
	modified_at: Instant,
});
export const gatewayAliasAnswer = enveloped(GatewayAlias);
export const gatewayAliasesAnswer = enveloped(z.array(GatewayAlias), Page);

const ProviderKey = z.object({
	id: z.string(),
	provider_slug: z.string(),
	alias: z.string(),
	rate_limit: z.int(),
	rate_limit_period: z.union([z.string(), z.int()]).nullable(),
});
export const providerKeyAnswer = enveloped(ProviderKey);
export const providerKeysAnswer = enveloped(z.array(ProviderKey), Page.partial());

const Log = z.object({
	id: z.string(),
	created_at: Instant,
	provider: z.string(),
	model: z.string(),
	success: z.boolean(),
	cached: z.boolean(),
	tokens_in: z.number().nullable(),
	tokens_out: z.number().nullable(),
	usage_estimated: z.boolean(),
	event_id: z.string(),
});
export const logsAnswer = enveloped(z.array(Log), Page.partial());
export const logAnswer = enveloped(
	Log.extend({
		request_size: Count,
		request_head: z.string().optional(),
		request_head_complete: z.boolean(),
		response_size: Count,
		response_head: z.string().optional(),
		response_head_complete: z.boolean(),
	}),
);
export const deletedLogsAnswer = enveloped(z.null());
export const changedLogAnswer = enveloped(z.object({}));

const Summary = z.object({
	id: z.string(),
	gateway_id: z.string(),
	name: z.string(),
	created_at: Instant,
	modified_at: Instant,
	elements: Elements(),
});
const Version = z.object({
	version_id: z.string(),
	active: z.enum(["true", "false"]),
	created_at: Instant,
	/** The elements, as JSON. */
	data: z.string(),
	is_valid: z.boolean(),
});
const Deployment = z.object({ deployment_id: z.string(), version_id: z.string(), created_at: Instant });
const Route = Summary.extend({ version: Version, deployment: Deployment.nullable() });
export const routeAnswer = enveloped(Route);
export const routeSummaryAnswer = enveloped(Summary);
export const routeVersionAnswer = enveloped(Summary.extend(Version.shape));
export const renamedRouteAnswer: Payload = json(
	z.object({ success: z.literal(true), route: Route.extend({ account_tag: z.string() }) }),
);

/** One page of a list, in an envelope of its own. */
const listed = (name: string, row: z.ZodType): Payload =>
	json(
		z.object({
			success: z.literal(true),
			data: z.object({
				[name]: z.array(row),
				page: Count,
				per_page: Count,
				order_by: z.string(),
				order_by_direction: z.enum(["asc", "desc"]),
			}),
		}),
	);
export const routesAnswer = listed("routes", Route.extend({ account_tag: z.string() }));
export const routeVersionsAnswer = listed("versions", Version);
export const routeDeploymentsAnswer = listed("deployments", Deployment);
