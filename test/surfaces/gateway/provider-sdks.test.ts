/** The providers' published SDKs at a gateway's addresses, with keys that scripted providers check. */
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { OPENAI_KEY } from "../../clients/providers/openai.ts";
import { KEYS } from "../../clients/providers/routes.ts";
import { upstream } from "../../gateway.ts";
import { ADMIN, closedGateway, json } from "../../http/access.ts";
import { provide } from "./scripted-providers.ts";

const KEY_OF: Readonly<Record<string, string>> = {
	openai: OPENAI_KEY,
	anthropic: KEYS.CLAUDE_KEY,
	"google-ai-studio": KEYS.GEMINI_KEY,
};
const PROMPT = "My name is Alice. What is my name?";
const ANSWER = "Your name is Alice.";
const messages = [{ role: "user" as const, content: PROMPT }];

/** A gateway whose account may have stored keys. The SDKs send their requests to it. */
async function world({ stored = [] as readonly string[], alias = "default" } = {}) {
	const providers = upstream(provide);
	const { account, app, createToken, send } = closedGateway({ fetch: providers.fetch });
	const token = await createToken(["Workers AI Write"]);
	for (const provider_slug of stored) {
		const fields = { provider_slug, alias, secret: KEY_OF[provider_slug] };
		const path = "/ai-gateway/gateways/mine/provider_configs";
		const response = await send(path, token, json("POST", fields));
		if (!response.ok) throw new Error(await response.text());
	}
	return {
		token,
		/** It may not run models. */
		reader: await createToken(["Workers AI Metadata Read"]),
		requests: providers.requests,
		base: (path: string) => `http://gateway/v1/${account}/mine/${path}`,
		fetch: async (input: RequestInfo | URL, init?: RequestInit) => app.request(new Request(input, init)),
		/** For a request with the provider's key in the SDK's own header. */
		authorized: { "cf-aig-authorization": `Bearer ${token}` },
		log: async (id: string | null) => {
			const response = await send(`/ai-gateway/gateways/mine/logs/${id}`, token);
			return (await response.json<{ result: unknown }>()).result;
		},
	};
}

type World = Awaited<ReturnType<typeof world>>;
/** The key is the caller's, or the gateway's token is in its place. */
interface Keys {
	key: string;
	headers: Record<string, string>;
}

const SDKS = {
	openai: ({ base, fetch }: World, { key, headers }: Keys) => {
		const client = new OpenAI({
			baseURL: base("openai"),
			apiKey: key,
			defaultHeaders: headers,
			fetch,
			maxRetries: 0,
		});
		return {
			chat: async () =>
				(await client.chat.completions.create({ model: "gpt-5", messages })).choices[0]?.message.content,
			stream: async () =>
				(await client.chat.completions.stream({ model: "gpt-5", messages }).finalMessage()).content,
		};
	},
	anthropic: ({ base, fetch }: World, { key, headers }: Keys) => {
		const client = new Anthropic({
			baseURL: base("anthropic"),
			apiKey: key,
			defaultHeaders: headers,
			fetch,
			maxRetries: 0,
		});
		const request = { model: "claude-sonnet-4-5", max_tokens: 100, messages };
		const textOf = ({ content: [block] }: Anthropic.Message) => block?.type === "text" && block.text;
		return {
			chat: async () => textOf(await client.messages.create(request)),
			stream: async () => textOf(await client.messages.stream(request).finalMessage()),
		};
	},
	"google-ai-studio": ({ base, fetch }: World, { key, headers }: Keys) => {
		const client = new GoogleGenAI({
			apiKey: key,
			httpOptions: { baseUrl: base("google-ai-studio"), headers, fetch },
		});
		const request = { model: "gemini-3-flash-preview", contents: PROMPT };
		return {
			chat: async () => (await client.models.generateContent(request)).text,
			stream: async () => {
				let text = "";
				for await (const chunk of await client.models.generateContentStream(request))
					text += chunk.text ?? "";
				return text;
			},
		};
	},
};

