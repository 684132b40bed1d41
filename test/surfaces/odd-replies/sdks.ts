/** How the published SDKs read an answer of the gateway, whole and streamed. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { ChatCloudflareWorkersAI } from "@langchain/cloudflare";
import { generateText, jsonSchema, type LanguageModel, streamText, tool } from "ai";
import OpenAI from "openai";
import { vi } from "vitest";
import { createWorkersAI } from "workers-ai-provider";
import { BASE, type TestOptions, testGateway } from "../../gateway.ts";
import type { ExpectedAnswer } from "./expected-answer.ts";
import { finishOfMessage, NAMES, PARAMETERS, PROMPT } from "./question.ts";

type Answer = Partial<ExpectedAnswer>;

export interface Sdk {
	value(): Promise<Answer>;
	stream(): Promise<Answer>;
	/** Fields that it does not read. */
	omits?: readonly (keyof ExpectedAnswer)[];
	/** It ends a stream that fails in the middle without an exception. */
	hidesLateFailures?: true;
}

/** Shown only to callers that request it in the way of the provider. */
const REASONING = ["reasoning"] as const;

/** Clients of one gateway. `model`: the id that they request. `runModel`: that of the clients of `run`. */
export function sdksOf(options: TestOptions, model: string, runModel: string): Record<string, Sdk> {
	const { app } = testGateway(options);
	const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
		const { url } = new Request(input);
		return app.request(
			new Request(
				url.replace(/^https:\/\/[\w.]+\.cloudflare\.com\//, "http://gateway/"),
				init ?? (input as Request),
			),
		);
	};
	vi.stubGlobal("fetch", fetch);
	const shared = { apiKey: "none", fetch };
	const workersAi = createWorkersAI({ accountId: "local", apiKey: "none", fetch });
	return {
		"openai, chat": openaiChat(new OpenAI({ ...shared, baseURL: `${BASE}/v1`, maxRetries: 0 }), model),
		"openai, Responses": openaiResponses(
			new OpenAI({ ...shared, baseURL: `${BASE}/v1`, maxRetries: 0 }),
			model,
		),
		"@anthropic-ai/sdk": anthropic(new Anthropic({ ...shared, baseURL: BASE, maxRetries: 0 }), model),
		"@google/genai": google(new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: BASE } }), model),
		"ai, openai": { ...aiSdk(createOpenAI({ ...shared, baseURL: `${BASE}/v1` })(model)), omits: REASONING },
		"ai, openai chat": {
			...aiSdk(createOpenAI({ ...shared, baseURL: `${BASE}/v1` }).chat(model)),
			omits: REASONING,
		},
		"ai, anthropic": {
			...aiSdk(createAnthropic({ ...shared, baseURL: `${BASE}/v1` })(model)),
			omits: REASONING,
		},
		"ai, google": {
			...aiSdk(createGoogle({ ...shared, baseURL: `${BASE}/v1beta` })(model)),
			omits: REASONING,
		},
		"ai, openai-compatible": aiSdk(
			createOpenAICompatible({ ...shared, name: "gateway", baseURL: `${BASE}/v1` })(model),
		),
		"ai, workers-ai-provider": {
			...aiSdk(workersAi(runModel as never)),
			omits: ["finish", "reasoning"],
			hidesLateFailures: true,
		},
		"@langchain/cloudflare": langchain(runModel),
	};
}

const openaiChat = (client: OpenAI, model: string): Sdk => {
	const body = {
		model,
		messages: [{ role: "user" as const, content: PROMPT }],
		tools: NAMES.map((name) => ({ type: "function" as const, function: { name, parameters: PARAMETERS } })),
	};
	const read = ({ choices }: OpenAI.ChatCompletion): Answer => {
		const [choice] = choices;
		if (!choice) throw new TypeError("no choice");
		const { message, finish_reason } = choice;
		const { reasoning_content, reasoning } = message as { reasoning_content?: string; reasoning?: string };
		return {
			text: message.content ?? "",
			reasoning: reasoning_content ?? reasoning ?? "",
			calls: (message.tool_calls ?? []).map((call) =>
				call.type === "function" ? [call.function.name, JSON.parse(call.function.arguments)] : ["?", {}],
			),
			finish: finish_reason,
		};
	};
	return {
		value: async () => read(await client.chat.completions.create(body)),
		stream: async () => read(await client.chat.completions.stream(body).finalChatCompletion()),
	};
};

