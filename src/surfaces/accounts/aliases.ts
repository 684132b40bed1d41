/**
 * Aliases of models: `GET /client/v4/accounts/{account}/ai/aliases`, and `GET`, `PUT {"model": "@cf/…"}`, `DELETE` of
 * `…/ai/aliases/{alias}`. Not in the product. Aliases of the configuration are shown and cannot be changed here.
 */
import { Hono } from "hono";
import * as z from "zod";
import { MAX_ALIASES } from "../../accounts/durable/alias-table.ts";
import { AiError } from "../../core/errors.ts";
import { parseFields, readFields } from "../../http/account-request.ts";
import { callerOf } from "../../http/authenticate.ts";
import { envelope } from "../../http/envelope.ts";
import { methodNotAllowed } from "../../http/method-not-allowed.ts";
import { aliasProblem } from "../../pipeline/alias-problem.ts";
import { aliasesOf, type KnownAlias } from "../../pipeline/aliases.ts";
import type { Services } from "../../pipeline/services.ts";

const Body = z.strictObject({ model: z.string().min(1).max(512) });

const shown = ({ alias, model, source, modifiedOn }: KnownAlias): object => ({
	alias,
	model,
	source,
	modified_on: modifiedOn === undefined ? null : new Date(modifiedOn).toISOString(),
});

export function aliases(services: Services): Hono {
	const app = new Hono({ strict: false });
	const { catalog, ledgers, limits, now, routing } = services;

	app.get("/", async (c) => envelope((await aliasesOf(callerOf(c), services)).map(shown)));
	app.get("/:alias{.+}", async (c) => {
		const name = c.req.param("alias");
		const found = (await aliasesOf(callerOf(c), services)).find(({ alias }) => alias === name);
		if (!found) throw new AiError("notFound", "Alias not found");
		return envelope(shown(found));
	});
	app.put("/:alias{.+}", async (c) => {
		const caller = callerOf(c);
		const alias = c.req.param("alias");
		const { model } = parseFields(Body, await readFields(c.req.raw, limits), "body");
		const known = await aliasesOf(caller, services);
		refuseConfigured(alias, known);
		const isAlias = (name: string): boolean => known.some((other) => other.alias === name);
		const problem = aliasProblem(alias, model, { catalog, routing, isAlias });
		if (problem) throw new AiError("invalidRequest", `alias: ${problem}`);
		// An alias of a name that is in use as a target would make a chain.
		if (known.some((other) => other.model === alias))
			throw new AiError("invalidRequest", "alias: expected a new name, found the target of another alias");
		const row = { alias, model, modified_on: now() };
		if (!(await ledgers.of(caller.account).setAlias(caller.credential, row)))
			throw new AiError("invalidRequest", `An account may set ${MAX_ALIASES} aliases`);
		return envelope(shown({ alias, model, source: "account", modifiedOn: row.modified_on }));
	});
	app.delete("/:alias{.+}", async (c) => {
		const caller = callerOf(c);
		const alias = c.req.param("alias");
		refuseConfigured(alias, await aliasesOf(caller, services));
		if (!(await ledgers.of(caller.account).deleteAlias(caller.credential, alias)))
			throw new AiError("notFound", "Alias not found");
		return envelope({ alias });
	});
	methodNotAllowed(app, ["/", "/:alias{.+}"]);
	return app;
}

function refuseConfigured(name: string, known: readonly KnownAlias[]): void {
	if (known.some(({ alias, source }) => alias === name && source === "configuration"))
		throw new AiError("invalidRequest", "alias: it is set in ALIASES, the operator's configuration");
}
