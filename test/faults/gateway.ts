/** The whole Worker under workerd, as it deploys, in front of two providers; and a caller who reads all of an answer. */
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
	/** With the route that this fault needs. Circuits are closed, accounts empty. */
	configure(route: object, providers: readonly Provider[], headers?: object): Promise<void>;
	ask(options?: AskOptions): Promise<Heard>;
	/** The answer as it comes. */
	open(options?: AskOptions): Promise<Response>;
	/** What the account's latest request is told to have been, when it is over. */
	billed(): Promise<Billed>;
	/** Output tokens of all its requests, when they are over. */
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

/** What a caller had of an answer. */
export interface Heard {
	status: number;
	headers: Headers;
	text: string;
	/** Of one that did not answer, or of a stream that broke: one frame. */
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
			// Failures are provoked: what the log says of them is no news.
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
	/** An account for each configuration: what is billed is one request's. */
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

	/** The latest first. */
	const records = async (): Promise<Billed[]> => {
		const url = new URL(`/client/v4/accounts/fault-${account}/ai/usage/requests?limit=100`, base);
		for (;;) {
			const { result } = (await (await fetch(url)).json()) as { result: Billed[] };
			if (result.every(({ outcome }) => outcome !== "open")) return result;
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
	};

	return {
		async configure(route, providers, more = {}) {
			account++;
			const BACKENDS = Object.fromEntries(
				providers.map(({ name, url }) => [name, { kind: "openai", url, ...more }]),
			);
			await runtime.setOptions(optionsOf({ BACKENDS, ROUTES: { [MODEL]: route } }));
			base = new URL(await runtime.ready);
		},
		open,
		async ask(options) {
			const startedAt = performance.now();
			const response = await open(options);
			return hear(response, startedAt);
		},
		billed: async () => {
			const [latest] = await records();
			if (!latest) throw new Error("nothing was asked");
			return latest;
		},
		billedTokens: async () => (await records()).reduce((sum, { output_tokens }) => sum + output_tokens, 0),
		stop: () => runtime.dispose(),
	};
}

async function hear(response: Response, startedAt: number): Promise<Heard> {
	const body = await response.text();
	const heard: Heard = {
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
			heard.text = value.choices[0].message.content;
			heard.usage = value.usage;
			heard.done = true;
		} else heard.errors = value.errors ?? [value.error];
		return heard;
	}
	const ids = new Set<string>();
	for (const [, data = ""] of body.matchAll(/^data: (.*)$/gm)) {
		if (data === "[DONE]") {
			heard.done = true;
			continue;
		}
		const chunk = JSON.parse(data);
		if (chunk.errors || chunk.error) {
			heard.errors.push(...(chunk.errors ?? [chunk.error]));
			continue;
		}
		ids.add(chunk.id);
		heard.text += chunk.choices[0]?.delta.content ?? "";
		heard.usage = chunk.usage ?? heard.usage;
	}
	heard.ids = ids.size;
	return heard;
}
