import { describe, expect, it } from "vitest";
import { BASE, completion, testGateway, upstream } from "../../gateway.ts";

const VARS = {
	OPENAI_API_KEY: "sk-openai",
	GROQ_API_KEY: "gsk-groq",
	PROVIDER_KEYS: { openai: "OPENAI_API_KEY", groq: "GROQ_API_KEY" },
	LIMITS: { requests_per_minute: "none" },
};
const MESSAGES = [{ role: "user", content: "Hi" }];

const to = (elementId: string) => ({ elementId });
const start = (next: string) => ({ id: "start", type: "start", outputs: { next: to(next) } });
const model = (id: string, provider: string, fallback?: string) => ({
	id,
	type: "model",
	properties: { provider, model: id, timeout: 10_000, retries: 0 },
	outputs: { success: to("end"), ...(fallback && { fallback: to(fallback) }) },
});
const END = { id: "end", type: "end", outputs: {} };

/** Serves only the models of `serving`. Its gateway has a name of its own. */
function setUp(serving: readonly string[]) {
	const { fetch, requests } = upstream(async (request) => {
		const { model: name } = await request.json<{ model: string }>();
		return serving.includes(name)
			? Response.json(completion(`Hello from ${name}`))
			: Response.json({ error: { message: "busy" } }, { status: 400 });
	});
	const { app } = testGateway({ vars: VARS, fetch });
	const gateway = `gw-${crypto.randomUUID()}`;
	const routes = `http://gateway/client/v4/accounts/local/ai-gateway/gateways/${gateway}/routes`;
	const call = async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
		const init = { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
		return (await app.request(`${routes}${path}`, init)).json();
	};
	const deploy = async (name: string, elements: unknown[]): Promise<string> => {
		const { result } = await call("POST", "", { name, elements });
		const { id, version } = result as { id: string; version: { version_id: string } };
		await call("POST", `/${id}/deployments`, { version_id: version.version_id });
		return id;
	};
	const chat = async (body: object, headers: Record<string, string> = {}) =>
		app.request(`http://gateway/v1/local/${gateway}/compat/chat/completions`, {
			method: "POST",
			headers: { "content-type": "application/json", ...headers },
			body: JSON.stringify({ messages: MESSAGES, ...body }),
		});
	const run = async (name: string): Promise<Response> =>
		app.request(`${BASE}/run/${name}`, {
			method: "POST",
			headers: { "content-type": "application/json", "cf-aig-gateway-id": gateway },
			body: JSON.stringify({ messages: MESSAGES }),
		});
	const explain = async (path: string, body: object): Promise<Record<string, unknown>> => {
		const headers = {
			"content-type": "application/json",
			"cf-aig-gateway-id": gateway,
			"cf-aig-metadata": '{"user":"u1"}',
		};
		const init = { method: "POST", headers, body: JSON.stringify(body) };
		return (await app.request(`${BASE}/explain/${path}`, init)).json();
	};
	return { call, deploy, chat, run, requests, explain, gateway };
}

const contentOf = async (response: Response): Promise<unknown> =>
	(await response.json<{ choices: { message: { content: string } }[] }>()).choices[0]?.message.content;

