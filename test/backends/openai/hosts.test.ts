import { describe, expect, it } from "vitest";
import { HOSTS, serviceAt } from "../../../src/backends/openai/hosts.ts";
import { PROVIDERS } from "../../../src/providers/providers.ts";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import { sealed } from "../plain-seals.ts";
import { TARGET } from "../upstream.ts";
import { ask, says } from "./ask.ts";

const signed = { google: { thought_signature: sealed({ place: 0, signature: "sig" }) } };
const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } } as const;
const EVERYTHING: ChatInput = {
	messages: [
		{ role: "developer", content: "Be short." },
		{
			role: "assistant",
			content: null,
			reasoning_content: "A picture.",
			thinking_blocks: [{ type: "thinking", thinking: "A picture.", signature: sealed("of another model") }],
			tool_calls: [{ ...call, extra_content: signed }],
		},
		{ role: "tool", content: "a cat", tool_call_id: "c1" },
	],
	stream: true,
	max_tokens: 9,
	temperature: 0.5,
	top_p: 0.9,
	top_k: 40,
	seed: 3,
	repetition_penalty: 1.1,
	frequency_penalty: 0.1,
	presence_penalty: 0.2,
	stop: ["\n"],
	n: 2,
	logprobs: true,
	top_logprobs: 4,
	logit_bias: { "50256": -100 },
	tools: [{ type: "function", function: { name: "look" } }],
	tool_choice: "auto",
	parallel_tool_calls: false,
	response_format: { type: "json_object" },
	reasoning_effort: "low",
	chat_template_kwargs: { clear_thinking: true },
	user: "u1",
	passthrough: { metadata: { a: "b" }, store: true, skip_special_tokens: false, web_search_options: {} },
};

async function bodyAt(host: string, input: ChatInput): Promise<Record<string, unknown>> {
	const target = { url: `https://${host}/v1` };
	const asking = ask("text-generation", input, () => says("hello"), { target });
	await asking.answer;
	return asking.call.requests[0]?.json ?? {};
}
const assistantAt = async (host: string, input = EVERYTHING) =>
	((await bodyAt(host, input)).messages as Record<string, unknown>[]).find(
		({ role }) => role === "assistant",
	);

/** What all of them take. */
const COMMON = [
	...["messages", "model", "n", "response_format", "stop", "stream"],
	...["temperature", "tool_choice", "tools", "top_p"],
];
const PENALTIES = ["frequency_penalty", "presence_penalty"];
const LOGPROBS = ["logprobs", "top_logprobs"];
const USUAL = ["parallel_tool_calls", "reasoning_effort", "seed", "stream_options", "user"];
const without = (...names: string[]) => USUAL.filter((name) => !names.includes(name));

