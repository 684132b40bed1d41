/**
 * Which engines run on this machine. Only loopback is asked, by a few GETs that change nothing, and what does not answer
 * at once, or with something else, is none. An engine is known by what it says of itself, not by its port: any of them
 * may have been moved to any.
 */
import * as z from "zod";
import type { ServedModel } from "./match.ts";
import { type ModelKind, readName } from "./names.ts";

/** Ollama, llama.cpp, vLLM, LM Studio, where they are unless somebody moved them. */
export const USUAL_PORTS: readonly number[] = [11434, 8080, 8000, 1234];
/** For all that is asked of one port. */
const ANSWER_MS = 300;
/** Longest list that is read. */
const MAX_BYTES = 1024 * 1024;

export interface Engine {
	/** In `BACKENDS`. */
	name: string;
	kind: "ollama" | "openai";
	/** As `BACKENDS` takes it. */
	url: string;
	models: ServedModel[];
}

interface ProbeOptions {
	ports?: readonly number[];
	timeoutMs?: number;
	fetch?: typeof fetch;
}

/** In the order of the ports; a second engine of one name is `name-2`. */
export async function findEngines({
	ports = USUAL_PORTS,
	timeoutMs = ANSWER_MS,
	fetch: ask = fetch,
}: ProbeOptions = {}): Promise<Engine[]> {
	const found = await Promise.all(
		[...new Set(ports)].map((port) => {
			const origin = `http://127.0.0.1:${port}`;
			const signal = AbortSignal.timeout(timeoutMs);
			return engineAt(origin, (path) => getJson(origin + path, signal, ask));
		}),
	);
	const times = new Map<string, number>();
	return found.flatMap((engine) => {
		if (!engine?.models.length) return [];
		const time = (times.get(engine.name) ?? 0) + 1;
		times.set(engine.name, time);
		return [time === 1 ? engine : { ...engine, name: `${engine.name}-${time}` }];
	});
}

type Get = (path: string) => Promise<unknown>;

/** Anything but JSON in time is `undefined`. */
async function getJson(url: string, signal: AbortSignal, ask: typeof fetch): Promise<unknown> {
	try {
		// Another host might be told by a redirect.
		const response = await ask(url, { signal, redirect: "error", headers: { accept: "application/json" } });
		if (!response.ok || !response.body) {
			await response.body?.cancel();
			return undefined;
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
		}),
	),
});
type OpenAiModel = z.output<typeof OpenAiModels>["data"][number];

/** All of them have this route; who owns the models says which engine it is. */
async function engineAt(origin: string, get: Get): Promise<Engine | undefined> {
	const models = OpenAiModels.safeParse(await get("/v1/models")).data?.data;
	if (!models) return undefined;
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

const served = ({ id, meta }: OpenAiModel): ServedModel => {
	const named = readName(id);
	const billions = meta?.n_params ? meta.n_params / 1e9 : named.billions;
	return { name: id, ...named, ...(billions !== undefined && { billions }) };
};

const Props = z.looseObject({ modalities: z.looseObject({ vision: z.boolean() }) });

/** It has one model, by a file's name or a chosen one, and says whether that sees. */
async function ofLlamaCpp(models: OpenAiModel[], get: Get): Promise<ServedModel[]> {
	const sees = Props.safeParse(await get("/props")).data?.modalities.vision;
	return models.map((model) => seeing(served(model), models.length === 1 ? sees : undefined));
}

function seeing(model: ServedModel, sees: boolean | undefined): ServedModel {
	if (sees === undefined || (model.kind !== "chat" && model.kind !== "vision")) return model;
	return { ...model, kind: sees ? "vision" : "chat" };
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

/** Parts of a model that see, by the names of their architectures. */
const EYES = /clip|mllama|vision/;
const EMBEDS = /bert/;

/** `undefined`: it is another. Models that run elsewhere are left out: nothing leaves this machine by itself. */
async function ofOllama(get: Get): Promise<ServedModel[] | undefined> {
	if (!Version.safeParse(await get("/api/version")).success) return undefined;
	const tags = Tags.safeParse(await get("/api/tags")).data;
	return tags?.models
		.filter(({ name, remote_host }) => !remote_host && !/[:-]cloud$/.test(name))
		.map(({ name, details }) => {
			const named = readName(name);
			const families = (details?.families ?? []).join(" ");
			const told = Number.parseFloat(details?.parameter_size ?? "");
			const size = /m$/i.test(details?.parameter_size ?? "") ? told / 1000 : told;
			return {
				...named,
				name,
				kind: kindOf(named.kind, families),
				...(size > 0 && { billions: size }),
			};
		});
}

function kindOf(byName: ModelKind, families: string): ModelKind {
	// It has no route for ranks.
	if (byName === "reranking") return "other";
	if (byName !== "chat") return byName;
	if (EYES.test(families)) return "vision";
	return EMBEDS.test(families) ? "other" : byName;
}

const LmStudioModels = z.looseObject({
	data: z.array(z.looseObject({ id: z.string().min(1), type: z.enum(["llm", "vlm", "embeddings"]) })),
});

/** Its own list tells what each is for. */
async function ofLmStudio(get: Get): Promise<ServedModel[] | undefined> {
	const list = LmStudioModels.safeParse(await get("/api/v0/models")).data;
	return list?.data.map(({ id, type }) => {
		const named = readName(id);
		if (type === "embeddings")
			return { name: id, ...named, kind: named.kind === "embeddings" ? "embeddings" : "other" };
		return seeing({ name: id, ...named }, type === "vlm");
	});
}
