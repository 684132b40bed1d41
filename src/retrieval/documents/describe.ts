/**
 * Describes images by models, as the product does: one model detects objects, and another one describes the image with their names as a
 * hint. Both run as requests of the caller, in its gateway, and are billed.
 *
 * Differences: an image is sent in its own size, because nothing here decodes pixels. An SVG is sent as its source text. The vision model is
 * the product's if it is served, else the next one of the list; the detection is left out if no route serves it.
 */
import { isRecord } from "../../core/json.ts";
import { dataUrl } from "../../media/base64.ts";
import { imageSizeOf } from "../../media/image-size.ts";
import { decodeUtf8 } from "../../media/utf8.ts";
import { isServed } from "../../pipeline/is-served.ts";
import type { PipelineServices } from "../../pipeline/services.ts";
import { ConversionFailure } from "./work.ts";

const DETECTION_MODEL = "@cf/facebook/detr-resnet-50";
/** The product's model first. It has ended, so that only a route that names it serves it. */
const VISION_MODELS = [
	"@cf/google/gemma-3-12b-it",
	"@cf/google/gemma-4-26b-a4b-it",
	"@cf/meta/llama-4-scout-17b-16e-instruct",
] as const;

const LANGUAGES = {
	en: "English",
	es: "Spanish",
	fr: "French",
	it: "Italian",
	pt: "Portuguese",
	de: "German",
} as const;
type DescriptionLanguage = keyof typeof LANGUAGES;

const MAX_DESCRIPTION_TOKENS = 512;
/** Larger images are refused before a model receives them: engines decode all pixels. */
const MAX_PIXELS = 40_000_000;
const MAX_SVG_CHARACTERS = 20_000;
const MIN_SCORE = 0.5;
const MAX_LABELS = 20;
const SVG = "image/svg+xml";

/** Runs a model for the caller, in its gateway. Returns its answer in its own format. Throws an error with a `description`. */
export type CallModel = (
	model: string,
	inputs: { fields: Record<string, unknown>; body?: { bytes: Uint8Array<ArrayBuffer>; contentType: string } },
) => Promise<unknown>;

interface ImageToDescribe {
	mimeType: string;
	bytes: Uint8Array;
	language?: DescriptionLanguage | undefined;
}

type ModelList = Pick<PipelineServices, "catalog" | "routing" | "now">;

const servedModel = (models: readonly string[], services: ModelList): string | undefined =>
	models.find((id) => {
		const model = services.catalog.find(id);
		return model ? isServed(model, services) : services.routing.find(id)?.named === true;
	});

/** Throws a `ConversionFailure` that names the model and the setting if no route serves one. */
export function visionModel(services: ModelList): string {
	const model = servedModel(VISION_MODELS, services);
	if (model !== undefined) return model;
	throw new ConversionFailure(
		`Images need a model that describes them: set a route for ${VISION_MODELS[0]} in ROUTES`,
	);
}

/** One paragraph. Throws a `ConversionFailure`. */
export async function describeImage(
	image: ImageToDescribe,
	runModel: CallModel,
	services: ModelList,
): Promise<string> {
	const { mimeType, language } = image;
	const model = visionModel(services);
	const content = mimeType === SVG ? svgContent(image) : await pixelContent(image, runModel, services);
	const prompt = [
		"Describe this image in one paragraph for a reader who cannot see it. Write only the description.",
		...content.hints,
		...(language ? [`Write the description in ${LANGUAGES[language]}.`] : []),
	].join(" ");
	const fields = {
		messages: [{ role: "user", content: [{ type: "text", text: prompt }, ...content.parts] }],
		max_tokens: MAX_DESCRIPTION_TOKENS,
	};
	const text = textIn(await refusing(() => runModel(model, { fields })));
	if (text === "") throw new ConversionFailure(`The model ${model} returned no description`);
	return text;
}

interface PromptContent {
	hints: string[];
	parts: object[];
}

function svgContent({ bytes }: ImageToDescribe): PromptContent {
	const source = decodeUtf8(bytes);
	if (!/<svg[\s>]/i.test(source)) throw new ConversionFailure("The file is damaged, or is not an SVG image");
	if (/<!(?:DOCTYPE[^>]*\[|ENTITY)/i.test(source))
		throw new ConversionFailure("The SVG declares entities, which are not read");
	// Pixels in an SVG are no text that a model reads.
	const text = source.replace(/data:[^"')\s]{200,}/g, "data:").slice(0, MAX_SVG_CHARACTERS);
	return { hints: ["It is the following SVG."], parts: [{ type: "text", text }] };
}

async function pixelContent(
	{ bytes, mimeType }: ImageToDescribe,
	runModel: CallModel,
	services: ModelList,
): Promise<PromptContent> {
	const size = imageSizeOf(bytes);
	if (!size) throw new ConversionFailure("The file is damaged, or is not an image of its type");
	if (size.width * size.height > MAX_PIXELS)
		throw new ConversionFailure(
			`The image has ${size.width} x ${size.height} pixels; ${MAX_PIXELS / 1_000_000} million are the most`,
		);
	const labels = await detectedLabels({ bytes, mimeType }, runModel, services);
	return {
		hints: labels.length > 0 ? [`A detector found: ${labels.join(", ")}.`] : [],
		parts: [{ type: "image_url", image_url: { url: dataUrl(bytes, mimeType) } }],
	};
}

async function detectedLabels(
	{ bytes, mimeType }: ImageToDescribe,
	runModel: CallModel,
	services: ModelList,
): Promise<string[]> {
	const model = servedModel([DETECTION_MODEL], services);
	if (model === undefined) return [];
	const body = { bytes: new Uint8Array(bytes), contentType: mimeType };
	const found = await refusing(() => runModel(model, { fields: {}, body }));
	const labels = (Array.isArray(found) ? found : []).flatMap((object: unknown) =>
		isRecord(object) && typeof object.label === "string" && Number(object.score) >= MIN_SCORE
			? [object.label.slice(0, 100)]
			: [],
	);
	return [...new Set(labels)].slice(0, MAX_LABELS);
}

async function refusing<T>(call: () => Promise<T>): Promise<T> {
	try {
		return await call();
	} catch (cause) {
		const description = isRecord(cause) && typeof cause.description === "string" ? cause.description : "";
		throw new ConversionFailure(`The image could not be described${description && `: ${description}`}`, {
			cause,
		});
	}
}

/** The native formats of chat models. */
function textIn(answer: unknown): string {
	if (!isRecord(answer)) return "";
	if (typeof answer.response === "string") return oneParagraph(answer.response);
	const [choice]: unknown[] = Array.isArray(answer.choices) ? answer.choices : [];
	const message = isRecord(choice) ? choice.message : undefined;
	const content = isRecord(message) ? message.content : undefined;
	return typeof content === "string" ? oneParagraph(content) : "";
}

const oneParagraph = (text: string): string => text.replace(/\s+/g, " ").trim();
