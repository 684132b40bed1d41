/** The contract, against an engine of recorded replies. */
import { openai } from "../../../src/backends/openai/index.ts";
import { describeBackend } from "../contract.ts";
import { TARGET, worldOf } from "../upstream.ts";
import { openAiEngine } from "./engine.ts";

describeBackend({
	name: "openai",
	backend: openai,
	target: TARGET,
	world: () => worldOf(openAiEngine).world,
	observedWorld() {
		const { world, requests } = worldOf(openAiEngine);
		return { world, stopped: () => requests.length === 1 && requests.every(({ signal }) => signal.aborted) };
	},
	tasks: [
		"text-generation",
		"text-embeddings",
		"reranking",
		"speech-recognition",
		"text-to-speech",
		"text-to-image",
		"translation",
		"summarization",
		"text-classification",
		"image-to-text",
		"image-classification",
		"object-detection",
		"decision",
	],
});
