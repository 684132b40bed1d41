/**
 * Decisions on the native routes: the Clef models' `{model, state, questions, images?, audio?, videos?}`.
 *
 * Known differences from the product: an invalid image is refused with code 5006, not by the model with status 422 and code
 * 5012; the engine must check the duration of audio (300 seconds) and video (60 seconds); instructions and criteria that are
 * objects are sent to the engine as JSON.
 */
import * as z from "zod";
import type { Model } from "../../models/model.ts";
import type { DecisionAnswer, Question } from "../../tasks/decision/types.ts";
import type { Reader } from "../dialect.ts";
import { defaulted, perModel } from "../fields.ts";
import { badInput } from "../invalid-input.ts";
import { jsonWriter } from "../output-value.ts";
import { Clip, checkMedia, Image, MAX_CLIPS, MAX_IMAGES, MAX_VIDEOS } from "./decision-media.ts";

/** `clef` and `clef-flash` share one input schema. */
const SELECTORS_OF_ONE_SCHEMA = ["clef", "clef-flash"];
const MAX_QUESTIONS = 64;
const MAX_QUESTION_ID_CHARACTERS = 100;
const MIN_OPTIONS = 2;
const MAX_OPTIONS = 255;
const MIN_LEVELS = 2;
const MAX_LEVELS = 10;

/** The text of a question or an option, or structured data that contains it. */
const Structured = [z.record(z.string(), z.unknown()), z.array(z.unknown())] as const;
const Instructions = z.union([z.string().min(1), ...Structured]);
const Level = z.union([z.string(), ...Structured]);
const Detail = z.union([z.string(), ...Structured, z.null()]);

function mapOf<Value extends z.ZodType>(key: z.ZodString, value: Value, min: number, max: number) {
	const count = (map: object): number => Object.keys(map).length;
	return z
		.record(key, value)
		.refine((map) => count(map) >= min, { params: { minProperties: min } })
		.refine((map) => count(map) <= max, { params: { maxProperties: max } })
		.meta({ minProperties: min, maxProperties: max });
}

const AnyQuestion = z.discriminatedUnion("type", [
	z.object({
		type: z.literal("noul"),
		instructions: Instructions,
		criteria: z.object({ true: Detail.optional(), false: Detail.optional() }).optional(),
	}),
	z.object({
		type: z.literal("choice"),
		instructions: Instructions,
		criteria: mapOf(z.string().min(1), Detail, MIN_OPTIONS, MAX_OPTIONS),
	}),
	z.object({
		type: z.literal("score"),
		instructions: Instructions,
		criteria: z.array(Level).min(MIN_LEVELS).max(MAX_LEVELS),
	}),
]);

const QuestionId = z
	.string()
	.regex(/^[A-Za-z0-9_.-]+$/)
	.max(MAX_QUESTION_ID_CHARACTERS);

const decisionInputs = perModel((model) => {
	const has = (field: string): boolean => model.inputFields?.includes(field) ?? true;
	// Refused, not dropped as other unknown properties are: the answer would ignore the caller's evidence.
	const absent = z.never().optional();
	return z.object({
		model: selectorSchema(model),
		state: z.unknown(),
		questions: mapOf(QuestionId, AnyQuestion, 1, MAX_QUESTIONS),
		images: has("images") ? z.array(Image).max(MAX_IMAGES).optional() : absent,
		audio: has("audio") ? z.array(Clip.audio).max(MAX_CLIPS).optional() : absent,
		videos: has("videos") ? z.array(Clip.video).max(MAX_VIDEOS).optional() : absent,
	});
});
type DecisionInputs = z.output<ReturnType<typeof decisionInputs>>;

/** The `model` field of the inputs: `clef-omni` for `@cf/cloudflare/clef-omni`. */
const selectorOf = ({ id }: Model): string => id.slice(id.lastIndexOf("/") + 1);

