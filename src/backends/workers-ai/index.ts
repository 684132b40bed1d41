/**
 * Workers AI itself, or another Ganglion: by REST (the target's address is
 * `https://api.cloudflare.com/client/v4/accounts/{account}/ai`), or by an `Ai` binding. Every task is asked in the words
 * of the model that serves it, which the catalogue knows.
 *
 * Chats go over the OpenAI route of the same host where they can: its stream is passed on as it came. What that route
 * cannot say (a raw prompt, JSON mode of the older models), and everything by a binding, is asked natively.
 *
 * Known differences from asking the model itself: what the gateway's own tasks have no place for is not passed on
 * (`tags`, `rejectIfBusy`, options of analysis); the upstream's price (`cf-ai-neurons`) is ignored, because the account
 * pays this gateway's; live transcription has no route here.
 */
import type { Answer, TaskInput, TaskName } from "../../tasks/task.ts";
import type { Backend, CallContext } from "../backend.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { bindingFetch } from "./binding.ts";
import { generateText } from "./chat.ts";
import { decide } from "./decision.ts";
import { failureOfCode } from "./failures.ts";
import { classifyImage, describeImage, detectObjects } from "./images.ts";
import { paint } from "./painting.ts";
import { detectTurn, speak } from "./speech.ts";
import { classifyText, embedTexts, rerank, summarize, translate } from "./text.ts";
import { transcribe } from "./transcription.ts";

export const workersAi: Backend = (target, world) => {
	const { binding } = target;
	const reached = binding ? { ...world, fetch: bindingFetch(binding) } : world;
	const entry =
		<Name extends TaskName>(ask: (input: TaskInput<Name>, call: Call) => Promise<Answer<Name>>) =>
		(input: TaskInput<Name>, context: CallContext) => {
			const call: Call = {
				...context,
				target,
				world: reached,
				refusal: (refused) => failureOfCode(call, refused),
			};
			return ask(input, call);
		};
	return {
		"text-generation": entry(generateText),
		decision: entry(decide),
		"text-embeddings": entry(embedTexts),
		reranking: entry(rerank),
		"text-classification": entry(classifyText),
		translation: entry(translate),
		summarization: entry(summarize),
		"speech-recognition": entry(transcribe),
		"text-to-speech": entry(speak),
		"turn-detection": entry(detectTurn),
		"text-to-image": entry(paint),
		"image-to-text": entry(describeImage),
		"image-classification": entry(classifyImage),
		"object-detection": entry(detectObjects),
	};
};
