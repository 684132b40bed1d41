/**
 * Moondream: one model, four tasks. `query` and `caption` are a chat about one image, `point` and `detect` find objects in
 * it. Coordinates are fractions of the image's sides.
 *
 * The format of streams is our choice, not verified. Each event has the next part of a field of the complete reply
 * (`answer`, `caption`, `reasoning.text`); the last one has the `finish_reason` and the `metrics`.
 *
 * Differences from the product: `point` and `detect` accept only data URIs, because the gateway does not fetch callers'
 * URLs; `reasoning.grounding` is empty; the times in `metrics` are 0 if the engine does not report them.
 */
import * as z from "zod";
import { present } from "../../core/present.ts";
import { laterUsage, type Usage } from "../../core/usage.ts";
import { DONE, frame } from "../../streams/sse.ts";
import type { DetectObjectsOutput } from "../../tasks/object-detection/index.ts";
import type { TaskCall } from "../../tasks/task.ts";
import type { ChatChunk, ChatCompletion, ContentPart } from "../../tasks/text-generation/types.ts";
import { chatWriter } from "../chat/call.ts";
import { firstChoice, parseChunk, reasoningOf } from "../chat/chunks.ts";
import { mapChatEvents } from "../chat/events.ts";
import type { NativeWriter, Reader } from "../dialect.ts";
import { modelFields, perModel } from "../fields.ts";
import { invalidInput } from "../invalid-input.ts";
import { outputValue } from "../output-value.ts";
import { checkImageUrl } from "./image-url.ts";
import { decodeDataUri, imageOf } from "./media.ts";

const MOONDREAM = {
	task: z.enum(["query", "caption", "point", "detect"]).optional(),
	image: z.string().optional(),
	question: z.string().optional(),
	caption_length: z.enum(["short", "normal", "long"]).optional(),
	target: z.string().optional(),
	reasoning: z.boolean().optional(),
	temperature: z.number().min(0).max(2).optional(),
	top_p: z.number().min(0).max(1).optional(),
	max_tokens: z.int().min(1).max(2048).optional(),
	max_objects: z.int().min(1).max(500).optional(),
	stream: z.boolean().optional(),
};
type Moondream = z.output<z.ZodObject<typeof MOONDREAM>>;

const CAPTION_PROMPTS = {
	short: "Describe this image in one short sentence.",
	normal: "Describe this image.",
	long: "Describe this image in detail.",
};

export const moondreamReader: Reader = {
	schema: perModel((model) =>
		modelFields(MOONDREAM, model).check((context) => {
			const { task = "query", image } = context.value;
			if (task !== "query" && image === undefined)
				context.issues.push({ code: "invalid_type", expected: "string", input: undefined, path: ["image"] });
		}),
	),
	read(inputs: Moondream) {
		const { task = "query", question = "", caption_length = "normal" } = inputs;
		switch (task) {
			case "query":
				return chatCallOf(inputs, question);
			case "caption":
				return chatCallOf(inputs, CAPTION_PROMPTS[caption_length]);
			case "point":
			case "detect":
				return detectionCall(inputs, task);
			default:
				return task satisfies never;
		}
	},
};

function chatCallOf(inputs: Moondream, text: string): TaskCall {
	const { image, reasoning, temperature, top_p, max_tokens, stream = true } = inputs;
	const content: ContentPart[] = [{ type: "text", text }];
	if (image !== undefined) {
		if (!embeddedImage(image)) checkImageUrl(image, "/image");
		content.unshift({ type: "image_url", image_url: { url: image } });
	}
	return {
		task: "text-generation",
		input: {
			messages: [{ role: "user", content }],
			stream,
			...present({ temperature, top_p, max_tokens }),
			...(reasoning === false && { reasoning_effort: null }),
		},
	};
}

function detectionCall({ image = "", target, max_objects }: Moondream, task: string): TaskCall {
	const media = embeddedImage(image);
	if (media)
		return { task: "object-detection", input: { image: media, ...present({ target, max_objects }) } };
	checkImageUrl(image, "/image");
	throw invalidInput(`for '${task}', 'image' must be a data URI`);
}

/** The image of a data URI; `undefined` for a URL. Throws 3030 if it is not an image. */
const embeddedImage = (image: string) => {
	const wrapped = decodeDataUri(image);
	return wrapped && imageOf(wrapped);
};

