/**
 * Ollama's own API: https://github.com/ollama/ollama/blob/main/docs/api.md. Compared with its OpenAI routes it separates
 * reasoning from the text, allows truncation of embedded texts, and has counts in every reply. The target's address has
 * no path: `http://localhost:11434`.
 *
 * Tasks without a route become chats over the OpenAI routes of the same server (`../openai`).
 *
 * Known differences from the models of the catalogue: one answer per request; tool calls cannot be forced
 * (`tool_choice: "required"` only offers the tools); no `logit_bias`; the time to load a model counts against the header
 * limit.
 */
import { AiError } from "../../core/errors.ts";
import type { TaskName } from "../../tasks/task.ts";
import { guardWith } from "../guard.ts";
import { defineBackend, type Handler } from "../handler.ts";
import { decide } from "../openai/decision.ts";
import { onOpenAiRoutes } from "../openai/hosts.ts";
import { classifyText, summarize, translate } from "../openai/prompted.ts";
import { classifyImage, detectObjects } from "../openai/prompted-images.ts";
import { describeImage, generateText } from "./chat.ts";
import { embedTexts } from "./embed.ts";

const withPullHint =
	<Name extends TaskName>(handler: Handler<Name>): Handler<Name> =>
	(input, call) =>
		handler(input, call).catch((error: unknown) => {
			throw addPullHint(error, call.target.model);
		});

/** Adds the command that downloads a missing model. */
function addPullHint(error: unknown, model: string): unknown {
	if (!(error instanceof AiError) || error.key !== "noSuchModel") return error;
	const { description, retryable, upstream, retryAfter, cause } = error;
	const hint = `${description} (\`ollama pull ${model}\` fetches it)`;
	return new AiError("noSuchModel", hint, {
		retryable,
		retryAfter,
		cause,
		...(upstream && { upstream }),
	});
}

export const ollama = defineBackend({
	"text-generation": withPullHint(generateText),
	"text-embeddings": withPullHint(embedTexts),
	"image-to-text": withPullHint(describeImage),
	translation: onOpenAiRoutes(translate),
	summarization: onOpenAiRoutes(summarize),
	"text-classification": onOpenAiRoutes(classifyText),
	"image-classification": onOpenAiRoutes(classifyImage),
	"object-detection": onOpenAiRoutes(detectObjects),
	decision: onOpenAiRoutes(decide),
	moderation: guardWith(withPullHint(generateText)),
});
