/** What refuses a write is known before its upload is read. */
import { afterEach, expect, it } from "vitest";
import { diskSpace } from "../../../src/core/disk-space.ts";
import { AiError } from "../../../src/core/errors.ts";
import { VectorIndexes } from "../../../src/retrieval/vectors/client/vector-indexes.ts";
import { BUILTIN } from "../../../src/retrieval/vectors/stores/store-settings.ts";

type Services = ConstructorParameters<typeof VectorIndexes>[0];

afterEach(() => diskSpace.set(undefined));

/** `refused`: the objects that may not be opened. */
function indexes(refused: readonly string[]): VectorIndexes {
	const record = { name: "docs", dimensions: 2, metric: "cosine", store: BUILTIN, object: "open/1" };
	const open = (name: string) => {
		if (refused.includes(name)) throw new AiError("outOfCapacity");
		return { get: async () => record };
	};
	const services = {
		...{ now: () => 0, uuid: () => "1", registry: () => open("registry"), index: () => open("index") },
		settings: { placement: { stores: new Map() } },
	};
	return new VectorIndexes(services as unknown as Services);
}

it.each(["registry", "index"])("refuses the write if the object cannot be opened: %s", async (name) => {
	const refused: string[] = [];
	const vectorIndexes = indexes(refused);
	await vectorIndexes.openToWrite("open", "docs");
	refused.push(name);
	// What is known of the index is enough for this.
	await vectorIndexes.open("open", "docs");
	await expect(vectorIndexes.openToWrite("open", "docs")).rejects.toMatchObject({ key: "outOfCapacity" });
});

it("refuses the write if the disk is full", async () => {
	const vectorIndexes = indexes([]);
	diskSpace.set({ name: "disk_bytes", used: 2, limit: 1, refused: 0 });
	await vectorIndexes.open("open", "docs");
	await expect(vectorIndexes.openToWrite("open", "docs")).rejects.toMatchObject({ key: "diskFull" });
});
