/** Every route that a token may call, with a token that must use one gateway: it runs nothing elsewhere, and changes no gateway. */
import { describe, expect, it } from "vitest";
import type { AppRoute } from "../../../src/surfaces/route.ts";
import { ROUTES } from "../../../src/surfaces/routes.ts";
import { completion, upstream } from "../../gateway.ts";
import { ADMIN, type ClosedGateway, closedGateway, json } from "../../http/access.ts";
import { GATEWAY_SETTINGS } from "./gateway-settings.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const FLUX = "@cf/deepgram/flux?encoding=linear16&sample_rate=16000";
const VARS = {
	BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
	ROUTES: { "@cf/*": [{ backend: "engine", model: "served" }] },
};
const REQUIRED = { id: "prod", mode: "required", metadata: { team: "search" } } as const;

/** Routes that run nothing: what the token itself stored, what is not available, and what another route verifies. */
const RUNS_NOTHING =
	/\/(?:responses\/:response|conversations|files|batches)|\/run\/proxy$|\/run\/:run\/resume$/;

/** Routes that can run in no gateway. */
const OUTSIDE = /count_tokens$|input_tokens$|\/tomarkdown$|^GET .*\/run\/:model/;
/** The websockets of live models. They are refused in every gateway, before the one of the token is known. */
const isLive = ({ method, path }: AppRoute): boolean => method === "GET" && path.includes("/run/:model");

const engine = upstream(() => Response.json(completion("Hello")));
const here = closedGateway({ vars: VARS, fetch: engine.fetch });
const { account, send, services } = here;

/** By account, groups and gateway: the tests only use a token, and an account keeps its gateways. */
const tokens = new Map<string, Promise<string>>();

function token(
	groups: readonly string[],
	gateway: object | null = REQUIRED,
	at: ClosedGateway = here,
): Promise<string> {
	const name = JSON.stringify([at.account, groups, gateway]);
	const text = tokens.get(name) ?? createToken(groups, gateway, at);
	tokens.set(name, text);
	return text;
}

async function createToken(
	groups: readonly string[],
	gateway: object | null,
	at: ClosedGateway,
): Promise<string> {
	for (const id of ["prod", "other"])
		await at.services.gateways.change(at.account, id, (registry) => registry.create(id, GATEWAY_SETTINGS));
	return at.createToken(groups, gateway ? { gateway } : {});
}

/** The path with a value for each parameter. */
const pathOf = (path: string, account: string, gateway: string, model: string): string =>
	path
		.replace(":account", account)
		.replace(":gateway", gateway)
		.replace(
			/:model\{\.\+\}/,
			path.includes("/models/") ? `${encodeURIComponent(LLAMA)}:generateContent` : model,
		)
		.replace(/:call\{.*\}$/, `models/${encodeURIComponent(LLAMA)}:generateContent`)
		.replace(/:provider\{([\w-]+)\}/, "$1")
		.replace(":provider", "openai")
		.replace(":endpoint{.+}", "v1/chat/completions")
		.replace(":deployment{.+}", `${LLAMA}/chat/completions`)
		.replace(/:(?:log|run|route|key|alias|custom_provider)/, "0190a0a0-0000-7000-8000-000000000000");

function requestOf({ input, method, upgrades }: AppRoute): RequestInit & { headers: Record<string, string> } {
	if (upgrades) return { method, headers: { upgrade: "websocket" } };
	const { example, type } = input ?? {};
	if (method === "GET" || method === "DELETE") return { method, headers: {} };
	if (type !== "multipart/form-data")
		return { method, body: JSON.stringify(example ?? {}), headers: { "content-type": "application/json" } };
	const body = new FormData();
	for (const [name, value] of Object.entries(example as Record<string, string>))
		if (value.startsWith("@")) body.append(name, new File([new Uint8Array(64)], value.slice(1)));
		else body.append(name, value);
	return { method, body, headers: {} };
}

/** `headers`: beside those of the body and the credential. */
const call = async (
	route: AppRoute,
	text: string,
	{
		at = here,
		gateway,
		headers = { "cf-aig-gateway-id": gateway },
	}: { at?: ClosedGateway; gateway: string; headers?: Record<string, string> },
): Promise<Response> => {
	const { headers: own, ...init } = requestOf(route);
	const path = pathOf(route.path, at.account, gateway, route.upgrades ? FLUX : LLAMA);
	return at.send(`http://gateway${path}`, text, {
		...init,
		headers: { ...own, ...headers, "cf-aig-authorization": `Bearer ${text}` },
	});
};

interface LogJson {
	metadata: Record<string, unknown> | null;
}

const named = (routes: readonly AppRoute[]) =>
	routes.map((route) => [`${route.method} ${route.path}`, route] as const);
