/**
 * Any server that speaks OpenAI's API: vLLM, SGLang, llama.cpp, Ollama, LM Studio, OpenAI. Tasks that have no route
 * there are asked as a chat (`prompted.ts`), so a route that sends them to an engine which sees or ranks is the
 * operator's to choose. The table has no `turn-detection`.
 */
import type { Answer, TaskInput, TaskName } from "../../tasks/task.ts";
import type { Backend, CallContext } from "../backend.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { generateText } from "./chat.ts";
import { embedTexts } from "./embeddings.ts";
import { paint } from "./images.ts";
import { classifyText, summarize, translate } from "./prompted.ts";
import { decide } from "./prompted-decision.ts";
import { classifyImage, describeImage, detectObjects } from "./prompted-images.ts";
import { rerank } from "./reranking.ts";
import { speak } from "./speech.ts";
import { transcribe } from "./transcription.ts";

export const openai: Backend = (target, world) => {
	const entry =
		<Name extends TaskName>(ask: (input: TaskInput<Name>, call: Call) => Promise<Answer<Name>>) =>
		(input: TaskInput<Name>, context: CallContext) =>
			ask(input, { ...context, target, world });
	return {
		"text-generation": entry(generateText),
		"text-embeddings": entry(embedTexts),
		reranking: entry(rerank),
		"speech-recognition": entry(transcribe),
		"text-to-speech": entry(speak),
		"text-to-image": entry(paint),
		translation: entry(translate),
		summarization: entry(summarize),
		"text-classification": entry(classifyText),
		"image-to-text": entry(describeImage),
		"image-classification": entry(classifyImage),
		"object-detection": entry(detectObjects),
		decision: entry(decide),
	};
};