const openaiResponses = (client: OpenAI, model: string): Sdk => {
	const body = {
		model,
		input: PROMPT,
		tools: NAMES.map((name) => ({ type: "function" as const, name, parameters: PARAMETERS, strict: false })),
	};
	const read = ({ output, output_text, status, incomplete_details }: OpenAI.Responses.Response): Answer => {
		const calls = output.filter((item) => item.type === "function_call");
		const reasons = output.filter((item) => item.type === "reasoning");
		const reason = incomplete_details?.reason;
		if (status === "failed") throw new TypeError("failed");
		return {
			text: output_text,
			reasoning: reasons
				.flatMap(({ content, summary }) => (content ?? summary).map(({ text }) => text))
				.join(""),
			calls: calls.map((call) => [call.name, JSON.parse(call.arguments)]),
			finish:
				reason === "max_output_tokens" ? "length" : (reason ?? (calls.length > 0 ? "tool_calls" : "stop")),
		};
	};
	return {
		value: async () => read((await client.responses.create(body)) as OpenAI.Responses.Response),
		stream: async () => read((await client.responses.stream(body).finalResponse()) as never),
	};
};

const anthropic = (client: Anthropic, model: string): Sdk => {
	const body = {
		model,
		max_tokens: 2_000,
		messages: [{ role: "user" as const, content: PROMPT }],
		tools: NAMES.map((name) => ({ name, input_schema: PARAMETERS })),
		thinking: { type: "enabled" as const, budget_tokens: 1_024 },
	};
	const read = ({ content, stop_reason }: Anthropic.Message): Answer => ({
		text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
		reasoning: content.map((block) => (block.type === "thinking" ? block.thinking : "")).join(""),
		calls: content.flatMap((block): ExpectedAnswer["calls"] =>
			block.type === "tool_use" ? [[block.name, block.input as object]] : [],
		),
		finish: finishOfMessage(stop_reason),
	});
	return {
		value: async () => read(await client.messages.create(body)),
		stream: async () => read(await client.messages.stream(body).finalMessage()),
	};
};

const google = (client: GoogleGenAI, model: string): Sdk => {
	const body = {
		model,
		contents: PROMPT,
		config: {
			tools: [{ functionDeclarations: NAMES.map((name) => ({ name, parametersJsonSchema: PARAMETERS })) }],
			thinkingConfig: { includeThoughts: true },
		},
	};
	const read = (replies: Awaited<ReturnType<typeof client.models.generateContent>>[]): Answer => {
		const candidates = replies.flatMap(({ candidates = [] }) => candidates);
		const parts = candidates.flatMap(({ content }) => content?.parts ?? []);
		const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
		const reason = candidates.findLast(({ finishReason }) => finishReason)?.finishReason;
		return {
			text: parts.map(({ text = "", thought }) => (thought ? "" : text)).join(""),
			reasoning: parts.map(({ text = "", thought }) => (thought ? text : "")).join(""),
			calls: calls.map(({ name = "", args = {} }) => [name, args]),
			finish:
				reason === "MAX_TOKENS"
					? "length"
					: reason === "SAFETY"
						? "content_filter"
						: reason !== "STOP"
							? String(reason)
							: calls.length > 0
								? "tool_calls"
								: "stop",
		};
	};
	return {
		value: async () => read([await client.models.generateContent(body)]),
		async stream() {
			const replies = [];
			for await (const reply of await client.models.generateContentStream(body)) replies.push(reply);
			return read(replies);
		},
	};
};

const aiSdk = (model: LanguageModel): Sdk => {
	const tools = Object.fromEntries(
		NAMES.map((name) => [name, tool({ inputSchema: jsonSchema(PARAMETERS) })]),
	);
	const request = { model, prompt: PROMPT, tools, maxRetries: 0 };
	return {
		async value() {
			const { text, reasoningText = "", toolCalls, finishReason } = await generateText(request);
			return {
				text,
				reasoning: reasoningText,
				calls: toolCalls.map(({ toolName, input }) => [toolName, input as object]),
				finish: finishReason.replaceAll("-", "_"),
			};
		},
		async stream() {
			let failure: { error: unknown } | undefined;
			const result = streamText({
				...request,
				onError: (event) => {
					failure ??= event;
				},
			});
			await result.consumeStream();
			if (failure) throw failure.error;
			const calls = await result.toolCalls;
			return {
				text: await result.text,
				reasoning: (await result.reasoningText) ?? "",
				calls: calls.map(({ toolName, input }) => [toolName, input as object]),
				finish: (await result.finishReason).replaceAll("-", "_"),
			};
		},
	};
};

/** It reads the text only. */
const langchain = (model: string): Sdk => {
	const chat = new ChatCloudflareWorkersAI({
		model,
		cloudflareAccountId: "local",
		cloudflareApiToken: "none",
		baseUrl: `${BASE}/run`,
		maxRetries: 0,
	});
	return {
		omits: ["reasoning", "calls", "finish"],
		hidesLateFailures: true,
		value: async () => ({ text: String((await chat.invoke(PROMPT)).content) }),
		async stream() {
			let text = "";
			for await (const { content } of await chat.stream(PROMPT)) text += content;
			return { text };
		},
	};
};
