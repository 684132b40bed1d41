/**
 * Ollama's own API: https://github.com/ollama/ollama/blob/main/docs/api.md. It says more than its OpenAI routes: thinking
 * apart from the text, what may be cut of a text that is embedded, counts in every reply. The target's address has no
 * path: `http://localhost:11434`.
 *
 * What has no route of its own there is asked as a chat, over the OpenAI routes of the same server (`../openai`).
 *
 * Known differences from the models of the catalogue: one answer a request; a tool can be offered but not demanded
 * (`tool_choice: "required"` offers); no `logit_bias`; a model that is not loaded is loaded first, which counts as the
 * time to its header.
 */
import { AiError } from "../../core/errors.ts";
import type { Answer, TaskInput, TaskName } from "../../tasks/task.ts";
import type { Backend, CallContext } from "../backend.ts";
import { openai } from "../openai/index.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { describeImage, generateText } from "./chat.ts";
import { embedTexts } from "./embed.ts";

const NOT_FOUND = 404;

export const ollama: Backend = (target, world) => {
	const entry =
		<Name extends TaskName>(ask: (input: TaskInput<Name>, call: Call) => Promise<Answer<Name>>) =>
		(input: TaskInput<Name>, context: CallContext) =>
			ask(input, { ...context, target, world }).catch((error: unknown) => {
				throw tellPull(error, target.model);
			});
	const prompted = openai({ ...target, url: `${target.url}/v1` }, world);
	const { translation, summarization, decision } = prompted;
	return {
		"text-generation": entry(generateText),
		"text-embeddings": entry(embedTexts),
		"image-to-text": entry(describeImage),
		translation,
		summarization,
		"text-classification": prompted["text-classification"],
		"image-classification": prompted["image-classification"],
		"object-detection": prompted["object-detection"],
		decision,
	};
};

/** A model that was never fetched is the one thing that whoever reads the error can mend. */
function tellPull(error: unknown, model: string): unknown {
	if (!(error instanceof AiError) || error.key !== "noSuchModel" || error.upstream?.status !== NOT_FOUND)
		return error;
	const { description, retryable, upstream, retryAfter, cause } = error;
	const told = `${description} (\`ollama pull ${model}\` fetches it)`;
	return new AiError("noSuchModel", told, {
		retryable,
		cause,
		...(upstream && { upstream }),
		...(retryAfter !== undefined && { retryAfter }),
	});
}
