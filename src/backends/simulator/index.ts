/**
 * A backend without a network: it runs each task in-process, and the same input always gives the same reply. Replies have
 * the format of a model (streams, usage, tool calls, JSON mode, valid image and audio files). Their content is a
 * placeholder that is marked as simulated.
 */
import type { Backend } from "../backend.ts";
import { textGeneration } from "./chat.ts";
import { decision } from "./decision.ts";
import { textEmbeddings } from "./embeddings.ts";
import { liveTranscription } from "./live/index.ts";
import { mediaTasks } from "./media/index.ts";
import { moderation } from "./moderation.ts";
import { reranking } from "./reranking.ts";
import { summarization, textClassification, translation } from "./text-transforms.ts";

export const simulator: Backend = (target, services) => ({
	...mediaTasks,
	"text-generation": (input, context) => textGeneration(input, context, target, services),
	"text-embeddings": textEmbeddings,
	reranking,
	"text-classification": textClassification,
	translation,
	summarization,
	decision,
	moderation,
	"live-transcription": liveTranscription,
});
