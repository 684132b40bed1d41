/**
 * The simulator's tasks with images or audio. The files are valid and deterministic.
 * Encoders are large: each is loaded with the first task that needs it.
 */
import type { Answer, TaskName, TaskOutput } from "../../../tasks/task.ts";
import type { BackendTasks } from "../../backend.ts";
import { dropExtensions } from "../../media-extensions.ts";

type MediaTasks = Required<
	Pick<
		BackendTasks,
		| "speech-recognition"
		| "text-to-speech"
		| "text-to-image"
		| "image-to-text"
		| "image-classification"
		| "object-detection"
		| "turn-detection"
	>
>;

const value = async <Name extends TaskName>(output: Promise<TaskOutput<Name>>): Promise<Answer<Name>> => ({
	kind: "value",
	output: await output,
});

/** Each throws `AiError`, not retryable: another attempt gives the same result. */
export const mediaTasks: MediaTasks = {
	"speech-recognition": async (input, context) =>
		value((await import("./transcribe.ts")).transcribe(input, context)),
	"text-to-speech": async (input, context) => {
		dropExtensions(context, input.extensions);
		return value((await import("./text-to-speech.ts")).textToSpeech(input));
	},
	"text-to-image": async (input, context) => {
		dropExtensions(context, input.extensions);
		return value((await import("./text-to-image.ts")).textToImage(input));
	},
	"image-to-text": async (input) => value((await import("./image-input-tasks.ts")).describeImage(input)),
	"image-classification": async (input) =>
		value((await import("./image-input-tasks.ts")).classifyImage(input)),
	"object-detection": async (input) => value((await import("./image-input-tasks.ts")).detectObjects(input)),
	"turn-detection": async (input) => value((await import("./detect-turn.ts")).detectTurn(input)),
};
