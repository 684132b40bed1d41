/** The requests of `npm run kill:vectors`. */
const MODEL = "@cf/baai/bge-small-en-v1.5";
const DIMENSIONS = 384;
const READ_AT_ONCE = 20;

/** The runtime was killed. */
export class LostConnection extends Error {}

export class VectorClient {
	isLost = false;
	/** Answers of the embedding model. */
	embeddings = 0;
	/** Requests of the embedding model without an answer. */
	lostEmbeddings = 0;
	readonly #api: string;
	readonly #token: string;

	constructor(url: string, token: string) {
		this.#api = `${url}/client/v4/accounts/kill`;
		this.#token = token;
	}

	// biome-ignore lint/suspicious/noExplicitAny: the callers know the results.
	async #call(path: string, body?: object | string): Promise<any> {
		const type = typeof body === "string" ? "application/x-ndjson" : "application/json";
		const response = await fetch(`${this.#api}${path}`, {
			method: body === undefined ? "GET" : "POST",
			headers: { authorization: `Bearer ${this.#token}`, "content-type": type },
			...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
		}).catch(() => {
			this.isLost = true;
			throw new LostConnection();
		});
		const text = await response.text().catch(() => {
			this.isLost = true;
			throw new LostConnection();
		});
		if (!response.ok) throw new Error(`${path}: HTTP ${response.status} ${text}`);
		return JSON.parse(text).result;
	}

	create(): Promise<void> {
		const config = { dimensions: DIMENSIONS, metric: "cosine" };
		return this.#call("/vectorize/v2/indexes", { name: "killed", config });
	}

	/** The vector of each text, by one request. */
	async embed(texts: readonly string[]): Promise<number[][]> {
		try {
			const { data } = await this.#call(`/ai/run/${MODEL}`, { text: texts });
			this.embeddings++;
			return data;
		} catch (error) {
			if (error instanceof LostConnection) this.lostEmbeddings++;
			throw error;
		}
	}

	upsert(vectors: readonly object[]): Promise<void> {
		return this.#call(
			"/vectorize/v2/indexes/killed/upsert",
			vectors.map((vector) => JSON.stringify(vector)).join("\n"),
		);
	}

	delete(ids: readonly string[]): Promise<void> {
		return this.#call("/vectorize/v2/indexes/killed/delete_by_ids", { ids });
	}

	/** The metadata of all vectors. */
	async all(): Promise<Map<string, string>> {
		const ids: string[] = [];
		let cursor = "";
		do {
			const page = await this.#call(`/vectorize/v2/indexes/killed/list?count=1000${cursor}`);
			ids.push(...page.vectors.map(({ id }: { id: string }) => id));
			cursor = page.nextCursor === null ? "" : `&cursor=${encodeURIComponent(page.nextCursor)}`;
		} while (cursor !== "");
		const found = new Map<string, string>();
		for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
			const part = ids.slice(at, at + READ_AT_ONCE);
			const vectors = await this.#call("/vectorize/v2/indexes/killed/get_by_ids", { ids: part });
			for (const { id, metadata } of vectors) found.set(id, metadata.text);
		}
		return found;
	}

	/** Requests of the embedding model in the ledger. */
	async billed(): Promise<number> {
		const usage: { requests: number }[] = await this.#call("/ai/usage?group_by=model");
		return usage.reduce((sum, { requests }) => sum + requests, 0);
	}
}
