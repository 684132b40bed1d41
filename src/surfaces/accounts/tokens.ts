/**
 * Cloudflare's routes for the tokens of an account: `/client/v4/accounts/{account}/tokens`, and `/client/v4/user/tokens/verify`
 * (developers.cloudflare.com/api/resources/accounts/subresources/tokens).
 *
 * The text of a token is told once, by `create` and by `roll`, and kept nowhere.
 *
 * Differences from the product: `verify` answers 401 for a token that has expired or is disabled, and so does every
 * other route; `condition.request_ip` is refused. Beyond it: `limits: {daily_neurons, monthly_neurons, requests_per_minute}` of a token.
 */
import type { Context } from "hono";
import * as z from "zod";
import { permissionsToGive, type TokenCommand, type TokenStore } from "../../accounts/token-command.ts";
import { PERMISSION_GROUPS, type PermissionGroup } from "../../accounts/token-policy.ts";
import { digest, hexadecimal, newTokenText } from "../../accounts/token-text.ts";
import { AiError } from "../../core/errors.ts";
import { parseFields, readFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { v4Failure } from "../../http/failure-formats.ts";
import { type Call, defineRoutes, pathParameter, type Route } from "../../http/route.ts";
import { ACCOUNT, below, V4 } from "../bases.ts";
import { creationOf, tokenJson, updateOf, verifiedToken } from "./token-fields.ts";

const TAG = "Tokens";
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
/** The operator has no token and needs none. */
const OPERATOR_TOKEN = { id: "operator", status: "active" };

/** The routes of an account's tokens, and the one of a user's: a token itself says which account it is for. */
export const tokenRoutes: readonly Route[] = [
	...defineRoutes({ bases: [below(ACCOUNT, "/tokens")], tag: TAG, failure: v4Failure, noStore: true }, [
		{
			method: "GET",
			path: "",
			summary: "Lists the account's tokens",
			permission: "tokens-read",
			query: ListQuery,
			handler: list,
		},
		{
			method: "POST",
			path: "",
			summary: "Makes a token; the reply alone contains its text",
			permission: "tokens-write",
			input: { type: "application/json" },
			handler: create,
		},
		{
			method: "GET",
			path: "/verify",
			summary: "Tells whether the token is valid",
			permission: "token",
			handler: (_, call) => verify(call.caller.account, call),
		},
		{
			method: "GET",
			path: "/permission_groups",
			summary: "Lists the permission groups of tokens",
			permission: "tokens-read",
			handler: groups,
		},
		{
			method: "GET",
			path: "/:token",
			summary: "Shows a token",
			permission: "tokens-read",
			handler: async (c, call) => {
				const token = await one(call, { kind: "get", id: pathParameter(c, "token") });
				return envelope(tokenJson(token, call.services.now()));
			},
		},
		{
			method: "PUT",
			path: "/:token",
			summary: "Replaces the fields of a token",
			permission: "tokens-write",
			input: { type: "application/json" },
			handler: update,
		},
		{
			method: "DELETE",
			path: "/:token",
			summary: "Deletes a token",
			permission: "tokens-write",
			handler: async (c, call) => {
				const { id } = await one(call, { kind: "delete", id: pathParameter(c, "token") });
				return envelope({ id });
			},
		},
		{
			method: "PUT",
			path: "/:token/value",
			summary: "Gives a token a new text; the reply alone contains it",
			permission: "tokens-write",
			handler: roll,
		},
	]),
	...defineRoutes({ bases: [below(V4, "/user/tokens")], tag: TAG, failure: v4Failure }, [
		{
			method: "GET",
			path: "/verify",
			summary: "Tells whether the token is valid",
			permission: "token",
			handler: (_, call) => verify(call.bearer.account ?? "", call),
		},
	]),
];

async function list(c: Context, call: Call): Promise<Response> {
	const { page, per_page, direction, include_expired } = parseFields(ListQuery, c.req.query(), "query");
	const { tokens, total } = await run(call, {
		kind: "list",
		page,
		perPage: per_page,
		direction,
		includeExpired: include_expired === "true",
	});
	const now = call.services.now();
	return envelope(
		tokens.map((token) => tokenJson(token, now)),
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
}

async function create(c: Context, call: Call): Promise<Response> {
	const { services } = call;
	const { account } = call.caller;
	const newId = (): string => services.uuid().replaceAll("-", "");
	const body = await readFields(c.req.raw, services.limits);
	const fields = parseFields(creationOf({ account, now: services.now(), newId }), body, "body");
	const value = newTokenText(account);
	const hash = hexadecimal(digest(value));
	const token = await one(call, { kind: "create", id: newId(), hash, fields });
	return envelope({ ...tokenJson(token, services.now()), value });
}

async function groups(c: Context, call: Call): Promise<Response> {
	const { name, scope } = c.req.query();
	const selectable = await selectableBy(call);
	const listed = PERMISSION_GROUPS.filter((group) => name === undefined || group.name === name)
		.map((group) => groupJson(group, selectable))
		.filter(({ scopes }) => scope === undefined || scopes.includes(scope));
	return envelope(listed);
}

async function update(c: Context, call: Call): Promise<Response> {
	const { services } = call;
	const { account } = call.caller;
	const newId = (): string => services.uuid().replaceAll("-", "");
	const body = await readFields(c.req.raw, services.limits);
	const fields = parseFields(updateOf({ account, now: services.now(), newId }), body, "body");
	const token = await one(call, { kind: "update", id: pathParameter(c, "token"), fields });
	return envelope(tokenJson(token, services.now()));
}

async function roll(c: Context, call: Call): Promise<Response> {
	const value = newTokenText(call.caller.account);
	const hash = hexadecimal(digest(value));
	await one(call, { kind: "roll", id: pathParameter(c, "token"), hash });
	return envelope(value);
}

async function verify(account: string, { bearer, services }: Call): Promise<Response> {
	const { credential } = bearer;
	if (credential.kind === "operator") return envelope(OPERATOR_TOKEN, { messages: [VALID] });
	const { ledgers, now } = services;
	const token = first(await answerOf(ledgers.of(account), { kind: "verify", hash: credential.hash }));
	return envelope(verifiedToken(token, now()), { messages: [VALID] });
}

/** Whether a caller may give a group to a token. */
async function selectableBy({
	caller: { account, credential },
	services,
}: Call): Promise<(group: PermissionGroup) => boolean> {
	if (credential.kind === "operator") return () => true;
	const keeper = services.ledgers.of(account);
	const token = first(await answerOf(keeper, { kind: "verify", hash: credential.hash }));
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

/** A command without the one who gives it: the caller. */
type Ordered = TokenCommand extends infer Each
	? Each extends { maker: unknown }
		? Omit<Each, "maker">
		: never
	: never;

const run = ({ caller, services }: Call, command: Ordered) =>
	answerOf(services.ledgers.of(caller.account), { ...command, maker: caller.credential });

const one = async (call: Call, command: Ordered) => first(await run(call, command));

async function answerOf(keeper: TokenStore, command: TokenCommand) {
	const result = await keeper.tokens(command);
	if (!result.ok) throw new AiError(result.failure, result.description);
	return result;
}

function first({ tokens: [token] }: Awaited<ReturnType<typeof answerOf>>) {
	if (!token) throw new AiError("notFound", "Token not found");
	return token;
}