describe.each(Object.entries(SDKS))("the SDK of %s", (provider, sdk) => {
	const key = KEY_OF[provider] ?? "";

	it("reaches its provider with the caller's key", async () => {
		const at = await world();
		const client = sdk(at, { key, headers: at.authorized });
		expect(await client.chat()).toBe(ANSWER);
		expect(await client.stream()).toBe(ANSWER);
		expect(at.requests).toHaveLength(2);
		for (const { headers } of at.requests) expect([...headers.values()].join()).not.toContain(at.token);
	});

	it("reaches its provider with the account's stored key, the gateway's token in the place of the key", async () => {
		const at = await world({ stored: [provider] });
		const client = sdk(at, { key: at.token, headers: {} });
		expect(await client.chat()).toBe(ANSWER);
		expect(await client.stream()).toBe(ANSWER);
		for (const { headers } of at.requests) {
			expect([...headers.values()].join()).toContain(key);
			expect([...headers.values()].join()).not.toContain(at.token);
		}
	});

	it("reaches its provider with the stored key of an alias, and is refused for an unknown alias", async () => {
		const at = await world({ stored: [provider], alias: "second" });
		const headers = (alias: string) => ({ "cf-aig-byok-alias": alias });
		expect(await sdk(at, { key: at.token, headers: headers("second") }).chat()).toBe(ANSWER);
		await expect(sdk(at, { key: at.token, headers: headers("third") }).chat()).rejects.toMatchObject({
			status: 400,
		});
	});

	it("reports that the provider refuses the caller's key", async () => {
		const at = await world();
		const client = sdk(at, { key: "a-wrong-key", headers: at.authorized });
		await expect(client.chat()).rejects.toMatchObject({
			status: provider === "google-ai-studio" ? 400 : 401,
			message: expect.stringMatching(/key/i),
		});
	});

	it("reports that the gateway refuses its token", async () => {
		const at = await world();
		const client = sdk(at, { key, headers: { "cf-aig-authorization": "Bearer none" } });
		await expect(client.chat()).rejects.toMatchObject({ status: 401 });
		expect(at.requests).toEqual([]);
	});
});

describe("the provider's own name of a model, without the provider's key", () => {
	const simulated = (vars: object = {}) => {
		const { account, app, send } = closedGateway({ vars: { DEFAULT_BACKEND: "simulator", ...vars } });
		const base = (path: string) => `http://gateway/v1/${account}/default/${path}`;
		const fetch = async (input: RequestInfo | URL, init?: RequestInit) =>
			app.request(new Request(input, init));
		const anthropic = new Anthropic({ baseURL: base("anthropic"), apiKey: ADMIN, fetch, maxRetries: 0 });
		const google = new GoogleGenAI({
			apiKey: ADMIN,
			httpOptions: { baseUrl: base("google-ai-studio"), fetch },
		});
		return { anthropic, google, send };
	};

	it("is that of the catalogue's model", async () => {
		const { anthropic, google } = simulated();
		const request = { model: "claude-haiku-4-5-20251001", max_tokens: 100, messages };
		expect((await anthropic.messages.create(request)).content[0]).toMatchObject({
			text: expect.stringContaining("anthropic/claude-haiku-4.5"),
		});
		const { text } = await google.models.generateContent({
			model: "gemini-3-flash-preview",
			contents: PROMPT,
		});
		expect(text).toContain("google/gemini-3-flash");
		await expect(anthropic.messages.create({ ...request, model: "claude-none" })).rejects.toMatchObject({
			status: 404,
		});
	});

	it("may be an alias", async () => {
		const { anthropic } = simulated({ ALIASES: { "anthropic/claude-haiku-4-5": "@cf/openai/gpt-oss-20b" } });
		const { content } = await anthropic.messages.create({
			model: "claude-haiku-4-5",
			max_tokens: 100,
			messages,
		});
		expect(content[0]).toMatchObject({ text: expect.stringContaining("gpt-oss-20b") });
	});
});

