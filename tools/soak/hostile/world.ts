/** The settings of a hostile run, its accounts, tokens, gateways and providers. */
import {
	GATEWAYS,
	INDEXES,
	INSTANCES,
	indexSettings,
	instanceSettings,
	MANY_GATEWAYS,
	type Target,
} from "./attacker.ts";
import { NORMAL_MODEL } from "./callers.ts";
import type { ServedGateway } from "./served.ts";

/** "Workers AI Run". */
const RUN_ONLY = "d3ab162cd977454484c09407d166146a";
/** "Vectorize Write" and "AI Search Write". */
const ROOMS = ["0d3f1b7a2c8e4f5b9a6d4e2f8c1b7d53", "a17e4f0c8d364b5e92c1d7b3f5a60e84"];
export const NORMAL_ACCOUNT = "normal";
const HOSTILE_ACCOUNTS = ["hostile-1", "hostile-2", "hostile-3", "hostile-4"] as const;
/** Neurons a day: of some requests, and of no request. */
const POOR_NEURONS = 100;
const EMPTY_NEURONS = 1;
const GUARD_MODEL = "@cf/meta/llama-guard-3-8b";
/** As on many systems and in containers. */
const OPEN_FILES = 1_024;

const CHAT_MODEL = {
	task: "Text Generation",
	context_window: 20_000_000,
	prices: [
		{ unit: "per M input tokens", neurons: 20_000 },
		{ unit: "per M output tokens", neurons: 130_000 },
	],
};
const HOSTILE_CHATS = ["quick", "endless", "silent", "slow", "large", "bomb", "busy", "wrong"];

export function settingsOf(normal: string, hostile: string): Record<string, unknown> {
	const routes = HOSTILE_CHATS.map((name) => [`hostile/${name}`, [{ backend: "hostile", model: name }]]);
	return {
		OPEN_FILES,
		BACKENDS: {
			normal: { kind: "openai", url: `${normal}/v1` },
			hostile: { kind: "openai", url: `${hostile}/v1` },
		},
		ROUTES: {
			[NORMAL_MODEL]: [{ backend: "normal", model: "normal" }],
			...Object.fromEntries(routes),
			"hostile/embed": [{ backend: "hostile", model: "embed" }],
			[GUARD_MODEL]: [{ backend: "hostile", model: "guard" }],
		},
		MODELS: {
			[NORMAL_MODEL]: CHAT_MODEL,
			...Object.fromEntries(HOSTILE_CHATS.map((name) => [`hostile/${name}`, CHAT_MODEL])),
			"hostile/embed": { task: "Text Embeddings", prices: [{ unit: "per M input tokens", neurons: 1_000 }] },
		},
		// Limits of a rate would end many patterns early.
		LIMITS: { requests_per_minute: "none" },
		AI_GATEWAY: { allow_private_addresses: true },
	};
}

/** A token with a budget. */
export interface BudgetedToken {
	account: string;
	id: string;
	/** A day. */
	neurons: number;
}

/** Creates everything. The attackers' tokens cannot change it. */
export async function createWorld(
	gateway: ServedGateway,
	hostile: string,
): Promise<{ target: Target; normalToken: string; budgeted: BudgetedToken[] }> {
	const accounts: { id: string; token: string; roomToken: string }[] = [];
	for (const id of HOSTILE_ACCOUNTS) {
		await createGateways(gateway, id, hostile);
		await createRooms(gateway, id);
		const roomToken = (await createToken(gateway, id, {}, [RUN_ONLY, ...ROOMS])).value;
		accounts.push({ id, token: (await createToken(gateway, id)).value, roomToken });
	}
	const [first] = HOSTILE_ACCOUNTS;
	const revoked = await createToken(gateway, first);
	await gateway.api("DELETE", `/client/v4/accounts/${first}/tokens/${revoked.id}`);
	const poor = await createToken(gateway, first, { daily_neurons: POOR_NEURONS });
	const empty = await createToken(gateway, first, { daily_neurons: EMPTY_NEURONS });
	return {
		budgeted: [
			{ account: first, id: poor.id, neurons: POOR_NEURONS },
			{ account: first, id: empty.id, neurons: EMPTY_NEURONS },
		],
		normalToken: (await createToken(gateway, NORMAL_ACCOUNT)).value,
		target: {
			port: gateway.port,
			accounts,
			revokedToken: revoked.value,
			poorToken: poor.value,
			emptyToken: empty.value,
		},
	};
}

const createToken = (
	gateway: ServedGateway,
	account: string,
	limits: { daily_neurons?: number } = {},
	groups: readonly string[] = [RUN_ONLY],
): Promise<{ id: string; value: string }> =>
	gateway.api("POST", `/client/v4/accounts/${account}/tokens`, {
		name: "hostile soak",
		limits,
		policies: [
			{
				effect: "allow",
				resources: { [`com.cloudflare.api.account.${account}`]: "*" },
				permission_groups: groups.map((id) => ({ id })),
			},
		],
	});

/** Else the patterns of vectors and AI Search would find nothing until others of them create it. */
async function createRooms(gateway: ServedGateway, account: string): Promise<void> {
	const base = `/client/v4/accounts/${account}`;
	for (let number = 0; number < INDEXES; number++)
		await gateway.api("POST", `${base}/vectorize/v2/indexes`, indexSettings(number));
	for (let number = 0; number < INSTANCES; number++)
		await gateway.api("POST", `${base}/ai-search/instances`, instanceSettings(number));
}

async function createGateways(gateway: ServedGateway, account: string, hostile: string): Promise<void> {
	const base = `/client/v4/accounts/${account}/ai-gateway`;
	const create = (id: string, settings: object = {}): Promise<unknown> =>
		gateway.api("POST", `${base}/gateways`, {
			id,
			...settings,
		});
	const dlp = {
		enabled: true,
		policies: [
			{
				id: "cards",
				enabled: true,
				action: "BLOCK",
				check: ["REQUEST", "RESPONSE"],
				profiles: ["credit_card"],
			},
		],
	};
	const settings: Record<(typeof GATEWAYS)[number], object> = {
		plain: {},
		cached: { cache_ttl: 3_600 },
		guarded: { guardrails: { prompt: { S1: "BLOCK" }, response: { S1: "BLOCK" } } },
		searched: { dlp },
	};
	for (const id of GATEWAYS) await create(id, settings[id]);
	for (let number = 0; number < MANY_GATEWAYS; number++) await create(`many-${number}`);
	const provider = (slug: string, base_url: string): Promise<unknown> =>
		gateway.api("POST", `${base}/custom-providers`, { name: slug, slug, base_url, enable: true });
	await provider("evil", `${hostile}/v1`);
	await provider("loop", gateway.url);
}
