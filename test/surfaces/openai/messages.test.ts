/** The routes of Anthropic's Messages: credentials, refusals, and token counts. */
import { describe, expect, it } from "vitest";
import { newTokenText } from "../../../src/accounts/token-text.ts";
import { testGateway } from "../../gateway.ts";
import { ADMIN, closedGateway, failureOf, json, UNAUTHENTICATED } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const MESSAGES = [{ role: "user", content: "Reply with exactly: Your name is Alice." }];
const REQUEST = { model: LLAMA, max_tokens: 64, messages: MESSAGES };
const ROUTES = ["/ai/v1/messages", "/ai/v1/v1/messages", "/ai/v1/messages/count_tokens"];

const keyed = (key: string, body: unknown, extra: object = {}): RequestInit => ({
	...json("POST", body),
	headers: { "content-type": "application/json", "x-api-key": key, ...extra },
});

describe("x-api-key", () => {
	const gateway = closedGateway();
	const { send, createToken } = gateway;

	it.each(ROUTES)("is accepted at %s", async (path) => {
		const token = await createToken(["Workers AI Run"]);
		for (const key of [token, ADMIN]) {
			const response = await send(path, undefined, keyed(key, REQUEST));
			expect(response.status).toBe(200);
			expect(response.headers.get("request-id")).toMatch(/^[\w-]{36}$/);
		}
	});

	it.each(ROUTES)("is refused at %s with Anthropic's message", async (path) => {
		const read = await createToken(["Workers AI Metadata Read"]);
		const failures = [];
		for (const key of ["sk-ant-api03-x", newTokenText(gateway.account), newTokenText("other"), read])
			failures.push(await failureOf(await send(path, undefined, keyed(key, REQUEST))));
		expect(failures).toEqual([
			`401 authentication_error: ${UNAUTHENTICATED}`,
			`401 authentication_error: ${UNAUTHENTICATED}`,
			`403 permission_error: Authentication error: the token is for another account than "${gateway.account}", which the address names`,
			expect.stringMatching(/^403 permission_error: Authentication error: the token needs the permission/),
		]);
	});

	it("is ignored beside Authorization, and on other routes", async () => {
		const both = await send("/ai/v1/messages", "sk-wrong", keyed(ADMIN, REQUEST));
		expect(both.status).toBe(401);
		const chat = await send("/ai/v1/chat/completions", undefined, keyed(ADMIN, REQUEST));
		const unread =
			"401 10000: Authentication error: no valid token: the header `x-api-key` is not read here; send the token as `Authorization: Bearer {token}` (docs/accounts.md#tokens)";
		expect(await failureOf(chat)).toBe(unread);
		for (const path of ["/ai/run/messages", "/ai/run/x/ai/v1/messages/x"])
			expect(await failureOf(await send(path, undefined, keyed(ADMIN, REQUEST)))).toBe(unread);
	});
});

describe("count_tokens", () => {
	const { post } = testGateway();
	const count = async (body: object, path = "/v1/messages/count_tokens") => {
		const response = await post(path, { model: LLAMA, messages: MESSAGES, ...body });
		expect(response.status).toBe(200);
		const { input_tokens, ...extra } = await response.json<{ input_tokens: number }>();
		expect(extra).toEqual({});
		return input_tokens;
	};

	it("counts messages, instructions, tools and images", async () => {
		const least = await count({});
		expect(least).toBeGreaterThan(10);
		expect(least).toBeLessThan(40);
		expect(await count({}, "/v1/v1/messages/count_tokens")).toBe(least);
		// The body of a complete request is accepted.
		expect(await count({ max_tokens: 64, stream: true })).toBe(least);
		expect(await count({ system: "Be short." })).toBeGreaterThan(least);
		const tools = [{ name: "look", description: "Looks", input_schema: { type: "object" } }];
		expect(await count({ tools })).toBeGreaterThan(least);
		const source = { type: "url", url: "https://example.com/a.png" };
		const content = [
			{ type: "text", text: "What is this?" },
			{ type: "image", source },
		];
		expect(
			await count({ model: "@cf/moonshotai/kimi-k2.6", messages: [{ role: "user", content }] }),
		).toBeGreaterThan(100);
	});

	it("counts like the usage of the answer, also at the start of a stream", async () => {
		const tools = [
			{
				name: "look",
				description: "Looks",
				input_schema: { type: "object", properties: { at: { type: "string" } } },
			},
		];
		for (const extra of [{}, { tools, system: "Be short." }]) {
			const counted = await count(extra);
			const response = await post("/v1/messages", { ...REQUEST, ...extra });
			const { usage } = await response.json<{ usage: { input_tokens: number } }>();
			expect(usage.input_tokens).toBe(counted);
			const stream = await (await post("/v1/messages", { ...REQUEST, ...extra, stream: true })).text();
			expect(stream.match(/"input_tokens":\d+/g)).toEqual(Array(2).fill(`"input_tokens":${counted}`));
		}
	});

	it.each([
		[{ messages: [] }, 400, "invalid_request_error"],
		[{ model: "@cf/baai/bge-m3" }, 404, "not_found_error"],
		[{ model: "anthropic/none" }, 404, "not_found_error"],
		[{ model: "@cf/meta/none" }, 404, "not_found_error"],
	])("refuses %j as Anthropic does", async (body, status, type) => {
		const response = await post("/v1/messages/count_tokens", { model: LLAMA, messages: MESSAGES, ...body });
		expect(response.status).toBe(status);
		expect(await response.json()).toMatchObject({
			type: "error",
			error: { type },
			request_id: response.headers.get("request-id"),
		});
	});
});

