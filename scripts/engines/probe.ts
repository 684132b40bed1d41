/**
 * Finds the engines that run on this machine. Sends only a few GET requests to loopback, which change nothing. A port that does not answer in
 * time, or answers in another format, has no engine. The answer identifies the engine, because any engine may use any port.
 */
import * as z from "zod";
import type { ServedModel } from "./match.ts";
import { type ModelKind, readName } from "./names.ts";

/** The default ports of Ollama, llama.cpp, vLLM, LM Studio and Docker Model Runner. */
export const USUAL_PORTS: readonly number[] = [11434, 8080, 8000, 1234, 12434];
/** For all requests to one port. */
const ANSWER_MS = 300;
/** Longest list that is read. */
const MAX_BYTES = 1024 * 1024;

export interface Engine {
	/** In `BACKENDS`. */
	name: string;
	kind: "ollama" | "openai";
	/** For `BACKENDS`. */
	url: string;
	models: ServedModel[];
}

interface ProbeOptions {
	ports?: readonly number[];
	timeoutMs?: number;
	fetch?: typeof fetch;
}

/** In the order of the ports. A second engine with the same name is `name-2`. */
export async function findEngines({
	ports = USUAL_PORTS,
	timeoutMs = ANSWER_MS,
	fetch: fetcher = fetch,
}: ProbeOptions = {}): Promise<Engine[]> {
	const found = await Promise.all(
		[...new Set(ports)].map((port) => {
			const origin = `http://127.0.0.1:${port}`;
			const signal = AbortSignal.timeout(timeoutMs);
			return engineAt(origin, (path) => getJson(origin + path, signal, fetcher));
		}),
	);
	const counts = new Map<string, number>();
	return found.flatMap((engine) => {
		if (!engine?.models.length) return [];
		const count = (counts.get(engine.name) ?? 0) + 1;
		counts.set(engine.name, count);
		return [count === 1 ? engine : { ...engine, name: `${engine.name}-${count}` }];
	});
}

type Get = (path: string) => Promise<unknown>;

