/** `ganglion token`: creates, lists and revokes tokens of an account. Needs the operator's token, or a token that may. */
import * as z from "zod";
import { CommandError, type ConnectionFlags, GatewayClient, ifAllowed } from "../gateway-client.ts";
import { printJson, table } from "../table.ts";

const Token = z.looseObject({
	id: z.string(),
	name: z.string(),
	status: z.string(),
	expires_on: z.string().nullish(),
	last_used_on: z.string().nullish(),
	limits: z
		.looseObject({
			daily_neurons: z.number().optional(),
			monthly_neurons: z.number().optional(),
			requests_per_minute: z.number().optional(),
		})
		.optional(),
	gateway: z.looseObject({ id: z.string(), mode: z.string() }).optional(),
	policies: z.array(
		z.looseObject({ permission_groups: z.array(z.looseObject({ name: z.string().optional() })) }),
	),
});
/** That of the account, or none. */
const AccountGateway = z.looseObject({ id: z.string(), mode: z.string() }).nullable();
const CreatedToken = Token.extend({ value: z.string() });
const Page = z.object({ result: z.array(Token), result_info: z.object({ total_pages: z.number() }) });

export interface TokenFlags extends ConnectionFlags {
	/** Names of permission groups. */
	permission: string[];
	/** `YYYY-MM-DDThh:mm:ssZ` */
	expires?: string;
	dailyNeurons?: number;
	monthlyNeurons?: number;
	requestsPerMinute?: number;
}

/** Prints the token alone on standard output, so that a script can store it. */
export async function createToken(name: string, flags: TokenFlags): Promise<number> {
	const client = new GatewayClient(flags);
	const limits = {
		...(flags.dailyNeurons !== undefined && { daily_neurons: flags.dailyNeurons }),
		...(flags.monthlyNeurons !== undefined && { monthly_neurons: flags.monthlyNeurons }),
		...(flags.requestsPerMinute !== undefined && { requests_per_minute: flags.requestsPerMinute }),
	};
	const created = await client.result("/tokens", CreatedToken, {
		method: "POST",
		body: {
			name,
			policies: [
				{
					effect: "allow",
					permission_groups: flags.permission.map((group) => ({ name: group })),
					resources: { [`com.cloudflare.api.account.${client.account}`]: "*" },
				},
			],
			...(flags.expires !== undefined && { expires_on: flags.expires }),
			...(Object.keys(limits).length > 0 && { limits }),
		},
	});
	if (flags.json) printJson(created);
	else {
		console.error(`Token ${created.id} of account ${client.account}. Its value is shown only once:`);
		console.log(created.value);
	}
	return 0;
}

const Budgets = z.looseObject({
	budgets: z.array(z.looseObject({ key: z.string(), period: z.string(), spent: z.number() })),
});

/** Rounds to two decimals. */
const neurons = (value: number): string => String(Math.round(value * 100) / 100);

/** `12.5 of 500 a day, 30 a minute` */
function limitsText(
	{ id, limits = {} }: z.output<typeof Token>,
	{ budgets }: z.output<typeof Budgets>,
): string {
	const { daily_neurons: daily, monthly_neurons: monthly, requests_per_minute: rate } = limits;
	const spent = (period: string): string =>
		neurons(budgets.find((budget) => budget.key === `token:${id}` && budget.period === period)?.spent ?? 0);
	return [
		daily !== undefined && `${spent("day")} of ${neurons(daily)} neurons a day`,
		monthly !== undefined && `${spent("month")} of ${neurons(monthly)} neurons a month`,
		rate !== undefined && `${rate} requests a minute`,
	]
		.filter((part) => part !== false)
		.join(", ");
}

/** A token's own gateway has precedence over that of the account. */
function gatewayText(
	own: z.output<typeof Token>["gateway"],
	bound: z.output<typeof AccountGateway> | undefined,
): string {
	if (own) return `${own.id} (${own.mode})`;
	if (bound === undefined) return "unknown (that of the account cannot be read)";
	return bound ? `${bound.id} (${bound.mode}, of the account)` : "any";
}

export async function listTokens(flags: ConnectionFlags): Promise<number> {
	const client = new GatewayClient(flags);
	const tokens = await allTokens(client);
	const hasBudgets = tokens.some(({ limits }) => limits);
	const used = hasBudgets && !flags.json ? await client.result("/ai/usage/limits", Budgets) : { budgets: [] };
	const bound = flags.json
		? null
		: await ifAllowed(client.result("/ai/bound-gateway", AccountGateway), undefined);
	if (flags.json) printJson(tokens);
	else if (tokens.length === 0) console.log("The account has no tokens.");
	else
		console.log(
			table(
				["NAME", "STATUS", "LAST USED", "EXPIRES", "LIMITS", "GATEWAY", "PERMISSIONS", "ID"],
				tokens.map((token) => [
					token.name,
					token.status,
					token.last_used_on ?? "never",
					token.expires_on ?? "never",
					limitsText(token, used) || "none",
					gatewayText(token.gateway, bound),
					token.policies
						.flatMap(({ permission_groups }) => permission_groups.map((group) => group.name ?? ""))
						.join(", "),
					token.id,
				]),
			),
		);
	return 0;
}

/** `token`: an id, or a name that only one token has. */
export async function revokeToken(token: string, flags: ConnectionFlags): Promise<number> {
	const client = new GatewayClient(flags);
	const found = (await allTokens(client)).filter(({ id, name }) => id === token || name === token);
	const [match] = found;
	if (!match) throw new CommandError(`account ${client.account} has no token ${JSON.stringify(token)}`);
	if (found.length > 1)
		throw new CommandError(`${found.length} tokens have this name: use an id (npx ganglion token list)`);
	await client.result(`/tokens/${match.id}`, z.unknown(), { method: "DELETE" });
	if (flags.json) printJson({ id: match.id });
	else console.log(`Token ${match.id} (${match.name}) is revoked.`);
	return 0;
}

export async function allTokens(client: GatewayClient): Promise<z.output<typeof Token>[]> {
	const tokens: z.output<typeof Token>[] = [];
	for (let page = 1, pages = 1; page <= pages; page++) {
		const { result, result_info } = await client.envelope(`/tokens?per_page=50&page=${page}`, Page);
		tokens.push(...result);
		pages = result_info.total_pages;
	}
	return tokens;
}
