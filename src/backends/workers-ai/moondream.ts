/**
 * Moondream, one model with four tasks: `query` for a chat about one image, `detect` for objects. Coordinates are fractions
 * of the image's sides. Unverified: the format of its streams. They are read in Ganglion's format: each frame has the next
 * piece of a field of the complete reply.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { pick } from "../../core/present.ts";
import { type Usage, usageOfCounts } from "../../core/usage.ts";
import {
	type ChatChunk,
	type ChatCompletion,
	type ChatInput,
	commonEffort,
	textOf,
} from "../../tasks/text-generation/types.ts";
import { ChunkWriter, completionOf, headingOf, requestChat } from "../completion.ts";
import type { Handler } from "../handler.ts";
import { imageUrl, readableSizeOf } from "../images.ts";
import type { Translator, UpstreamEvent } from "../transport/translated-stream.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { unsupported } from "../unsupported.ts";
import { eventIn, requestOf, resultOf, runJson } from "./run.ts";

const MoondreamReply = z.looseObject({
	answer: z.string().nullish(),
	caption: z.string().nullish(),
	reasoning: z.looseObject({ text: z.string() }).nullish(),
	finish_reason: z.string().nullish(),
	metrics: z.looseObject({ input_tokens: z.number(), output_tokens: z.number() }).nullish(),
});
type MoondreamReply = z.output<typeof MoondreamReply>;

const Reply = MoondreamReply.refine(({ answer, caption }) => answer != null || caption != null);

export const chatWithMoondream: Handler<"text-generation"> = async (input, call) =>
	requestChat(call, input, {
		...requestOf(call, inputsOf(input, call)),
		schema: z.unknown(),
		completion: (reply) => completionIn(resultOf(reply, Reply, call), call),
		translator: () => new MoondreamTranslator(call),
	});

/** The model gets only the last message. */
function inputsOf(input: ChatInput, call: Call): Record<string, unknown> {
	const last = input.messages.at(-1);
	if (!last) throw new AiError("invalidInput", `Invalid input: ${call.model.id} takes messages`);
	const parts = Array.isArray(last.content) ? last.content : [];
	const images = parts.flatMap(({ image_url }) => image_url?.url ?? []);
	if (images.length > 1) throw unsupported(call, "looks at one image per request");
	return {
		task: "query",
		question: textOf(last.content),
		image: images[0],
		reasoning: commonEffort(input) === null ? false : undefined,
		...pick(input, "temperature", "top_p", "max_tokens", "stream"),
	};
}

const usageIn = ({ metrics }: MoondreamReply): Usage | undefined =>
	metrics ? usageOfCounts(metrics.input_tokens, metrics.output_tokens) : undefined;

function completionIn(reply: MoondreamReply, call: Call): ChatCompletion {
	const message = {
		content: reply.answer ?? reply.caption ?? "",
		...(reply.reasoning?.text && { reasoning_content: reply.reasoning.text }),
	};
	const finish_reason = reply.finish_reason || "stop";
	return completionOf(headingOf(call), { message, finish_reason }, usageIn(reply));
}

class MoondreamTranslator implements Translator {
	done = false;
	readonly #call: Call;
	readonly #chunks: ChunkWriter;
	#last: MoondreamReply | undefined;

	constructor(call: Call) {
		this.#call = call;
		this.#chunks = new ChunkWriter(headingOf(call));
	}

	readDone(): void {
		this.done = true;
	}

	translate({ data }: UpstreamEvent): ChatChunk[] {
		const frame = MoondreamReply.parse(eventIn(data, this.#call));
		if (frame.finish_reason) this.#last = frame;
		const reasoning_content = frame.reasoning?.text;
		const content = frame.answer || frame.caption;
		if (!reasoning_content && !content) return [];
		return [
			...this.#chunks.begin(),
			...(reasoning_content ? [this.#chunks.chunk({ reasoning_content })] : []),
			...(content ? [this.#chunks.chunk({ content })] : []),
		];
	}

	end(): ChatChunk[] | undefined {
		if (!this.#last && !this.done) return undefined;
		return this.#chunks.end(this.#last?.finish_reason ?? "stop", this.#last && usageIn(this.#last));
	}
}

const Side = z.number().min(0).max(1);
const DetectReply = z.looseObject({
	objects: z.array(z.looseObject({ x_min: Side, y_min: Side, x_max: Side, y_max: Side })),
});

/** The model has no confidence scores: each score is 1. */
export const detectWithMoondream: Handler<"object-detection"> = async (input, call) => {
	const { image, target: label = "object", max_objects } = input;
	const { width, height } = readableSizeOf(image);
	const inputs = { task: "detect", image: imageUrl(image), target: label, max_objects, stream: false };
	const { objects } = await runJson(call, inputs, DetectReply);
	const found = objects.map(({ x_min, y_min, x_max, y_max }) => ({
		label,
		score: 1,
		box: { xmin: x_min * width, ymin: y_min * height, xmax: x_max * width, ymax: y_max * height },
	}));
	return { objects: found, width, height };
};
