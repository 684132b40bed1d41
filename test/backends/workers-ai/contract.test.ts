/** The contract, by REST and by a binding, against a gateway of our own on the simulator. */
import type { AiBinding, Backend, BackendServices, Target } from "../../../src/backends/backend.ts";
import { workersAi } from "../../../src/backends/workers-ai/index.ts";
import { startNativeTimer } from "../../../src/core/lazy-timer.ts";
import type { TaskName } from "../../../src/tasks/task.ts";
import { BASE, testGateway } from "../../gateway.ts";
import { describeBackend, type Subject } from "../contract.ts";
import { TARGET } from "../upstream.ts";
import { bindingOver } from "./binding.ts";
import { KIMI, LLAMA, modelOf } from "./models.ts";

/** A route by name serves also what has ended. */
const gateway = testGateway({ vars: { ROUTES: { "*": [{ backend: "simulator" }] } } });

/** Every task under its own model's name. */
const named: Backend = (target, services) => {
	const tasks = Object.keys(workersAi(target, services)) as TaskName[];
	const entries = tasks.map((task) => [
		task,
		(input: never, context: Parameters<NonNullable<ReturnType<Backend>["decision"]>>[1]) =>
			workersAi({ ...target, model: context.model.id }, services)[task]?.(input, context),
	]);
	return Object.fromEntries(entries);
};

const rest: Target = { ...TARGET, kind: "workers-ai", url: BASE };

function services(signals: AbortSignal[] = []): BackendServices {
	let ids = 0;
	return {
		fetch: async (input, init) => {
			if (init?.signal) signals.push(init.signal);
			return gateway.app.fetch(new Request(input, init));
		},
		now: () => Date.now(),
		uuid: () => `uuid-${++ids}`,
		waitUntil: () => {},
		startTimer: startNativeTimer,
	};
}

function bound(signals: AbortSignal[] = []): AiBinding {
	const binding = bindingOver((request) => {
		const headers = new Headers(request.headers);
		headers.set("x-forwarded", request.url);
		return gateway.app.fetch(new Request(`${BASE}/run/proxy`, new Request(request, { headers })));
	});
	return {
		run(model, inputs, options) {
			signals.push(options.signal as AbortSignal);
			return binding.run(model, inputs, options);
		},
	};
}

const stoppedOne = (signals: AbortSignal[]) => () =>
	signals.length === 1 && signals.every((one) => one.aborted);

const subject: Omit<Subject, "name" | "target" | "backend" | "services" | "observedServices"> = {
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
		"turn-detection",
		"text-to-image",
		"image-to-text",
		"image-classification",
		"object-detection",
	],
	models: {
		"text-generation": modelOf(KIMI),
		decision: modelOf("@cf/cloudflare/clef"),
		moderation: modelOf("@cf/meta/llama-guard-3-8b"),
		"text-embeddings": modelOf("@cf/baai/bge-m3"),
		reranking: modelOf("@cf/baai/bge-reranker-base"),
		"text-classification": modelOf("@cf/huggingface/distilbert-sst-2-int8"),
		translation: modelOf("@cf/meta/m2m100-1.2b"),
		summarization: modelOf("@cf/facebook/bart-large-cnn"),
		"speech-recognition": modelOf("@cf/openai/whisper-large-v3-turbo"),
		"text-to-speech": modelOf("@cf/deepgram/aura-1"),
		"turn-detection": modelOf("@cf/pipecat-ai/smart-turn-v2"),
		"text-to-image": modelOf("@cf/stabilityai/stable-diffusion-xl-base-1.0"),
		"image-to-text": modelOf("@cf/llava-hf/llava-1.5-7b-hf"),
		"image-classification": modelOf("@cf/microsoft/resnet-50"),
		"object-detection": modelOf("@cf/facebook/detr-resnet-50"),
	},
};

describeBackend({
	...subject,
	name: "workers-ai, by REST",
	backend: named,
	target: rest,
	services,
	observedServices() {
		const signals: AbortSignal[] = [];
		return { services: services(signals), stopped: stoppedOne(signals) };
	},
});

/** The binding is the target's, so a observedServices one comes with its services. */
const byBinding: Backend = (target, { fetch, ...services }) =>
	named({ ...target, binding: fetch as unknown as AiBinding }, { ...services, fetch });

describeBackend({
	...subject,
	name: "workers-ai, by a binding, newer models",
	backend: byBinding,
	target: { ...rest, url: "" },
	services: () => ({ ...services(), fetch: bound() as unknown as typeof fetch }),
	observedServices() {
		const signals: AbortSignal[] = [];
		return {
			services: { ...services(), fetch: bound(signals) as unknown as typeof fetch },
			stopped: stoppedOne(signals),
		};
	},
	skip: { "a raw prompt": "models whose inputs are OpenAI's have none there; they are refused" },
});

describeBackend({
	...subject,
	name: "workers-ai, by a binding, older models",
	backend: byBinding,
	target: { ...rest, url: "" },
	models: {
		...subject.models,
		"text-generation": modelOf(LLAMA),
		"text-embeddings": modelOf("@cf/baai/bge-small-en-v1.5"),
		"speech-recognition": modelOf("@cf/openai/whisper"),
		"text-to-speech": modelOf("@cf/myshell-ai/melotts"),
		"text-to-image": modelOf("@cf/black-forest-labs/flux-2-klein-4b"),
	},
	services: () => ({ ...services(), fetch: bound() as unknown as typeof fetch }),
	observedServices() {
		const signals: AbortSignal[] = [];
		return {
			services: { ...services(), fetch: bound(signals) as unknown as typeof fetch },
			stopped: stoppedOne(signals),
		};
	},
	skip: { "several choices": "their native inputs have no `n`; more than one is refused" },
});
