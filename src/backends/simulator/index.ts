/**
 * The backend that needs no network: every task, in-process, and the same reply to the same input. Replies have the
 * shape of a model's (streams, usage, tool calls, JSON mode, real images and sounds); their content is a placeholder
 * that says so.
 */
import type { Backend } from "../backend.ts";
import { textGeneration } from "./chat.ts";
import { decision } from "./decision.ts";
import { textEmbeddings } from "./embeddings.ts";
import { liveTranscription } from "./live/index.ts";
import { mediaTasks } from "./media/index.ts";
import { reranking } from "./reranking.ts";
import { summarization, textClassification, translation } from "./text-transforms.ts";

export const simulator: Backend = (target, world) => ({
	...mediaTasks,
	"text-generation": (input, context) => textGeneration(input, context, target, world),
	"text-embeddings": textEmbeddings,
	reranking,
	"text-classification": textClassification,
	translation,
	summarization,
	decision,
	"live-transcription": liveTranscription,
});
