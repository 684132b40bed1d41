/** A client of one AI Search instance over REST. */
import type { CorpusPage } from "./corpus.ts";

export interface GatewayAddress {
	/** Without a path. */
	url: string;
	account: string;
	token?: string | undefined;
}

export interface IndexCounts {
	queued: number;
	running: number;
	completed: number;
	error: number;
	chunks_count: number;
	engine: { vectorize: { vectorsCount: number } };
}

interface SearchAnswer {
	chunks: { text: string; item: { key: string } }[];
}

/** Uploads at the same time. */
const LANES = 8;
const POLL_MS = 250;

export class SearchInstanceClient {
	readonly #gateway: GatewayAddress;
	readonly #path: string;
	readonly id: string;

	constructor(gateway: GatewayAddress, id: string) {
		this.#gateway = gateway;
		this.id = id;
		this.#path = `/ai-search/instances`;
	}

	/** `fields`: of the configuration. */
	async create(fields: object): Promise<void> {
		await this.call("POST", this.#path, { id: this.id, ...fields });
	}

	async delete(): Promise<void> {
		await this.call("DELETE", `${this.#path}/${this.id}`);
	}

	async upload({ key, text }: CorpusPage): Promise<void> {
		const form = new FormData();
		form.set("file", new File([text], key, { type: "text/markdown" }));
		await this.call("POST", `${this.#path}/${this.id}/items`, form);
	}

	/** `retry`: called after a failure, until the page is stored. Absent: a failure ends it. */
	async uploadAll(pages: readonly CorpusPage[], retry?: (error: unknown) => Promise<void>): Promise<void> {
		let next = 0;
		const lane = async (): Promise<void> => {
			for (let page = pages[next++]; page; page = pages[next++]) {
				for (let isStored = false; !isStored; ) {
					try {
						await this.upload(page);
						isStored = true;
					} catch (error) {
						if (!retry) throw error;
						await retry(error);
					}
				}
			}
		};
		await Promise.all(Array.from({ length: LANES }, lane));
	}

	stats(): Promise<IndexCounts> {
		return this.call("GET", `${this.#path}/${this.id}/stats`);
	}

	async whenIndexed(): Promise<IndexCounts> {
		for (;;) {
			const counts = await this.stats();
			if (counts.queued + counts.running === 0) return counts;
			await new Promise((done) => setTimeout(done, POLL_MS));
		}
	}

	search(query: string, retrieval: object): Promise<SearchAnswer> {
		return this.call("POST", `${this.#path}/${this.id}/search`, {
			query,
			ai_search_options: { retrieval },
		});
	}

	/** The `result`. Throws an error with the messages of a refusal. */
	async call<Result>(method: string, path: string, body?: unknown): Promise<Result> {
		const { account, token, url } = this.#gateway;
		const response = await fetch(`${url}/client/v4/accounts/${account}${path}`, {
			method,
			headers: {
				...(token !== undefined && { authorization: `Bearer ${token}` }),
				...(body !== undefined && !(body instanceof FormData) && { "content-type": "application/json" }),
			},
			...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
		});
		const answer = (await response.json()) as { result: Result; errors: { message: string }[] };
		if (response.ok) return answer.result;
		throw new Error(`${method} ${path}: ${response.status} ${answer.errors.map(({ message }) => message)}`);
	}
}
