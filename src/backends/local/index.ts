/**
 * Models that this machine runs itself (`--engine local`): llama-server with OpenAI's routes, and the engine of `engine/` with those of the
 * other tasks, behind an address that has the weights of each model (docs/local-engine.md). The path of a call names the model. The start
 * of the gateway configures this backend.
 *
 * Compared with any other llama-server its models are known: scores of a ranking are logits, embeddings have a section of their own for
 * each kind of pooling, and a text that is too long is truncated as Workers AI does.
 */
import type { Backend } from "../backend.ts";
import { defineBackend } from "../handler.ts";
import { generateText } from "../openai/chat.ts";
import { decide } from "../openai/decision.ts";
import { moderate } from "../openai/moderation.ts";
import { describeImage } from "../openai/prompted-images.ts";
import { speak } from "../openai/speech.ts";
import { transcribe } from "../openai/transcription.ts";
import { addressOf } from "./address.ts";
import { embedTexts } from "./embeddings.ts";
import { withProblems } from "./problems.ts";
import { rerank } from "./reranking.ts";
import { shortcut } from "./shortcut.ts";
import { classifyImage, classifyText, detectObjects, summarize, translate } from "./tasks.ts";

const onModelRoutes = defineBackend(
	{
		"text-generation": generateText,
		"text-embeddings": embedTexts,
		reranking: rerank,
		"speech-recognition": transcribe,
		"text-to-speech": speak,
		translation: translate,
		summarization: summarize,
		"text-classification": classifyText,
		"image-to-text": describeImage,
		"image-classification": classifyImage,
		"object-detection": detectObjects,
		decision: decide,
		moderation: moderate,
	},
	withProblems,
);

export const local: Backend = (target, services) =>
	onModelRoutes(
		{ ...target, url: addressOf(target, target.model) },
		{ ...services, fetch: shortcut(services) },
	);
