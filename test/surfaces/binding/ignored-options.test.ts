/** The results of bindings have no place for sentences: a gateway for development writes about options without effect to its log. */
import { expect, it } from "vitest";
import { InstanceTarget } from "../../../src/surfaces/aisearch/instance-target.ts";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import { ToMarkdownService } from "../../../src/surfaces/markdown/markdown.ts";
import { wireResult } from "../../../src/surfaces/vectorize/binding-wire.ts";
import { CALLER, testServices } from "../../gateway.ts";

const json = (body: object): RequestInit => ({
	method: "POST",
	body: JSON.stringify(body),
	headers: { "content-type": "application/json" },
});

function hinted() {
	const hints: string[] = [];
	const services = {
		...testServices(),
		hint: (about: string, sentences: Iterable<string>) => {
			for (const sentence of sentences) hints.push(`${about}: ${sentence}`);
		},
	};
	return { services, hints };
}

it("env.VECTORIZE", async () => {
	const { services, hints } = hinted();
	await services.vectorIndexes.create("local", { name: "docs", dimensions: 2, metric: "cosine" });
	const query = (fields: object) =>
		wireResult({
			...{ caller: CALLER, index: "docs", services },
			request: new Request("http://vector-search/query", json({ vector: [1, 0], ...fields })),
		});
	expect(await query({ topK: 1, returnMetadata: "none", filter: null })).toMatchObject({ count: 0 });
	expect(hints).toEqual([]);
	expect(await query({ topk: 1 })).toMatchObject({ count: 0 });
	expect(hints).toEqual(['Vectorize: topk: unknown, ignored; did you mean "topK"?']);
});

it("env.AI.toMarkdown, of the class and over RPC", async () => {
	const { services, hints } = hinted();
	const files = [{ name: "a.csv", mimeType: "text/csv", data: btoa("a,b") }];
	const convert = async (options: object) =>
		(
			await wireOf(services).fetch(
				new Request(
					"https://workers-binding.ai/to-everything/markdown/transformer",
					json({ files, options }),
				),
				{ caller: CALLER },
			)
		).status;
	const gateway = { id: "default" };
	expect(await convert({ conversionOptions: { pdf: { metadata: false } }, extraHeaders: {}, gateway })).toBe(
		200,
	);
	expect(hints).toEqual([]);
	expect(await convert({ conversionOptions: { html: { hostnam: "a" } } })).toBe(200);
	const service = new ToMarkdownService(CALLER, services);
	await service.transform({ name: "a.csv", blob: new Blob(["a,b"]) }, { conversion: {} });
	expect(hints).toEqual([
		'toMarkdown: options.conversionOptions.html.hostnam: unknown, ignored; did you mean "hostname"?',
		'toMarkdown: options.conversion: unknown, ignored; did you mean "conversionOptions"?',
	]);
});

it("a binding of AI Search", async () => {
	const { services, hints } = hinted();
	await services.searchInstances.create(CALLER, "default", { id: "docs" } as never);
	const docs = new InstanceTarget({ caller: CALLER, namespace: "default", instance: "docs", services });
	await docs.search({ query: "a", max_num_results: 1 });
	await docs.chatCompletions({
		messages: [{ role: "user", content: "a" }],
		ai_search_options: { retrival: {} },
	});
	expect(hints).toEqual([
		'AI Search: max_num_results: unknown, ignored; did you mean "ai_search_options.retrieval.max_num_results"?',
		'AI Search: ai_search_options.retrival: unknown, ignored; did you mean "retrieval"?',
	]);
});
