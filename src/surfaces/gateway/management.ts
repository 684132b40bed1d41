/**
 * AI Gateway's management API: `/client/v4/accounts/{account}/ai-gateway/gateways`. Invalid fields are answered with 7001, an
 * unknown gateway with 7002. Credentials in the settings are not shown (`src/gateways/secrets.ts`).
 */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { FieldNote } from "../../core/field-notes.ts";
import { lazy } from "../../core/lazy.ts";
import { notFound } from "../../core/not-found.ts";
import type { RegistryFailure, RegistryResult } from "../../gateways/durable/registry.ts";
import { ALL_GATEWAYS, MAX_GATEWAYS } from "../../gateways/gateway-bounds.ts";
import { creationOf } from "../../gateways/logs/collection.ts";
import { addressProblem } from "../../gateways/providers/public-host.ts";
import { unservedGuard } from "../../gateways/run/guard-models.ts";
import { redacted } from "../../gateways/secrets.ts";
import { DEFAULT_GATEWAY, DEFAULT_SETTINGS, GatewayCreate, GatewayUpdate } from "../../gateways/settings.ts";
import { settingsNotes } from "../../gateways/settings-notes.ts";
import { parseFields, readFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { type FailureFormat, v4Failure } from "../../http/failure-formats.ts";
import { pathParameter } from "../../http/route.ts";
import { answer } from "../answer.ts";
import { ACCOUNT, below } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import type { AppServices } from "../services.ts";
import { gatewayUrl } from "./gateway-wire.ts";

type OfAccount = Pick<AppCall, "caller" | "services">;

export const GATEWAYS = below(ACCOUNT, "/ai-gateway/gateways");

/** The v4 envelope. An invalid request has AI Gateway's code. */
export const managementFailure: FailureFormat = (error, requestId, request) =>
	v4Failure(
		error.key === "invalidRequest" ? new AiError("invalidGatewayRequest", error.description) : error,
		requestId,
		request,
	);

const DEFAULT_PER_PAGE = 20;

const positive = lazy(() =>
	z
		.string()
		.regex(/^[1-9]\d{0,8}$/, "expected a positive whole number")
		.transform(Number),
);

/** The fields `page` and `per_page` of a query. Pages are counted from 1. */
export const pageFields = (maximum: number, size: number) => ({
	page: positive().default(1),
	per_page: positive().pipe(z.number().max(maximum)).default(size),
});

/** The field `result_info` of a page. `total`: results of all pages. */
export const pageInfo = (
	{ page, per_page }: { page: number; per_page: number },
	count: number,
	total: number,
): object => ({
	page,
	per_page,
	count,
	total_count: total,
	total_pages: Math.ceil(total / per_page),
});

const ListQuery = lazy(() =>
	z.object({
		...pageFields(ALL_GATEWAYS, DEFAULT_PER_PAGE),
		search: z.string().max(64).optional(),
	}),
);

export const gatewayManagementRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [GATEWAYS], tag: "AI Gateway", failure: managementFailure },
	[
		{
			method: "GET",
			path: "",
			summary: "Lists the account's gateways",
			output: answer("gatewaysAnswer"),
			query: ListQuery,
			permission: "read",
			handler: listGateways,
		},
		{
			method: "POST",
			path: "",
			summary: "Creates a gateway",
			output: answer("gatewayAnswer"),
			input: {
				type: "application/json",
				schema: GatewayCreate,
				example: { id: "web-shop", ...DEFAULT_SETTINGS },
			},
			permission: "gateways-write",
			handler: createGateway,
		},
		{
			method: "GET",
			path: "/:gateway",
			summary: "Shows a gateway",
			output: answer("gatewayAnswer"),
			permission: "read",
			async handler(c, call) {
				const id = pathParameter(c, "gateway");
				const settings = await call.services.gateways.registry(call.caller.account).get(id);
				if (!settings) throw await gatewayNotFound(id, call);
				return envelope(redacted(settings));
			},
		},
		{
			method: "PUT",
			path: "/:gateway",
			summary: "Changes a gateway",
			output: answer("gatewayAnswer"),
			input: {
				type: "application/json",
				schema: GatewayUpdate,
				example: { ...DEFAULT_SETTINGS, cache_ttl: 300 },
			},
			permission: "gateways-write",
			handler: updateGateway,
		},
		{
			method: "DELETE",
			path: "/:gateway",
			summary: "Deletes a gateway",
			output: answer("gatewayAnswer"),
			permission: "gateways-write",
			handler: deleteGateway,
		},
		{
			method: "GET",
			path: "/:gateway/url/:provider",
			summary: "Shows the address of a provider",
			output: answer("urlAnswer"),
			permission: "read",
			handler: showUrl,
		},
	],
);

