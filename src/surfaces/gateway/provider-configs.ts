/**
 * AI Gateway's management API of providers' keys: `…/gateways/{gateway}/provider_configs`. The product stores the key in Secrets
 * Store; here the gateway's own object stores it, so `secret` is required and `secret_id` is the id of the row.
 *
 * Not in the product: `DELETE …/provider_configs/{id}`, and a key with the provider and alias of a stored one replaces it.
 */
import type { Context } from "hono";
import * as z from "zod";
import { didYouMean } from "../../core/did-you-mean.ts";
import { AiError } from "../../core/errors.ts";
import { isRecord, parseJson } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { idNotFound } from "../../core/not-found.ts";
import { MAX_KEYS } from "../../gateways/durable/provider-access.ts";
import { isProvider, PROVIDER_SLUGS } from "../../gateways/providers/addresses.ts";
import { customSlug } from "../../gateways/providers/custom-providers.ts";
import { ProviderKeyCreate } from "../../gateways/providers/provider-keys.ts";
import { authorIfKnown } from "../../gateways/run/provider-names.ts";
import { parseFields, readStored } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { foundValue } from "../../schemas/explain.ts";
import { SEARCH_PROVIDERS } from "../../websearch/providers/index.ts";
import { answer } from "../answer.ts";
import { below } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { GATEWAYS, gatewayOf, managementFailure, pageFields, pageInfo } from "./management.ts";

/** A client without pages receives all. */
const ListQuery = lazy(() => z.object(pageFields(MAX_KEYS, MAX_KEYS)));

export const providerConfigRoutes: readonly AppRoute[] = defineRoutes(
	{
		bases: [below(GATEWAYS, "/:gateway/provider_configs")],
		tag: "AI Gateway",
		failure: managementFailure,
		noStore: true,
	},
	[
		{
			method: "GET",
			path: "",
			summary: "Lists the providers' keys of a gateway, without their texts",
			output: answer("providerKeysAnswer"),
			query: ListQuery,
			permission: "read",
			handler: list,
		},
		{
			method: "POST",
			path: "",
			summary: "Stores a provider's key",
			output: answer("providerKeyAnswer"),
			input: {
				type: "application/json",
				schema: ProviderKeyCreate,
				example: { provider_slug: "openai", alias: "production", default_config: true, secret: "sk-example" },
			},
			permission: "gateways-write",
			handler: save,
		},
		{
			method: "DELETE",
			path: "/:key",
			summary: "Deletes a provider's key",
			output: answer("providerKeyAnswer"),
			permission: "gateways-write",
			handler: remove,
		},
	],
);

async function list(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const query = parseFields(ListQuery(), c.req.query(), "query");
	const { page, per_page } = query;
	const keys = await services.providerAccesses.of(caller.account).keys(await gatewayOf(c, call));
	const listed = keys.slice((page - 1) * per_page, page * per_page);
	return envelope(listed, { result_info: pageInfo(query, listed.length, keys.length) });
}

/** Their accounts may have a key pair or a service account as JSON, with which a gateway would have to sign. */
const SIGNED: ReadonlySet<string> = new Set(["aws-bedrock", "google-vertex-ai"]);

const SLUGS_WITH_KEYS: readonly string[] = [...PROVIDER_SLUGS, ...Object.keys(SEARCH_PROVIDERS)];

/** Providers of models, of web searches, and the account's own. */
const isKnown = (slug: string): boolean =>
	isProvider(slug) ||
	authorIfKnown(slug) !== undefined ||
	Object.hasOwn(SEARCH_PROVIDERS, slug) ||
	customSlug(slug) !== undefined;

async function save(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const gateway = await gatewayOf(c, call);
	const stored = await readStored(ProviderKeyCreate(), c.req.raw, services);
	const key = stored.fields;
	const { provider_slug } = key;
	if (!isKnown(provider_slug))
		throw new AiError(
			"invalidGatewayRequest",
			`provider_slug: expected a provider's slug or custom-{slug}, found ${foundValue(provider_slug)}${didYouMean(provider_slug, SLUGS_WITH_KEYS)}`,
		);
	if (SIGNED.has(provider_slug) && isRecord(parseJson(key.secret)))
		throw new AiError(
			"invalidGatewayRequest",
			`secret: expected an API key or an access token of ${provider_slug}, because requests are not signed here, found JSON`,
		);
	const saved = await services.providerAccesses.change(caller.account, (tables) =>
		tables.saveKey(gateway, key),
	);
	if (!saved) throw new AiError("invalidGatewayRequest", `An account may store ${MAX_KEYS} keys`);
	return stored.answer(saved);
}

/** 7002, with the key that is probably meant. */
async function keyNotFound(id: string, gateway: string, { caller, services }: AppCall): Promise<AiError> {
	const keys = await services.providerAccesses.of(caller.account).keys(gateway);
	const named = keys.map((key) => ({ id: key.id, names: [key.alias, key.provider_slug] }));
	return idNotFound("Provider key", id, named);
}

async function remove(c: Context, call: AppCall): Promise<Response> {
	const { caller, services } = call;
	const gateway = await gatewayOf(c, call);
	const id = pathParameter(c, "key");
	const removed = await services.providerAccesses.change(caller.account, (tables) =>
		tables.deleteKey(gateway, id),
	);
	if (!removed) throw await keyNotFound(id, gateway, call);
	return envelope(removed);
}
