/**
 * Any server with OpenAI's API: vLLM, SGLang, llama.cpp, Ollama, LM Studio, OpenAI. Tasks without a route in that API
 * become chats (`prompted.ts`); the operator chooses an engine that can do them. The table has no `turn-detection`.
 */
import { defineBackend } from "../handler.ts";
import { generateText } from "./chat.ts";
import { decide } from "./decision.ts";
import { embedTexts } from "./embeddings.ts";
import { generateImage } from "./images.ts";
import { moderate } from "./moderation.ts";
import { classifyText, summarize, translate } from "./prompted.ts";
import { classifyImage, describeImage, detectObjects } from "./prompted-images.ts";
import { rerank } from "./reranking.ts";
import { speak } from "./speech.ts";
import { transcribe } from "./transcription.ts";

export const openai = defineBackend(
	{
		"text-generation": generateText,
		"text-embeddings": embedTexts,
		reranking: rerank,
		"speech-recognition": transcribe,
		"text-to-speech": speak,
		"text-to-image": generateImage,
		translation: translate,
		summarization: summarize,
		"text-classification": classifyText,
		"image-to-text": describeImage,
		"image-classification": classifyImage,
		"object-detection": detectObjects,
		decision: decide,
		moderation: moderate,
	},
	undefined,
	// `chat.ts` removes them for hosts without them.
	{ readsBreakpoints: true, extended: ["speech-recognition", "text-to-speech", "text-to-image"] },
);
