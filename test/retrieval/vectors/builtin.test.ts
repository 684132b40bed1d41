/** The kind `builtin`, in the object of the Worker. */
import { env } from "cloudflare:workers";
import { builtinStore } from "../../../src/retrieval/vectors/client/builtin-store.ts";
import { vectorObjects } from "../../../src/retrieval/vectors/client/vector-objects.ts";
import type { VectorShape } from "../../../src/retrieval/vectors/records.ts";
import { vectorStoreContract } from "./contract.ts";

const objects = vectorObjects(env);

const open = (shape: VectorShape) => {
	const object = `local/${crypto.randomUUID()}`;
	return builtinStore({
		account: "local",
		index: { ...shape, name: "docs", store: "builtin", object, createdAt: 0, modifiedAt: 0, delayMs: 0 },
		object: () => objects.index(object),
	});
};

vectorStoreContract({ name: "builtin", open, isExact: true });
