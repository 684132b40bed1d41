/** The REST API of a Qdrant server: https://api.qdrant.tech. */
import type { AiError } from "../../../../core/errors.ts";
import { isRecord } from "../../../../core/json.ts";
import { indexNotFound } from "../../failures.ts";
import type { ExternalIndex, StoreServices } from "../external-store.ts";
import { callStore, type JsonCall } from "../json-call.ts";
import { storeFailed } from "../store-failed.ts";
import type { QdrantSetting } from "../store-settings.ts";

/** A point as the server sends it. */
export interface QdrantPoint {
	id: string;
	score?: number;
	payload: Record<string, unknown>;
	/** By their names. */
	vector?: Record<string, readonly number[]>;
}

export class QdrantApi {
	readonly #setting: QdrantSetting;
	readonly #external: ExternalIndex;
	readonly #services: StoreServices;

	constructor(setting: QdrantSetting, external: ExternalIndex, services: StoreServices) {
		this.#setting = setting;
		this.#external = external;
		this.#services = services;
	}

	/** `path`: of a collection. Throws 3000 if it does not exist, and 502 for other refusals, without the text of the server. */
	async call(method: JsonCall["method"], path: string, body?: object | string): Promise<unknown> {
		const { status, value } = await this.#send(method, path, body);
		if (status >= 200 && status < 300 && isRecord(value)) return value.result;
		throw this.#failure(status);
	}

	/** What is deleted may be absent. */
	async remove(method: "DELETE" | "POST", path: string, body?: object): Promise<void> {
		const { status } = await this.#send(method, path, body);
		if (status !== 404 && (status < 200 || status >= 300)) throw this.#failure(status);
	}

	/** Creates a collection, unless it exists. */
	async require(collection: string, settings: object): Promise<void> {
		const { status } = await this.#send("PUT", `/${collection}`, settings);
		if (status >= 200 && status < 300) return;
		const found = await this.#send("GET", `/${collection}`);
		if (found.status !== 200) throw this.#failure(status);
	}

	async points(path: string, body: object): Promise<QdrantPoint[]> {
		const result = await this.call("POST", path, body);
		const points = isRecord(result) ? result.points : result;
		return Array.isArray(points) ? points.map((point) => this.#point(point)) : this.unreadable();
	}

	#point(value: unknown): QdrantPoint {
		if (!isRecord(value) || typeof value.id !== "string") return this.unreadable();
		const { id, payload, score, vector } = value;
		return {
			...{ id, payload: isRecord(payload) ? payload : {} },
			...(typeof score === "number" && { score }),
			...(isRecord(vector) && { vector: vector as Record<string, readonly number[]> }),
		};
	}

	unreadable(): never {
		throw storeFailed(this.#external.name, "has answered with an unexpected shape");
	}

	#send(method: JsonCall["method"], path: string, body?: object | string) {
		const { apiKey, url } = this.#setting;
		return callStore(
			{
				method,
				url: `${url}/collections${path}`,
				headers: {
					...(apiKey !== "" && { "api-key": apiKey }),
					...(body !== undefined && { "content-type": "application/json" }),
				},
				...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
			},
			this.#external,
			this.#services,
		);
	}

	#failure(status: number): AiError {
		const { index, name } = this.#external;
		if (status === 404) return indexNotFound(index.name);
		if (status === 401 || status === 403) return storeFailed(name, "refuses the API key");
		return storeFailed(name, `has refused a request (HTTP ${status})`);
	}
}
