import { afterEach, describe, expect, it } from "vitest";
import { findEngines, USUAL_PORTS } from "../../../scripts/engines/probe.ts";
import { dockerModelRunner, fake, llamaCpp, llamaRouter, lmStudio, ollama, stopFakes, vllm } from "./fake.ts";

afterEach(stopFakes);

/** Long enough for a busy machine; a test of what hangs sets its own. */
const timeoutMs = 5_000;
const find = (...ports: number[]) => findEngines({ ports, timeoutMs });

describe("engines of this machine", () => {
	it("are known by what they say, whatever their port", async () => {
		const engines = [
			await ollama({ name: "llama3.2:latest", size: "3.2B", families: ["llama"] }),
			await llamaCpp("/models/gemma-3-4b-it-Q4_K_M.gguf", true, 3_880_099_328),
			await vllm("Qwen/Qwen3-30B-A3B-FP8"),
			await lmStudio(["openai/gpt-oss-20b", "llm"]),
		];
		const [a, b, c, d] = engines.map(({ port }) => port);
		expect(await find(...engines.map(({ port }) => port))).toEqual([
			{
				name: "ollama",
				kind: "ollama",
				url: `http://127.0.0.1:${a}`,
				models: [
					{
						name: "llama3.2:latest",
						kind: "chat",
						family: "llama",
						generation: 3.2,
						billions: 3.2,
						codes: false,
					},
				],
			},
			{
				name: "llama-cpp",
				kind: "openai",
				url: `http://127.0.0.1:${b}/v1`,
				models: [
					{
						name: "/models/gemma-3-4b-it-Q4_K_M.gguf",
						kind: "vision",
						family: "gemma",
						generation: 3,
						billions: 3.880099328,
						codes: false,
					},
				],
			},
			{
				name: "vllm",
				kind: "openai",
				url: `http://127.0.0.1:${c}/v1`,
				models: [
					{
						name: "Qwen/Qwen3-30B-A3B-FP8",
						kind: "chat",
						family: "qwen",
						generation: 3,
						billions: 30,
						codes: false,
					},
				],
			},
			{
				name: "lm-studio",
				kind: "openai",
				url: `http://127.0.0.1:${d}/v1`,
				models: [{ name: "openai/gpt-oss-20b", kind: "chat", family: "gpt-oss", billions: 20, codes: false }],
			},
		]);
	});

	it("that are a router of llama.cpp have the tasks for which it starts each model", async () => {
		const { port } = await llamaRouter(
			["Qwen3.8-27B-Q4_K_M", ["--jinja"]],
			["gemma-4-12b-it", [], ["text", "image"]],
			["bge-m3-Q8_0", ["--embeddings", "--pooling", "mean"]],
			["bge-small-en-v1.5", ["--pooling", "mean"]],
			["bge-reranker-base", ["--reranking"]],
			["bge-reranker-v2-m3", []],
			["Qwen3-4B-embedder-of-mine", ["--embedding"]],
		);
		const [engine] = await find(port);
		expect(engine).toMatchObject({ name: "llama-cpp", url: `http://127.0.0.1:${port}/v1` });
		expect(engine?.models.map(({ name, kind }) => [name, kind])).toEqual([
			["Qwen3.8-27B-Q4_K_M", "chat"],
			["gemma-4-12b-it", "vision"],
			["bge-m3-Q8_0", "embeddings"],
			["bge-small-en-v1.5", "other"],
			["bge-reranker-base", "reranking"],
			["bge-reranker-v2-m3", "other"],
			["Qwen3-4B-embedder-of-mine", "other"],
		]);
	});

	it("may be Docker's, below another path", async () => {
		const { port } = await dockerModelRunner("docker.io/ai/smollm2:latest", "docker.io/ai/gemma3:4B-Q4_K_M");
		expect(await find(port)).toMatchObject([
			{
				name: "docker-model-runner",
				kind: "openai",
				url: `http://127.0.0.1:${port}/engines/v1`,
				models: [
					{ name: "docker.io/ai/smollm2:latest", kind: "chat" },
					{ name: "docker.io/ai/gemma3:4B-Q4_K_M", family: "gemma", generation: 3, billions: 4 },
				],
			},
		]);
	});

	it("tell what sees and what embeds, where they know", async () => {
		const kinds = async (found: ReturnType<typeof find>) => (await found)[0]?.models.map(({ kind }) => kind);
		const tags = [
			{ name: "my-own:latest", families: ["llama", "clip"] },
			{ name: "my-text:latest", families: ["nomic-bert"] },
			{ name: "bge-m3:latest", families: ["bert"] },
			{ name: "bge-reranker-base:latest" },
		];
		expect(await kinds(find((await ollama(...tags)).port))).toEqual([
			"vision",
			"other",
			"embeddings",
			"other",
		]);
		const studio = await lmStudio(
			["gemma-3-1b", "vlm"],
			["text-embedding-bge-m3", "embeddings"],
			["x", "embeddings"],
		);
		expect(await kinds(find(studio.port))).toEqual(["vision", "embeddings", "other"]);
		expect(await kinds(find((await llamaCpp("gemma-3-4b-it.gguf", false)).port))).toEqual(["chat"]);
	});

	it("do not offer what runs elsewhere", async () => {
		const { port } = await ollama(
			{ name: "gpt-oss:120b-cloud", remote_host: "https://ollama.com:443" },
			{ name: "kimi-k2:cloud" },
			{ name: "llama3.2:1b", size: "1.2B" },
		);
		expect((await find(port))[0]?.models.map(({ name }) => name)).toEqual(["llama3.2:1b"]);
	});

	it("of one kind have different names, and one port is one engine", async () => {
		const ports = [(await vllm("a")).port, (await vllm("b")).port];
		expect((await find(...ports, ...ports)).map(({ name }) => name)).toEqual(["vllm", "vllm-2"]);
	});
});

