/**
 * Cog, the container API of Replicate's models: https://cog.run/http. A container has one model, so the target's `model`
 * is not sent; what it takes is in its own OpenAPI document, read with each request, because a container that was built
 * anew takes something else. A task's fields go to the inputs that have their names (`inputs.ts`), and no others.
 *
 * A prediction has an id of ours, so that it can be cancelled when the caller leaves; Cog promises that for streams, and
 * ends others when their connection closes.
 *
 * Known differences: text models get one prompt, so a conversation becomes a transcript; no tools and no JSON schema;
 * tokens are counted only by models that record them; what becomes of the caller's request while a container starts is
 * another target's matter.
 */
import type { Answer, TaskInput, TaskName } from "../../tasks/task.ts";
import type { Backend, CallContext } from "../backend.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { embedTexts } from "./embeddings.ts";
import { paint, speak, transcribe } from "./media.ts";
import { failureOfCog } from "./predictions.ts";
import { describeImage, generateText } from "./text.ts";

export const cog: Backend = (target, world) => {
	const entry =
		<Name extends TaskName>(ask: (input: TaskInput<Name>, call: Call) => Promise<Answer<Name>>) =>
		(input: TaskInput<Name>, context: CallContext) => {
			const call: Call = { ...context, target, world, refusal: (refused) => failureOfCog(call, refused) };
			return ask(input, call);
		};
	return {
		"text-generation": entry(generateText),
		"text-embeddings": entry(embedTexts),
		"text-to-image": entry(paint),
		"text-to-speech": entry(speak),
		"speech-recognition": entry(transcribe),
		"image-to-text": entry(describeImage),
	};
};
