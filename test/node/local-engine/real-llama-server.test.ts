/** A gateway with a real llama-server, if LLAMA_SERVER names it, or PATH has it: calls of functions, and images. */
import { describe, expect, it } from "vitest";
import { plainImage } from "./media.ts";
import { REVISION, real, realGateway } from "./real-gateway.ts";
import { IMAGE_TOKENS, tinyChat, tinyProjector } from "./tiny-gguf.ts";

const LLAMA = "@cf/meta/llama-3.2-1b-instruct";
/** Served by Gemma 3, which reads images. */
const SEEING = "@cf/google/gemma-4-26b-a4b-it";
const CAPTIONS = "@cf/llava-hf/llava-1.5-7b-hf";

const { send, answerTo } = realGateway(() => ({
	[LLAMA]: [tinyChat({ calls: true })],
	[SEEING]: [tinyChat(), tinyProjector()],
}));

const WEATHER = {
	name: "get_weather",
	description: "The weather of a city",
	parameters: {
		type: "object",
		properties: { city: { type: "string", enum: ["Paris"] }, celsius: { type: "boolean" } },
		required: ["city", "celsius"],
		additionalProperties: false,
	},
};
const MESSAGES = [{ role: "user", content: "How is the weather?" }];
const ARGUMENTS = { city: "Paris", celsius: expect.any(Boolean) };
/** The grammar allows spaces between all parts. */
const MAX_TOKENS = 2_000;

interface ToolCall {
	index?: number;
	id?: string;
	function: { name?: string; arguments: string };
}
interface Completion {
	choices: {
		finish_reason: string;
		message: { content: string | null; tool_calls?: ToolCall[] };
		delta?: { tool_calls?: ToolCall[] };
	}[];
	usage: { prompt_tokens: number };
}

/** Random numbers may call it several times. */
function expectWeather(calls: readonly ToolCall[]): void {
	expect(calls.length).toBeGreaterThan(0);
	for (const { function: called } of calls)
		expect([called.name, JSON.parse(called.arguments)]).toEqual(["get_weather", ARGUMENTS]);
}

describe.skipIf(!real)("a gateway with a real llama-server", () => {
	const request = {
		...{ model: LLAMA, messages: MESSAGES, max_tokens: MAX_TOKENS },
		tools: [{ type: "function", function: WEATHER }],
	};

	it.each(["auto", "required"])("calls a function by its schema, with tool_choice %s", async (choice) => {
		const { status, json } = await answerTo("v1/chat/completions", { ...request, tool_choice: choice });
		expect([status, json]).toEqual([200, expect.anything()]);
		const { choices, usage } = json as Completion;
		expect(choices[0]?.finish_reason).toBe("tool_calls");
		const calls = choices[0]?.message.tool_calls ?? [];
		expectWeather(calls);
		const next = await answerTo("v1/chat/completions", {
			...request,
			messages: [
				...MESSAGES,
				{ role: "assistant", content: null, tool_calls: calls },
				{ role: "tool", tool_call_id: calls[0]?.id, content: "It rains." },
			],
			max_tokens: 5,
		});
		expect([next.status, next.json]).toEqual([200, expect.anything()]);
		// The template writes the call and its result, one token a character.
		expect((next.json as Completion).usage.prompt_tokens).toBeGreaterThan(
			usage.prompt_tokens + "get_weather".length + "It rains.".length,
		);
	});

	it("streams a call", async () => {
		const response = await send("v1/chat/completions", { ...request, stream: true, tool_choice: "required" });
		const events = (await response.text()).split("\n\n").filter((event) => /^data: \{/.test(event));
		const calls = events.flatMap(
			(event) => (JSON.parse(event.slice("data: ".length)) as Completion).choices[0]?.delta?.tool_calls ?? [],
		);
		const pieces = Map.groupBy(calls, ({ index }) => index);
		expectWeather(
			[...pieces.values()].map((own) => ({
				function: {
					...own[0]?.function,
					arguments: own.map((call) => call.function.arguments ?? "").join(""),
				},
			})),
		);
	});

	it("calls a function in Workers AI's form", async () => {
		const { json, headers } = await answerTo(`run/${LLAMA}`, {
			...{ messages: MESSAGES, max_tokens: MAX_TOKENS, tools: [WEATHER], tool_choice: "required" },
		});
		expect(json).toMatchObject({
			success: true,
			result: { tool_calls: expect.arrayContaining([{ name: "get_weather", arguments: ARGUMENTS }]) },
		});
		expect(headers.get("x-ganglion-weights")).toBe(
			`hugging-quants/Llama-3.2-1B-Instruct-Q4_K_M-GGUF@${REVISION}; quantised`,
		);
	});

	const red = plainImage([255, 0, 0]);
	const blue = plainImage([0, 0, 255]);

	it("reads an image: its tokens count, and another image has another answer", async () => {
		const ask = async (image?: Uint8Array) => {
			const { status, json, headers } = await answerTo("v1/chat/completions", {
				...{ model: SEEING, temperature: 0, max_tokens: 8 },
				messages: [
					{
						role: "user",
						content: [
							{ type: "text", text: "What is it?" },
							...(image ? [{ type: "image_url", image_url: { url: dataOf(image) } }] : []),
						],
					},
				],
			});
			expect([status, json]).toEqual([200, expect.anything()]);
			expect(headers.get("x-ganglion-weights")).toBe(`ggml-org/gemma-3-4b-it-GGUF@${REVISION}; sibling`);
			const { choices, usage } = json as Completion;
			return { text: choices[0]?.message.content, tokens: usage.prompt_tokens };
		};
		const [none, first, second, again] = [await ask(), await ask(red), await ask(blue), await ask(red)];
		expect(first.tokens - none.tokens).toBeGreaterThanOrEqual(IMAGE_TOKENS);
		expect(second.tokens).toBe(first.tokens);
		expect(again.text).toBe(first.text);
		expect(second.text).not.toBe(first.text);
		expect(none.text).not.toBe(first.text);
	});

	it("describes an image, and refuses what is none", async () => {
		const describes = (image: Uint8Array) =>
			answerTo(`run/${CAPTIONS}`, { image: [...image], prompt: "What is it?", max_tokens: 8 });
		const described = await describes(red);
		expect([described.status, described.json]).toEqual([
			200,
			expect.objectContaining({ result: { description: expect.stringMatching(/./s) } }),
		]);
		const refused = await describes(Uint8Array.of(1, 2, 3));
		expect(refused.status).toBe(400);
	});
});

const dataOf = (image: Uint8Array): string =>
	`data:image/png;base64,${Buffer.from(image).toString("base64")}`;