const RUNNING = ROUTES.filter(({ path, permission }) => permission === "run" && !RUNS_NOTHING.test(path));
/** One of the addresses of each handler. */
const distinct = (routes: readonly AppRoute[]): AppRoute[] => [
	...new Map(routes.map((route) => [route.handler, route])).values(),
];
/** The body of a search always names a gateway. */
const NAMELESS = RUNNING.filter(({ path }) => !path.endsWith("/websearch"));
/** They run in a gateway, and do not change it. */
const REPLAYS = ROUTES.filter(({ path }) => /\/gateways\/:gateway\/(?:replay|shadows)(?:\/|$)/.test(path));
const CHANGING = ROUTES.filter(
	(route) =>
		route.path.includes("/ai-gateway/") &&
		route.method !== "GET" &&
		!route.path.endsWith("/cache/purge") &&
		!REPLAYS.includes(route),
);

/** A request that names no gateway, but metadata. `OUTSIDE` runs only if no gateway is required. */
async function runsIn(
	route: AppRoute,
	text: string,
	{ at = here, gateway, isRequired }: { at?: ClosedGateway; gateway: string; isRequired: boolean },
): Promise<void> {
	const sentMetadata = { "cf-aig-metadata": JSON.stringify({ team: "sales", shift: "night" }) };
	const response = await call(route, text, { at, gateway, headers: sentMetadata });
	if (route.upgrades && response.status === 101) return response.webSocket?.accept();
	const body = await response.text();
	if (OUTSIDE.test(`${route.method} ${route.path}`)) {
		if (isRequired)
			expect([response.status, body]).toEqual([403, expect.stringContaining("this one has no gateway")]);
		else expect(response.status).not.toBe(403);
		return;
	}
	expect(response.status).not.toBe(403);
	const id = response.headers.get("cf-aig-log-id");
	expect(id).toMatch(/^[0-9a-f-]{36}$/);
	await expect
		.poll(
			async () => {
				const log = await at.send(`/ai-gateway/gateways/${gateway}/logs/${id}`, ADMIN);
				return (await log.json<{ result: LogJson | null }>()).result?.metadata;
			},
			{ timeout: 30_000, interval: 5 },
		)
		.toEqual({ team: "search", shift: "night" });
}

describe("a token that must use the gateway prod", () => {
	it.each(named(RUNNING))("runs nothing in another by %s", async (_, route) => {
		const text = await token(["Workers AI Run"]);
		const sent = engine.requests.length;
		const response = await call(route, text, { gateway: "other" });
		// The socket of Responses has its requests in frames, which another test sends.
		if (route.upgrades && response.status === 101) return response.webSocket?.accept();
		const body = await response.text();
		if (isLive(route))
			expect([response.status, body]).toEqual([400, expect.stringContaining("in no gateway")]);
		else
			expect([response.status, body]).toEqual([
				403,
				expect.stringMatching(/run in the gateway \\"prod\\", and this one (?:names another|has no gateway)/),
			]);
		expect(engine.requests.length).toBe(sent);
	});

	it.each(named(NAMELESS))("runs in it, with its metadata, by %s, which names none", async (_, route) => {
		await runsIn(route, await token(["Workers AI Run"]), { gateway: "prod", isRequired: true });
	});

	it.each(named(CHANGING))("changes no gateway by %s, with permission to write", async (_, route) => {
		const text = await token(["Workers AI Write", "Account API Tokens Write"]);
		for (const gateway of ["prod", "other"]) {
			const response = await call(route, text, { gateway });
			const { errors } = await response.json<{ errors: { code: number; message: string }[] }>();
			const isFeedback = route.path.endsWith("/logs/:log");
			expect([response.status, errors?.[0]?.code, errors?.[0]?.message]).toEqual(
				isFeedback
					? [...(gateway === "prod" ? [404, 7002] : [403, 9109]), expect.any(String)]
					: [
							403,
							9109,
							expect.stringContaining('requires the gateway "prod", so the token cannot change gateways'),
						],
			);
		}
		expect(await services.gateways.find(account, "prod")).toMatchObject({ id: "prod", collect_logs: true });
	});

	it("reads the logs and empties the cache of this gateway alone, with permission to write", async () => {
		const text = await token(["Workers AI Write"]);
		for (const [gateway, status] of [
			["prod", 200],
			["other", 403],
		] as const) {
			const path = `/ai-gateway/gateways/${gateway}`;
			const purged = await send(`${path}/cache/purge`, text, { method: "POST" });
			expect([gateway, purged.status]).toEqual([gateway, status]);
			expect([gateway, (await send(`${path}/logs`, text)).status]).toEqual([gateway, status]);
			expect((await send(`${path}/cache/purge`, ADMIN, { method: "POST" })).status).toBe(200);
		}
	});

	it.each(named(REPLAYS))("has the replays and shadows of this gateway alone by %s", async (_, route) => {
		const text = await token(["Workers AI Write"]);
		expect((await call(route, text, { gateway: "prod" })).status).not.toBe(403);
		const elsewhere = await call(route, text, { gateway: "other" });
		expect([elsewhere.status, await elsewhere.text()]).toEqual([
			403,
			expect.stringMatching(/run in the gateway \\"prod\\", and this one names another/),
		]);
	});

	it("is not stopped from changes if it only defaults to the gateway", async () => {
		const text = await token(["Workers AI Write"], { ...REQUIRED, mode: "default" });
		const response = await send(
			"/ai-gateway/gateways/other",
			text,
			json("PUT", { ...GATEWAY_SETTINGS, cache_ttl: 60 }),
		);
		expect(response.status).toBe(200);
	});
});

