/**
 * Moondream, one model with four tasks: `query` for a chat about one image, `detect` for objects. Coordinates are fractions
 * of the image's sides. Unverified: the format of its streams. They are read in Ganglion's format: each frame has the next
 * piece of a field of the complete reply.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { undecodableImage } from "../../core/undecodable-image.ts";
import { dataUrl } from "../../media/base64.ts";
import { imageSizeOf, type PixelSize } from "../../media/image-size.ts";
import type { Media } from "../../media/media.ts";
import { typeOf } from "../../media/types.ts";
import { isDone } from "../../streams/sse.ts";
import type { DetectedObject, DetectObjectsInput } from "../../tasks/object-detection/types.ts";
import type { Answer } from "../../tasks/task.ts";
import {
	type ChatChunk,
	type ChatCompletion,
	type ChatInput,
	textOf,
} from "../../tasks/text-generation/types.ts";
import { postTranslated, type Translator, type UpstreamEvent } from "../transport/translated-stream.ts";
import { type Call, failureOfBody } from "../transport/upstream-failure.ts";
import { requestOf, resultOf, runJson, value } from "./run.ts";

const MoondreamReply = z.looseObject({
	answer: z.string().nullish(),
	caption: z.string().nullish(),
	reasoning: z.looseObject({ text: z.string() }).nullish(),
	finish_reason: z.string().nullish(),
	metrics: z.looseObject({ input_tokens: z.number(), output_tokens: z.number() }).nullish(),
});
type MoondreamReply = z.output<typeof MoondreamReply>;

const Reply = MoondreamReply.refine(({ answer, caption }) => answer != null || caption != null);

export async function chatWithMoondream(input: ChatInput, call: Call): Promise<Answer<"text-generation">> {
	const inputs = inputsOf(input, call);
	if (!input.stream) return value(completionOf(await runJson(call, inputs, Reply), call));
	const { path, body } = requestOf(call, inputs);
	const reply = await postTranslated(call, path, body, {
		schema: z.unknown(),
		translator: new MoondreamTranslator(call),
	});
	return reply.kind === "stream" ? reply : value(completionOf(resultOf(reply.value, Reply, call), call));
}

/** The model gets only the last message. */
function inputsOf(input: ChatInput, { target, model }: Call): Record<string, unknown> {
	const last = input.messages.at(-1);
	if (!last) throw new AiError("invalidInput", `Invalid input: ${model.id} takes messages`);
	const parts = Array.isArray(last.content) ? last.content : [];
	const images = parts.flatMap(({ image_url }) => image_url?.url ?? []);
	if (images.length > 1)
		throw new AiError("engineRefused", `The backend '${target.backend}' looks at one image per request`, {
			retryable: true,
		});
	return {
		task: "query",
		question: textOf(last.content),
		image: images[0],
		reasoning: input.reasoning_effort === null ? false : undefined,
		temperature: input.temperature,
		top_p: input.top_p,
		max_tokens: input.max_tokens,
		stream: input.stream,
	};
}

const heading = ({ target, services }: Call) => ({
	id: `chatcmpl-${services.uuid()}`,
	created: Math.floor(services.now() / 1000),
	model: target.model,
});

function usageOf({ metrics }: MoondreamReply) {
	if (!metrics) return undefined;
	const { input_tokens, output_tokens } = metrics;
	return {
		prompt_tokens: input_tokens,
		completion_tokens: output_tokens,
		total_tokens: input_tokens + output_tokens,
	};
}

function completionOf(reply: MoondreamReply, call: Call): ChatCompletion {
	const usage = usageOf(reply);
	return {
		...heading(call),
		object: "chat.completion",
		choices: [
			{
				index: 0,
				message: {
					role: "assistant",
					content: reply.answer ?? reply.caption ?? "",
					...(reply.reasoning?.text && { reasoning_content: reply.reasoning.text }),
				},
				finish_reason: reply.finish_reason || "stop",
			},
		],
		...(usage && { usage }),
	};
}

class MoondreamTranslator implements Translator {
	done = false;
	readonly #call: Call;
	readonly #heading: ReturnType<typeof heading>;
	#hasBegun = false;
	#last: MoondreamReply | undefined;

	constructor(call: Call) {
		this.#call = call;
		this.#heading = heading(call);
	}

	translate({ data }: UpstreamEvent): ChatChunk[] {
		if (isDone(data)) {
			this.done = true;
			return [];
		}
		const sent: unknown = JSON.parse(data);
		if (typeof sent === "object" && sent !== null && ("error" in sent || "errors" in sent))
			throw failureOfBody(this.#call, sent);
		const frame = MoondreamReply.parse(sent);
		if (frame.finish_reason) this.#last = frame;
		const content = frame.answer || frame.caption;
		const chunks = [
			...(frame.reasoning?.text ? [this.#chunk({ reasoning_content: frame.reasoning.text })] : []),
			...(content ? [this.#chunk({ content })] : []),
		];
		if (this.#hasBegun || chunks.length === 0) return chunks;
		this.#hasBegun = true;
		return [this.#chunk({ role: "assistant", content: "" }), ...chunks];
	}

	end(): ChatChunk[] | undefined {
		if (!this.#last && !this.done) return undefined;
		const usage = this.#last && usageOf(this.#last);
		return [
			...(this.#hasBegun ? [] : [this.#chunk({ role: "assistant", content: "" })]),
			this.#chunk({}, this.#last?.finish_reason ?? "stop"),
			...(usage ? [{ ...this.#chunk({}), choices: [], usage }] : []),
		];
	}

	#chunk(delta: ChatChunk["choices"][number]["delta"], finish_reason: string | null = null): ChatChunk {
		return {
			...this.#heading,
			object: "chat.completion.chunk",
			choices: [{ index: 0, delta, finish_reason }],
		};
	}
}

const Side = z.number().min(0).max(1);
const DetectReply = z.looseObject({
	objects: z.array(z.looseObject({ x_min: Side, y_min: Side, x_max: Side, y_max: Side })),
});

/** The model has no confidence scores: each score is 1. */
export async function detectWithMoondream(
	{ image, target = "object", max_objects }: DetectObjectsInput,
	call: Call,
): Promise<Answer<"object-detection">> {
	const { width, height } = readableSizeOf(image);
	const { objects } = await runJson(
		call,
		{
			task: "detect",
			image: dataUrl(image.bytes, typeOf(image) ?? image.contentType ?? "image/png"),
			target,
			max_objects,
			stream: false,
		},
		DetectReply,
	);
	return value({
		objects: objects.map(
			({ x_min, y_min, x_max, y_max }): DetectedObject => ({
				label: target,
				score: 1,
				box: { xmin: x_min * width, ymin: y_min * height, xmax: x_max * width, ymax: y_max * height },
			}),
		),
		width,
		height,
	});
}

export function readableSizeOf({ bytes }: Media): PixelSize {
	const size = imageSizeOf(bytes);
	if (!size) throw undecodableImage();
	return size;
}