describe("a request to a dynamic route", () => {
	it("is answered by its model, whose name and provider are in headers", async () => {
		const { deploy, chat } = setUp(["gpt-5"]);
		await deploy("support", [start("gpt-5"), model("gpt-5", "openai"), END]);
		const response = await chat({ model: "dynamic/support" });
		expect(response.status).toBe(200);
		expect(response.headers.get("cf-aig-model")).toBe("gpt-5");
		expect(response.headers.get("cf-aig-provider")).toBe("openai");
		expect(response.headers.get("cf-aig-step")).toBe("0");
		expect(await contentOf(response)).toBe("Hello from gpt-5");
	});

	it("goes to the fallback of a model that fails", async () => {
		const { deploy, chat, requests } = setUp(["llama-3.3-70b-versatile"]);
		await deploy("support", [
			start("gpt-5"),
			model("gpt-5", "openai", "llama-3.3-70b-versatile"),
			model("llama-3.3-70b-versatile", "groq"),
			END,
		]);
		const response = await chat({ model: "dynamic/support" });
		expect(await contentOf(response)).toBe("Hello from llama-3.3-70b-versatile");
		expect(response.headers.get("cf-aig-provider")).toBe("groq");
		expect(requests.map(({ url }) => new URL(url).hostname)).toEqual(["api.openai.com", "api.groq.com"]);
	});

	it("is answered with the failure of the last model", async () => {
		const { deploy, chat } = setUp([]);
		await deploy("support", [start("gpt-5"), model("gpt-5", "openai"), END]);
		const response = await chat({ model: "dynamic/support" });
		expect(response.status).toBe(400);
		expect(response.headers.get("cf-aig-model")).toBe("gpt-5");
	});

	it("is refused with the reason if the route ends without a model", async () => {
		const { deploy, chat } = setUp(["gpt-5"]);
		await deploy("support", [start("end"), END]);
		const response = await chat({ model: "dynamic/support" });
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({
			internalCode: 2008,
			description: "Invalid provider: dynamic/support ends without a model for this request",
		});
	});

	it("chooses by metadata, and by the body", async () => {
		const { deploy, chat } = setUp(["gpt-5", "gpt-5-mini"]);
		await deploy("support", [
			start("if"),
			{
				id: "if",
				type: "conditional",
				properties: {
					conditions: { $and: [{ "metadata.plan": "pro" }, { "body.max_tokens": { $lte: 10 } }] },
				},
				outputs: { true: to("gpt-5"), false: to("gpt-5-mini") },
			},
			model("gpt-5", "openai"),
			model("gpt-5-mini", "openai"),
			END,
		]);
		const served = async (body: object, metadata: object) =>
			(
				await chat({ model: "dynamic/support", ...body }, { "cf-aig-metadata": JSON.stringify(metadata) })
			).headers.get("cf-aig-model");
		expect(await served({ max_tokens: 10 }, { plan: "pro" })).toBe("gpt-5");
		expect(await served({ max_tokens: 11 }, { plan: "pro" })).toBe("gpt-5-mini");
		expect(await served({ max_tokens: 10 }, { plan: "free" })).toBe("gpt-5-mini");
	});

	it("chooses by a header", async () => {
		const { deploy, chat } = setUp(["gpt-5", "gpt-5-mini"]);
		await deploy("support", [
			start("if"),
			{
				id: "if",
				type: "conditional",
				properties: { conditions: { "headers.x-country": { $in: ["DE", "FR"] } } },
				outputs: { true: to("gpt-5"), false: to("gpt-5-mini") },
			},
			model("gpt-5", "openai"),
			model("gpt-5-mini", "openai"),
			END,
		]);
		const served = async (headers: Record<string, string>) =>
			(await chat({ model: "dynamic/support" }, headers)).headers.get("cf-aig-model");
		expect(await served({ "x-country": "FR" })).toBe("gpt-5");
		expect(await served({ "x-country": "US" })).toBe("gpt-5-mini");
		expect(await served({})).toBe("gpt-5-mini");
	});

	it("of no deployed route is refused like an unknown model", async () => {
		const { call, chat, gateway } = setUp(["gpt-5"]);
		const elements = [start("gpt-5"), model("gpt-5", "openai"), END];
		const refused = await chat({ model: "dynamic/support" });
		expect(refused.status).toBe(404);
		expect(await refused.json()).toMatchObject({
			internalCode: 7003,
			description: `Model not found: dynamic/support (the gateway ${gateway} has no deployed route of this name)`,
		});
		await call("POST", "", { name: "support", elements });
		expect((await chat({ model: "dynamic/support" })).status).toBe(404);
	});

	it("of another gateway is refused", async () => {
		const first = setUp(["gpt-5"]);
		await first.deploy("support", [start("gpt-5"), model("gpt-5", "openai"), END]);
		expect((await setUp(["gpt-5"]).chat({ model: "dynamic/support" })).status).toBe(404);
	});

	it("is counted by a rate for each value of its key, and ends if no fallback is left", async () => {
		const { deploy, chat } = setUp(["gpt-5", "gpt-5-mini"]);
		const rate = (limit: number, outputs: object) => ({
			id: `rate-${limit}`,
			type: "rate",
			properties: { limitType: "count", key: "metadata.user", limit, window: 60 },
			outputs,
		});
		await deploy("support", [
			start("rate-1"),
			rate(1, { success: to("gpt-5"), fallback: to("rate-2") }),
			rate(2, { success: to("gpt-5-mini") }),
			model("gpt-5", "openai"),
			model("gpt-5-mini", "openai"),
			END,
		]);
		const served = async (user: string) => {
			const response = await chat(
				{ model: "dynamic/support" },
				{ "cf-aig-metadata": JSON.stringify({ user }) },
			);
			return response.headers.get("cf-aig-model") ?? response.status;
		};
		expect([await served("a"), await served("a"), await served("a"), await served("a")]).toEqual([
			"gpt-5",
			"gpt-5-mini",
			"gpt-5-mini",
			429,
		]);
		expect(await served("b")).toBe("gpt-5");
	});

	it("keeps the counts of a rate while it is renamed, and begins again when it is created again, or its limit has another unit", async () => {
		const { call, deploy, chat } = setUp(["gpt-5"]);
		const elements = (limitType: "count" | "cost") => {
			const properties = { limitType, key: "metadata.user", limit: 1, window: 86_400 };
			const rate = { id: "rate", type: "rate", properties, outputs: { success: to("gpt-5") } };
			return [start("rate"), rate, model("gpt-5", "openai"), END];
		};
		const status = async (name: string): Promise<number> =>
			(await chat({ model: `dynamic/${name}` }, { "cf-aig-metadata": '{"user":"a"}' })).status;
		const id = await deploy("support", elements("count"));
		expect([await status("support"), await status("support")]).toEqual([200, 429]);
		await call("PATCH", `/${id}`, { name: "help" });
		expect(await status("help")).toBe(429);
		const changed = await call("POST", `/${id}/versions`, { elements: elements("cost") });
		const { version } = changed.result as { version: { version_id: string } };
		await call("POST", `/${id}/deployments`, { version_id: version.version_id });
		// One request is not a cost of one dollar.
		expect(await status("help")).toBe(200);
		await call("DELETE", `/${id}`);
		await deploy("help", elements("count"));
		expect([await status("help"), await status("help")]).toEqual([200, 429]);
	});

	it("runs at the path of a model, where a custom provider that does not exist is skipped, and named in a header", async () => {
		const { deploy, run } = setUp(["gpt-5"]);
		await deploy("plain", [start("gpt-5"), model("gpt-5", "openai"), END]);
		const custom = (fallback?: string) => [start("own"), model("own", "custom-mine", fallback)];
		await deploy("fallback", [...custom("gpt-5"), model("gpt-5", "openai"), END]);
		await deploy("alone", [...custom(), END]);
		for (const name of ["plain", "fallback"]) {
			const response = await run(`dynamic/${name}`);
			expect(response.headers.get("cf-aig-model")).toBe("gpt-5");
			expect(response.headers.get("x-ganglion-skipped")).toBe(name === "plain" ? null : "custom-mine/own");
			expect(await response.json()).toMatchObject({ success: true, result: { object: "chat.completion" } });
		}
		expect(await (await run("dynamic/alone")).json()).toMatchObject({
			errors: [
				{
					code: 2008,
					message: 'Invalid provider: "custom-mine" is not an enabled custom provider of the account',
				},
			],
		});
	});

	it("limits the cost that the request declares", async () => {
		const { deploy, chat } = setUp(["gpt-5"]);
		const properties = { limitType: "cost", key: "metadata.user", limit: 5, window: 86_400 };
		const rate = { id: "rate", type: "rate", properties, outputs: { success: to("gpt-5") } };
		await deploy("support", [start("rate"), rate, model("gpt-5", "openai"), END]);
		const status = async (cost: number): Promise<number> => {
			const headers = {
				"cf-aig-metadata": '{"user":"a"}',
				"cf-aig-custom-cost": JSON.stringify({ total_cost: cost }),
			};
			const response = await chat({ model: "dynamic/support" }, headers);
			await response.text();
			return response.status;
		};
		expect([await status(4.9), await status(0.1), await status(0.1)]).toEqual([200, 200, 429]);
	});
});