function selectorSchema(model: Model) {
	const selector = selectorOf(model);
	const allowed = SELECTORS_OF_ONE_SCHEMA.includes(selector)
		? `(${SELECTORS_OF_ONE_SCHEMA.join("|")})`
		: selector.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
	const schema = z.string().regex(new RegExp(`^\\s*${allowed}\\s*$`));
	return model.defaults.model === undefined ? schema : defaulted(model, "model", schema);
}

export const decisionReader: Reader = {
	schema: decisionInputs,
	read(inputs: DecisionInputs, model) {
		const selector = selectorOf(model);
		if (inputs.model !== undefined && inputs.model.trim() !== selector)
			throw badInput(`'/model' must be '${selector}' for ${model.id}`);
		const questions = Object.entries(inputs.questions).map(
			([id, question]) => [id, taskQuestion(question)] as const,
		);
		return {
			task: "decision",
			input: {
				model: selector,
				state: inputs.state,
				questions: Object.fromEntries(questions),
				...checkMedia(inputs),
			},
		};
	},
};

function taskQuestion(question: z.output<typeof AnyQuestion>): Question {
	const instructions = textOf(question.instructions);
	switch (question.type) {
		case "noul": {
			const { true: yes, false: no } = question.criteria ?? {};
			const criteria = {
				...(yes != null && { true: textOf(yes) }),
				...(no != null && { false: textOf(no) }),
			};
			return { type: "noul", instructions, ...(question.criteria && { criteria }) };
		}
		case "choice": {
			const options = Object.entries(question.criteria).map(([option, detail]) => [option, textOf(detail)]);
			return { type: "choice", instructions, criteria: Object.fromEntries(options) };
		}
		case "score":
			return { type: "score", instructions, criteria: question.criteria.map(textOf) };
		default:
			return question satisfies never;
	}
}

const textOf = (detail: z.output<typeof Detail>): string =>
	typeof detail === "string" ? detail : detail === null ? "" : JSON.stringify(detail);

const Probability = z.number().min(0).max(1);
const Reply = z.object({
	model: z.string(),
	answers: z.record(
		z.string(),
		z.discriminatedUnion("type", [
			z.object({ type: z.literal("noul"), noul: Probability }),
			z.object({
				type: z.literal("choice"),
				choice: z.string(),
				probabilities: z.record(z.string(), Probability),
				confidence: Probability,
			}),
			z.object({
				type: z.literal("score"),
				/** The expected value, which can lie between two levels. */
				score: z.number(),
				legend: z.record(z.string(), z.string()),
				probabilities: z.record(z.string(), Probability),
				confidence: Probability,
			}),
		]),
	),
	usage: z.object({ input_tokens: z.int(), output_tokens: z.int() }),
});

export const decisionWriter = jsonWriter("decision", Reply, ({ answers, usage }, { call, model }) => ({
	model: call.task === "decision" ? call.input.model : selectorOf(model),
	answers: Object.fromEntries(Object.entries(answers).map(([id, each]) => [id, rendered(each)])),
	usage,
}));

/** Confidence is calculated here, as in the product, so that thresholds mean the same for all engines. */
export function rendered(answer: DecisionAnswer): DecisionAnswer {
	if (answer.type === "noul") return { type: "noul", noul: rounded(answer.noul) };
	const probabilities = Object.fromEntries(
		Object.entries(answer.probabilities).map(([option, share]) => [option, rounded(share)]),
	);
	const confidence = rounded(confidenceOf(Object.values(answer.probabilities)));
	return answer.type === "choice"
		? { ...answer, probabilities, confidence }
		: { ...answer, score: rounded(answer.score), probabilities, confidence };
}

/** 0 for a uniform distribution, 1 for a certain outcome: the scaled sum of squares (observed). */
export function confidenceOf(shares: number[]): number {
	const uniform = 1 / shares.length;
	const squares = shares.reduce((sum, share) => sum + share * share, 0);
	return shares.length < 2 ? 1 : Math.min(1, Math.max(0, (squares - uniform) / (1 - uniform)));
}

/** Four decimals (observed). */
const rounded = (value: number): number => Math.round(value * 10_000) / 10_000;
