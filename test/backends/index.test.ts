import { expect, it } from "vitest";
import { loadBackends, tasksOf } from "../../src/backends/index.ts";
import { TARGET } from "./upstream.ts";

it("loads each kind of the targets", async () => {
	const kinds = ["openai", "tei", "openai"] as const;
	const targets = kinds.map((kind) => ({ ...TARGET, kind }));
	for (let request = 0; request < 2; request++) {
		await loadBackends(targets);
		const reranks = targets.map((target) => Object.keys(tasksOf(target, {} as never)).sort());
		expect(reranks[0]).toContain("text-generation");
		expect(reranks[1]).toEqual(["reranking", "text-classification", "text-embeddings"]);
	}
});

it("has no tasks of a backend that is not loaded", () => {
	// Other tests of this isolate load the kinds that exist.
	const target = { ...TARGET, kind: "unloaded" as never };
	expect(() => tasksOf(target, {} as never)).toThrow('The backend of kind "unloaded" is not loaded');
});
