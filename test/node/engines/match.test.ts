import { describe, expect, it } from "vitest";
import { nearest } from "../../../scripts/engines/match.ts";
import { readName } from "../../../scripts/engines/names.ts";
import { PRODUCT_MODELS } from "../../../src/models/catalog.ts";

describe("a name", () => {
	it.each([
		["@cf/meta/llama-3.3-70b-instruct-fp8-fast", "chat", "llama", 3.3, 70],
		["llama3.2:3b", "chat", "llama", 3.2, 3],
		["bartowski/Llama-3.2-3B-Instruct-GGUF", "chat", "llama", 3.2, 3],
		["/models/Meta_Llama_3.1_8B.Q4_K_M.gguf", "chat", "llama", 3.1, 8],
		["llama3.2-vision:11b", "vision", "llama", 3.2, 11],
		["@cf/meta/llama-guard-3-8b", "guard", "llama-guard", 3, 8],
		["gemma-3-12b-it", "vision", "gemma", 3, 12],
		["gemma3:1b", "chat", "gemma", 3, 1],
		["qwen3-30b-a3b-fp8", "chat", "qwen", 3, 30],
		["qwen2.5vl:7b", "vision", "qwen", 2.5, 7],
		["mixtral:8x7b", "chat", "mistral", undefined, 56],
		["smollm2:135m", "chat", undefined, undefined, 0.135],
		["dolphin3:8b", "chat", undefined, undefined, 8],
		["dolphin-phi:2.7b", "chat", "phi", undefined, 2.7],
		["kimi-k2", "vision", "kimi", undefined, 1000],
		["bge-m3:latest", "embeddings", "bge-m3", undefined, undefined],
		["qwen3-embedding:0.6b", "embeddings", "qwen3-embedding", undefined, 0.6],
		["nomic-embed-text", "other", "other-embeddings", undefined, undefined],
		["bge-reranker-base", "reranking", "bge-reranker", undefined, undefined],
		["whisper-large-v3", "other", "other-sound", undefined, undefined],
	])("%s says what it is", (name, kind, family, generation, billions) => {
		const read = readName(name);
		expect([read.kind, read.family, read.generation, read.billions]).toEqual([
			kind,
			family,
			generation,
			billions,
		]);
	});

	it("knows whether it is for code", () => {
		expect(readName("qwen2.5-coder:7b").codes).toBe(true);
		expect(readName("qwen2.5:7b").codes).toBe(false);
	});

	it("is known of every model of the catalogue that embeds", () => {
		const embedding = PRODUCT_MODELS.filter(({ task }) => task === "Text Embeddings");
		expect(embedding.map(({ id }) => readName(id).kind)).toEqual(embedding.map(() => "embeddings"));
	});
});

describe("the nearest", () => {
	const serve = (...names: string[]) => names.map((name) => ({ name, ...readName(name) }));
	const near = (id: string, ...names: string[]) => {
		const model = PRODUCT_MODELS.find((each) => each.id === id);
		if (!model) throw new Error(`no model ${id}`);
		return nearest(model, serve(...names))?.name;
	};

	it.each([
		[
			"of the same name",
			"@cf/meta/llama-3.2-3b-instruct",
			["gemma3:4b", "llama3.2:1b", "llama3.2:3b"],
			"llama3.2:3b",
		],
		[
			"of the family, before one of the size",
			"@cf/meta/llama-3.3-70b-instruct-fp8-fast",
			["qwen2.5:72b", "llama3.2:3b"],
			"llama3.2:3b",
		],
		[
			"of the size",
			"@cf/meta/llama-3.1-8b-instruct-fp8",
			["llama3.2:1b", "llama3.1:8b", "llama3.3:70b"],
			"llama3.1:8b",
		],
		["of the generation", "@cf/qwen/qwen3-30b-a3b-fp8", ["qwen2.5:32b", "qwen3:32b"], "qwen3:32b"],
		[
			"for code",
			"@cf/qwen/qwen2.5-coder-32b-instruct",
			["qwen2.5:32b", "qwen2.5-coder:7b"],
			"qwen2.5-coder:7b",
		],
		["that sees", "@cf/moonshotai/kimi-k2.6", ["gpt-oss:120b", "gemma3:4b"], "gemma3:4b"],
		["that does not, if none sees", "@cf/moonshotai/kimi-k2.6", ["llama3.2:3b"], "llama3.2:3b"],
		["of no family", "@cf/zai-org/glm-5.2", ["something"], "something"],
	])("is one %s", (_, id, names, expected) => {
		expect(near(id, ...names)).toBe(expected);
		expect(near(id, ...names.toReversed())).toBe(expected);
	});

	it.each([
		["a picture, of one that is blind", "@cf/meta/llama-3.2-11b-vision-instruct", "llama3.2:3b"],
		["a picture, of one that is blind", "@cf/llava-hf/llava-1.5-7b-hf", "llama3.2:3b"],
		["vectors, of another model", "@cf/baai/bge-m3", "nomic-embed-text"],
		["vectors, of another model", "@cf/baai/bge-large-en-v1.5", "bge-m3"],
		["vectors, of another size of it", "@cf/qwen/qwen3-embedding-0.6b", "qwen3-embedding:4b"],
		["vectors, of one that chats", "@cf/baai/bge-m3", "llama3.2"],
		["a chat, of one that embeds", "@cf/meta/llama-3.2-3b-instruct", "bge-m3"],
		["a chat, of a guard", "@cf/meta/llama-3.2-3b-instruct", "llama-guard3:1b"],
		["a judgement, of one that chats", "@cf/meta/llama-guard-3-8b", "llama3.1:8b"],
		["a decision", "@cf/cloudflare/clef", "llama3.1:8b"],
		["ranks, of another ranker", "@cf/baai/bge-reranker-base", "jina-reranker-v2"],
		["an image", "@cf/black-forest-labs/flux-1-schnell", "llama3.2"],
		["speech", "@cf/openai/whisper", "whisper-large-v3"],
	])("is none for %s", (_, id, name) => {
		expect(near(id, name)).toBeUndefined();
	});

	it.each([
		["@cf/baai/bge-m3", "bge-m3:567m"],
		["@cf/baai/bge-small-en-v1.5", "CompendiumLabs/bge-small-en-v1.5-gguf"],
		["@cf/qwen/qwen3-embedding-0.6b", "qwen3-embedding:0.6b"],
		["@cf/google/embeddinggemma-300m", "embeddinggemma:latest"],
		["@cf/baai/bge-reranker-base", "bge-reranker-base-q8_0.gguf"],
		["@cf/meta/llama-guard-3-8b", "llama-guard3:8b"],
	])("of %s is itself: %s", (id, name) => {
		expect(near(id, "llama3.2", name)).toBe(name);
	});
});