describe("a stop sequence", () => {
	const { post } = testGateway();

	it("that ends an answer is reported, complete and streamed", async () => {
		const body = { ...REQUEST, stop_sequences: ["zzz", "Alice"] };
		const message = await (await post("/v1/messages", body)).json();
		expect(message).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: "Alice" });
		const stream = await (await post("/v1/messages", { ...body, stream: true })).text();
		expect(stream).toContain('"delta":{"stop_reason":"stop_sequence","stop_sequence":"Alice"}');
	});
});

describe("the models", () => {
	const { app } = testGateway({ vars: { DEFAULT_BACKEND: "simulator", ALIASES: { fast: LLAMA } } });
	type Page = { data: { id: string }[]; has_more: boolean; first_id: string; last_id: string };
	const send = (path: string) =>
		app.request(`http://gateway/client/v4/accounts/local/ai${path}`, {
			headers: { "anthropic-version": "2023-06-01" },
		});
	const page = async (query: string, base = "/v1/models") => (await send(`${base}?${query}`)).json<Page>();

	it("are listed in Anthropic's format for its clients", async () => {
		const { data, ...extra } = await page("limit=1", "/v1/v1/models");
		expect(data).toEqual([
			{
				type: "model",
				id: "fast",
				display_name: "fast",
				created_at: expect.stringMatching(/^20\d\d-\d\d-\d\dT00:00:00.000Z$/),
				max_input_tokens: 24_000,
				context_window: 24_000,
				alias_of: LLAMA,
			},
		]);
		expect(extra).toEqual({ has_more: true, first_id: "fast", last_id: "fast" });
		expect((await page("")).data).toHaveLength(20);
		expect(await (await send("/v1/models/fast")).json()).toEqual(data[0]);
	});

	it("are listed in pages, in both directions", async () => {
		const all = (await page("limit=1000")).data.map(({ id }) => id);
		expect(all.length).toBeGreaterThan(40);
		const next = await page(`limit=3&after_id=${encodeURIComponent(all[1] ?? "")}`);
		expect(next).toMatchObject({ has_more: true, first_id: all[2], last_id: all[4] });
		const before = await page(`limit=3&before_id=${encodeURIComponent(all[5] ?? "")}`);
		expect(before.data.map(({ id }) => id)).toEqual([all[2], all[3], all[4]]);
		expect(before.has_more).toBe(true);
		const last = await page(`after_id=${encodeURIComponent(all.at(-2) ?? "")}`);
		expect(last).toMatchObject({ has_more: false, first_id: all.at(-1), last_id: all.at(-1) });
		expect((await send("/v1/models?limit=0")).status).toBe(400);
	});

	it("that do not exist are refused as Anthropic does", async () => {
		expect(await failureOf(await send("/v1/models/@cf/none"))).toBe("404 not_found_error: model: @cf/none");
	});
});

it("a client of Anthropic's lists models with its key", async () => {
	const { send } = closedGateway();
	const headers = { "anthropic-version": "2023-06-01", "x-api-key": ADMIN };
	expect((await send("/ai/v1/models", undefined, { headers })).status).toBe(200);
	expect((await send("/ai/v1/models", undefined, { headers: { "x-api-key": ADMIN } })).status).toBe(401);
});
