/**
 * The management API of a gateway's aliases: `/client/v4/accounts/{account}/ai-gateway/gateways/{gateway}/aliases`. The product's is not
 * documented.
 */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { fieldNotes } from "../../core/field-notes.ts";
import { lazy } from "../../core/lazy.ts";
import { notFound } from "../../core/not-found.ts";
import { ALIAS, AliasCreate, AliasUpdate } from "../../gateways/aliases/alias.ts";
import { type AliasFailure, type GatewayAlias, MAX_ALIASES } from "../../gateways/durable/aliases.ts";
import { modelNotes } from "../../gateways/run/model-notes.ts";
import { compatName } from "../../gateways/run/pool-plan.ts";
import { parseFields, readStored, type StoredFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { answer } from "../answer.ts";
import { below } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import {
	existingGateway,
	GATEWAYS,
	gatewayOf,
	managementFailure,
	pageFields,
	pageInfo,
} from "./management.ts";

/** A client without pages receives all. */
const ListQuery = lazy(() => z.object(pageFields(MAX_ALIASES, MAX_ALIASES)));

const EXAMPLE_MODELS = ["@cf/openai/gpt-oss-120b", "@cf/meta/llama-3.3-70b-instruct-fp8-fast"];

export const gatewayAliasRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(GATEWAYS, "/:gateway/aliases")], tag: "AI Gateway", failure: managementFailure },
	[
		{
			method: "GET",
			path: "",
			summary: "Lists the aliases of a gateway",
			output: answer("gatewayAliasesAnswer"),
			query: ListQuery,
			permission: "read",
			handler: list,
		},
		{
			method: "POST",
			path: "",
			summary: "Creates an alias: a pool of models that requests name custom/{name}",
			output: answer("gatewayAliasAnswer"),
			input: {
				type: "application/json",
				schema: AliasCreate,
				example: { name: "quick", routing: "fallback", models: EXAMPLE_MODELS },
			},
			permission: "gateways-write",
			handler: async (c, call) => {
				const stored = await readStored(AliasCreate(), c.req.raw, call.services);
				const { name, ...pool } = stored.fields;
				const gateway = await gatewayOf(c, call);
				const created = await made(
					{ gateway, name },
					call,
					await change(call, (aliases) => aliases.create(gateway, name, pool)),
				);
				return answered(created, stored, { call, gateway });
			},
		},
		{
			method: "GET",
			path: "/:alias",
			summary: "Shows an alias of a gateway",
			output: answer("gatewayAliasAnswer"),
			permission: "read",
			handler: async (c, call) => {
				const { gateway, name } = namesIn(c);
				const found = await aliasesIn(call).get(gateway, name);
				return envelope(shown(await made({ gateway, name }, call, found)));
			},
		},
		{
			method: "PUT",
			path: "/:alias",
			summary: "Changes the models of an alias",
			output: answer("gatewayAliasAnswer"),
			input: {
				type: "application/json",
				schema: AliasUpdate,
				example: { routing: "smart", models: EXAMPLE_MODELS },
			},
			permission: "gateways-write",
			handler: async (c, call) => {
				const stored = await readStored(AliasUpdate(), c.req.raw, call.services);
				const { gateway, name } = namesIn(c);
				const changed = await change(call, (aliases) => aliases.update(gateway, name, stored.fields));
				return answered(await made({ gateway, name }, call, changed), stored, { call, gateway });
			},
		},
		{
			method: "DELETE",
			path: "/:alias",
			summary: "Deletes an alias of a gateway",
			output: answer("gatewayAliasAnswer"),
			permission: "gateways-write",
			handler: async (c, call) => {
				const { gateway, name } = namesIn(c);
				const deleted = await change(call, (aliases) => aliases.delete(gateway, name));
				return envelope(shown(await made({ gateway, name }, call, deleted)));
			},
		},
	],
);

interface AliasNames {
	gateway: string;
	/** Of the alias. */
	name: string;
}

/** The alias with or without its prefix. */
const namesIn = (c: Context): AliasNames => ({
	gateway: pathParameter(c, "gateway"),
	name: pathParameter(c, "alias").replace(new RegExp(`^${ALIAS}`), ""),
});

const aliasesIn = ({ caller, services }: AppCall) => services.aliasPools.of(caller.account);

async function list(c: Context, call: AppCall): Promise<Response> {
	const query = parseFields(ListQuery(), c.req.query(), "query");
	const { page, per_page } = query;
	const gateway = await gatewayOf(c, call);
	const aliases = await aliasesIn(call).list(gateway);
	const listed = aliases.slice((page - 1) * per_page, page * per_page).map(shown);
	return envelope(listed, { result_info: pageInfo(query, listed.length, aliases.length) });
}

const change = <T>(
	{ caller, services }: AppCall,
	call: (aliases: ReturnType<typeof aliasesIn>) => Promise<T>,
): Promise<T> => services.aliasPools.change(caller.account, call);

const EMPTY = "models: empty, so that requests to the alias are refused";

/** `messages` of the answer name models that cannot be called: a misspelled one would only make the alias answer by the others. */
async function answered(
	alias: GatewayAlias,
	{ notes }: Pick<StoredFields<unknown>, "notes">,
	{ call: { caller, services }, gateway }: { call: AppCall; gateway: string },
): Promise<Response> {
	const models = alias.models.map((id, index) => ({ path: `models[${index}]`, name: compatName(id) }));
	const messages = [
		...notes(shown(alias)),
		...(models.length === 0 ? fieldNotes([EMPTY]) : await modelNotes(models, { caller, gateway }, services)),
	];
	return envelope(shown(alias), { messages });
}

/** Throws if the alias does not exist or the change was refused. */
async function made(
	{ gateway, name }: AliasNames,
	call: AppCall,
	alias: GatewayAlias | AliasFailure | undefined,
): Promise<GatewayAlias> {
	switch (alias) {
		case undefined: {
			const existing = await aliasesIn(call).list(await existingGateway(gateway, call));
			throw notFound("Alias", name, { known: existing.map((one) => one.name) });
		}
		case "nameTaken":
			throw new AiError("invalidGatewayRequest", "name: another alias of the gateway has this name");
		case "tooMany":
			throw new AiError("invalidGatewayRequest", `A gateway may have ${MAX_ALIASES} aliases`);
		default:
			return alias;
	}
}

const shown = ({ name, routing, models, createdAt, modifiedAt }: GatewayAlias): object => ({
	name,
	model: `${ALIAS}${name}`,
	routing,
	models,
	created_at: new Date(createdAt).toISOString(),
	modified_at: new Date(modifiedAt).toISOString(),
});
