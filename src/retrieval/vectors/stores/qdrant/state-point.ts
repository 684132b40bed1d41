/**
 * The state of an index: a point of the collection that all indexes of a store have in common. Its fields are changed one by one, so that
 * two mutations do not overwrite each other.
 */
import { indexNotFound } from "../../failures.ts";
import type { NumberedProperties } from "../../properties.ts";
import { collectionOf, type ExternalIndex } from "../external-store.ts";
import type { QdrantApi } from "./api.ts";
import { pointId } from "./points.ts";

export interface QdrantState {
	properties: NumberedProperties;
	/** Of the last mutation. Epoch milliseconds. */
	processedAt?: number;
	processedMutation?: string;
	/** Of the latest deletion of vectors that are kept for lists. Epoch milliseconds. 0: none is kept. */
	deletedAt: number;
}

export class StatePoint {
	readonly #api: QdrantApi;
	readonly #index: ExternalIndex["index"];
	readonly #collection: string;
	readonly #point: string;

	constructor(api: QdrantApi, index: ExternalIndex["index"], prefix: string) {
		this.#api = api;
		this.#index = index;
		this.#collection = `${prefix}indexes`;
		this.#point = pointId(collectionOf(index));
	}

	/** Creates it, unless it exists. */
	async create(): Promise<void> {
		await this.#api.require(this.#collection, { vectors: { size: 1, distance: "Dot" } });
		const found = await this.#api.points(`/${this.#collection}/points`, { ids: [this.#point] });
		if (found.length > 0) return;
		const payload = { properties: '{"all":[],"last":0}' };
		const points = [{ id: this.#point, vector: [0], payload }];
		await this.#api.call("PUT", `/${this.#collection}/points?wait=true`, { points });
	}

	async delete(): Promise<void> {
		const body = { points: [this.#point] };
		await this.#api.remove("POST", `/${this.#collection}/points/delete?wait=true`, body);
	}

	/** Throws 3000 if there is none. */
	async read(): Promise<QdrantState> {
		const body = { ids: [this.#point], with_payload: true };
		const [point] = await this.#api.points(`/${this.#collection}/points`, body);
		if (!point) throw indexNotFound(this.#index.name);
		const { deleted_at, processed_at, processed_mutation, properties } = point.payload;
		return {
			properties: JSON.parse(String(properties)),
			deletedAt: typeof deleted_at === "number" ? deleted_at : 0,
			...(typeof processed_at === "number" && { processedAt: processed_at }),
			...(typeof processed_mutation === "string" && { processedMutation: processed_mutation }),
		};
	}

	async change({
		deletedAt,
		processedAt,
		processedMutation,
		properties,
	}: Partial<QdrantState>): Promise<void> {
		const payload = {
			...(deletedAt !== undefined && { deleted_at: deletedAt }),
			...(processedAt !== undefined && { processed_at: processedAt }),
			...(processedMutation !== undefined && { processed_mutation: processedMutation }),
			...(properties && { properties: JSON.stringify(properties) }),
		};
		const body = { payload, points: [this.#point] };
		await this.#api.call("POST", `/${this.#collection}/points/payload?wait=true`, body);
	}
}
