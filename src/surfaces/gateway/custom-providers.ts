/**
 * AI Gateway's management API of custom providers: `…/ai-gateway/custom-providers`. The values of `headers` are not shown, because they
 * may be keys. An update with the placeholder keeps the stored value, unless it changes the address.
 */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { idNotFound } from "../../core/not-found.ts";
import { MAX_CUSTOM_PROVIDERS } from "../../gateways/gateway-bounds.ts";
import {
	type CustomProvider,
	CustomProviderCreate,
	CustomProviderUpdate,
} from "../../gateways/providers/custom-providers.ts";
import { addressProblem } from "../../gateways/providers/public-host.ts";
import { REDACTED } from "../../gateways/secrets.ts";
import { parseFields, readStored } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { textFlag } from "../../schemas/text-flag.ts";
import { answer } from "../answer.ts";
import { ACCOUNT, below } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import type { AppServices } from "../services.ts";
import { managementFailure, pageFields, pageInfo } from "./management.ts";

/** The product documents no values. */
const ORDERS = { slug: "slug", name: "name", created_at: "createdAt", modified_at: "modifiedAt" } as const;
const ListQuery = lazy(() =>
	z.object({
		...pageFields(100, 20),
		enable: textFlag().optional(),
		beta: textFlag().optional(),
		search: z.string().max(256).optional(),
		order_by: z.enum(Object.keys(ORDERS) as (keyof typeof ORDERS)[]).default("slug"),
		order_by_direction: z.enum(["asc", "desc"]).default("asc"),
	}),
);

const EXAMPLE = {
	name: "Our models",
	slug: "our-models",
	base_url: "https://models.example.com/v1",
	enable: true,
};

export const customProviderRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(ACCOUNT, "/ai-gateway/custom-providers")], tag: "AI Gateway", failure: managementFailure },
	[
		{
			method: "GET",
			path: "",
			summary: "Lists the account's custom providers",
			output: answer("customProvidersAnswer"),
			query: ListQuery,
			permission: "read",
			handler: list,
		},
		{
			method: "POST",
			path: "",
			summary: "Registers a custom provider",
			output: answer("customProviderAnswer"),
			input: { type: "application/json", schema: CustomProviderCreate, example: EXAMPLE },
			permission: "gateways-write",
			handler: create,
		},
		{
			method: "GET",
			path: "/:custom_provider",
			summary: "Shows a custom provider",
			output: answer("customProviderAnswer"),
			permission: "read",
			handler: async (c, call) => envelope(shown(await find(c, call))),
		},
		{
			method: "PATCH",
			path: "/:custom_provider",
			summary: "Changes a custom provider",
			output: answer("customProviderAnswer"),
			input: { type: "application/json", schema: CustomProviderUpdate, example: { enable: true } },
			permission: "gateways-write",
			handler: update,
		},
		{
			method: "DELETE",
			path: "/:custom_provider",
			summary: "Deletes a custom provider",
			output: answer("customProviderAnswer"),
			permission: "gateways-write",
			handler: remove,
		},
	],
);

function shown({ createdAt, modifiedAt, headers, ...provider }: CustomProvider): object {
	const redacted = Object.keys(headers ?? {}).map((name) => [name, REDACTED]);
	return {
		...provider,
		// The product's SDK declares a text.
		...(redacted.length > 0 && { headers: JSON.stringify(Object.fromEntries(redacted)) }),
		created_at: new Date(createdAt).toISOString(),
		modified_at: new Date(modifiedAt).toISOString(),
	};
}

/** Upper and lower case are one. */
const folded = (text: string): string => text.toLowerCase();

async function list(c: Context, { caller, services }: AppCall): Promise<Response> {
	const query = parseFields(ListQuery(), c.req.query(), "query");
	const { page, per_page, enable, beta, search = "", order_by, order_by_direction } = query;
	const sought = folded(search);
	const all = await providersOf({ caller, services });
	const matching = all.filter(
		(provider) =>
			(enable === undefined || provider.enable === enable) &&
			(beta === undefined || (provider.beta ?? false) === beta) &&
			[provider.id, provider.slug, provider.name].some((text) => folded(text).includes(sought)),
	);
	const field = ORDERS[order_by];
	const keyOf = (provider: CustomProvider): string | number =>
		typeof provider[field] === "string" ? folded(provider[field]) : provider[field];
	matching.sort((one, other) => {
		const [before, after] = [keyOf(one), keyOf(other)];
		return before === after ? 0 : before < after ? -1 : 1;
	});
	if (order_by_direction === "desc") matching.reverse();
	const listed = matching.slice((page - 1) * per_page, page * per_page);
	return envelope(listed.map(shown), { result_info: pageInfo(query, listed.length, matching.length) });
}

async function create(c: Context, { caller, services }: AppCall): Promise<Response> {
	const stored = await readStored(CustomProviderCreate(), c.req.raw, services);
	const { fields } = stored;
	requireAddress(fields.base_url, services);
	const created = await services.providerAccesses.change(caller.account, (tables) =>
		tables.createCustomProvider(fields),
	);
	if (created === "slugTaken")
		throw new AiError("invalidGatewayRequest", "slug: a custom provider with this slug exists");
	if (created === "tooMany")
		throw new AiError(
			"invalidGatewayRequest",
			`An account may have ${MAX_CUSTOM_PROVIDERS} custom providers`,
		);
	return stored.answer(shown(created));
}

async function update(c: Context, { caller, services }: AppCall): Promise<Response> {
	const stored = await readStored(CustomProviderUpdate(), c.req.raw, services);
	const changed = stored.fields;
	if (changed.base_url !== undefined) requireAddress(changed.base_url, services);
	const id = pathParameter(c, "custom_provider");
	const updated = await services.providerAccesses.change(caller.account, (tables) =>
		tables.updateCustomProvider(id, changed),
	);
	if (!updated) throw providerNotFound(id, await providersOf({ caller, services }));
	return stored.answer(shown(updated));
}

async function remove(c: Context, { caller, services }: AppCall): Promise<Response> {
	const id = pathParameter(c, "custom_provider");
	const removed = await services.providerAccesses.change(caller.account, (tables) =>
		tables.deleteCustomProvider(id),
	);
	if (!removed) throw providerNotFound(id, await providersOf({ caller, services }));
	return envelope(shown(removed));
}

/** Throws 7002. */
async function find(c: Context, call: AppCall): Promise<CustomProvider> {
	const id = pathParameter(c, "custom_provider");
	const providers = await providersOf(call);
	const provider = providers.find((one) => one.id === id);
	if (!provider) throw providerNotFound(id, providers);
	return provider;
}

const providersOf = ({ caller, services }: Pick<AppCall, "caller" | "services">): Promise<CustomProvider[]> =>
	services.providerAccesses.of(caller.account).customProviders();

const providerNotFound = (id: string, providers: readonly CustomProvider[]): AiError =>
	idNotFound(
		"Custom provider",
		id,
		providers.map((one) => ({ id: one.id, names: [one.slug, one.name] })),
	);

function requireAddress(address: string, { gatewayRules, publicUrl }: AppServices): void {
	const problem = addressProblem(address, { ...gatewayRules, publicUrl });
	if (problem !== undefined) throw new AiError("invalidGatewayRequest", `base_url ${problem}`);
}