describe("the explanation of a dynamic route", () => {
	it("has the models in the order of their fallbacks, with the plan of each, and calls none", async () => {
		const { deploy, requests, explain } = setUp([]);
		const rate = {
			id: "rate",
			type: "rate",
			properties: { limitType: "count", key: "metadata.user", limit: 5, window: 60 },
			outputs: { success: to("gpt-5") },
		};
		await deploy("support", [
			start("rate"),
			rate,
			model("gpt-5", "openai", "llama-3.3-70b-versatile"),
			model("llama-3.3-70b-versatile", "groq"),
			END,
		]);
		const { result } = await explain("v1/chat/completions", { model: "dynamic/support", messages: MESSAGES });
		expect(result).toMatchObject({
			model: "dynamic/support",
			dynamic_route: {
				rates: [{ element: "rate", key: "metadata.user", value: "u1", limit: 5, window: 60 }],
				models: [
					{ element: "gpt-5", model: "openai/gpt-5", targets: [{ backend: "openai" }] },
					{
						element: "llama-3.3-70b-versatile",
						model: "groq/llama-3.3-70b-versatile",
						targets: [{ backend: "groq" }],
					},
				],
			},
		});
		expect(await explain("dynamic/support", { messages: MESSAGES })).toMatchObject({ result });
		expect(requests).toEqual([]);
	});
});

