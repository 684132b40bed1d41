/**
 * The simulator's tasks with an image or a sound on either side. No weights, no network: what goes out is derived from
 * what came in, the same bytes each time, in files that any decoder opens.
 */
import type { Answer, TaskName, TaskOutput } from "../../../tasks/task.ts";
import type { BackendTasks } from "../../backend.ts";
import { classifyImage, describeImage } from "./describe-image.ts";
import { detectObjects } from "./detect-objects.ts";
import { detectTurn } from "./detect-turn.ts";
import { textToImage } from "./text-to-image.ts";
import { textToSpeech } from "./text-to-speech.ts";
import { transcribe } from "./transcribe.ts";

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

/** Each throws `AiError`, not retryable: what cannot be read or made here now never can. */
export const mediaTasks: MediaTasks = {
	"speech-recognition": (input) => value(transcribe(input)),
	"text-to-speech": (input) => value(textToSpeech(input)),
	"text-to-image": (input) => value(textToImage(input)),
	"image-to-text": (input) => value(describeImage(input)),
	"image-classification": (input) => value(classifyImage(input)),
	"object-detection": (input) => value(detectObjects(input)),
	"turn-detection": (input) => value(detectTurn(input)),
};
