/** The settings of hosted search tools, and the tokens of their results. */
import { describe, expect, it } from "vitest";
import { SEARCH_CALL, searchingGateway } from "./search-engine.ts";

const MODEL = "gpt-6-astra";
const QUESTION = "Do Durable Objects have storage?";
const messages = [{ role: "user", content: QUESTION }];
const contents = [{ role: "user", parts: [{ text: QUESTION }] }];

const responses = (tool: object) => ({
	model: MODEL,
	input: QUESTION,
	tools: [{ type: "web_search", ...tool }],
});
const anthropic = (tool: object) => ({
	model: MODEL,
	max_tokens: 64,
	messages,
	tools: [{ type: "web_search_20250305", name: "web_search", ...tool }],
});
const gemini = `/v1beta/models/${MODEL}:generateContent`;

describe("a setting of another type is refused with its place", () => {
	it.each([
		[
			"/v1/responses",
			responses({ search_context_size: "huge" }),
			'tools[0].search_context_size: expected "low", "medium" or "high", found "huge"',
		],
		[
			"/v1/responses",
			responses({ filters: { allowed_domains: "a.com" } }),
			"tools[0].filters.allowed_domains: expected a list, found text",
		],
		["/v1/responses", responses({ user_location: { country: "Norway" } }), "tools[0].user_location.country"],
		[
			"/v1/responses",
			responses({ user_location: "NO" }),
			"tools[0].user_location: expected an object, found text",
		],
		[
			"/v1/chat/completions",
			{ model: MODEL, messages, web_search_options: { search_context_size: 3 } },
			"web_search_options.search_context_size",
		],
		[
			"/v1/chat/completions",
			{ model: MODEL, messages, web_search_options: { user_location: { approximate: { country: 47 } } } },
			"web_search_options.user_location.approximate.country: expected text, found a number",
		],
		["/v1/messages", anthropic({ max_uses: 0 }), "tools[0].max_uses: expected at least 1, found 0"],
		["/v1/messages", anthropic({ max_uses: "3" }), "tools[0].max_uses: expected a number, found text"],
		[
			"/v1/messages",
			anthropic({ allowed_domains: [7] }),
			"tools[0].allowed_domains[0]: expected text, found a number",
		],
		[
			"/v1/messages",
			anthropic({ allowed_domains: ["a.com"], blocked_domains: ["b.com"] }),
			"tools[0]: expected allowed_domains or blocked_domains, found both",
		],
		[
			gemini,
			{ contents, tools: [{ googleSearch: { excludeDomains: "a.com" } }] },
			"tools[0].googleSearch.excludeDomains",
		],
		["/v1/alpha/search", { id: "s", settings: { search_context_size: 1 } }, "/settings/search_context_size"],
	])("%s %o", async (path, body, place) => {
		const { post, requests } = searchingGateway();
		const response = await post(path, body);
		const { error } = await response.json<{ error: { message: string; type?: string; status?: string } }>();
		expect([response.status, requests.length]).toEqual([400, 0]);
		expect(error.message).toContain(place);
		expect(error.type ?? error.status).toMatch(/^invalid_request_error$|^INVALID_ARGUMENT$/);
	});

	it("of a host that has the tool is the host's", async () => {
		const { post } = searchingGateway(() => ({ text: "Yes." }), { WEB_SEARCH: {} });
		expect((await post("/v1/responses", responses({ search_context_size: "huge" }))).status).toBe(200);
	});
});

it("takes the tool in Codex's additional_tools", async () => {
	const { post, requests, searches } = searchingGateway();
	const input = [
		{
			type: "additional_tools",
			tools: [{ type: "web_search", filters: { blocked_domains: ["evil.example.net"] } }],
		},
		{ role: "user", content: QUESTION },
	];
	const answer = await post("/v1/responses", { model: MODEL, input });
	expect([answer.status, answer.headers.get("x-ganglion-dropped")]).toEqual([200, null]);
	const { output } = await answer.json<{ output: { type: string }[] }>();
	expect(output.map(({ type }) => type)).toEqual(["web_search_call", "message"]);
	expect(searches).toHaveLength(1);
	expect(requests[1]?.messages.at(-1)?.content).not.toContain("evil.example.net");
});

describe("the count of tokens", () => {
	const weather = { name: "get_weather", arguments: "{}" };
	const counted = async (response: Response) => {
		const { input_tokens, totalTokens } = await response.json<Record<string, number>>();
		return input_tokens ?? totalTokens ?? 0;
	};

	it("of Messages has the pages of earlier searches", async () => {
		const { post } = searchingGateway();
		const { max_tokens: _, ...first } = anthropic({});
		const { content } = await (await post("/v1/messages", anthropic({}))).json<{ content: object[] }>();
		const next = [...messages, { role: "assistant", content }, { role: "user", content: "Thanks" }];
		const without = [
			...messages,
			{ role: "assistant", content: content.slice(-1) },
			{ role: "user", content: "Thanks" },
		];
		const [whole, short] = await Promise.all(
			[next, without].map(async (sent) =>
				counted(await post("/v1/messages/count_tokens", { ...first, messages: sent })),
			),
		);
		// Two excerpts with their addresses and the sentences around them.
		expect(Number(whole) - Number(short)).toBeGreaterThan(80);
	});

	it("of Responses and Gemini has them beside functions of the caller", async () => {
		const { post } = searchingGateway(() => ({ calls: [SEARCH_CALL, weather] }));
		const tool = { type: "function", name: "get_weather", parameters: { type: "object" } };
		const first = { model: MODEL, store: false, tools: [{ type: "web_search" }, tool] };
		const question = { role: "user", content: QUESTION };
		const { output } = await (await post("/v1/responses", { ...first, input: [question] })).json<{
			output: { type: string }[];
		}>();
		const result = { type: "function_call_output", call_id: "call-1", output: "4 °C" };
		const calls = output.filter(({ type }) => type === "function_call");
		const count = async (items: object[]) =>
			counted(await post("/v1/responses/input_tokens", { ...first, input: [question, ...items, result] }));
		expect((await count(output)) - (await count(calls))).toBeGreaterThan(80);

		const tools = [{ googleSearch: {} }, { functionDeclarations: [{ name: "get_weather" }] }];
		const answer = await (await post(gemini, { contents, tools })).json<{
			candidates: { content: { parts: { functionCall: { id: string } }[] } }[];
		}>();
		const parts = answer.candidates[0]?.content.parts ?? [];
		const id = parts[0]?.functionCall.id;
		const countGemini = async (model: object[]) =>
			counted(
				await post(gemini.replace("generateContent", "countTokens"), {
					generateContentRequest: {
						model: `models/${MODEL}`,
						tools,
						contents: [
							...contents,
							{ role: "model", parts: model },
							{ role: "user", parts: [{ functionResponse: { id, name: "get_weather", response: {} } }] },
						],
					},
				}),
			);
		const plain = parts.map(({ functionCall }) => ({ functionCall }));
		expect((await countGemini(parts)) - (await countGemini(plain))).toBeGreaterThan(80);
	});
});
