/**
 * `POST /ai/v1/moderations` (platform.openai.com/docs/api-reference/moderations). An engine with this API answers in its own categories. A
 * guard model judges the hazards of MLCommons, of which some are OpenAI's categories.
 *
 * Differences of the answers of guard models: a category that the model does not judge is `null`, without a score, and its
 * `category_applied_input_types` are empty. A score is 1 or 0, because a verdict has no degrees. `hazards` has what the model found,
 * also hazards that OpenAI has no category for.
 */
import * as z from "zod";
import { inputFamily } from "../../models/family.ts";
import { can, type Model } from "../../models/model.ts";
import { piecesOf } from "../../tasks/moderation/index.ts";
import type { ModeratedItem, ModerationResult } from "../../tasks/moderation/types.ts";
import type { Dialect } from "../dialect.ts";
import { nullAsAbsent } from "../fields.ts";
import { badInput, invalidInput } from "../invalid-input.ts";
import { outputValue } from "../output-value.ts";

/** Calls of the guard model for one request. */
const MAX_PIECES = 256;

/** The hazards of Llama Guard that a category consists of. Empty: it judges none of this category. */
const HAZARDS: Readonly<Record<string, readonly string[]>> = {
	harassment: [],
	"harassment/threatening": [],
	hate: ["S10"],
	"hate/threatening": [],
	illicit: ["S2", "S3"],
	"illicit/violent": ["S1", "S9"],
	"self-harm": ["S11"],
	"self-harm/intent": [],
	"self-harm/instructions": [],
	sexual: ["S12"],
	"sexual/minors": ["S4"],
	violence: ["S1"],
	"violence/graphic": [],
};

const ModeratedPart = z.discriminatedUnion("type", [
	z.object({ type: z.literal("text"), text: z.string() }),
	z.object({
		type: z.literal("image_url"),
		image_url: z.object({
			url: z
				.string()
				.regex(/^(?:https?:\/\/|data:image\/)/i, "expected an address or a data URL of an image"),
		}),
	}),
]);
type ModeratedPart = z.output<typeof ModeratedPart>;

const ModerationInputs = nullAsAbsent(
	z.object({
		model: z.string(),
		input: z.union([z.string(), z.array(z.string()).min(1), z.array(ModeratedPart).min(1)]),
	}),
);
type ModerationInputs = z.output<typeof ModerationInputs>;

const textItem = (text: string): ModeratedItem => ({ text, images: [], sent: text });

/** A list of texts has a result for each. Parts are judged together. */
function itemsOf(input: ModerationInputs["input"]): ModeratedItem[] {
	if (typeof input === "string") return [textItem(input)];
	if (typeof input[0] === "string") return (input as string[]).map(textItem);
	const parts = input as ModeratedPart[];
	const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
	const images = parts.flatMap((part) => (part.type === "image_url" ? [part.image_url.url] : []));
	return [{ text: texts.join("\n"), images, sent: parts }];
}

export const openaiModerations: Dialect = {
	reader: {
		schema: () => ModerationInputs,
		read({ input }: ModerationInputs, model) {
			const items = itemsOf(input);
			if (items.reduce((sum, item) => sum + piecesOf(item).length, 0) > MAX_PIECES)
				throw badInput(`'/input' must have at most ${MAX_PIECES} texts of 8,000 characters`);
			if (items.some(({ images }) => images.length > 0) && !judgesImages(model))
				throw invalidInput(`input: ${model.id} judges texts only`);
			return { task: "moderation", input: { items } };
		},
	},
	writer: {
		write(answer, { call, model, requestId }) {
			const { results } = outputValue("moderation", answer);
			const items = call.task === "moderation" ? call.input.items : [];
			return {
				kind: "json",
				value: {
					id: `modr-${requestId.replaceAll("-", "")}`,
					model: model.id,
					results: results.map((result, index) => resultOf(result, items[index])),
				},
			};
		},
	},
};

/** A guard model needs the capability. What other models judge, their engine knows. */
const judgesImages = (model: Model): boolean => !inputFamily(model).isGuard || can(model, "vision");

function resultOf(result: ModerationResult, item: ModeratedItem | undefined): object {
	if ("scored" in result) {
		const { scored } = result;
		return { ...scored, flagged: scored.flagged ?? Object.values(scored.categories).includes(true) };
	}
	const { safe, categories: found } = result.verdict;
	const applied = [
		...(item?.text === "" ? [] : ["text"]),
		...(item && item.images.length > 0 ? ["image"] : []),
	];
	const each = <Value>(value: (hazards: readonly string[]) => Value) =>
		Object.fromEntries(Object.entries(HAZARDS).map(([name, hazards]) => [name, value(hazards)]));
	const isFound = (hazards: readonly string[]): boolean => hazards.some((hazard) => found.includes(hazard));
	return {
		flagged: !safe,
		categories: each((hazards) => (hazards.length > 0 ? isFound(hazards) : null)),
		category_scores: each((hazards) => (hazards.length > 0 ? Number(isFound(hazards)) : null)),
		category_applied_input_types: each((hazards) => (hazards.length > 0 ? applied : [])),
		hazards: found,
	};
}
