/**
 * Cloudflare's routes for the tokens of an account: `/client/v4/accounts/{account}/tokens`, and `/client/v4/user/tokens/verify`
 * (developers.cloudflare.com/api/resources/accounts/subresources/tokens).
 *
 * Only the replies of `create` and `roll` contain the text of a token. It is not stored.
 *
 * Differences from the product: `verify` and every other route answer 401 for a token that has expired or is disabled;
 * `condition.request_ip` is refused. Additional fields: `limits: {daily_neurons, monthly_neurons, requests_per_minute}`, and
 * `gateway: {id, mode, metadata, custom_cost}`: the gateway in which the token's requests run.
 */
import type { Context } from "hono";
import * as z from "zod";
import { OPERATOR_ACCOUNT } from "../../accounts/operator-account.ts";
import { grantablePermissions, type TokenCommand, type TokenStore } from "../../accounts/token-command.ts";
import { PERMISSION_GROUPS, type PermissionGroup } from "../../accounts/token-policy.ts";
import { digest, hexadecimal, newTokenText } from "../../accounts/token-text.ts";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { parseFields, readFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { textFlag } from "../../schemas/text-flag.ts";
import { answer } from "../answer.ts";
import { ACCOUNT, below, V4 } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { creationSchema, tokenJson, updateSchema, verifiedToken } from "./token-fields.ts";
import { unknownBinding } from "./unknown-binding.ts";

const DEFAULT_PER_PAGE = 20;
const MAX_PER_PAGE = 50;

const positiveInteger = lazy(() =>
	z
		.string()
		.regex(/^[1-9]\d{0,8}$/, "expected a whole number from 1")
		.transform(Number),
);

const ListQuery = lazy(() =>
	z.object({
		page: positiveInteger().default(1),
		per_page: positiveInteger().pipe(z.number().max(MAX_PER_PAGE)).default(DEFAULT_PER_PAGE),
		direction: z.enum(["asc", "desc"]).default("asc"),
		include_expired: textFlag().default(false),
	}),
);

const NO_TOKENS = `The account "${OPERATOR_ACCOUNT}" pays for the shadows of all accounts, so it has no tokens: use another id`;
const VALID = { code: 10000, message: "This API Token is valid and active", type: null };
/** The reply of `verify` to the operator, who has no token of an account. */
const OPERATOR_TOKEN = { id: "operator", status: "active" };

/** For the OpenAPI document. The account of a request is in its path. */
const DOCUMENTED = { account: "local", now: 0, newId: () => "" };
const EXAMPLE = {
	name: "the web shop",
	policies: [
		{
			effect: "allow",
			permission_groups: [{ name: "Workers AI Read" }],
			resources: { "com.cloudflare.api.account.local": "*" },
		},
	],
};

/** The routes of an account's tokens, and `/user/tokens/verify`, whose account is in the token. */
export const tokenRoutes: readonly AppRoute[] = [
	...defineRoutes({ bases: [below(ACCOUNT, "/tokens")], tag: "Tokens", noStore: true }, [
		{
			method: "GET",
			path: "",
			summary: "Lists the account's tokens",
			query: ListQuery,
			permission: "tokens-read",
			output: answer("tokensAnswer"),
			handler: listTokens,
		},
		{
			method: "POST",
			path: "",
			summary: "Creates a token, whose value only this answer has",
			input: { type: "application/json", schema: () => creationSchema(DOCUMENTED), example: EXAMPLE },
			permission: "tokens-write",
			output: answer("createdTokenAnswer"),
			handler: createToken,
		},
		{
			method: "GET",
			path: "/verify",
			summary: "Checks whether the token is valid",
			permission: "token",
			output: answer("tokenStatusAnswer"),
			handler: (_, call) => verifyToken(call.caller.account, call),
		},
		{
			method: "GET",
			path: "/permission_groups",
			summary: "Lists the permission groups of tokens",
			query: () => z.object({ name: z.string().optional(), scope: z.string().optional() }),
			permission: "tokens-read",
			output: answer("groupsAnswer"),
			handler: listGroups,
		},
		{
			method: "GET",
			path: "/:token",
			summary: "Shows a token",
			permission: "tokens-read",
			output: answer("tokenAnswer"),
			handler: showToken,
		},
		{
			method: "PUT",
			path: "/:token",
			summary: "Replaces the fields of a token",
			input: { type: "application/json", schema: () => updateSchema(DOCUMENTED), example: EXAMPLE },
			permission: "tokens-write",
			output: answer("tokenAnswer"),
			handler: updateToken,
		},
		{
			method: "DELETE",
			path: "/:token",
			summary: "Deletes a token",
			permission: "tokens-write",
			output: answer("deletedTokenAnswer"),
			handler: deleteToken,
		},
		{
			method: "PUT",
			path: "/:token/value",
			summary: "Rolls a token: replaces its value, which only this answer has",
			permission: "tokens-write",
			output: answer("tokenValueAnswer"),
			handler: rollToken,
		},
	]),
	...defineRoutes({ bases: [below(V4, "/user/tokens")], tag: "Tokens" }, [
		{
			method: "GET",
			path: "/verify",
			summary: "Checks whether the token is valid",
			permission: "token",
			output: answer("tokenStatusAnswer"),
			handler: (_, call) => verifyToken(call.bearer.account ?? "", call),
		},
	]),
];

async function deleteToken(c: Context, call: AppCall): Promise<Response> {
	const { id } = await runForOne(call, { kind: "delete", id: pathParameter(c, "token") });
	return envelope({ id });
}

async function showToken(c: Context, call: AppCall): Promise<Response> {
	const token = await runForOne(call, { kind: "get", id: pathParameter(c, "token") });
	return envelope(tokenJson(token, call.services.now()));
}

async function listTokens(c: Context, call: AppCall): Promise<Response> {
	const { page, per_page, direction, include_expired } = parseFields(ListQuery(), c.req.query(), "query");
	const { tokens, total } = await runCommand(call, {
		kind: "list",
		page,
		perPage: per_page,
		direction,
		includeExpired: include_expired,
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

async function createToken(c: Context, call: AppCall): Promise<Response> {
	const { services } = call;
	const { account } = call.caller;
	if (account === OPERATOR_ACCOUNT) throw new AiError("invalidRequest", NO_TOKENS);
	const newId = (): string => services.uuid().replaceAll("-", "");
	const fields = await readFields(
		creationSchema({ account, now: services.now(), newId }),
		c.req.raw,
		services,
	);
	const value = newTokenText(account);
	const hash = hexadecimal(digest(value));
	const token = await runForOne(call, { kind: "create", id: newId(), hash, fields });
	return envelope(
		{ ...tokenJson(token, services.now()), value },
		await unknownBinding(services.gateways.registry(account), { id: fields.gateway?.id, path: "gateway.id" }),
	);
}

async function listGroups(c: Context, call: AppCall): Promise<Response> {
	const { name, scope } = c.req.query();
	const selectable = await selectableBy(call);
	const listed = PERMISSION_GROUPS.filter((group) => name === undefined || group.name === name)
		.map((group) => groupJson(group, selectable))
		.filter(({ scopes }) => scope === undefined || scopes.includes(scope));
	return envelope(listed);
}

async function updateToken(c: Context, call: AppCall): Promise<Response> {
	const { services } = call;
	const { account } = call.caller;
	const newId = (): string => services.uuid().replaceAll("-", "");
	const fields = await readFields(updateSchema({ account, now: services.now(), newId }), c.req.raw, services);
	const token = await runForOne(call, { kind: "update", id: pathParameter(c, "token"), fields });
	return envelope(
		tokenJson(token, services.now()),
		await unknownBinding(services.gateways.registry(account), { id: fields.gateway?.id, path: "gateway.id" }),
	);
}

async function rollToken(c: Context, call: AppCall): Promise<Response> {
	const value = newTokenText(call.caller.account);
	const hash = hexadecimal(digest(value));
	await runForOne(call, { kind: "roll", id: pathParameter(c, "token"), hash });
	return envelope(value);
}

async function verifyToken(account: string, { bearer, services }: AppCall): Promise<Response> {
	const { credential } = bearer;
	if (credential.kind === "operator") return envelope(OPERATOR_TOKEN, { messages: [VALID] });
	const { ledgers, now } = services;
	const token = onlyToken(await sendCommand(ledgers.of(account), { kind: "verify", hash: credential.hash }));
	return envelope(verifiedToken(token, now()), { messages: [VALID] });
}

/** Returns whether the caller may give a permission group to a token. */
async function selectableBy({
	caller: { account, credential },
	services,
}: AppCall): Promise<(group: PermissionGroup) => boolean> {
	if (credential.kind === "operator") return () => true;
	const keeper = services.ledgers.of(account);
	const token = onlyToken(await sendCommand(keeper, { kind: "verify", hash: credential.hash }));
	const grantable = grantablePermissions(token);
	return ({ grants }) => grants.every((permission) => grantable.has(permission));
}

const groupJson = (group: PermissionGroup, selectable: (group: PermissionGroup) => boolean) => ({
	id: group.id,
	name: group.name,
	category: group.category,
	is_selectable: selectable(group),
	scopes: ["com.cloudflare.api.account"],
});

/** A command without its `maker`, which is the caller. */
type CallerCommand = TokenCommand extends infer Each
	? Each extends { maker: unknown }
		? Omit<Each, "maker">
		: never
	: never;

const runCommand = ({ caller, services }: AppCall, command: CallerCommand) =>
	sendCommand(services.ledgers.of(caller.account), { ...command, maker: caller.credential });

const runForOne = async (call: AppCall, command: CallerCommand) => onlyToken(await runCommand(call, command));

async function sendCommand(keeper: TokenStore, command: TokenCommand) {
	const result = await keeper.tokens(command);
	if (!result.ok) throw new AiError(result.failure, result.description);
	return result;
}

function onlyToken({ tokens: [token] }: Awaited<ReturnType<typeof sendCommand>>) {
	if (!token) throw new AiError("notFound", "Token not found");
	return token;
}