describe("a hosted service", () => {
	it("is listed for each provider of this kind", () => {
		const hosts = Object.values(PROVIDERS)
			.filter(({ kind }) => kind === "openai")
			.map(({ url }) => new URL(url).hostname)
			.filter((hostname) => hostname !== "api.openai.com");
		expect(Object.keys(HOSTS)).toEqual(expect.arrayContaining(hosts));
	});

	it.each([
		["api.cerebras.ai", [...LOGPROBS, ...USUAL, "max_completion_tokens"]],
		["api.cohere.ai", [...PENALTIES, "logprobs", ...without("parallel_tool_calls", "user"), "max_tokens"]],
		[
			"api.deepseek.com",
			[...PENALTIES, ...LOGPROBS, ...without("parallel_tool_calls", "seed", "user"), "max_tokens"],
		],
		[
			"api.fireworks.ai",
			[
				...[...PENALTIES, ...LOGPROBS, ...USUAL, "logit_bias", "max_tokens"],
				...["metadata", "repetition_penalty", "top_k"],
			],
		],
		["api.groq.com", [...PENALTIES, ...USUAL, "max_completion_tokens"]],
		["api.minimax.io", [...without("seed"), "max_completion_tokens"]],
		["api.mistral.ai", [...PENALTIES, "max_tokens", "metadata", "parallel_tool_calls", "random_seed"]],
		["api.moonshot.ai", [...PENALTIES, "stream_options", "max_tokens"]],
		[
			"api.perplexity.ai",
			[
				...[...PENALTIES, ...LOGPROBS, ...without("parallel_tool_calls", "seed", "user")],
				...["max_tokens", "top_k", "web_search_options"],
			],
		],
		["api.x.ai", [...LOGPROBS, ...USUAL, "max_completion_tokens"]],
		["api.z.ai", ["stream_options", "max_tokens"]],
		[
			"dashscope-intl.aliyuncs.com",
			[
				...[...PENALTIES, ...LOGPROBS, ...without("reasoning_effort", "user")],
				...["max_tokens", "repetition_penalty", "top_k"],
			],
		],
		["generativelanguage.googleapis.com", [...PENALTIES, ...LOGPROBS, ...without("user"), "max_tokens"]],
		[
			"openrouter.ai",
			[
				...[...PENALTIES, ...LOGPROBS, ...USUAL, "logit_bias", "max_tokens"],
				...["repetition_penalty", "top_k", "web_search_options"],
			],
		],
	])("at %s receives only supported fields", async (host, fields) => {
		const body = await bodyAt(host, EVERYTHING);
		expect(Object.keys(body).sort()).toEqual([...COMMON, ...fields].sort());
		expect(body.max_tokens ?? body.max_completion_tokens).toBe(9);
		expect(body.seed ?? body.random_seed ?? 3).toBe(3);
		expect(JSON.stringify(body.messages)).not.toContain("developer");
		expect(JSON.stringify(body.messages)).not.toContain("thinking_blocks");
	});

	it("receives reasoning if it has a field for it, and its own signatures", async () => {
		expect(await assistantAt("api.groq.com")).toEqual({
			role: "assistant",
			content: null,
			tool_calls: [call],
		});
		expect(await assistantAt("api.deepseek.com")).toEqual({
			role: "assistant",
			content: null,
			reasoning_content: "A picture.",
			tool_calls: [call],
		});
		expect(await assistantAt("openrouter.ai")).toMatchObject({ reasoning: "A picture." });
		expect(await assistantAt("generativelanguage.googleapis.com")).toEqual({
			role: "assistant",
			content: null,
			tool_calls: [{ ...call, extra_content: { google: { thought_signature: "sig" } } }],
		});
		for (const host of ["api.openai.com", "engine.test"]) {
			const assistant = await assistantAt(host);
			expect(assistant).toMatchObject({ tool_calls: [call] });
			expect(JSON.stringify(assistant)).not.toContain("sig");
		}
	});

	it.each([
		["api.deepseek.com", { thinking: { type: "disabled" } }],
		["api.fireworks.ai", { reasoning_effort: "none" }],
		["dashscope-intl.aliyuncs.com", { enable_thinking: false }],
		["openrouter.ai", { reasoning: { enabled: false } }],
		["api.groq.com", {}],
	])("at %s has its own way to disable reasoning", async (host, told) => {
		const input: ChatInput = { messages: [{ role: "user", content: "hi" }], stream: false };
		const { messages: _, ...usual } = await bodyAt(host, input);
		const { messages: _messages, ...quiet } = await bodyAt(host, { ...input, reasoning_effort: null });
		expect(quiet).toEqual({ ...usual, ...told });
	});

	it("is not a name that all objects have", () => {
		expect(serviceAt({ ...TARGET, url: "https://constructor/v1" }).host).toBeUndefined();
		expect(serviceAt({ ...TARGET, url: "unix:/engine.sock" }).host).toBeUndefined();
	});

	it("keeps its setting of reasoning out of a raw prompt", async () => {
		const input: ChatInput = { messages: [], prompt: "Once", stream: false, reasoning_effort: null };
		expect(await bodyAt("openrouter.ai", input)).toEqual({
			model: "engine-model",
			prompt: "Once",
			stream: false,
		});
	});

	it("receives only supported fields with a raw prompt", async () => {
		const input: ChatInput = {
			messages: [],
			prompt: "Once",
			stream: false,
			max_tokens: 5,
			top_k: 3,
			seed: 1,
		};
		expect(await bodyAt("api.groq.com", input)).toEqual({
			model: "engine-model",
			prompt: "Once",
			max_tokens: 5,
			seed: 1,
			stream: false,
		});
	});
});
