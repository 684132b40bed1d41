/**
 * Makes an engine load a model, by kind of the backend. Ollama has a request for that. A server of OpenAI's API loads a model at its
 * start, or with the first request (llama-swap, LocalAI, LM Studio), so it gets the smallest request of the task.
 */
import * as z from "zod";
import { lazy } from "../core/lazy.ts";
import { own } from "../core/own.ts";
import type { TaskName } from "../tasks/task.ts";
import type { BackendTasks } from "./backend.ts";
import { loadBackends, tasksOf } from "./index.ts";
import type { PreloadedKind } from "./kinds.ts";
import { postJson } from "./transport/http.ts";
import type { Call } from "./transport/upstream-failure.ts";

type Preload = (call: Call) => Promise<unknown>;

/** Ollama keeps the model for this long without a request: from five minutes before the hour to its end. */
const OLLAMA_KEEP_ALIVE = "65m";
const Loaded = lazy(() => z.looseObject({}));

async function openaiTasks({ services, target }: Call): Promise<BackendTasks> {
	await loadBackends([target]);
	return tasksOf(target, services);
}

/** By the kind of the backend. Tasks without a row have no request that is small for every model. */
const PRELOADS: Partial<Record<string, Partial<Record<TaskName, Preload>>>> = {
	ollama: {
		// https://docs.ollama.com/faq: a request without a prompt only loads the model.
		"text-generation": (call) =>
			postJson(
				call,
				"/api/generate",
				{ model: call.target.model, stream: false, keep_alive: OLLAMA_KEEP_ALIVE },
				Loaded(),
			),
		"text-embeddings": (call) =>
			postJson(
				call,
				"/api/embed",
				{ model: call.target.model, input: ".", keep_alive: OLLAMA_KEEP_ALIVE },
				Loaded(),
			),
	},
	openai: {
		"text-generation": async (call) =>
			(await openaiTasks(call))["text-generation"]?.(
				{ messages: [{ role: "user", content: "." }], max_tokens: 1, stream: false },
				call,
			),
		"text-embeddings": async (call) => (await openaiTasks(call))["text-embeddings"]?.({ texts: ["."] }, call),
	},
} satisfies Record<PreloadedKind, Partial<Record<TaskName, Preload>>>;

export const preloadOf = (kind: string, task: TaskName): Preload | undefined => own(PRELOADS, kind)?.[task];
