/** Numbers of a real llama-server through a gateway: those that the test calculates from the numbers of hand-made GGUF files. */
import { describe, expect, it } from "vitest";
import { writeGguf } from "./gguf.ts";
import { embeddingOf, logitsOf, logProbabilities, rankOf } from "./gguf-reference.ts";
import { real, realGateway } from "./real-gateway.ts";
import { pairTokens, textTokens, tinyEncoder } from "./tiny-encoder.ts";
import { byteOf, promptTokens, tinyChatModel } from "./tiny-gguf.ts";

const LLAMA = "@cf/meta/llama-3.2-1b-instruct";
const BGE = "@cf/baai/bge-small-en-v1.5";
const RERANKER = "@cf/baai/bge-reranker-base";
/** Of the difference of two numbers. */
const DIGITS = 5;
const MESSAGE = "Which day is it?";
const LIKELIEST = 20;
const ANSWER_TOKENS = 6;
const AT_ONCE = 40;
/** Words. More tokens than a slot's part of the context. */
const LONGER = 60;
/** Tokens of bge-small, and those around a text. */
const CONTEXT = 512;
const MARKS = 2;

const chat = tinyChatModel();
const encoder = tinyEncoder();
const ranker = tinyEncoder({ ranks: true });
const gateway = realGateway(
	() => ({ [LLAMA]: [writeGguf(chat)], [BGE]: [writeGguf(encoder)], [RERANKER]: [writeGguf(ranker)] }),
	// llama-server's default is numbers of 16 bits.
	{ LLAMA_ARG_CACHE_TYPE_K: "f32", LLAMA_ARG_CACHE_TYPE_V: "f32", LLAMA_ARG_FLASH_ATTN: "off" },
);

const close = (values: readonly number[]): unknown[] => values.map((value) => expect.closeTo(value, DIGITS));

interface Probability {
	bytes: number[];
	logprob: number;
}
interface Completion {
	choices: { logprobs: { content: (Probability & { top_logprobs: Probability[] })[] } }[];
	usage: { prompt_tokens: number };
}

describe.skipIf(!real)("a real llama-server calculates", () => {
	it("the logits of a chat, of the prompt and of each token that follows", async () => {
		const { status, json } = await gateway.answerTo("v1/chat/completions", {
			...{ model: LLAMA, messages: [{ role: "user", content: MESSAGE }], temperature: 0 },
			...{ max_tokens: ANSWER_TOKENS, logprobs: true, top_logprobs: LIKELIEST },
		});
		expect([status, json]).toEqual([200, expect.anything()]);
		const { choices, usage } = json as Completion;
		const tokens = promptTokens(MESSAGE);
		expect(usage.prompt_tokens).toBe(tokens.length);
		const content = choices[0]?.logprobs.content ?? [];
		expect(content.length).toBeGreaterThan(1);
		for (const { top_logprobs: sent } of content) {
			const expected = [...logProbabilities(logitsOf(chat, tokens).at(-1) ?? []).entries()]
				.sort(([, one], [, other]) => other - one)
				.slice(0, LIKELIEST);
			expect(sent.map(({ logprob }) => logprob)).toEqual(close(expected.map(([, value]) => value)));
			for (const [at, [token]] of expected.entries()) {
				const byte = byteOf(token);
				if (byte !== undefined) expect(sent[at]?.bytes).toEqual([byte]);
			}
			tokens.push(expected[0]?.[0] ?? 0);
		}
	});

	it.each(["mean", "cls"] as const)("vectors of texts, with the pooling %s", async (pooling) => {
		const text = ["good cat", "sun", "moon bad dog good cat sun"];
		const { status, json } = await gateway.answerTo(`run/${BGE}`, { text, pooling });
		expect([status, json]).toEqual([200, expect.anything()]);
		const { result } = json as { result: { data: number[][] } };
		expect(result.data).toEqual(text.map((one) => close(embeddingOf(encoder, textTokens(one), pooling))));
	});

	it("vectors of requests at once, and of a text that fills the context", async () => {
		const words = ["good", "bad", "cat", "dog", "sun", "moon"];
		const textOf = (length: number): string =>
			Array.from({ length }, (_, at) => words[(at * at + length) % words.length]).join(" ");
		const texts = [...Array.from({ length: AT_ONCE }, (_, at) => textOf((at % 8) + 1)), textOf(LONGER)];
		const answers = await Promise.all(texts.map((text) => gateway.answerTo(`run/${BGE}`, { text: [text] })));
		for (const [at, { status, json }] of answers.entries()) {
			expect([status, json]).toEqual([200, expect.anything()]);
			const { result } = json as { result: { data: number[][] } };
			expect(result.data).toEqual([close(embeddingOf(encoder, textTokens(texts[at] ?? ""), "mean"))]);
		}
		const full = await gateway.answerTo(`run/${BGE}`, { text: [textOf(CONTEXT - MARKS)] });
		expect([full.status, full.json]).toEqual([200, expect.anything()]);
	});

	it("scores of a ranking", async () => {
		const [query, ...texts] = ["good sun", "bad moon", "cat", "dog sun good moon"] as const;
		const { status, json } = await gateway.answerTo(`run/${RERANKER}`, {
			...{ query, contexts: texts.map((text) => ({ text })) },
		});
		expect([status, json]).toEqual([200, expect.anything()]);
		const { result } = json as { result: { response: { id: number; score: number }[] } };
		const logits = texts.map((text) => rankOf(ranker, pairTokens(query, text)));
		const expected = logits.map((logit, id) => ({ id, score: 1 / (1 + Math.exp(-logit)) }));
		expect(result.response).toEqual(
			expected
				.sort((one, other) => other.score - one.score)
				.map(({ id, score }) => ({ id, score: expect.closeTo(score, DIGITS) })),
		);
	});
});
