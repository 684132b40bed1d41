/**
 * Any server with OpenAI's API: vLLM, SGLang, llama.cpp, Ollama, LM Studio, OpenAI. Tasks without a route in that API
 * become chats (`prompted.ts`); the operator chooses an engine that can do them. The table has no `turn-detection`.
 */
import type { Answer, TaskInput, TaskName } from "../../tasks/task.ts";
import type { Backend, CallContext } from "../backend.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { generateText } from "./chat.ts";
import { embedTexts } from "./embeddings.ts";
import { generateImage } from "./images.ts";
import { classifyText, summarize, translate } from "./prompted.ts";
import { decide } from "./prompted-decision.ts";
import { classifyImage, describeImage, detectObjects } from "./prompted-images.ts";
import { rerank } from "./reranking.ts";
import { speak } from "./speech.ts";
import { transcribe } from "./transcription.ts";

export const openai: Backend = (target, services) => {
	const bind =
		<Name extends TaskName>(run: (input: TaskInput<Name>, call: Call) => Promise<Answer<Name>>) =>
		(input: TaskInput<Name>, context: CallContext) =>
			run(input, { ...context, target, services });
	return {
		"text-generation": bind(generateText),
		"text-embeddings": bind(embedTexts),
		reranking: bind(rerank),
		"speech-recognition": bind(transcribe),
		"text-to-speech": bind(speak),
		"text-to-image": bind(generateImage),
		translation: bind(translate),
		summarization: bind(summarize),
		"text-classification": bind(classifyText),
		"image-to-text": bind(describeImage),
		"image-classification": bind(classifyImage),
		"object-detection": bind(detectObjects),
		decision: bind(decide),
	};
};