describe("what is no engine", () => {
	it.each<[string, Record<string, unknown>]>([
		["a web page", { "/v1/models": "<html>It works!</html>" }],
		["somebody else's API", { "/v1/models": { data: [{ id: "gpt-5", owned_by: "openai" }] } }],
		["a list of nothing", { "/v1/models": { data: [] } }],
		["another shape", { "/v1/models": { data: [{ name: "a" }] } }],
		["no list at all", {}],
		[
			"an Ollama without models",
			{ "/v1/models": { data: [] }, "/api/version": { version: "1" }, "/api/tags": { models: [] } },
		],
		["a far too long list", { "/v1/models": `{"data":[],"more":"${"x".repeat(2 ** 21)}"}` }],
	])("%s", async (_, routes) => {
		expect(await find((await fake(routes)).port)).toEqual([]);
	});

	it("a closed port", async () => {
		const { port } = await fake({});
		stopFakes();
		expect(await find(port)).toEqual([]);
	});

	it("one that never answers, without delaying the others", async () => {
		const { port: hanging } = await fake("hang");
		const { port } = await vllm("a");
		const started = performance.now();
		expect((await findEngines({ ports: [hanging, port], timeoutMs: 400 })).map(({ name }) => name)).toEqual([
			"vllm",
		]);
		expect(performance.now() - started).toBeLessThan(4_000);
	});

	it("one that sends its caller elsewhere, where nothing is asked", async () => {
		const elsewhere = await vllm("a");
		const { port } = await fake({ "/v1/models": new URL(`http://127.0.0.1:${elsewhere.port}/v1/models`) });
		expect(await find(port)).toEqual([]);
		expect(elsewhere.asked).toEqual([]);
	});
});

describe("looking", () => {
	it("asks loopback and no other, for little, and only reads", async () => {
		const asked: { url: string; init: RequestInit | undefined }[] = [];
		const refuse: typeof fetch = async (input, init) => {
			asked.push({ url: String(input), init });
			throw new Error("refused");
		};
		expect(await findEngines({ fetch: refuse })).toEqual([]);
		expect(asked.map(({ url }) => url)).toEqual(
			USUAL_PORTS.map((port) => `http://127.0.0.1:${port}/v1/models`),
		);
		for (const { init } of asked) {
			expect(init?.method).toBeUndefined();
			expect(init?.redirect).toBe("error");
			expect(init?.signal).toBeInstanceOf(AbortSignal);
		}
	});

	it("asks what it does not know no more than it must", async () => {
		const { port, asked } = await fake({ "/v1/models": "<html>" });
		await find(port);
		expect(asked).toEqual(["/v1/models"]);
	});
});
