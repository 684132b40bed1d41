import { expect, it } from "vitest";
import type { Question } from "../../../src/tasks/decision/types.ts";
import { run } from "./fixture.ts";

const decide = async (
	state: unknown,
	questions: Record<string, Question>,
	images: string[] = [],
	audio: string[] = [],
) => run("decision", { model: "clef", state, questions, images, audio, videos: [] });

const route: Question = {
	type: "choice",
	instructions: "Which team?",
	criteria: { billing: "Invoices", technical: "Errors", sales: "Quotes" },
};

it.each(["hello", "I am furious", { mail: "refund" }])("decides nothing: %j", async (state) => {
	const { answers } = await decide(state, {
		route,
		angry: { type: "noul", instructions: "The customer is angry" },
		mood: { type: "score", instructions: "How angry?", criteria: ["calm", "annoyed", "furious", "gone"] },
	});
	expect(answers).toEqual({
		route: {
			type: "choice",
			choice: "billing",
			probabilities: { billing: 0.333334, technical: 0.333333, sales: 0.333333 },
			confidence: 0.333334,
		},
		angry: { type: "noul", noul: 0.5 },
		mood: {
			type: "score",
			score: 1.5,
			legend: { 0: "calm", 1: "annoyed", 2: "furious", 3: "gone" },
			probabilities: { 0: 0.25, 1: 0.25, 2: 0.25, 3: 0.25 },
			confidence: 0.25,
		},
	});
});

it("counts input tokens as the product does, and no output tokens", async () => {
	const bare = (await decide("a b c", { route })).usage;
	expect(bare.output_tokens).toBe(0);
	// Signature, length, IHDR, sides. The side in pixels: at least 256 by 256 in patches of 32, at most 1,024 tokens.
	const png = (side: number) =>
		`data:image/png;base64,${Buffer.concat([
			Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"),
			Buffer.from(
				Uint32Array.of(side, side).map((value) => ((value & 0xff) << 24) | ((value >> 8) << 16)).buffer,
			),
			Buffer.from("0806000000", "hex"),
		]).toString("base64")}`;
	for (const [side, tokens] of [
		[64, 67],
		[256, 67],
		[512, 259],
		[2048, 1024],
	] as const)
		expect((await decide("a b c", { route }, [png(side)])).usage.input_tokens - bare.input_tokens).toBe(
			tokens,
		);
	expect((await decide("a b c d", { route })).usage.input_tokens - bare.input_tokens).toBe(1);
});

it("counts 780 tokens per minute of audio", async () => {
	const bare = (await decide("a", { route })).usage.input_tokens;
	// Mono, 8 bits, 100 samples a second.
	const wav = (seconds: number) => {
		const bytes = Buffer.alloc(44 + 100 * seconds);
		bytes.write("RIFF", 0);
		bytes.writeUInt32LE(bytes.length - 8, 4);
		bytes.write("WAVEfmt ", 8);
		for (const [at, value] of [
			[16, 16],
			[24, 100],
			[28, 100],
			[40, 100 * seconds],
		] as const)
			bytes.writeUInt32LE(value, at);
		for (const [at, value] of [
			[20, 1],
			[22, 1],
			[32, 1],
			[34, 8],
		] as const)
			bytes.writeUInt16LE(value, at);
		bytes.write("data", 36);
		return `data:audio/wav;base64,${bytes.toString("base64")}`;
	};
	for (const [seconds, tokens] of [
		[60, 780],
		[1, 13],
		[90, 1_170],
	] as const) {
		const { usage } = await decide("a", { route }, [], [wav(seconds)]);
		expect(usage.input_tokens - bare).toBe(tokens);
	}
	const { usage } = await decide("a", { route }, [], [wav(60), wav(1)]);
	expect(usage.input_tokens - bare).toBe(793);
});