const dollars = (cost: number) => expect.closeTo(cost, 10);

describe("OpenAI's SDK at /compat", () => {
	const MODELS = [
		["openai", "openai/gpt-5", { tokens_in: 20, cost: dollars((20 * 1.25 + 9 * 10) / 1e6) }],
		// Its input tokens are beside those that it has read from its cache.
		[
			"anthropic",
			"anthropic/claude-sonnet-4.5",
			{ tokens_in: 27, cost: dollars((20 * 3 + 7 * 0.3 + 9 * 15) / 1e6) },
		],
		// The catalogue has no price of it.
		["google-ai-studio", "google-ai-studio/gemini-3-flash", { tokens_in: 20 }],
	] as const;

	it.each(MODELS)("reaches %s with the account's stored key", async (provider, model, usage) => {
		const at = await world({ stored: [provider] });
		const client = new OpenAI({
			baseURL: at.base("compat"),
			apiKey: at.token,
			fetch: at.fetch,
			maxRetries: 0,
		});
		const { data, response } = await client.chat.completions.create({ model, messages }).withResponse();
		expect(data.choices[0]?.message.content).toBe(ANSWER);
		const stream = client.chat.completions.stream({ model, messages });
		expect((await stream.finalMessage()).content).toBe(ANSWER);
		for (const { headers } of at.requests) expect([...headers.values()].join()).toContain(KEY_OF[provider]);
		expect(await at.log(response.headers.get("cf-aig-log-id"))).toMatchObject({
			byok: true,
			success: true,
			...usage,
			provider,
			compatibilityMode: true,
		});
	});

	it("reports the refusal of a model with its message and type", async () => {
		const at = await world({ stored: ["openai"] });
		const failureOf = (path: string, apiKey: string, model: string): Promise<unknown> => {
			const client = new OpenAI({ baseURL: at.base(path), apiKey, fetch: at.fetch, maxRetries: 0 });
			return client.chat.completions.create({ model, messages: [] }).catch((error: unknown) => error);
		};
		const empty = { status: 400, type: "invalid_request_error" };
		const message = expect.stringContaining("messages must not be empty");
		expect(await failureOf("compat", at.token, "openai/gpt-5")).toMatchObject({ ...empty, message });
		expect(await failureOf("workers-ai/v1", at.token, "@cf/meta/llama-3.1-8b-instruct-fp8")).toMatchObject({
			...empty,
			message,
		});
	});

	it.each(["compat", "openai", "groq", "workers-ai/v1"])(
		"reports at %s that the token may not be used",
		async (path) => {
			const at = await world();
			const refusal = (apiKey: string): Promise<unknown> => {
				const client = new OpenAI({ baseURL: at.base(path), apiKey, fetch: at.fetch, maxRetries: 0 });
				return client.chat.completions.create({ model: "m", messages }).catch((error: unknown) => error);
			};
			const forbidden = { status: 403, type: "permission_error" };
			const foreign = (await world()).token;
			const forAnother =
				/^403 Authentication error: the token is for another account than "[\w-]+", which the address names$/;
			expect(await refusal(foreign)).toMatchObject({
				...forbidden,
				message: expect.stringMatching(forAnother),
			});
			expect(await refusal(at.reader)).toMatchObject({
				...forbidden,
				message: expect.stringContaining("the token needs the permission group"),
			});
		},
	);

	it.each(MODELS)("reaches %s with the caller's key", async (provider, model) => {
		const at = await world();
		const client = new OpenAI({
			baseURL: at.base("compat"),
			apiKey: KEY_OF[provider],
			defaultHeaders: at.authorized,
			fetch: at.fetch,
			maxRetries: 0,
		});
		const { choices } = await client.chat.completions.create({ model, messages });
		expect(choices[0]?.message.content).toBe(ANSWER);
	});
});
