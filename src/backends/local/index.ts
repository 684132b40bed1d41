/**
 * Models that this machine runs itself (`--engine local`): llama-server with OpenAI's routes, behind an address that has the weights of
 * each model (docs/local-engine.md). The path of a call names the model. The start of the gateway configures this backend.
 *
 * Compared with any other llama-server its models are known: scores of a ranking are logits, embeddings have a section of their own for
 * each kind of pooling, and a text that is too long is truncated as Workers AI does.
 */
import { AiError, type FailureKey } from "../../core/errors.ts";
import type { Backend, Target } from "../backend.ts";
import { defineBackend } from "../handler.ts";
import { generateText } from "../openai/chat.ts";
import { decide } from "../openai/decision.ts";
import { classifyText, summarize, translate } from "../openai/prompted.ts";
import { classifyImage, describeImage, detectObjects } from "../openai/prompted-images.ts";
import { readError } from "../transport/error-body.ts";
import type { Call, Refusal } from "../transport/upstream-failure.ts";
import { addressOf } from "./address.ts";
import { embedTexts } from "./embeddings.ts";
import { rerank } from "./reranking.ts";

/** Codes of `scripts/local-engine/problem.ts`. Its messages are complete sentences for the caller. */
const FAILURE_OF_CODE: Readonly<Record<string, FailureKey>> = {
	weights_missing: "noSuchModel",
	weights_downloading: "outOfCapacity",
	weights_unavailable: "upstreamUnavailable",
	no_room: "upstreamUnavailable",
	weights_unreadable: "upstreamUnavailable",
	engine_unavailable: "upstreamUnavailable",
};

const withProblems = (call: Call): Call => ({
	...call,
	refusal: (refusal) => problemOf(refusal, call.target) ?? call.refusal?.(refusal),
});

function problemOf({ status, body, retryAfter }: Refusal, { backend }: Target): AiError | undefined {
	const { code, type, message } = readError(body);
	const failure = type === "local_engine" && typeof code === "string" ? FAILURE_OF_CODE[code] : undefined;
	if (!failure) return undefined;
	return new AiError(failure, message, { retryable: true, retryAfter, upstream: { backend, status } });
}

const onModelRoutes = defineBackend(
	{
		"text-generation": generateText,
		"text-embeddings": embedTexts,
		reranking: rerank,
		translation: translate,
		summarization: summarize,
		"text-classification": classifyText,
		"image-to-text": describeImage,
		"image-classification": classifyImage,
		"object-detection": detectObjects,
		decision: decide,
	},
	withProblems,
);

export const local: Backend = (target, services) =>
	onModelRoutes({ ...target, url: addressOf(target, target.model) }, services);
