import type OpenAI from "openai";
import {
	type Context,
	KIMI,
	type Library,
	OPENAI_MODELS,
	type Operations,
	PERSON_SCHEMA,
	WEATHER_SCHEMA,
} from "../library/client.ts";

interface Provider {
	/** `prompt`: the messages as JSON. `output`: the text, its JSON, or the calls of tools. */
	callApi(
		prompt: string,
		context?: undefined,
		options?: { abortSignal: AbortSignal },
	): Promise<{ output?: unknown; error?: string; metadata?: { http?: { status: number } } }>;
}
type LoadProvider = (name: string, context: { options: { config: object } }) => Promise<Provider>;
type Message = OpenAI.ChatCompletionMessageParam;
type Call = OpenAI.ChatCompletionMessageFunctionToolCall;

export const client: Library = {
	title: "promptfoo",
	packages: ["promptfoo"],
	// It calls tools of this one only with its provider of Responses (dist/src, "requires the Responses API").
	models: [...OPENAI_MODELS.filter((name) => name !== "gpt-6-astra"), KIMI],
	env: {
		PROMPTFOO_CACHE_ENABLED: "false",
		PROMPTFOO_DISABLE_TELEMETRY: "1",
		PROMPTFOO_DISABLE_UPDATE: "1",
	},
	open,
	unsupported: {
		stream:
			"its providers return complete answers (0.123.1, dist/src/index.d.ts:85, `ApiProvider`: `callApi` is a promise of a `ProviderResponse`)",
	},
};

async function open({ base, load, model, token }: Context): Promise<Operations> {
	const { loadApiProvider } = await load<{ loadApiProvider: LoadProvider }>("promptfoo");
	const address = { apiBaseUrl: `${base}/v1`, apiKey: token };
	const ask = async (
		messages: readonly Message[],
		settings: object = {},
		abortSignal?: AbortSignal,
	): Promise<unknown> => {
		const provider = await loadApiProvider(`openai:chat:${model}`, {
			options: { config: { ...address, ...settings } },
		});
		const { error, metadata, output } = await provider.callApi(
			JSON.stringify(messages),
			undefined,
			abortSignal && { abortSignal },
		);
		if (error !== undefined)
			throw Object.assign(new Error(error), metadata?.http && { status: metadata.http.status });
		return output;
	};
	return {
		async converse(prompts) {
			const messages: Message[] = [];
			const answers: string[] = [];
			for (const content of prompts) {
				messages.push({ role: "user", content });
				const answer = String(await ask(messages));
				messages.push({ role: "assistant", content: answer });
				answers.push(answer);
			}
			return answers;
		},
		interrupt: (content, signal) => ask([{ role: "user", content }], {}, signal),
		async callTools(content, { description, name, run }) {
			const tools = [{ type: "function", function: { name, description, parameters: WEATHER_SCHEMA } }];
			const messages: Message[] = [{ role: "user", content }];
			for (;;) {
				const output = await ask(messages, { tools });
				if (!Array.isArray(output)) return String(output);
				const calls: Call[] = output;
				messages.push({ role: "assistant", tool_calls: calls });
				for (const call of calls)
					messages.push({
						role: "tool",
						tool_call_id: call.id,
						content: run((JSON.parse(call.function.arguments) as { city: string }).city),
					});
			}
		},
		extract: (content) =>
			ask([{ role: "user", content }], {
				response_format: {
					type: "json_schema",
					json_schema: { name: "person", strict: true, schema: PERSON_SCHEMA },
				},
			}),
		async describe(text, png) {
			const url = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
			const content = [
				{ type: "text", text },
				{ type: "image_url", image_url: { url } },
			] as const;
			return String(await ask([{ role: "user", content: [...content] }]));
		},
	};
}