const Metrics = z.object({
	input_tokens: z.number(),
	output_tokens: z.number(),
	prefill_time_ms: z.number(),
	decode_time_ms: z.number(),
	ttft_ms: z.number(),
});

const MoondreamResult = z.object({
	finish_reason: z.string(),
	metrics: Metrics,
	answer: z.string().optional(),
	caption: z.string().optional(),
	points: z.array(z.object({ x: z.number(), y: z.number() })).optional(),
	objects: z
		.array(z.object({ x_min: z.number(), y_min: z.number(), x_max: z.number(), y_max: z.number() }))
		.optional(),
	reasoning: z.object({ text: z.string(), grounding: z.array(z.unknown()) }).optional(),
});
type MoondreamResult = z.output<typeof MoondreamResult>;

/** llama.cpp sends its timings beside the usage. */
const Timed = z.looseObject({ timings: z.looseObject({ prompt_ms: z.number(), predicted_ms: z.number() }) });
type Timings = z.output<typeof Timed>["timings"];

const timingsOf = (reply: ChatCompletion | ChatChunk): Timings | undefined =>
	"timings" in reply ? Timed.safeParse(reply).data?.timings : undefined;

const metricsOf = (usage?: Usage | null, timings?: Timings): z.output<typeof Metrics> => ({
	input_tokens: usage?.prompt_tokens ?? 0,
	output_tokens: usage?.completion_tokens ?? 0,
	prefill_time_ms: timings?.prompt_ms ?? 0,
	decode_time_ms: timings?.predicted_ms ?? 0,
	ttft_ms: timings?.prompt_ms ?? 0,
});

export const moondreamWriter: NativeWriter = {
	schema: MoondreamResult,
	write(answer, context) {
		const inputs = context.inputs as Moondream;
		const { task } = inputs;
		if (task === "point" || task === "detect")
			return { kind: "json", value: detectionResult(outputValue("object-detection", answer), inputs) };
		const field = task === "caption" ? "caption" : "answer";
		return chatWriter({
			value: (completion) => textResult(completion, field),
			events: (events) => textEvents(events, field),
		}).write(answer, context);
	},
};

function detectionResult(
	{ objects, width, height }: DetectObjectsOutput,
	{ task, max_objects }: Moondream,
): MoondreamResult {
	const boxes = objects.slice(0, max_objects).map(({ box: { xmin, ymin, xmax, ymax } }) => ({
		x_min: fraction(xmin, width),
		y_min: fraction(ymin, height),
		x_max: fraction(xmax, width),
		y_max: fraction(ymax, height),
	}));
	const common = { finish_reason: "stop", metrics: metricsOf() };
	if (task === "detect") return { ...common, objects: boxes };
	const points = boxes.map(({ x_min, y_min, x_max, y_max }) => ({
		x: (x_min + x_max) / 2,
		y: (y_min + y_max) / 2,
	}));
	return { ...common, points };
}

const fraction = (pixels: number, side: number): number => Math.min(1, Math.max(0, pixels / side));

function textResult(completion: ChatCompletion, field: "answer" | "caption"): MoondreamResult {
	const choice = completion.choices.find(({ index }) => index === 0);
	const reasoning = choice ? reasoningOf(choice.message) : "";
	return {
		finish_reason: choice?.finish_reason ?? "stop",
		metrics: metricsOf(completion.usage, timingsOf(completion)),
		[field]: choice?.message.content ?? "",
		...(reasoning && { reasoning: { text: reasoning, grounding: [] } }),
	};
}

function textEvents(
	events: ReadableStream<Uint8Array>,
	field: "answer" | "caption",
): ReadableStream<Uint8Array> {
	let finish_reason = "stop";
	let usage: Usage | undefined;
	let timings: Timings | undefined;
	return mapChatEvents(events, {
		onData(data, value) {
			const chunk = parseChunk(data, value);
			if (chunk === "done") return "";
			usage = laterUsage(usage, chunk.usage);
			timings = timingsOf(chunk) ?? timings;
			const choice = firstChoice(chunk);
			finish_reason = choice?.finish_reason ?? finish_reason;
			const reasoning = choice ? reasoningOf(choice.delta) : "";
			const text = choice?.delta.content ?? "";
			return (reasoning && frame({ reasoning: { text: reasoning } })) + (text && frame({ [field]: text }));
		},
		onDone: () => frame({ [field]: "", finish_reason, metrics: metricsOf(usage, timings) }) + DONE,
	});
}