describe("a token with the default gateway prod", () => {
	const DEFAULT = { ...REQUIRED, mode: "default" };

	// One address of each handler: the tests above show that every address reads the token's gateway.
	it.each(named(distinct(NAMELESS)))(
		"runs in it, with its metadata, by %s, which names none",
		async (_, route) => {
			await runsIn(route, await token(["Workers AI Run"], DEFAULT), { gateway: "prod", isRequired: false });
		},
	);

	it.each(named(distinct(RUNNING)))("is not refused another gateway by %s", async (_, route) => {
		const response = await call(route, await token(["Workers AI Run"], DEFAULT), { gateway: "other" });
		if (route.upgrades && response.status === 101) return response.webSocket?.accept();
		await response.body?.cancel();
		expect(response.status).not.toBe(403);
	});
});

describe.each(["required", "default"])("an account that binds the gateway prod (%s)", (mode) => {
	const bound = closedGateway({ vars: VARS, fetch: engine.fetch });
	const isRequired = mode === "required";
	const tokenOfBound = async (): Promise<string> => {
		const text = await token(["Workers AI Run"], null, bound);
		const put = await bound.send("/ai/bound-gateway", ADMIN, json("PUT", { ...REQUIRED, mode }));
		expect(put.status).toBe(200);
		return text;
	};

	it.each(named(distinct(NAMELESS)))(
		"has its requests there, with its metadata, by %s, which names none",
		async (_, route) => {
			await runsIn(route, await tokenOfBound(), { at: bound, gateway: "prod", isRequired });
		},
	);

	it.each(named(distinct(RUNNING)))(
		"refuses another gateway only if it requires its own, by %s",
		async (_, route) => {
			const text = await tokenOfBound();
			const sent = engine.requests.length;
			const response = await call(route, text, { at: bound, gateway: "other" });
			if (route.upgrades && response.status === 101) return response.webSocket?.accept();
			await response.body?.cancel();
			if (!isRequired) return expect(response.status).not.toBe(403);
			expect(response.status).toBe(isLive(route) ? 400 : 403);
			expect(engine.requests.length).toBe(sent);
		},
	);
});

describe("an account that requires the gateway prod", () => {
	const policy = (groups: readonly string[]) => [
		{
			effect: "allow",
			permission_groups: groups.map((name) => ({ name })),
			resources: { [`com.cloudflare.api.account.${account}`]: "*" },
		},
	];

	it("lets only the operator change gateways, and no token make one with another gateway", async () => {
		const writer = await token(["Workers AI Write", "Workers AI Run", "Account API Tokens Write"], null);
		const bind = await send("/ai/bound-gateway", ADMIN, json("PUT", REQUIRED));
		expect(bind.status).toBe(200);
		const change = (text: string) =>
			send("/ai-gateway/gateways/prod", text, json("PUT", { ...GATEWAY_SETTINGS, collect_logs: false }));
		expect((await change(writer)).status).toBe(403);
		const make = async (gateway?: object) => {
			const body = { name: "second", policies: policy(["Workers AI Run"]), ...(gateway && { gateway }) };
			return (await send("/tokens", writer, json("POST", body))).status;
		};
		expect([
			await make({ id: "other", mode: "required" }),
			await make({ id: "prod", mode: "default" }),
			await make(),
			await make(REQUIRED),
		]).toEqual([403, 403, 200, 200]);
		expect((await send("/ai/bound-gateway", writer, { method: "DELETE" })).status).toBe(403);
		expect((await change(ADMIN)).status).toBe(200);
		expect((await send("/ai/bound-gateway", ADMIN, { method: "DELETE" })).status).toBe(200);
	});
});
