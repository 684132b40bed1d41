/**
 * OpenAI's decisions (`POST /v1/decisions`, beta of 2026-10; `resources/decisions` of openai-node), for decision models and, prompted,
 * for every chat model.
 *
 * Differences from OpenAI: at most 64 questions; images must be data URLs; instructions have no images. `prompt_cache_*` and
 * `safety_identifier` are accepted without effect. An answer of a model that was prompted has `method: "prompted"`.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { own } from "../../core/own.ts";
import type { DecisionAnswer, DecisionOutput, Question } from "../../tasks/decision/types.ts";
import type { WriteContext } from "../dialect.ts";
import { badInput } from "../invalid-input.ts";
import { confidenceOf } from "../text/decision.ts";
import {
	answerAt,
	Instructions,
	instructionsText,
	LEVELS,
	methodOf,
	OPTIONS,
	requireFew,
} from "./questions.ts";

const named = lazy(() => ({ name: z.string().nullish(), instructions: Instructions() }));
const Detail = z.string().nullish();

const SentQuestion = lazy(() =>
	z.discriminatedUnion("type", [
		z.strictObject({ type: z.literal("predicate"), ...named() }),
		z.strictObject({
			type: z.literal("choice"),
			...named(),
			choices: z
				.array(z.strictObject({ value: z.union([z.string().min(1), z.boolean()]), description: Detail }))
				.min(OPTIONS.min)
				.max(OPTIONS.max),
		}),
		z.strictObject({
			type: z.literal("score"),
			...named(),
			levels: z
				.array(z.strictObject({ label: z.string().min(1), description: Detail }))
				.min(LEVELS.min)
				.max(LEVELS.max),
		}),
	]),
);
type SentQuestion = z.output<ReturnType<typeof SentQuestion>>;

const MAX_SENT = 400;

/** `input` is read by `input.ts`. */
export const OpenAiDecision = lazy(() =>
	z.strictObject({
		contract: z.literal("openai"),
		model: z.string().min(1),
		input: z.union([z.string().min(1), z.array(z.looseObject({})).min(1)]),
		questions: z.array(SentQuestion()).min(1).max(MAX_SENT),
		safety_identifier: z.string().max(128).nullish(),
		prompt_cache_key: z.string().nullish(),
		prompt_cache_options: z.looseObject({}).nullish(),
	}),
);
export type OpenAiDecision = z.output<ReturnType<typeof OpenAiDecision>>;

/** Throws 5006 and 8001. */
export function readQuestions(questions: readonly SentQuestion[]): Question[] {
	requireFew(questions.length);
	return questions.map((question, index) => {
		const at = `questions[${index}]`;
		const instructions = instructionsText(question.instructions, at);
		switch (question.type) {
			case "predicate":
				return { type: "noul", instructions };
			case "choice": {
				const options = question.choices.map(
					({ value, description }) => [String(value), description ?? ""] as const,
				);
				const criteria = Object.fromEntries(options);
				if (Object.keys(criteria).length < options.length)
					throw badInput(`'/questions/${index}/choices' must have different values`);
				return { type: "choice", instructions, criteria };
			}
			case "score":
				return {
					type: "score",
					instructions,
					criteria: question.levels.map(({ label, description }) => description || label),
				};
			default:
				return question satisfies never;
		}
	});
}

export function openAiDecision(output: DecisionOutput, { inputs, model }: WriteContext): object {
	const { questions } = inputs as OpenAiDecision;
	const { input_tokens, output_tokens } = output.usage;
	return {
		model: model.id,
		answers: questions.map((question, index) => answerOf(question, answerAt(output, index))),
		usage: {
			input_tokens,
			input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
			output_tokens,
			output_tokens_details: { reasoning_tokens: 0 },
			total_tokens: input_tokens + output_tokens,
		},
		...methodOf(output),
	};
}

/** With the names, the order and the types of the request. A question without an answer was refused. */
function answerOf(question: SentQuestion, answer: DecisionAnswer | undefined): object {
	const { type } = question;
	const name = question.name ?? null;
	if (type === "predicate" && answer?.type === "noul")
		return { type, name, probability: rounded(answer.noul) };
	if (type === "choice" && answer?.type === "choice") {
		const { choice, probabilities: shares } = answer;
		const chosen = question.choices.find(({ value }) => String(value) === choice);
		const probabilities = question.choices.map(({ value }) => ({
			value,
			probability: rounded(shareOf(shares, String(value))),
		}));
		const confidence = rounded(confidenceOf(Object.values(shares)));
		return { type, name, choice: chosen?.value ?? choice, confidence, probabilities };
	}
	if (type === "score" && answer?.type === "score") {
		const { score, probabilities: shares } = answer;
		const probabilities = question.levels.map(({ label }, value) => ({
			value,
			label,
			probability: rounded(shareOf(shares, String(value))),
		}));
		return {
			type,
			name,
			score: rounded(score),
			confidence: rounded(confidenceOf(Object.values(shares))),
			probabilities,
		};
	}
	return { type: "refusal", name };
}

const shareOf = (shares: Readonly<Record<string, number>>, option: string): number =>
	own(shares, option) ?? 0;

/** Two decimals, as OpenAI's. */
const rounded = (value: number): number => Math.round(value * 100) / 100;
