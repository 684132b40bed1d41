import { describe, expect, it } from "vitest";
import { shares } from "../../../src/backends/openai/prompted.ts";
import type { TaskInput, TaskName } from "../../../src/tasks/task.ts";
import answered from "../../fixtures/openai/llama-cpp/json-schema.json?raw";
import { outputOf } from "../ask.ts";
import { failureOf, json } from "../upstream.ts";
import { ask, OPENAI, says, saysJson } from "./ask.ts";

const USAGE = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const fails = { key: "executionFailed" };

async function bodyOf<Name extends TaskName>(
	task: Name,
	input: TaskInput<Name>,
	reply: unknown,
	options = {},
) {
	const respond = () => (typeof reply === "string" ? says(reply) : saysJson(reply));
	const asking = ask(task, input, respond, options);
	await asking.answer;
	expect(asking.call.requests).toHaveLength(1);
	expect(asking.call.requests[0]?.url).toMatch(/\/chat\/completions$/);
	return asking.call.requests[0]?.json ?? {};
}

describe("summarization", () => {
	const INPUT = { text: "A long text.", max_length: 50 };

	it("is a chat with temperature 0 and without reasoning", async () => {
		expect(await bodyOf("summarization", INPUT, "Short.")).toEqual({
			model: "engine-model",
			messages: [
				{
					role: "system",
					content: "Summarize the user's text in its own language. Answer with the summary alone.",
				},
				{ role: "user", content: "A long text." },
			],
			stream: false,
			temperature: 0,
			max_tokens: 50,
			chat_template_kwargs: { enable_thinking: false },
		});
	});

	it("omits both at OpenAI", async () => {
		const body = await bodyOf("summarization", INPUT, "Short.", OPENAI);
		expect(Object.keys(body).sort()).toEqual(["max_completion_tokens", "messages", "model", "stream"]);
	});

	it("is the reply's text", async () => {
		expect(await outputOf(ask("summarization", INPUT, () => says(" Short.\n")))).toEqual({
			summary: "Short.",
			usage: USAGE,
		});
	});

	it.each(["", "  ", null])("fails for an empty reply: %j", async (content) => {
		expect(await failureOf(ask("summarization", INPUT, () => says(content)).answer)).toMatchObject(fails);
	});
});

describe("translation", () => {
	it.each([
		["en", "fr", "from English to French"],
		["english", "german", "from english to german"],
		["en", "hin_Deva", "from English to Hindi (Devanagari)"],
		["zh-Hant", "x y z", "from Traditional Chinese to x y z"],
	])("from %s to %s has the instruction '%s'", async (source_lang, target_lang, languages) => {
		const body = await bodyOf("translation", { texts: ["Hi"], source_lang, target_lang }, "Salut");
		expect(body.messages).toEqual([
			{
				role: "system",
				content: `Translate the user's message ${languages}. Answer with the translation alone.`,
			},
			{ role: "user", content: "Hi" },
		]);
		expect(body).not.toHaveProperty("response_format");
	});

	const TWO = { texts: ["One", "Two"], source_lang: "en", target_lang: "fr" };

	it("of one text is the text of the reply", async () => {
		expect(await outputOf(ask("translation", { ...TWO, texts: ["One"] }, () => says("Un")))).toEqual({
			texts: ["Un"],
			usage: USAGE,
		});
	});

	it("of several texts is one call with a name for each", async () => {
		const body = await bodyOf("translation", TWO, { text_1: "Un", text_2: "Deux" });
		expect(body.messages).toMatchObject([
			{ content: expect.stringContaining("Answer with JSON alone, of this schema: {") },
			{ content: '{"text_1":"One","text_2":"Two"}' },
		]);
		expect(body.response_format).toEqual({
			type: "json_schema",
			json_schema: {
				name: "answer",
				strict: true,
				schema: {
					type: "object",
					properties: { text_1: { type: "string" }, text_2: { type: "string" } },
					required: ["text_1", "text_2"],
					additionalProperties: false,
				},
			},
		});
	});

	it("of several texts keeps the order", async () => {
		expect(
			await outputOf(ask("translation", TWO, () => saysJson({ text_2: "Deux", text_1: "Un" }))),
		).toMatchObject({ texts: ["Un", "Deux"] });
	});

	it("of no texts makes no call", async () => {
		const asking = ask("translation", { ...TWO, texts: [] }, () => says(""));
		expect(await outputOf(asking)).toEqual({ texts: [] });
		expect(asking.call.requests).toHaveLength(0);
	});

	it.each([
		'{"text_1":"Un"}',
		'{"text_1":"Un","text_2":2}',
		'{"text_1":"Un","text_2":"Deux","text_3":"Trois"}',
		'{"text_1":"Un","text_2":"Deu',
		"Un, deux",
		"} {",
	])("of several texts fails for an invalid reply: %s", async (content) => {
		expect(await failureOf(ask("translation", TWO, () => says(content)).answer)).toMatchObject(fails);
	});

	it("reads JSON in a code fence", async () => {
		const content = 'Sure!\n```json\n{"text_1":"Un","text_2":"Deux"}\n```';
		expect(await outputOf(ask("translation", TWO, () => says(content)))).toMatchObject({
			texts: ["Un", "Deux"],
		});
	});
});

describe("text classification", () => {
	const INPUT = { text: "I love it" };

	it("is the sentiment in percent", async () => {
		const body = await bodyOf("text-classification", INPUT, { positive: 90 });
		expect(body.response_format).toMatchObject({
			json_schema: {
				schema: {
					properties: { positive: { type: "integer", minimum: 0, maximum: 100 } },
					required: ["positive"],
					additionalProperties: false,
				},
			},
		});
		expect(await outputOf(ask("text-classification", INPUT, () => saysJson({ positive: 90 })))).toEqual({
			labels: [
				{ label: "NEGATIVE", score: 1 - 0.9 },
				{ label: "POSITIVE", score: 0.9 },
			],
		});
	});

	it("sends a grammar: a recorded answer of a random model is valid", async () => {
		const { labels } = await outputOf(ask("text-classification", INPUT, () => json(answered)));
		expect(labels.map(({ label }) => label)).toEqual(["NEGATIVE", "POSITIVE"]);
		expect(labels.reduce((sum, { score }) => sum + score, 0)).toBeCloseTo(1, 12);
	});

	it.each(['{"positive":101}', '{"positive":-1}', '{"positive":0.5}', '{"positive":"90"}', "{}", "positive"])(
		"that does not fit has failed: %s",
		async (content) => {
			expect(await failureOf(ask("text-classification", INPUT, () => says(content)).answer)).toMatchObject(
				fails,
			);
		},
	);
});

describe("turn detection", () => {
	it("is not supported", () => {
		expect(() => ask("turn-detection", { audio: { bytes: new Uint8Array() } }, () => says(""))).toThrow();
	});
});

describe("shares", () => {
	it.each([
		[[1], [1]],
		[
			[1, 3],
			[0.25, 0.75],
		],
		[[0, 0], undefined],
		[[], undefined],
	])("of %j are %j", (percents, expected) => {
		expect(shares(percents)).toEqual(expected);
	});
});
