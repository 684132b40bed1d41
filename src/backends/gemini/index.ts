/** Google's Gemini API: https://ai.google.dev/api. */
import type { Answer, TaskInput, TaskName } from "../../tasks/task.ts";
import type { Backend, CallContext } from "../backend.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { generateText } from "./chat.ts";
import { embedTexts } from "./embeddings.ts";
import { paint } from "./images.ts";
import { googleCall } from "./service.ts";

export const gemini: Backend = (target, world) => {
	const entry =
		<Name extends TaskName>(ask: (input: TaskInput<Name>, call: Call) => Promise<Answer<Name>>) =>
		(input: TaskInput<Name>, context: CallContext) =>
			ask(input, googleCall({ ...context, target, world }));
	return {
		"text-generation": entry(generateText),
		"text-embeddings": entry(embedTexts),
		"text-to-image": entry(paint),
	};
};
