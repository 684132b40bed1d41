/**
 * Cloudflare's routes for the tokens of an account: `/client/v4/accounts/{account}/tokens`, and `/client/v4/user/tokens/verify`
 * (developers.cloudflare.com/api/resources/accounts/subresources/tokens).
 *
 * The text of a token is told once, by `create` and by `roll`, and kept nowhere.
 *
 * Differences from the product: `verify` answers 401 for a token that has expired or is disabled, and so does every
 * other route; `condition.request_ip` is refused. Beyond it: `limits: {daily_neurons, monthly_neurons, requests_per_minute}` of a token.
 */
import { type Context, Hono } from "hono";
import * as z from "zod";
import { permissionsToGive, type TokenCommand, type TokenKeeper } from "../../accounts/token-command.ts";
import { PERMISSION_GROUPS, type PermissionGroup } from "../../accounts/token-policy.ts";
import { digest, hexadecimal, newTokenText } from "../../accounts/token-text.ts";
import { AiError } from "../../core/errors.ts";
import { parseFields, readFields } from "../../http/account-request.ts";
import { type Bearer, bearerOf, callerOf } from "../../http/authenticate.ts";
import { envelope } from "../../http/envelope.ts";
import { methodNotAllowed } from "../../http/method-not-allowed.ts";
import type { Services } from "../../pipeline/services.ts";
import { creationOf, tokenJson, updateOf, verifiedToken } from "./token-fields.ts";

const DEFAULT_PER_PAGE = 20;
const MAX_PER_PAGE = 50;

const count = z
	.string()
	.regex(/^[1-9]\d{0,8}$/, "expected a whole number from 1")
	.transform(Number);

const ListQuery = z.object({
	page: count.default(1),
	per_page: count.pipe(z.number().max(MAX_PER_PAGE)).default(DEFAULT_PER_PAGE),
	direction: z.enum(["asc", "desc"]).default("asc"),
	include_expired: z.enum(["true", "false"]).default("false"),
});

const VALID = { code: 10000, message: "This API Token is valid and active", type: null };
/** Of who has no token and needs none. */
const OPERATOR_TOKEN = { id: "operator", status: "active" };

export function tokens(services: Services): Hono {
	const app = new Hono({ strict: false });
	const { ledgers, limits, now, uuid } = services;
	const newId = (): string => uuid().replaceAll("-", "");

	app.use(async (c, next) => {
		await next();
		c.res.headers.set("cache-control", "no-store");
	});

	app.get("/", async (c) => {
		const query = parseFields(ListQuery, c.req.query(), "query");
		const { page, per_page, direction } = query;
		const includeExpired = query.include_expired === "true";
		const { tokens, total } = await run(c, (maker) => ({
			kind: "list",
			maker,
			page,
			perPage: per_page,
			direction,
			includeExpired,
		}));
		return envelope(
			tokens.map((token) => tokenJson(token, now())),
			{
				result_info: {
					page,
					per_page,
					count: tokens.length,
					total_count: total,
					total_pages: Math.ceil(total / per_page),
				},
			},
		);
	});

	app.post("/", async (c) => {
		const { account } = callerOf(c);
		const body = await readFields(c.req.raw, limits);
		const fields = parseFields(creationOf({ account, now: now(), newId }), body, "body");
		const value = newTokenText(account);
		const hash = hexadecimal(digest(value));
		const token = await one(c, (maker) => ({ kind: "create", maker, id: newId(), hash, fields }));
		return envelope({ ...tokenJson(token, now()), value });
	});

	app.get("/verify", (c) => verify(callerOf(c).account, bearerOf(c), services));

	app.get("/permission_groups", async (c) => {
		const { name, scope } = c.req.query();
		const selectable = await selectableBy(callerOf(c).account, bearerOf(c), ledgers);
		const groups = PERMISSION_GROUPS.filter((group) => name === undefined || group.name === name)
			.map((group) => groupJson(group, selectable))
			.filter(({ scopes }) => scope === undefined || scopes.includes(scope));
		return envelope(groups);
	});

	app.get("/:token", async (c) =>
		envelope(tokenJson(await one(c, (maker) => ({ kind: "get", maker, id: c.req.param("token") })), now())),
	);

	app.put("/:token", async (c) => {
		const { account } = callerOf(c);
		const id = c.req.param("token");
		const body = await readFields(c.req.raw, limits);
		const fields = parseFields(updateOf({ account, now: now(), newId }), body, "body");
		return envelope(tokenJson(await one(c, (maker) => ({ kind: "update", maker, id, fields })), now()));
	});

	app.delete("/:token", async (c) => {
		const { id } = await one(c, (maker) => ({ kind: "delete", maker, id: c.req.param("token") }));
		return envelope({ id });
	});

	app.put("/:token/value", async (c) => {
		const value = newTokenText(callerOf(c).account);
		const hash = hexadecimal(digest(value));
		await one(c, (maker) => ({ kind: "roll", maker, id: c.req.param("token"), hash }));
		return envelope(value);
	});

	methodNotAllowed(app, ["/", "/verify", "/permission_groups", "/:token", "/:token/value"]);
	return app;

	async function run(c: Context, command: (maker: Bearer["credential"]) => TokenCommand) {
		const { account, credential } = callerOf(c);
		return answerOf(ledgers.of(account), command(credential));
	}

	async function one(c: Context, command: (maker: Bearer["credential"]) => TokenCommand) {
		return first(await run(c, command));
	}
}

/** The one route of a user's tokens that is here: a token says itself which account it is for. */
export function userTokens(services: Services): Hono {
	const app = new Hono({ strict: false });
	app.get("/verify", (c) => {
		const bearer = bearerOf(c);
		return verify(bearer.account ?? "", bearer, services);
	});
	methodNotAllowed(app, ["/verify"]);
	return app;
}

async function verify(
	account: string,
	{ credential }: Bearer,
	{ ledgers, now }: Services,
): Promise<Response> {
	if (credential.kind === "operator") return envelope(OPERATOR_TOKEN, { messages: [VALID] });
	const token = first(await answerOf(ledgers.of(account), { kind: "verify", hash: credential.hash }));
	return envelope(verifiedToken(token, now()), { messages: [VALID] });
}

/** Whether a caller may give a group to a token. */
async function selectableBy(
	account: string,
	{ credential }: Bearer,
	ledgers: Services["ledgers"],
): Promise<(group: PermissionGroup) => boolean> {
	if (credential.kind === "operator") return () => true;
	const token = first(await answerOf(ledgers.of(account), { kind: "verify", hash: credential.hash }));
	const givable = permissionsToGive(token);
	return ({ grants }) => grants.every((permission) => givable.has(permission));
}

const groupJson = (group: PermissionGroup, selectable: (group: PermissionGroup) => boolean) => ({
	id: group.id,
	name: group.name,
	category: group.category,
	is_selectable: selectable(group),
	scopes: ["com.cloudflare.api.account"],
});

async function answerOf(keeper: TokenKeeper, command: TokenCommand) {
	const result = await keeper.tokens(command);
	if (!result.ok) throw new AiError(result.failure, result.description);
	return result;
}

function first({ tokens: [token] }: Awaited<ReturnType<typeof answerOf>>) {
	if (!token) throw new AiError("notFound", "Token not found");
	return token;
}