describe("the explanation of a dynamic route with a custom provider", () => {
	it("names its model, and has the plan of the fallback", async () => {
		const { deploy, explain } = setUp([]);
		await deploy("support", [
			start("own"),
			model("own", "custom-mine", "gpt-5"),
			model("gpt-5", "openai"),
			END,
		]);
		expect(await explain("dynamic/support", { messages: MESSAGES })).toMatchObject({
			result: {
				dynamic_route: {
					models: [
						{ element: "own", model: "custom-mine/own", custom_provider: "mine" },
						{ element: "gpt-5", model: "openai/gpt-5", targets: [{ backend: "openai" }] },
					],
				},
			},
		});
	});
});

describe("the management of dynamic routes", () => {
	const elements = [start("gpt-5"), model("gpt-5", "openai"), END];

	it("refuses invalid elements with 7001 and the path of the field", async () => {
		const { call } = setUp([]);
		expect(await call("POST", "", { name: "support", elements: [END] })).toMatchObject({
			success: false,
			errors: [{ code: 7001, message: 'elements: expected one element of type "start", found 0' }],
		});
		expect(await call("POST", "", { name: "a/b", elements })).toMatchObject({
			errors: [{ code: 7001, message: "name: expected 1 to 64 letters, digits, _, . or -" }],
		});
	});

	it("tells of a model that cannot be called", async () => {
		const { call } = setUp([]);
		const named = (provider: string, name: string) => [
			start("m"),
			{ ...model("m", provider), properties: { provider, model: name } },
			END,
		];
		const created = await call("POST", "", {
			name: "support",
			elements: named("workers-ai", "@cf/openai/gpt-oss-12b"),
		});
		expect(created).toMatchObject({
			messages: [
				{
					message: expect.stringMatching(
						/^elements\[1\]\.properties\.model: stored, but it cannot be called now: No such model @cf.*; did you mean/,
					),
				},
			],
		});
		const { id } = created.result as { id: string };
		expect(await call("POST", `/${id}/versions`, { elements })).toMatchObject({ messages: [] });
	});

	it("refuses a second route of the same name", async () => {
		const { call, deploy } = setUp([]);
		await deploy("support", elements);
		expect(await call("POST", "", { name: "support", elements })).toMatchObject({
			errors: [{ code: 7001, message: "name: another route of the gateway has this name" }],
		});
	});

	it("answers 7002 for an unknown gateway, to list and to create", async () => {
		const { app } = testGateway({ vars: VARS });
		const path = `http://gateway/client/v4/accounts/local/ai-gateway/gateways/${"x".repeat(65)}/routes`;
		const body = JSON.stringify({ name: "support", elements });
		const created = { method: "POST", headers: { "content-type": "application/json" }, body };
		for (const init of [{}, created])
			expect(await (await app.request(path, init)).json()).toMatchObject({
				errors: [{ code: 7002, message: `Gateway not found: "${"x".repeat(64)}…"` }],
			});
	});

	it("answers 7002 for an unknown route and an unknown version", async () => {
		const { call, deploy } = setUp([]);
		const id = await deploy("support", elements);
		for (const path of ["/none", "/none/versions", `/${id}/versions/none`])
			expect(await call("GET", path)).toMatchObject({ success: false, errors: [{ code: 7002 }] });
		expect(await call("POST", `/${id}/deployments`, { version_id: "none" })).toMatchObject({
			errors: [{ code: 7002, message: 'Version not found: "none"' }],
		});
		expect(await call("POST", "/none/deployments", { version_id: "none" })).toMatchObject({
			errors: [{ code: 7002, message: 'Route not found: "none"' }],
		});
		for (const name of ["support", "suport"])
			expect(await call("DELETE", `/${name}`)).toMatchObject({
				errors: [{ code: 7002, message: `Route not found: "${name}"; the id of "support" is "${id}"` }],
			});
	});
});
