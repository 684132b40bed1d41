import { afterEach, vi } from "vitest";
import type { BackendServices } from "../../../src/backends/backend.ts";
import { simulator } from "../../../src/backends/simulator/index.ts";
import { startNativeTimer } from "../../../src/core/lazy-timer.ts";
import { describeBackend } from "../contract.ts";

const services = (): BackendServices => ({
	fetch: () => Promise.reject(new Error("the simulator needs no network")),
	now: () => Date.parse("2026-11-21T12:00:00Z"),
	uuid: () => "00000000-0000-4000-8000-000000000001",
	waitUntil: () => {},
	startTimer: startNativeTimer,
});

/** What every generator inherits: the simulator's streams are fed by one, and closing it is what stops it. */
const generators: Generator = Object.getPrototypeOf(Object.getPrototypeOf((function* () {})()));
afterEach(() => {
	vi.restoreAllMocks();
});

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
	services,
	observedServices() {
		const closed = vi.spyOn(generators, "return");
		return { services: services(), stopped: () => closed.mock.calls.length > 0 };
	},
	tasks: [
		"text-generation",
		"decision",
		"moderation",
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
