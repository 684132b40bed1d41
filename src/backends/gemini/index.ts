/** Google's Gemini API: https://ai.google.dev/api. */
import type { Answer, TaskInput, TaskName } from "../../tasks/task.ts";
import type { Backend, CallContext } from "../backend.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { generateText } from "./chat.ts";
import { embedTexts } from "./embeddings.ts";
import { generateImage } from "./images.ts";
import { googleCall } from "./service.ts";

export const gemini: Backend = (target, services) => {
	const bind =
		<Name extends TaskName>(run: (input: TaskInput<Name>, call: Call) => Promise<Answer<Name>>) =>
		(input: TaskInput<Name>, context: CallContext) =>
			run(input, googleCall({ ...context, target, services }));
	return {
		"text-generation": bind(generateText),
		"text-embeddings": bind(embedTexts),
		"text-to-image": bind(generateImage),
	};
};
