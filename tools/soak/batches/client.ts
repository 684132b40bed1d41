/** Calls of the batch routes, while the gateway may be down. */
import type { Gateway } from "../gateway.ts";
import type { ResultLine } from "./audit.ts";

export const MODEL = "gpt-5.6-sol";

export interface BatchState {
	id: string;
	status: string;
	output_file_id: string | null;
	error_file_id: string | null;
	request_counts: { total: number; completed: number; failed: number };
	usage: { input_tokens: number; output_tokens: number; neurons: number; neurons_without_discount: number };
	waiting?: { message: string };
}

export const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "expired", "cancelled"]);

/** JSON lines. The lines are numbered from 0. */
export const linesOf = (count: number, padding = ""): string =>
	Array.from(
		{ length: count },
		(_, line) =>
			`${JSON.stringify({
				custom_id: `line-${line}`,
				method: "POST",
				url: "/v1/chat/completions",
				body: {
					model: MODEL,
					messages: [
						{ role: "system", content: `Be short.${padding}` },
						{ role: "user", content: `line ${line}` },
					],
				},
			})}\n`,
	).join("");

export class BatchClient {
	readonly #gateway: Gateway;
	readonly #authorization: string;

	constructor(gateway: Gateway, authorization: string) {
		this.#gateway = gateway;
		this.#authorization = authorization;
	}

	async create(content: string): Promise<BatchState> {
		const form = new FormData();
		form.set("purpose", "batch");
		form.set("file", new File([content], "requests.jsonl"));
		const { id } = (await (await this.fetch("/files", { method: "POST", body: form })).json()) as {
			id: string;
		};
		const body = JSON.stringify({
			input_file_id: id,
			endpoint: "/v1/chat/completions",
			completion_window: "24h",
		});
		const headers = { "content-type": "application/json" };
		return (await this.fetch("/batches", { method: "POST", headers, body })).json() as Promise<BatchState>;
	}

	/** `undefined`: the gateway does not answer. */
	async state(id: string): Promise<BatchState | undefined> {
		try {
			return (await (await this.fetch(`/batches/${id}`)).json()) as BatchState;
		} catch {
			return undefined;
		}
	}

	async results(file: string | null): Promise<ResultLine[]> {
		if (file === null) return [];
		const text = await (await this.fetch(`/files/${file}/content`)).text();
		return text
			.split("\n")
			.filter((line) => line !== "")
			.map((line) => JSON.parse(line) as ResultLine);
	}

	async fetch(path: string, init: RequestInit = {}): Promise<Response> {
		const headers = { ...init.headers, authorization: this.#authorization };
		const response = await fetch(`${this.#gateway.url}/v1${path}`, { ...init, headers });
		if (!response.ok) throw new Error(`${path}: HTTP ${response.status} ${await response.text()}`);
		return response;
	}
}
