/**
 * Decisions on the native routes: the Clef models' `{model, state, questions, images?, audio?, videos?}`.
 *
 * Known differences from the product: an image that is not one is refused like any bad input, not by the model with
 * status 422 and code 5012; the seconds of sound (300) and video (60) are the engine's to check; texts that are given as
 * objects reach the engine as JSON.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { Model } from "../../models/model.ts";
import type { DecisionAnswer, Question } from "../../tasks/decision/types.ts";
import type { Reader, Writer } from "../dialect.ts";
import { defaulted, perModel } from "../fields.ts";
import { outputValue } from "../output-value.ts";
import { Clip, checkMedia, Image, MOST_CLIPS, MOST_IMAGES, MOST_VIDEOS } from "./decision-media.ts";

/** `clef` and `clef-flash` share one input schema. */
const SELECTORS_OF_ONE_SCHEMA = ["clef", "clef-flash"];
const MOST_QUESTIONS = 64;
const LONGEST_QUESTION_ID = 100;
const FEWEST_OPTIONS = 2;
const MOST_OPTIONS = 255;
const FEWEST_LEVELS = 2;
const MOST_LEVELS = 10;

/** What a question or an option means: a text, or structured data that holds it. */
const Structured = [z.record(z.string(), z.unknown()), z.array(z.unknown())] as const;
const Instructions = z.union([z.string().min(1), ...Structured]);
const Level = z.union([z.string(), ...Structured]);
const Detail = z.union([z.string(), ...Structured, z.null()]);

function mapOf<Value extends z.ZodType>(key: z.ZodString, value: Value, fewest: number, most: number) {
	const count = (map: object): number => Object.keys(map).length;
	return z
		.record(key, value)
		.refine((map) => count(map) >= fewest, { params: { minProperties: fewest } })
		.refine((map) => count(map) <= most, { params: { maxProperties: most } })
		.meta({ minProperties: fewest, maxProperties: most });
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
		criteria: mapOf(z.string().min(1), Detail, FEWEST_OPTIONS, MOST_OPTIONS),
	}),
	z.object({
		type: z.literal("score"),
		instructions: Instructions,
		criteria: z.array(Level).min(FEWEST_LEVELS).max(MOST_LEVELS),
	}),
]);

const QuestionId = z
	.string()
	.regex(/^[A-Za-z0-9_.-]+$/)
	.max(LONGEST_QUESTION_ID);

const decisionInputs = perModel((model) => {
	const has = (field: string): boolean => model.inputFields?.includes(field) ?? true;
	// Dropped, as other unknown properties are, they would be evidence that nobody looked at.
	const absent = z.never().optional();
	return z.object({
		model: selectorSchema(model),
		state: z.unknown(),
		questions: mapOf(QuestionId, AnyQuestion, 1, MOST_QUESTIONS),
		images: has("images") ? z.array(Image).max(MOST_IMAGES).optional() : absent,
		audio: has("audio") ? z.array(Clip.audio).max(MOST_CLIPS).optional() : absent,
		videos: has("videos") ? z.array(Clip.video).max(MOST_VIDEOS).optional() : absent,
	});
});
type DecisionInputs = z.output<ReturnType<typeof decisionInputs>>;

/** `@cf/cloudflare/clef-omni`: `clef-omni`, which is how the inputs name the model once more. */
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
			throw new AiError("badInput", `Error: '/model' must be '${selector}' for ${model.id}`);
		const questions = Object.entries(inputs.questions).map(
			([id, question]) => [id, inWords(question)] as const,
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

function inWords(question: z.output<typeof AnyQuestion>): Question {
	const instructions = words(question.instructions);
	switch (question.type) {
		case "noul": {
			const { true: yes, false: no } = question.criteria ?? {};
			const criteria = { ...(yes != null && { true: words(yes) }), ...(no != null && { false: words(no) }) };
			return { type: "noul", instructions, ...(question.criteria && { criteria }) };
		}
		case "choice": {
			const options = Object.entries(question.criteria).map(([option, detail]) => [option, words(detail)]);
			return { type: "choice", instructions, criteria: Object.fromEntries(options) };
		}
		case "score":
			return { type: "score", instructions, criteria: question.criteria.map(words) };
		default:
			return question satisfies never;
	}
}

const words = (detail: z.output<typeof Detail>): string =>
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
				/** The expected level; it can lie between two. */
				score: z.number(),
				legend: z.record(z.string(), z.string()),
				probabilities: z.record(z.string(), Probability),
				confidence: Probability,
			}),
		]),
	),
	usage: z.object({ input_tokens: z.int(), output_tokens: z.int() }),
});

export const decisionWriter: Writer = {
	schema: Reply,
	write(answer, { call, model }) {
		const { answers, usage } = outputValue("decision", answer);
		const value = {
			model: call.task === "decision" ? call.input.model : selectorOf(model),
			answers: Object.fromEntries(Object.entries(answers).map(([id, each]) => [id, rendered(each)])),
			usage,
		};
		return { kind: "json", value: value satisfies z.input<typeof Reply> };
	},
};

/** Confidence is derived here, as the product does, so that a threshold means the same whichever engine answered. */
function rendered(answer: DecisionAnswer): DecisionAnswer {
	if (answer.type === "noul") return { type: "noul", noul: rounded(answer.noul) };
	const probabilities = Object.fromEntries(
		Object.entries(answer.probabilities).map(([option, share]) => [option, rounded(share)]),
	);
	const confidence = rounded(confidenceOf(Object.values(answer.probabilities)));
	return answer.type === "choice"
		? { ...answer, probabilities, confidence }
		: { ...answer, score: rounded(answer.score), probabilities, confidence };
}

/** 0 when all outcomes are alike, 1 when there is only one: the sum of squares, scaled (observed). */
function confidenceOf(shares: number[]): number {
	const alike = 1 / shares.length;
	const squares = shares.reduce((sum, share) => sum + share * share, 0);
	return shares.length < 2 ? 1 : Math.min(1, Math.max(0, (squares - alike) / (1 - alike)));
}

/** To four places (observed). */
const rounded = (value: number): number => Math.round(value * 10_000) / 10_000;
