/**
 * Workers AI itself, or another Ganglion: by REST (the target's address is
 * `https://api.cloudflare.com/client/v4/accounts/{account}/ai`), or by an `Ai` binding. Each request has the input format of
 * its model, which is in the catalogue.
 *
 * Chats use the OpenAI route of the same host if possible: its stream is forwarded unchanged. Requests that this route
 * does not support (raw prompts, JSON mode of the older models), and all requests by a binding, use the native format.
 *
 * Known differences from a direct call of the model: fields that the gateway's tasks do not have are not sent (`tags`,
 * `rejectIfBusy`); the upstream's price (`cf-ai-neurons`) is ignored, because the account pays the
 * price of this gateway; live transcription has no route here.
 */
import { guardWith } from "../guard.ts";
import { defineBackend } from "../handler.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { generateText } from "./chat.ts";
import { decide } from "./decision.ts";
import { failureOfCode } from "./failures.ts";
import { classifyImage, describeImage, detectObjects } from "./images.ts";
import { bindingFetch } from "./run.ts";
import { detectTurn, speak } from "./speech.ts";
import { classifyText, embedTexts, rerank, summarize, translate } from "./text.ts";
import { generateImage } from "./text-to-image.ts";
import { transcribe } from "./transcription.ts";

function prepare(call: Call): Call {
	const { target, services } = call;
	return {
		...call,
		services: target.binding ? { ...services, fetch: bindingFetch(target.binding) } : services,
		refusal: (refused) => failureOfCode(call, refused),
	};
}

export const workersAi = defineBackend(
	{
		"text-generation": generateText,
		decision: decide,
		moderation: guardWith(generateText),
		"text-embeddings": embedTexts,
		reranking: rerank,
		"text-classification": classifyText,
		translation: translate,
		summarization: summarize,
		"speech-recognition": transcribe,
		"text-to-speech": speak,
		"turn-detection": detectTurn,
		"text-to-image": generateImage,
		"image-to-text": describeImage,
		"image-classification": classifyImage,
		"object-detection": detectObjects,
	},
	prepare,
	{ extended: ["speech-recognition"] },
);
