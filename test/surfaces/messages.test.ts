/** The routes of Anthropic's Messages: who may come in, what is refused, and how tokens are counted. */
import { describe, expect, it } from "vitest";
import { newTokenText } from "../../src/objects/token-text.ts";
import { isMessagesPath } from "../../src/surfaces/messages.ts";
import { testGateway } from "../gateway.ts";
import { ADMIN, closedGateway, failureOf, json } from "./access.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const MESSAGES = [{ role: "user", content: "My name is Alice. What is my name?" }];
const ASKED = { model: LLAMA, max_tokens: 64, messages: MESSAGES };
const ROUTES = ["/ai/v1/messages", "/ai/v1/v1/messages", "/ai/v1/messages/count_tokens"];

const keyed = (key: string, body: unknown, more: object = {}): RequestInit => ({
	...json("POST", body),
	headers: { "content-type": "application/json", "x-api-key": key, ...more },
});

describe("x-api-key", () => {
	const gateway = closedGateway();
	const { ask, give } = gateway;

	it.each(ROUTES)("lets in at %s", async (path) => {
		const token = await give(["Workers AI Run"]);
		for (const key of [token, ADMIN]) {
			const response = await ask(path, undefined, keyed(key, ASKED));
			expect(response.status).toBe(200);
			expect(response.headers.get("request-id")).toMatch(/^[\w-]{36}$/);
		}
	});

	it.each(ROUTES)("is refused at %s in Anthropic's words", async (path) => {
		const read = await give(["Workers AI Metadata Read"]);
		const failures = [];
		for (const key of ["sk-ant-api03-x", newTokenText(gateway.account), newTokenText("other"), read])
			failures.push(await failureOf(await ask(path, undefined, keyed(key, ASKED))));
		expect(failures).toEqual([
			"401 authentication_error: Authentication error",
			"401 authentication_error: Authentication error",
			"403 permission_error: Authentication error: the token is for another account",
			expect.stringMatching(/^403 permission_error: Authentication error: the token needs the permission/),
		]);
	});

	it("is nothing beside Authorization, and nothing anywhere else", async () => {
		const both = await ask("/ai/v1/messages", "sk-wrong", keyed(ADMIN, ASKED));
		expect(both.status).toBe(401);
		const chat = await ask("/ai/v1/chat/completions", undefined, keyed(ADMIN, ASKED));
		expect(await failureOf(chat)).toBe("401 10000: Authentication error");
		expect(isMessagesPath("/client/v4/accounts/a/ai/run/messages")).toBe(false);
		expect(isMessagesPath("/client/v4/accounts/a/ai/run/x/ai/v1/messages/x")).toBe(false);
	});
});

describe("count_tokens", () => {
	const { post } = testGateway();
	const count = async (body: object, path = "/v1/messages/count_tokens") => {
		const response = await post(path, { model: LLAMA, messages: MESSAGES, ...body });
		expect(response.status).toBe(200);
		const { input_tokens, ...more } = await response.json<{ input_tokens: number }>();
		expect(more).toEqual({});
		return input_tokens;
	};

	it("counts what there is to read: turns, instructions, tools, pictures", async () => {
		const least = await count({});
		expect(least).toBeGreaterThan(10);
		expect(least).toBeLessThan(40);
		expect(await count({}, "/v1/v1/messages/count_tokens")).toBe(least);
		// A whole request's body will do.
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

	it("counts as the answer's usage does, at the beginning of a stream too", async () => {
		const tools = [
			{
				name: "look",
				description: "Looks",
				input_schema: { type: "object", properties: { at: { type: "string" } } },
			},
		];
		for (const more of [{}, { tools, system: "Be short." }]) {
			const counted = await count(more);
			const response = await post("/v1/messages", { ...ASKED, ...more });
			const { usage } = await response.json<{ usage: { input_tokens: number } }>();
			expect(usage.input_tokens).toBe(counted);
			const stream = await (await post("/v1/messages", { ...ASKED, ...more, stream: true })).text();
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

	it("that ends an answer is named, whole and streamed", async () => {
		const body = { ...ASKED, stop_sequences: ["zzz", "Alice"] };
		const message = await (await post("/v1/messages", body)).json();
		expect(message).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: "Alice" });
		const stream = await (await post("/v1/messages", { ...body, stream: true })).text();
		expect(stream).toContain('"delta":{"stop_reason":"stop_sequence","stop_sequence":"Alice"}');
	});
});