/** `undefined` if no JSON arrives in time, `null` for an answer with an error. */
async function getJson(url: string, signal: AbortSignal, fetcher: typeof fetch): Promise<unknown> {
	try {
		// A redirect could lead to another host.
		const response = await fetcher(url, {
			signal,
			redirect: "error",
			headers: { accept: "application/json" },
		});
		if (!response.ok || !response.body) {
			await response.body?.cancel();
			return null;
		}
		const decoder = new TextDecoder();
		let text = "";
		for await (const chunk of response.body) {
			text += decoder.decode(chunk, { stream: true });
			if (text.length > MAX_BYTES) return undefined;
		}
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

const OpenAiModels = z.looseObject({
	data: z.array(
		z.looseObject({
			id: z.string().min(1),
			owned_by: z.string().nullish(),
			meta: z.looseObject({ n_params: z.number().nullish() }).nullish().catch(undefined),
			/** Of a router of llama.cpp: how it starts the model. */
			status: z
				.looseObject({ args: z.array(z.string()).catch([]) })
				.optional()
				.catch(undefined),
			architecture: z
				.looseObject({ input_modalities: z.array(z.string()) })
				.optional()
				.catch(undefined),
		}),
	),
});
type OpenAiModel = z.output<typeof OpenAiModels>["data"][number];

/** Docker Model Runner has OpenAI's routes below this path. */
const DOCKER_PATH = "/engines/v1";

/** All engines have this list. The owner of the models identifies the engine. */
async function engineAt(origin: string, get: Get): Promise<Engine | undefined> {
	const list = await get("/v1/models");
	if (list === undefined) return undefined;
	const models = OpenAiModels.safeParse(list).data?.data;
	if (!models || models.some(({ owned_by }) => owned_by === "docker")) return dockerAt(origin, get);
	const owners = new Set(models.map(({ owned_by }) => owned_by));
	const url = `${origin}/v1`;
	if (owners.has("llamacpp"))
		return {
			name: "llama-cpp",
			kind: "openai",
			url,
			models: await ofLlamaCpp(models, get),
		};
	if (owners.has("vllm")) return { name: "vllm", kind: "openai", url, models: models.map(served) };
	const ollama = await ofOllama(get);
	if (ollama) return { name: "ollama", kind: "ollama", url: origin, models: ollama };
	const lmStudio = await ofLmStudio(get);
	if (lmStudio) return { name: "lm-studio", kind: "openai", url, models: lmStudio };
	return undefined;
}

async function dockerAt(origin: string, get: Get): Promise<Engine | undefined> {
	const models = OpenAiModels.safeParse(await get(`${DOCKER_PATH}/models`)).data?.data;
	if (!models?.some(({ owned_by }) => owned_by === "docker")) return undefined;
	const url = origin + DOCKER_PATH;
	return { name: "docker-model-runner", kind: "openai", url, models: models.map(served) };
}

const served = ({ id, meta }: OpenAiModel): ServedModel => {
	const named = readName(id);
	const billions = meta?.n_params ? meta.n_params / 1e9 : named.billions;
	return { name: id, ...named, ...(billions !== undefined && { billions }) };
};

const Props = z.looseObject({ modalities: z.looseObject({ vision: z.boolean() }) });

/** llama.cpp has one model, and reports whether it has vision. A router has several, and reports how it starts each. */
async function ofLlamaCpp(models: OpenAiModel[], get: Get): Promise<ServedModel[]> {
	if (models.some(({ status }) => status)) return models.map(ofRouter);
	const hasVision = Props.safeParse(await get("/props")).data?.modalities.vision;
	return models.map((model) => withVision(served(model), models.length === 1 ? hasVision : undefined));
}

/** llama.cpp's options without which a model has no embeddings, or no ranks. */
const TASK_OPTIONS: Partial<Record<ModelKind, readonly string[]>> = {
	embeddings: ["--embedding", "--embeddings"],
	reranking: ["--rerank", "--reranking"],
};

function ofRouter(model: OpenAiModel): ServedModel {
	const named = served(model);
	const args = new Set(model.status?.args);
	const required = TASK_OPTIONS[named.kind];
	const isServed = required ? required.some((option) => args.has(option)) : !startsOtherTask(args);
	if (!isServed) return { ...named, kind: "other" };
	return withVision(named, model.architecture?.input_modalities.includes("image"));
}

/** A model that computes embeddings or ranks does not chat. */
const startsOtherTask = (args: ReadonlySet<string>): boolean =>
	Object.values(TASK_OPTIONS).some((options) => options.some((option) => args.has(option)));

function withVision(model: ServedModel, hasVision: boolean | undefined): ServedModel {
	if (hasVision === undefined || (model.kind !== "chat" && model.kind !== "vision")) return model;
	return { ...model, kind: hasVision ? "vision" : "chat" };
}

const Version = z.looseObject({ version: z.string() });
const Tags = z.looseObject({
	models: z.array(
		z.looseObject({
			name: z.string().min(1),
			remote_host: z.string().nullish(),
			details: z
				.looseObject({
					families: z.array(z.string()).nullish(),
					parameter_size: z.string().nullish(),
				})
				.nullish(),
		}),
	),
});

/** Architectures of the vision part of a model. */
const VISION_PART = /clip|mllama|vision/;
const EMBEDDING_MODEL = /bert/;

/** `undefined`: another engine. Skips models that run on a remote host, because no data may leave this machine by default. */
async function ofOllama(get: Get): Promise<ServedModel[] | undefined> {
	if (!Version.safeParse(await get("/api/version")).success) return undefined;
	const tags = Tags.safeParse(await get("/api/tags")).data;
	return tags?.models
		.filter(({ name, remote_host }) => !remote_host && !/[:-]cloud$/.test(name))
		.map(({ name, details }) => {
			const named = readName(name);
			const families = (details?.families ?? []).join(" ");
			const stated = Number.parseFloat(details?.parameter_size ?? "");
			const size = /m$/i.test(details?.parameter_size ?? "") ? stated / 1000 : stated;
			return {
				...named,
				name,
				kind: kindOf(named.kind, families),
				...(size > 0 && { billions: size }),
			};
		});
}

function kindOf(byName: ModelKind, families: string): ModelKind {
	// Ollama has no route for reranking.
	if (byName === "reranking") return "other";
	if (byName !== "chat") return byName;
	if (VISION_PART.test(families)) return "vision";
	return EMBEDDING_MODEL.test(families) ? "other" : byName;
}

const LmStudioModels = z.looseObject({
	data: z.array(z.looseObject({ id: z.string().min(1), type: z.enum(["llm", "vlm", "embeddings"]) })),
});

/** LM Studio's own list has the type of each model. */
async function ofLmStudio(get: Get): Promise<ServedModel[] | undefined> {
	const list = LmStudioModels.safeParse(await get("/api/v0/models")).data;
	return list?.data.map(({ id, type }) => {
		const named = readName(id);
		if (type === "embeddings")
			return { name: id, ...named, kind: named.kind === "embeddings" ? "embeddings" : "other" };
		return withVision({ name: id, ...named }, type === "vlm");
	});
}
