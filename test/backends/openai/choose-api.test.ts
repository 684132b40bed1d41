import { describe, expect, it } from "vitest";
import type { Target } from "../../../src/backends/backend.ts";
import { apiOf, namesResponses } from "../../../src/backends/openai/choose-api.ts";
import { learnRefusal } from "../../../src/backends/refused-feature.ts";
import type { ChatInput, ReasoningEffort } from "../../../src/tasks/text-generation/types.ts";
import { type Asking, outputOf } from "../ask.ts";
import { failureOf, json, type Responder } from "../upstream.ts";
import { ask } from "./ask.ts";

const TOOLS: ChatInput["tools"] = [{ type: "function", function: { name: "weather" } }];

const targetOf = (model: string, fields: Partial<Target> = {}): Target => ({
	backend: "openai",
	kind: "openai",
	url: "https://api.openai.com/v1",
	model,
	headers: {},
	timeouts: { headerMs: 1, idleMs: 1, totalMs: 1 },
	...fields,
});

const inputOf = (fields: Partial<ChatInput> = {}): ChatInput => ({
	messages: [{ role: "user", content: "Hi" }],
	stream: false,
	...fields,
});

interface Listed {
	id: string;
	requestFormats?: ("responses" | "chat-completions" | "anthropic-messages")[];
}
const chosen = (
	name: string,
	input: Partial<ChatInput> = {},
	target: Partial<Target> = {},
	model: Listed = { id: `openai/${name}` },
) => apiOf(inputOf(input), { target: targetOf(name, target), model });

describe("the API of a model that the table does not have", () => {
	it.each<[Listed, "chat" | "responses"]>([
		[{ id: "openai/gpt-7-sol", requestFormats: ["responses"] }, "responses"],
		[{ id: "gpt-7-sol", requestFormats: ["responses"] }, "responses"],
		[{ id: "openai/gpt-7-sol", requestFormats: ["chat-completions"] }, "chat"],
		[{ id: "openai/gpt-7-sol", requestFormats: ["responses", "chat-completions"] }, "chat"],
		[{ id: "openai/gpt-7-sol", requestFormats: ["anthropic-messages"] }, "chat"],
		[{ id: "openai/gpt-7-sol" }, "chat"],
		// A route serves it by another model.
		[{ id: "openai/gpt-7-astra", requestFormats: ["responses"] }, "chat"],
	])("is that of the catalogue: %j", (model, api) => {
		expect(chosen("gpt-7-sol", {}, {}, model)).toBe(api);
	});

	it("is the setting's first, the table's, and chat completions at another host", () => {
		const listed = { id: "openai/gpt-7-sol", requestFormats: ["responses" as const] };
		expect(chosen("gpt-7-sol", {}, { api: "chat" }, listed)).toBe("chat");
		expect(chosen("gpt-7-sol", {}, { url: "https://openrouter.ai/api/v1" }, listed)).toBe("chat");
		const known = { id: "openai/gpt-4.1", requestFormats: ["responses" as const] };
		expect(chosen("gpt-4.1", {}, {}, known)).toBe("chat");
	});
});

describe("the API of a chat with function tools", () => {
	// The effort of the request, and whether chat completions accepts its tools.
	it.each<[string, ReasoningEffort | undefined, "chat" | "responses"]>([
		["gpt-4.1", undefined, "chat"],
		["o3", "high", "chat"],
		["gpt-5", "high", "chat"],
		["gpt-5.1", "high", "chat"],
		["gpt-5.2", "xhigh", "chat"],
		["gpt-5.4", undefined, "chat"],
		["gpt-5.4", "none", "chat"],
		["gpt-5.4", "low", "responses"],
		["gpt-5.5", undefined, "chat"],
		["gpt-5.5", "medium", "responses"],
		["gpt-5.6-sol", undefined, "responses"],
		["gpt-5.6-sol", "low", "responses"],
		["gpt-5.6-sol", "none", "chat"],
		["gpt-5.6-terra-2026-07-01", undefined, "responses"],
		["gpt-6-sol", "none", "chat"],
		["gpt-6-luna", undefined, "responses"],
		["gpt-6.1-terra", "none", "chat"],
		["gpt-6-astra", undefined, "responses"],
		["gpt-6-astra", "none", "responses"],
		["gpt-6.1-sol", "none", "responses"],
		["gpt-6.2-astra", "low", "responses"],
	])("of %s with the effort %s is %s's", (model, effort, api) => {
		expect(chosen(model, { tools: TOOLS, ...(effort && { reasoning_effort: effort }) })).toBe(api);
	});
});

