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
import type { Answer, TaskInput, TaskName } from "../../tasks/task.ts";
import type { Backend, CallContext } from "../backend.ts";
import { openai } from "../openai/index.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { describeImage, generateText } from "./chat.ts";
import { embedTexts } from "./embed.ts";

const NOT_FOUND = 404;

export const ollama: Backend = (target, services) => {
	const bind =
		<Name extends TaskName>(run: (input: TaskInput<Name>, call: Call) => Promise<Answer<Name>>) =>
		(input: TaskInput<Name>, context: CallContext) =>
			run(input, { ...context, target, services }).catch((error: unknown) => {
				throw addPullHint(error, target.model);
			});
	const prompted = openai({ ...target, url: `${target.url}/v1` }, services);
	const { translation, summarization, decision } = prompted;
	return {
		"text-generation": bind(generateText),
		"text-embeddings": bind(embedTexts),
		"image-to-text": bind(describeImage),
		translation,
		summarization,
		"text-classification": prompted["text-classification"],
		"image-classification": prompted["image-classification"],
		"object-detection": prompted["object-detection"],
		decision,
	};
};

/** Adds the command that downloads a missing model. */
function addPullHint(error: unknown, model: string): unknown {
	if (!(error instanceof AiError) || error.key !== "noSuchModel" || error.upstream?.status !== NOT_FOUND)
		return error;
	const { description, retryable, upstream, retryAfter, cause } = error;
	const hint = `${description} (\`ollama pull ${model}\` fetches it)`;
	return new AiError("noSuchModel", hint, {
		retryable,
		cause,
		...(upstream && { upstream }),
		...(retryAfter !== undefined && { retryAfter }),
	});
}
