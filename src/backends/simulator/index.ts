/**
 * The backend that needs no network: every task, in-process, and the same reply to the same input. True in shape
 * (streams, usage, tool calls, JSON mode, real images and sounds), not in mind: it has no weights and says so.
 */
import type { Backend } from "../backend.ts";
import { textGeneration } from "./chat.ts";
import { textClassification } from "./classification.ts";
import { decision } from "./decision.ts";
import { textEmbeddings } from "./embeddings.ts";
import { liveTranscription } from "./live/index.ts";
import { mediaTasks } from "./media/index.ts";
import { reranking } from "./reranking.ts";
import { summarization } from "./summarization.ts";
import { translation } from "./translation.ts";

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
