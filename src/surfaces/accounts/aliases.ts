/**
 * Aliases of models: `GET /client/v4/accounts/{account}/ai/aliases`, and `GET`, `PUT {"model": "@cf/…"}`, `DELETE` of
 * `…/ai/aliases/{alias}`. Not in the product. Aliases of the configuration are listed, and cannot be changed here.
 */
import type { Context } from "hono";
import * as z from "zod";
import { MAX_ALIASES } from "../../accounts/durable/alias-table.ts";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { notFound } from "../../core/not-found.ts";
import { readFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { aliasProblem } from "../../pipeline/alias-problem.ts";
import { aliasesOf, type KnownAlias } from "../../pipeline/resolve-model.ts";
import { answer } from "../answer.ts";
import { AI, below } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";

const Body = lazy(() => z.strictObject({ model: z.string().min(1).max(512) }));

const aliasJson = ({ alias, model, source, modifiedOn }: KnownAlias): object => ({
	alias,
	model,
	source,
	modified_on: modifiedOn === undefined ? null : new Date(modifiedOn).toISOString(),
});

export const aliasRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(AI, "/aliases")], tag: "Models" },
	[
		{
			method: "GET",
			path: "",
			summary: "Lists the account's aliases of models",
			permission: "read",
			output: answer("aliasesAnswer"),
			handler: async (_, { caller, services }) =>
				envelope((await aliasesOf(caller, services)).map(aliasJson)),
		},
		{
			method: "GET",
			path: "/:alias{.+}",
			summary: "Shows an alias",
			permission: "read",
			output: answer("aliasAnswer"),
			handler: showAlias,
		},
		{
			method: "PUT",
			path: "/:alias{.+}",
			summary: "Sets an alias",
			input: {
				type: "application/json",
				schema: Body,
				example: { model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast" },
			},
			permission: "write",
			output: answer("aliasAnswer"),
			handler: putAlias,
		},
		{
			method: "DELETE",
			path: "/:alias{.+}",
			summary: "Deletes an alias",
			permission: "write",
			output: answer("deletedAliasAnswer"),
			handler: deleteAlias,
		},
	],
);

async function deleteAlias(c: Context, { caller, services }: AppCall): Promise<Response> {
	const alias = pathParameter(c, "alias");
	const existing = await aliasesOf(caller, services);
	refuseConfigured(alias, existing);
	if (!(await services.ledgers.of(caller.account).deleteAlias(caller.credential, alias)))
		throw aliasNotFound(alias, existing);
	return envelope({ alias });
}

async function showAlias(c: Context, { caller, services }: AppCall): Promise<Response> {
	const name = pathParameter(c, "alias");
	const existing = await aliasesOf(caller, services);
	const found = existing.find(({ alias }) => alias === name);
	if (!found) throw aliasNotFound(name, existing);
	return envelope(aliasJson(found));
}

const aliasNotFound = (name: string, existing: readonly KnownAlias[]): AiError =>
	notFound("Alias", name, { known: existing.map(({ alias }) => alias) });

async function putAlias(c: Context, { caller, services }: AppCall): Promise<Response> {
	const { catalog, ledgers, now, routing } = services;
	const alias = pathParameter(c, "alias");
	const { model } = await readFields(Body(), c.req.raw, services);
	const existing = await aliasesOf(caller, services);
	refuseConfigured(alias, existing);
	const isAlias = (name: string): boolean => existing.some((other) => other.alias === name);
	const problem = aliasProblem(alias, model, { catalog, routing, isAlias });
	if (problem) throw new AiError("invalidRequest", `alias: ${problem}`);
	// If another alias has this name as its target, the two would form a chain.
	if (existing.some((other) => other.model === alias))
		throw new AiError("invalidRequest", "alias: expected a new name, found the target of another alias");
	const row = { alias, model, modified_on: now() };
	if (!(await ledgers.of(caller.account).setAlias(caller.credential, row)))
		throw new AiError("invalidRequest", `An account may set ${MAX_ALIASES} aliases`);
	return envelope(aliasJson({ alias, model, source: "account", modifiedOn: row.modified_on }));
}

function refuseConfigured(name: string, existing: readonly KnownAlias[]): void {
	if (existing.some(({ alias, source }) => alias === name && source === "configuration"))
		throw new AiError("invalidRequest", "alias: it is set in ALIASES, the operator's configuration");
}
