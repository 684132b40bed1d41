/** The contract, against an engine of recorded replies. */
import { openai } from "../../../src/backends/openai/index.ts";
import { describeBackend } from "../contract.ts";
import { servicesOf, TARGET } from "../upstream.ts";
import { openAiEngine } from "./engine.ts";

describeBackend({
	name: "openai",
	backend: openai,
	target: TARGET,
	services: () => servicesOf(openAiEngine).services,
	observedServices() {
		const { services, requests } = servicesOf(openAiEngine);
		return {
			services,
			stopped: () => requests.length === 1 && requests.every(({ signal }) => signal.aborted),
		};
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
		"moderation",
	],
});