async function listGateways(c: Context, { caller, services }: AppCall): Promise<Response> {
	const query = parseFields(ListQuery(), c.req.query(), "query");
	const { page, per_page, search } = query;
	const { gateways, total } = await services.gateways.registry(caller.account).list({
		offset: (page - 1) * per_page,
		limit: per_page,
		...(search !== undefined && { search }),
	});
	return envelope(gateways.map(redacted), { result_info: pageInfo(query, gateways.length, total) });
}

async function createGateway(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const { id, ...settings } = await readFields(GatewayCreate(), c.req.raw, services);
	requireCollectors(settings, services);
	requireGuardModels(settings, services);
	return showResult(
		await services.gateways.change(caller.account, id, (registry) => registry.create(id, settings)),
		{ id, call, messages: settingsNotes(settings) },
	);
}

async function updateGateway(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const id = pathParameter(c, "gateway");
	const settings = await readFields(GatewayUpdate(), c.req.raw, services);
	requireCollectors(settings, services);
	requireGuardModels(settings, services);
	return showResult(
		await services.gateways.change(caller.account, id, (registry) => registry.update(id, settings)),
		{ id, call, messages: settingsNotes(settings) },
	);
}

/** The addresses of collectors have the rule of those of custom providers. */
function requireCollectors({ otel }: GatewayUpdate, { gatewayRules, publicUrl }: AppServices): void {
	for (const [index, { url }] of (otel ?? []).entries()) {
		const problem = addressProblem(url, { ...gatewayRules, publicUrl });
		if (problem !== undefined) throw new AiError("invalidGatewayRequest", `otel[${index}].url ${problem}`);
	}
}

/** Without its model, a guard refuses every request, or judges none. */
function requireGuardModels({ guardrails }: GatewayUpdate, services: AppServices): void {
	for (const phase of ["prompt", "response"] as const) {
		const model = unservedGuard(Object.keys(guardrails?.[phase] ?? {}), services);
		if (model !== undefined)
			throw new AiError(
				"invalidGatewayRequest",
				`guardrails.${phase}: no route serves the guard model ${model}: add it to ROUTES first`,
			);
	}
}

async function deleteGateway(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const id = pathParameter(c, "gateway");
	const result = await services.gateways.change(caller.account, id, (registry) => registry.delete(id));
	if (result.ok)
		await Promise.all([
			services.gatewayLogs.of(caller.account, id).clear(creationOf(result.gateway).createdAt),
			services.responseCaches.purge(caller.account, id),
		]);
	return showResult(result, { id, call });
}

async function showUrl(c: Context, call: AppCall): Promise<Response> {
	const id = await gatewayOf(c, call);
	const origin = call.services.publicUrl ?? new URL(c.req.url).origin;
	return envelope(gatewayUrl(origin, call.caller, id, pathParameter(c, "provider")));
}

/** 7002, with the gateway that is probably meant. */
export const gatewayNotFound = async (id: string, { caller, services }: OfAccount): Promise<AiError> =>
	notFound("Gateway", id, { known: await services.gateways.knownNames(caller.account) });

/** The id. Throws 7002 for an unknown gateway. */
export async function existingGateway(id: string, call: OfAccount): Promise<string> {
	if (await call.services.gateways.find(call.caller.account, id)) return id;
	throw await gatewayNotFound(id, call);
}

/** The gateway in the path. Throws 7002 for an unknown one. */
export const gatewayOf = (c: Context, call: OfAccount): Promise<string> =>
	existingGateway(pathParameter(c, "gateway"), call);

const FAILURES: Readonly<Record<Exclude<RegistryFailure, "absent">, () => AiError>> = {
	exists: () => new AiError("invalidGatewayRequest", "id: a gateway with this id exists"),
	tooMany: () =>
		new AiError(
			"invalidGatewayRequest",
			`An account may have ${MAX_GATEWAYS} gateways beside ${DEFAULT_GATEWAY}`,
		),
};

async function showResult(
	result: RegistryResult,
	{ id, call, messages = [] }: { id: string; call: AppCall; messages?: readonly FieldNote[] },
): Promise<Response> {
	if (result.ok) return envelope(redacted(result.gateway), { messages });
	if (result.failure === "absent") throw await gatewayNotFound(id, call);
	throw FAILURES[result.failure]();
}
