/** One call to an engine of each kind, and what its circuit breaker learns of it. */
import { vi } from "vitest";
import type { Target } from "../../src/backends/backend.ts";
import { loadBackends, tasksOf } from "../../src/backends/index.ts";
import type { BackendKind } from "../../src/backends/kinds.ts";
import type { AiError } from "../../src/core/errors.ts";
import { isHealthy } from "../../src/pipeline/dispatch/retry-policy.ts";
import type { TaskInput, TaskName } from "../../src/tasks/task.ts";
import type { ChatInput } from "../../src/tasks/text-generation/types.ts";
import { container, takes } from "./cog/container.ts";
import { callOf, drain, type Responder } from "./upstream.ts";
import { modelOf } from "./workers-ai/models.ts";

export type Health = "works" | "fails" | "nothing" | "answered";
export type EngineKind = Exclude<BackendKind, "simulator">;

const HEALTH = new Map<boolean | undefined, Health>([
	[true, "works"],
	[false, "fails"],
	[undefined, "nothing"],
]);

const LLAMA = "@cf/meta/llama-3.1-8b-instruct";
const CHAT: ChatInput = { messages: [{ role: "user", content: "hi" }], stream: false };
export const STREAM: ChatInput = { ...CHAT, stream: true };

interface Engine {
	target: Partial<Target>;
	task: TaskName;
	input: object;
	/** An error's body in this API. */
	error(status: number, message: string): object;
	/** Cog is asked for its schema first. */
	wrap?(respond: Responder): Responder;
}

export const openaiError = (code: number, message: string) => ({
	error: { message, type: "server_error", code },
});
const chatEngine = (target: Partial<Target>, error: Engine["error"]): Engine => ({
	target,
	task: "text-generation",
	input: CHAT,
	error,
});

export const ENGINES: Record<EngineKind, Engine> = {
	openai: chatEngine({}, openaiError),
	anthropic: chatEngine({ url: "https://api.anthropic.test" }, (_, message) => ({
		type: "error",
		error: { type: "api_error", message },
	})),
	gemini: chatEngine({ url: "https://gemini.test" }, (code, message) => ({
		error: { code, message, status: "UNKNOWN" },
	})),
	ollama: chatEngine({ url: "http://ollama.test" }, (_, error) => ({ error })),
	local: chatEngine({ url: "http://local.test" }, openaiError),
	"workers-ai": chatEngine(
		{ url: "https://api.cloudflare.com/client/v4/accounts/a/ai", model: LLAMA },
		(_, message) => ({ success: false, errors: [{ code: 99_999, message }], result: null }),
	),
	tei: {
		target: { url: "http://tei.test" },
		task: "text-embeddings",
		input: { texts: ["a"] },
		error: (_, error) => ({ error, error_type: "Backend" }),
	},
	cog: {
		target: { url: "http://container.test:5000" },
		task: "text-generation",
		input: CHAT,
		error: (_, detail) => ({ detail }),
		wrap: (predict) => container({ openApi: takes({ prompt: { type: "string" } }), predict }),
	},
};
export const KINDS = Object.keys(ENGINES) as EngineKind[];

/** What the breaker learns of one call. `advanceMs`: the time that passes meanwhile. */
export async function healthAfter(
	kind: EngineKind,
	respond: Responder,
	{ advanceMs = 0, ...asking }: { task?: TaskName; input?: object; advanceMs?: number } = {},
): Promise<Health> {
	const { input, target, task, wrap } = { ...ENGINES[kind], ...asking };
	const model = kind === "workers-ai" ? modelOf(LLAMA) : {};
	const call = callOf(wrap?.(respond) ?? respond, { target: { ...target, kind }, model });
	await loadBackends([call.target]);
	const handler = tasksOf(call.target, call.services)[task] as
		| ((input: TaskInput<TaskName>, context: typeof call) => Promise<unknown>)
		| undefined;
	if (!handler) throw new Error(`${kind} has no ${task}`);
	const answered = handler(input as TaskInput<TaskName>, call).then(
		async (answer) => {
			const { events } = answer as { events?: ReadableStream<Uint8Array> };
			return events && (await drain(events)).error;
		},
		(error: unknown) => error,
	);
	if (advanceMs > 0) await vi.advanceTimersByTimeAsync(advanceMs);
	const failure = (await answered) as AiError | undefined;
	if (!failure) return "answered";
	const health = HEALTH.get(isHealthy(failure));
	if (!health) throw new Error("no health");
	return health;
}
