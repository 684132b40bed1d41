/**
 * https://platform.openai.com/docs/api-reference/images: `/images/generations`, and `/images/edits` with input images.
 * The size is sent unchanged (OpenAI's own models have three and refuse others). The file is returned unchanged; its bytes
 * determine its type.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { present } from "../../core/present.ts";
import type { ImageInput, ImageOutput } from "../../tasks/text-to-image/index.ts";
import type { Handler } from "../handler.ts";
import { imageFile, imageIn } from "../images.ts";
import { refusalMatches, withoutIfRefused } from "../refused-feature.ts";
import { postJson, type RequestBody } from "../transport/http.ts";
import { postForOutputs } from "../transport/output-stream.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { appendFields } from "./form-fields.ts";
import { mediaExtensions, serviceAt } from "./hosts.ts";

const Count = z.int().min(0);
const SentCount = Count.optional().catch(undefined);
const TokenDetails = z
	.looseObject({
		image_tokens: SentCount,
		cached_tokens: SentCount,
		cached_tokens_details: z.looseObject({ image_tokens: SentCount }).optional().catch(undefined),
	})
	.optional()
	.catch(undefined);
/** What the host reports of an image. A field in another form is dropped. */
const REPORTED = {
	quality: z.string().optional().catch(undefined),
	background: z.string().optional().catch(undefined),
	usage: z
		.looseObject({
			input_tokens: Count,
			output_tokens: Count,
			total_tokens: Count,
			input_tokens_details: TokenDetails,
			output_tokens_details: TokenDetails,
		})
		.optional()
		.catch(undefined),
};
const ImagesReply = lazy(() =>
	z.looseObject({ data: z.tuple([z.looseObject({ b64_json: z.string() })], z.unknown()), ...REPORTED }),
);
const ImageEvent = lazy(() => z.looseObject({ type: z.string(), b64_json: z.string(), ...REPORTED }));
type ReportedImage = Pick<z.output<ReturnType<typeof ImageEvent>>, "b64_json" | keyof typeof REPORTED>;

/** These models always answer in base64, refuse `response_format`, and have `output_format` instead. They can send unfinished images. */
const GPT_IMAGE = /(^|\/)(chat)?gpt-image/;
const STREAM_REFUSAL = refusalMatches(/\bstream|partial_images/);
/** An event without an image has another type. */
const EVENT_WITH_IMAGE = /\.(partial_image|completed)$/;

export const generateImage: Handler<"text-to-image"> = async (input, call) => {
	const { observed, model } = call.target;
	const unstreamed = (sent: Call) => completeImage(input, sent);
	const isStreamed =
		input.partialImages !== undefined && GPT_IMAGE.test(model) && !serviceAt(call.target).host;
	if (!isStreamed || observed?.refusesImageStreams) return unstreamed(call);
	return withoutIfRefused<Awaited<ReturnType<Handler<"text-to-image">>>>(call, {
		isNamed: STREAM_REFUSAL,
		request: (sent) => streamedImage(input, sent),
		requestWithout: unstreamed,
		learn() {
			if (observed) observed.refusesImageStreams = true;
		},
	});
};

async function completeImage(input: ImageInput, call: Call): Promise<ImageOutput> {
	const { path, body } = requestOf(input, call);
	return imageOf(call, imageInReply(await postJson(call, path, body, ImagesReply())));
}

async function streamedImage(input: ImageInput, call: Call) {
	const { path, body } = requestOf(input, call, { stream: true, partial_images: input.partialImages });
	const reply = await postForOutputs(call, path, body, {
		schema: ImagesReply(),
		expected: "a stream of images",
		read(sent) {
			if (!isRecord(sent) || !EVENT_WITH_IMAGE.test(String(sent.type))) return undefined;
			const event = ImageEvent().parse(sent);
			return { output: imageOf(call, event), isComplete: event.type.endsWith(".completed") };
		},
	});
	return reply.kind === "outputs" ? reply : imageOf(call, imageInReply(reply.value));
}

const imageInReply = ({ data, ...reported }: z.output<ReturnType<typeof ImagesReply>>): ReportedImage => ({
	...reported,
	...data[0],
});

function imageOf(call: Call, { b64_json, quality, background, usage: tokens }: ReportedImage): ImageOutput {
	const image = imageIn(b64_json);
	if (!image) throw failureOfShape(call, "an image", b64_json);
	return { ...image, ...present({ quality, background, tokens }) };
}

function requestOf(
	input: ImageInput,
	call: Call,
	stream: Record<string, unknown> = {},
): { path: string; body: RequestBody } {
	const edits = input.images.length > 0;
	const extensions = mediaExtensions(call, edits ? "image edit" : "image", input.extensions);
	const fields = { ...extensions, ...present(fieldsOf(input, call)), ...stream };
	return edits
		? { path: "/images/edits", body: formOf(fields, input) }
		: { path: "/images/generations", body: fields };
}

function fieldsOf(input: ImageInput, { target }: Call): Record<string, unknown> {
	return {
		model: target.model,
		prompt: input.prompt,
		n: 1,
		size: `${input.width}x${input.height}`,
		...(GPT_IMAGE.test(target.model) ? { output_format: input.format } : { response_format: "b64_json" }),
		// The names of SGLang and vLLM-Omni; `step` is LocalAI's, `steps` Together's.
		...(!serviceAt(target).isOpenAi && {
			output_format: input.format,
			negative_prompt: input.negative_prompt,
			num_inference_steps: input.steps,
			step: input.steps,
			steps: input.steps,
			guidance_scale: input.guidance,
			seed: input.seed,
			strength: input.strength,
		}),
	};
}

function formOf(fields: Record<string, unknown>, { images, mask }: ImageInput): FormData {
	const form = new FormData();
	appendFields(form, fields);
	const field = images.length === 1 ? "image" : "image[]";
	for (const [index, image] of images.entries()) form.append(field, imageFile(image, `image-${index}`));
	if (mask) form.append("mask", imageFile(mask, "mask"));
	return form;
}