describe("the API of a chat without tools", () => {
	it.each<[string, "chat" | "responses"]>([
		["gpt-6-astra", "chat"],
		["gpt-5.6-sol", "chat"],
		["gpt-5-pro", "responses"],
		["gpt-5-codex", "responses"],
		["gpt-5.1-codex-mini", "responses"],
		["gpt-5.1-codex-max", "responses"],
		["gpt-5.2-codex", "responses"],
		["gpt-5.3-codex", "responses"],
		["gpt-4o-audio-preview", "chat"],
		["gpt-4o-search-preview", "chat"],
	])("of %s is %s's", (model, api) => {
		expect(chosen(model)).toBe(api);
	});

	it("is chat's for what Responses lacks", () => {
		const verbatim = { dialect: "responses", body: {}, messages: 1 } as const;
		expect(chosen("gpt-5.6-sol", { verbatim })).toBe("responses");
		for (const lacking of [{ n: 2 }, { stop: ["END"] }, { seed: 1 }, { passthrough: { prediction: {} } }])
			expect(chosen("gpt-5.6-sol", { verbatim, ...lacking })).toBe("chat");
	});

	it("is Responses' if there is reasoning to send back", () => {
		const messages: ChatInput["messages"] = [
			{ role: "user", content: "Hi" },
			{ role: "assistant", content: "Hello", thinking_blocks: [{ type: "redacted_thinking", data: "x" }] },
			{ role: "user", content: "Bye" },
		];
		expect(chosen("gpt-6-astra", { messages })).toBe("responses");
		expect(chosen("gpt-4.1", { messages })).toBe("chat");
	});
});

describe("the setting of the backend", () => {
	it("decides", () => {
		expect(chosen("gpt-6-astra", { tools: TOOLS }, { api: "chat" })).toBe("chat");
		expect(chosen("llama3.2", {}, { url: "http://engine/v1", api: "responses" })).toBe("responses");
	});
});

describe("another host", () => {
	const url = "https://proxy.example/v1";

	it("is called by chat, until it refuses the tools of a model", () => {
		const observed: NonNullable<Target["observed"]> = {};
		const target = { url, observed };
		expect(chosen("gpt-6-astra", { tools: TOOLS }, target)).toBe("chat");
		learnRefusal(targetOf("gpt-6-astra", target), "chatRefusesTools");
		expect(chosen("gpt-6-astra", { tools: TOOLS }, target)).toBe("responses");
		expect(chosen("gpt-6-astra", {}, target)).toBe("chat");
		expect(chosen("gpt-6-sol", { tools: TOOLS }, target)).toBe("chat");
	});
});

describe("a refusal that names Responses", () => {
	const message = (end: string) =>
		`Function tools with reasoning_effort are not supported for gpt-6-astra in /v1/chat/completions. ${end}`;

	it.each([
		[message("To use function tools, use /v1/responses or set reasoning_effort to 'none'."), true],
		[message("Please use /v1/responses instead."), true],
		["Unsupported value: 'reasoning_effort' does not support 'minimal' with this model.", false],
	])("%s: %s", (sentence, expected) => {
		const error = { message: sentence, type: "invalid_request_error", param: "reasoning_effort", code: null };
		expect(namesResponses({ error })).toBe(expected);
		expect(namesResponses({ error: { ...error, param: "tools" } })).toBe(false);
		expect(namesResponses(error)).toBe(false);
	});
});

describe("a feature that the host refuses", () => {
	const chat = (observed: Target["observed"], respond: Responder, model = "gpt-6-astra") =>
		ask(
			"text-generation",
			{ messages: [{ role: "user", content: "hi" }], tools: TOOLS, stream: false, reasoning_effort: "low" },
			respond,
			{
				target: { url: "https://proxy.example/v1", model, ...(observed && { observed }) },
			},
		);
	const refusal = (param: string, message: string): Response =>
		json({ error: { message, type: "invalid_request_error", param, code: null } }, 400);
	const RESPONSE = {
		id: "resp_1",
		object: "response",
		status: "completed",
		output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello" }] }],
	};
	const pathsOf = ({ call }: Asking<"text-generation">) =>
		call.requests.map(({ url }) => new URL(url).pathname);
	const NO_TOOLS = refusal.bind(
		undefined,
		"reasoning_effort",
		"Function tools with reasoning_effort are not supported. Please use /v1/responses instead.",
	);

	it("is left out of a second request, and of later ones", async () => {
		const observed: Target["observed"] = {};
		const respond: Responder = ({ url, json: body }) => {
			if (url.endsWith("/chat/completions")) return NO_TOOLS();
			const { summary } = body.reasoning as { summary?: string };
			return summary ? refusal("reasoning.summary", "Your organization must be verified.") : json(RESPONSE);
		};
		const first = chat(observed, respond);
		expect(await outputOf(first)).toMatchObject({ choices: [{ message: { content: "Hello" } }] });
		expect(pathsOf(first)).toEqual(["/v1/chat/completions", "/v1/responses", "/v1/responses"]);
		const second = chat(observed, respond);
		await second.answer;
		expect(pathsOf(second)).toEqual(["/v1/responses"]);
		const other = chat(observed, respond, "gpt-6-sol");
		await other.answer;
		expect(pathsOf(other)).toHaveLength(3);
	});

	it("fails with the first refusal if the host has no Responses, and is not learned", async () => {
		const observed: Target["observed"] = {};
		const respond: Responder = ({ url }) =>
			url.endsWith("/chat/completions") ? NO_TOOLS() : json({ error: { message: "Not Found" } }, 404);
		const asking = chat(observed, respond);
		expect(await failureOf(asking.answer)).toMatchObject({ key: "engineRefused" });
		expect(pathsOf(asking)).toEqual(["/v1/chat/completions", "/v1/responses"]);
		expect(observed).toEqual({});
	});
});
