/** The bundled Worker under workerd, in front of two providers, with a caller that reads complete answers. */
import { buildSync } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { unstable_readConfig as readConfig } from "wrangler";
import type { Provider } from "./provider.ts";

export const MODEL = "acme/model";

const worker = (): string =>
	buildSync({
		entryPoints: ["src/index.ts"],
		bundle: true,
		format: "esm",
		conditions: ["workerd", "worker", "browser"],
		external: ["cloudflare:*", "node:*"],
		write: false,
	}).outputFiles[0]?.text ?? "";

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
	const script = worker();
	const { compatibility_date, compatibility_flags } = readConfig({ config: "wrangler.jsonc" });
	const optionsOf = (vars: Record<string, unknown>) =>
		convertV4MiniflareOptions({
			cf: false,
			// The tests provoke failures: their log is ignored.
			handleRuntimeStdio: () => {},
			name: "gateway",
			modules: true,
			script,
			compatibilityDate: compatibility_date ?? "",
			compatibilityFlags: compatibility_flags,
			bindings: { ALLOW_ANONYMOUS: "true", ...vars } as never,
			durableObjects: {
				ACCOUNT: { className: "Account", useSQLite: true },
				DIRECTORY: { className: "Directory", useSQLite: true },
				FLEET: { className: "Fleet", useSQLite: true },
			},
		});
	const runtime = new Miniflare(optionsOf({}));
	let base = new URL(await runtime.ready);
	/** Each configuration has its own account, so its bills are separate. */
	let account = 0;

	const open = ({ stream = true, signal, headers = {}, content = "Count", maxTokens }: AskOptions = {}) =>
		fetch(new URL(`/client/v4/accounts/fault-${account}/ai/v1/chat/completions`, base), {
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

	/** The newest first. */
	const records = async (): Promise<Billed[]> => {
		const url = new URL(`/client/v4/accounts/fault-${account}/ai/usage/requests?limit=100`, base);
		for (;;) {
			const { result } = (await (await fetch(url)).json()) as { result: Billed[] };
			if (result.every(({ outcome }) => outcome !== "open")) return result;
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
	};

	return {
		async configure(route, providers, settings = {}) {
			account++;
			const BACKENDS = Object.fromEntries(
				providers.map(({ name, url }) => [name, { kind: "openai", url, ...settings }]),
			);
			await runtime.setOptions(optionsOf({ BACKENDS, ROUTES: { [MODEL]: route } }));
			base = new URL(await runtime.ready);
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
		stop: () => runtime.dispose(),
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
