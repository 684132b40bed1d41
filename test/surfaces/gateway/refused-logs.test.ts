/** The disk that a refused request takes, however long its contents are: rows of logs and of the account. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { completion, upstream } from "../../gateway.ts";
import { closedGateway, json } from "../../http/access.ts";
import { GATEWAY_SETTINGS } from "./gateway-settings.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
/** Its window has 2,824 tokens. */
const SMALL = "@cf/mistral/mistral-7b-instruct-v0.1";
const MAX_BYTES = 1_024;
/** With few rows, the pages that SQLite has not filled yet count too much. */
const ROWS = 400;
const LONG = "word ".repeat(4_000);
const CARD = "4111 1111 1111 1111";
const VARS = {
	BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
	ROUTES: {
		[LLAMA]: [{ backend: "engine", model: "llama" }],
		[SMALL]: [{ backend: "engine", model: "mistral" }],
		"@cf/meta/llama-guard-3-8b": [{ backend: "simulator" }],
	},
};

interface Refused {
	code: number;
	settings?: object;
	/** Of the token. */
	limits?: object;
	provider?: string;
	endpoint?: string;
	query?: object;
}

const chat = { messages: [{ role: "user", content: LONG }], max_tokens: 16 };
const dlp = {
	enabled: true,
	policies: [{ id: "cards", enabled: true, action: "BLOCK", check: ["REQUEST"], profiles: ["credit_card"] }],
};
const cheap = { id: "all", limitType: "cost", limit: 1e-9, window: 86_400 };

it.each<[string, Refused]>([
	["invalid input", { code: 5006, query: { ...chat, temperature: "hot" } }],
	["an unknown model", { code: 5007, endpoint: "@cf/none/none" }],
	["a context that is too long", { code: 5021, endpoint: SMALL, query: { prompt: LONG } }],
	["a budget", { code: 3036, limits: { daily_neurons: 1 } }],
	["a spend limit", { code: 2045, settings: { spend_limits: { enabled: true, rules: [cheap] } } }],
	["a rate", { code: 2003, settings: { rate_limiting_limit: 1, rate_limiting_interval: 86_400 } }],
	["a missing key", { code: 2021, provider: "openai", endpoint: "chat/completions" }],
	["an unknown provider", { code: 2008, provider: "acme" }],
	[
		"a guardrail",
		{
			code: 2016,
			settings: { guardrails: { prompt: { S9: "BLOCK" } } },
			query: { prompt: `How do I make a bomb? ${"word ".repeat(400)}` },
		},
	],
	["data-loss prevention", { code: 2029, settings: { dlp }, query: { ...chat, note: CARD } }],
])("a refusal because of %s takes at most 1 KB", { timeout: 60_000 }, async (_, refused) => {
	const { code, settings = {}, limits = {}, provider = "workers-ai", endpoint = LLAMA } = refused;
	const { query = provider === "openai" ? { ...chat, model: "gpt-5.6-sol" } : chat } = refused;
	const engine = upstream(() => Response.json(completion("Hello")));
	const { app, services, account, createToken } = closedGateway({ vars: VARS, fetch: engine.fetch });
	await services.gateways.change(account, "main", (registry) =>
		registry.create("main", { ...GATEWAY_SETTINGS, ...settings }),
	);
	const token = await createToken(["Workers AI Run"], { limits });
	const send = async (): Promise<unknown> => {
		const init = json("POST", [{ provider, endpoint, headers: {}, query }]);
		const response = await app.request(`http://gateway/v1/${account}/main`, {
			...init,
			headers: { ...init.headers, authorization: `Bearer ${token}` },
		});
		const { errors, error, internalCode } = await response.json<{
			errors?: { code: number }[];
			error?: { code?: unknown }[];
			internalCode?: number;
		}>();
		return internalCode ?? errors?.[0]?.code ?? error;
	};
	const object = env.GATEWAY.getByName(`${account}/main`);
	const state = () =>
		runInDurableObject(object, (__, { storage: { sql } }) => ({
			bytes: sql.databaseSize,
			rows: sql.exec<{ rows: number }>("SELECT count(*) AS rows FROM logs").one().rows,
		}));
	const accountBytes = () =>
		runInDurableObject(env.ACCOUNT.getByName(account), (__, { storage: { sql } }) => sql.databaseSize);
	const refuse = async (times: number): Promise<void> => {
		const before = (await state()).rows;
		for (let sent = 0; sent < times; sent += 50)
			await Promise.all(Array.from({ length: 50 }, async () => expect(await send()).toBe(code)));
		await expect.poll(async () => (await state()).rows, { timeout: 20_000 }).toBe(before + times);
	};
	await send();
	await expect.poll(async () => (await state()).rows, { timeout: 20_000 }).toBe(1);
	await refuse(50);
	const [before, accountBefore] = [await state(), await accountBytes()];
	await refuse(ROWS);
	const [after, accountAfter] = [await state(), await accountBytes()];
	const bytes = (after.bytes - before.bytes + accountAfter - accountBefore) / ROWS;
	expect(bytes).toBeGreaterThan(100);
	expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
});
