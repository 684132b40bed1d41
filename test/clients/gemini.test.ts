/** The `@google/genai` SDK, and the AI SDK for Google, as they are published, with only their base address changed. */
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { FunctionCallingConfigMode, GoogleGenAI, Type } from "@google/genai";
import { embedMany, generateText, streamText } from "ai";
import { describe, expect, inject, it } from "vitest";
import { ACCOUNT } from "./gateway.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const KIMI = "@cf/moonshotai/kimi-k2.6";

const client = new GoogleGenAI({
	apiKey: "none",
	httpOptions: { baseUrl: `${inject("baseURL")}/accounts/${ACCOUNT}/ai` },
});
const ALICE = [
	{ role: "user", parts: [{ text: "My name is Alice." }] },
	{ role: "model", parts: [{ text: "Hello!" }] },
	{ role: "user", parts: [{ text: "What is my name?" }] },
];
const WEATHER = {
	name: "get_weather",
	description: "Get the current weather of a city",
	parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ["city"] },
};

describe.each([LLAMA, KIMI])("Google's SDK on %s", (model) => {
	it("generates content, whole and streamed", async () => {
		const reply = await client.models.generateContent({ model, contents: ALICE });
		expect(reply.text).toContain("What is my name?");
		expect(reply.candidates?.[0]?.finishReason).toBe("STOP");
		const { usageMetadata } = reply;
		expect(usageMetadata?.promptTokenCount).toBeGreaterThan(5);
		let text = "";
		let last: typeof reply | undefined;
		for await (const chunk of await client.models.generateContentStream({ model, contents: ALICE })) {
			text += chunk.text ?? "";
			last = chunk;
		}
		expect(text).toBe(reply.text);
		expect(last?.usageMetadata).toEqual(usageMetadata);
		expect((await client.models.countTokens({ model, contents: ALICE })).totalTokens).toBe(
			usageMetadata?.promptTokenCount,
		);
	});

	it("calls a tool, and reads its result", async () => {
		const config = {
			tools: [{ functionDeclarations: [WEATHER] }],
			toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
		};
		const contents = [{ role: "user", parts: [{ text: "What is the weather in Paris?" }] }];
		const called = await client.models.generateContent({ model, contents, config });
		const [call] = called.functionCalls ?? [];
		expect(call).toMatchObject({ name: "get_weather", args: { city: expect.any(String) } });
		const turns = [
			...contents,
			...(called.candidates?.[0]?.content ? [called.candidates[0].content] : []),
			{
				role: "user",
				parts: [{ functionResponse: { name: "get_weather", response: { output: "18 degrees" } } }],
			},
		];
		const answer = await client.models.generateContent({
			model,
			contents: turns,
			config: { tools: [{ functionDeclarations: [WEATHER] }] },
		});
		expect(answer.text).toContain("18 degrees");
	});

	it("keeps to a schema", async () => {
		const reply = await client.models.generateContent({
			model,
			contents: "My name is Alice. Who am I?",
			config: {
				responseMimeType: "application/json",
				responseSchema: {
					type: Type.OBJECT,
					properties: { name: { type: Type.STRING } },
					required: ["name"],
				},
			},
		});
		expect(JSON.parse(reply.text ?? "")).toEqual({ name: expect.any(String) });
	});
});

it("Google's SDK lists the models, and reads errors", async () => {
	const names: (string | undefined)[] = [];
	for await (const { name } of await client.models.list({ config: { pageSize: 10 } })) names.push(name);
	expect(names).toContain(`models/${LLAMA}`);
	expect((await client.models.get({ model: LLAMA })).name).toBe(`models/${LLAMA}`);
	await expect(
		client.models.generateContent({ model: "@cf/meta/none", contents: "hi" }),
	).rejects.toMatchObject({
		name: "ApiError",
		status: 404,
	});
});

it("Google's SDK embeds texts, and calls both versions of the API", async () => {
	const { embeddings } = await client.models.embedContent({
		model: "@cf/baai/bge-m3",
		contents: ["red", "blue"],
	});
	expect(embeddings?.map(({ values }) => values?.length)).toEqual([1_024, 1_024]);
	for (const apiVersion of ["v1", "v1beta"]) {
		const baseUrl = `${inject("baseURL")}/accounts/${ACCOUNT}/ai`;
		const versioned = new GoogleGenAI({ apiKey: "none", httpOptions: { apiVersion, baseUrl } });
		const { text } = await versioned.models.generateContent({ model: LLAMA, contents: ALICE });
		expect(text).toContain("What is my name?");
	}
});

it.each(["v1", "v1beta"])("the AI SDK sends an id with a slash without models/ below %s", async (version) => {
	const google = createGoogleGenerativeAI({
		apiKey: "none",
		baseURL: `${inject("baseURL")}/accounts/${ACCOUNT}/ai/${version}`,
	});
	const prompt = "My name is Alice. What is my name?";
	const { text } = await generateText({ model: google(LLAMA), prompt });
	expect(text).toContain(prompt);
	let streamed = "";
	for await (const delta of streamText({ model: google(LLAMA), prompt }).textStream) streamed += delta;
	expect(streamed).toBe(text);
	const { embeddings } = await embedMany({
		model: google.textEmbeddingModel("@cf/baai/bge-m3"),
		values: ["red", "blue"],
	});
	expect(embeddings.map(({ length }) => length)).toEqual([1_024, 1_024]);
});

it("Google's SDK goes through AI Gateway's address, whole and streamed", async () => {
	const gateway = new GoogleGenAI({
		apiKey: "none",
		httpOptions: {
			baseUrl: `${new URL(inject("baseURL")).origin}/v1/${ACCOUNT}/my-gateway/google-ai-studio`,
		},
	});
	const model = "gemini-3-flash";
	const contents = "My name is Alice. What is my name?";
	const { text, modelVersion } = await gateway.models.generateContent({ model, contents });
	expect(text).toContain(contents);
	expect(modelVersion).toBe("google/gemini-3-flash");
	let streamed = "";
	for await (const chunk of await gateway.models.generateContentStream({ model, contents }))
		streamed += chunk.text ?? "";
	expect(streamed).toBe(text);
	const { totalTokens } = await gateway.models.countTokens({ model, contents });
	expect(totalTokens).toBeGreaterThan(5);
	await expect(gateway.models.generateContent({ model: "gemini-none:x", contents })).rejects.toMatchObject({
		name: "ApiError",
		status: 404,
	});
});

it("Google's SDK creates a batch, reads its results, and deletes it", { timeout: 60_000 }, async () => {
	const { name = "" } = await client.batches.create({
		model: LLAMA,
		src: ["One", "Two"].map((text) => ({ contents: [{ role: "user", parts: [{ text }] }] })),
		config: { displayName: "nightly" },
	});
	await expect
		.poll(async () => (await client.batches.get({ name })).state, { timeout: 50_000, interval: 200 })
		.toBe("JOB_STATE_SUCCEEDED");
	const { dest, displayName } = await client.batches.get({ name });
	expect(displayName).toBe("nightly");
	const texts = dest?.inlinedResponses?.map(
		({ response }) => response?.candidates?.[0]?.content?.parts?.[0]?.text,
	);
	expect(texts).toEqual([expect.stringContaining("One"), expect.stringContaining("Two")]);
	const names: (string | undefined)[] = [];
	for await (const batch of await client.batches.list({ config: { pageSize: 1 } })) names.push(batch.name);
	expect(names).toContain(name);
	await client.batches.cancel({ name });
	await client.batches.delete({ name });
	await expect(client.batches.get({ name })).rejects.toThrow("404");
});
