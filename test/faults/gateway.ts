/** The built Worker under plain workerd, in front of two providers, with a caller that reads complete answers. */
import { once } from "node:events";
import { createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { modulesIn } from "../../miniflare/modules.ts";
import { freePort } from "../../scripts/free-port.ts";
import { replaceVariables } from "../../scripts/reload.ts";
import { runtimeSettings } from "../../scripts/settings.ts";
import { serve, type WorkerSpec } from "../../scripts/workerd.ts";
import type { Provider } from "./provider.ts";

export const MODEL = "acme/model";

export interface FaultGateway {
	/** Sets the route of a test. All circuits are closed, and the account is new. */
	configure(route: object, providers: readonly Provider[], headers?: object): Promise<void>;
	ask(options?: AskOptions): Promise<ReceivedAnswer>;
	/** Returns the unread response. */
	open(options?: AskOptions): Promise<Response>;
	/** The usage record of the account's latest request, when all have ended. */
	billed(): Promise<Billed>;
	/** The output tokens of all requests of the account, when all have ended. */
	billedTokens(): Promise<number>;
	stop(): Promise<void>;
}

export interface AskOptions {
	stream?: boolean;
	signal?: AbortSignal;
	headers?: Record<string, string>;
	content?: string;
	maxTokens?: number;
}

export interface Billed {
	outcome: string;
	backend: string;
	attempts: number;
	started_at: string;
	input_tokens: number;
	output_tokens: number;
}

/** What the caller received. */
export interface ReceivedAnswer {
	status: number;
	headers: Headers;
	text: string;
	/** The errors of a failed request, or the error frame of an interrupted stream. */
	errors: { code?: unknown; message?: unknown }[];
	done: boolean;
	comments: string[];
	usage: { prompt_tokens: number; completion_tokens: number } | undefined;
	ids: number;
	ms: number;
}

export async function startGateway(): Promise<FaultGateway> {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-faults-"));
	const reload = join(folder, "reload.sock");
	// The tests provoke failures: their log is ignored.
	const log = createWriteStream(join(folder, "workerd.log"));
	await once(log, "open");
	const variables = { ALLOW_ANONYMOUS: "true" };
	const spec: WorkerSpec = {
		name: "gateway",
		modules: modulesIn("dist/worker"),
		...runtimeSettings(),
		vars: variables,
		entrypointSockets: [{ entrypoint: "Reload", path: reload }],
		log,
	};
	const served = await serve(spec, await freePort(), folder);
	/** Each configuration has its own account, so its bills are separate. */
	let account = 0;
	/** The requests of the account: it has as many records in the end. */
	let sent = 0;

	const open = ({ stream = true, signal, headers = {}, content = "Count", maxTokens }: AskOptions = {}) => {
		sent++;
		return fetch(new URL(`/client/v4/accounts/fault-${account}/ai/v1/chat/completions`, served.url), {
			method: "POST",
			headers: { "content-type": "application/json", ...headers },
			body: JSON.stringify({
				model: MODEL,
				messages: [{ role: "user", content }],
				stream,
				...(stream && { stream_options: { include_usage: true } }),
				seed: 7,
				...(maxTokens !== undefined && { max_tokens: maxTokens }),
			}),
			...(signal && { signal }),
		});
	};

	/**
	 * The latest start first. A request that a lease admits is recorded with the next batch of its isolate: later than it ends, and
	 * perhaps after a later request.
	 */
	const records = async (): Promise<Billed[]> => {
		const url = new URL(`/client/v4/accounts/fault-${account}/ai/usage/requests?limit=100`, served.url);
		for (;;) {
			const { result } = (await (await fetch(url)).json()) as { result: Billed[] };
			const settled = result.filter(({ outcome }) => outcome !== "open");
			if (settled.length === sent)
				return settled.sort((one, other) => other.started_at.localeCompare(one.started_at));
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
	};

	return {
		async configure(route, providers, settings = {}) {
			account++;
			sent = 0;
			// Circuits belong to an address and outlive a reload, so each configuration has its own addresses.
			const BACKENDS = Object.fromEntries(
				providers.map(({ name, url }) => [name, { kind: "openai", url: `${url}/${account}`, ...settings }]),
			);
			await replaceVariables(reload, { ...variables, BACKENDS, ROUTES: { [MODEL]: route } });
		},
		open,
		async ask(options) {
			const startedAt = performance.now();
			const response = await open(options);
			return readAnswer(response, startedAt);
		},
		billed: async () => {
			const [latest] = await records();
			if (!latest) throw new Error("no request was sent");
			return latest;
		},
		billedTokens: async () => (await records()).reduce((sum, { output_tokens }) => sum + output_tokens, 0),
		stop: async () => {
			await served.stop();
			rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
		},
	};
}

async function readAnswer(response: Response, startedAt: number): Promise<ReceivedAnswer> {
	const body = await response.text();
	const received: ReceivedAnswer = {
		status: response.status,
		headers: response.headers,
		text: "",
		errors: [],
		done: false,
		comments: [...body.matchAll(/^: (.*)$/gm)].map(([, comment]) => comment ?? ""),
		usage: undefined,
		ids: 0,
		ms: performance.now() - startedAt,
	};
	if (!response.headers.get("content-type")?.includes("event-stream")) {
		const value = JSON.parse(body);
		if (response.ok) {
			received.text = value.choices[0].message.content;
			received.usage = value.usage;
			received.done = true;
		} else received.errors = value.errors ?? [value.error];
		return received;
	}
	const ids = new Set<string>();
	for (const [, data = ""] of body.matchAll(/^data: (.*)$/gm)) {
		if (data === "[DONE]") {
			received.done = true;
			continue;
		}
		const chunk = JSON.parse(data);
		if (chunk.errors || chunk.error) {
			received.errors.push(...(chunk.errors ?? [chunk.error]));
			continue;
		}
		ids.add(chunk.id);
		received.text += chunk.choices[0]?.delta.content ?? "";
		received.usage = chunk.usage ?? received.usage;
	}
	received.ids = ids.size;
	return received;
}
