import { simulator } from "../../../src/backends/simulator/index.ts";
import { describeBackend } from "../contract.ts";

describeBackend({
	name: "simulator",
	backend: simulator,
	target: {
		backend: "simulator",
		kind: "simulator",
		url: "",
		model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
		headers: {},
		timeouts: { headerMs: 1000, idleMs: 1000, totalMs: 1000 },
	},
	world: () => ({
		fetch: () => Promise.reject(new Error("the simulator needs no network")),
		now: () => Date.parse("2026-11-21T12:00:00Z"),
		uuid: () => "00000000-0000-4000-8000-000000000001",
	}),
	tasks: [
		"text-generation",
		"decision",
		"text-embeddings",
		"reranking",
		"text-classification",
		"translation",
		"summarization",
		"speech-recognition",
		"text-to-speech",
		"text-to-image",
		"image-to-text",
		"image-classification",
		"object-detection",
		"turn-detection",
		"live-transcription",
	],
	skip: {
		"a caller who has left": "dispatch looks before it asks, and nothing in-process waits",
	},
});
