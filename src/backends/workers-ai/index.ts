/**
 * Workers AI itself, or another Ganglion: by REST (the target's address is
 * `https://api.cloudflare.com/client/v4/accounts/{account}/ai`), or by an `Ai` binding. Each request has the input format of
 * its model, which is in the catalogue.
 *
 * Chats use the OpenAI route of the same host if possible: its stream is forwarded unchanged. Requests that this route
 * does not support (raw prompts, JSON mode of the older models), and all requests by a binding, use the native format.
 *
 * Known differences from a direct call of the model: fields that the gateway's tasks do not have are not sent (`tags`,
 * `rejectIfBusy`, options of analysis); the upstream's price (`cf-ai-neurons`) is ignored, because the account pays the
 * price of this gateway; live transcription has no route here.
 */
import type { Answer, TaskInput, TaskName } from "../../tasks/task.ts";
import type { Backend, CallContext } from "../backend.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { bindingFetch } from "./binding.ts";
import { generateText } from "./chat.ts";
import { decide } from "./decision.ts";
import { failureOfCode } from "./failures.ts";
import { classifyImage, describeImage, detectObjects } from "./images.ts";
import { detectTurn, speak } from "./speech.ts";
import { classifyText, embedTexts, rerank, summarize, translate } from "./text.ts";
import { generateImage } from "./text-to-image.ts";
import { transcribe } from "./transcription.ts";

export const workersAi: Backend = (target, services) => {
	const { binding } = target;
	const transport = binding ? { ...services, fetch: bindingFetch(binding) } : services;
	const bind =
		<Name extends TaskName>(run: (input: TaskInput<Name>, call: Call) => Promise<Answer<Name>>) =>
		(input: TaskInput<Name>, context: CallContext) => {
			const call: Call = {
				...context,
				target,
				services: transport,
				refusal: (refused) => failureOfCode(call, refused),
			};
			return run(input, call);
		};
	return {
		"text-generation": bind(generateText),
		decision: bind(decide),
		"text-embeddings": bind(embedTexts),
		reranking: bind(rerank),
		"text-classification": bind(classifyText),
		translation: bind(translate),
		summarization: bind(summarize),
		"speech-recognition": bind(transcribe),
		"text-to-speech": bind(speak),
		"turn-detection": bind(detectTurn),
		"text-to-image": bind(generateImage),
		"image-to-text": bind(describeImage),
		"image-classification": bind(classifyImage),
		"object-detection": bind(detectObjects),
	};
};
