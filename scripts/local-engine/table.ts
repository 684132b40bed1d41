/**
 * The weights behind models of the catalogue: `weights.json`. A row has a repository of the hub, and what llama-server needs to know.
 * The hub states revision, exact sizes and hashes at the first download. They are kept beside the files (`store.ts`), unless the row
 * has them.
 */
import * as z from "zod";
import type { EngineTask } from "../../engine/model.ts";
import { PRODUCT_MODELS } from "../../src/models/catalog.ts";
import type { Model } from "../../src/models/model.ts";
import table from "./weights.json" with { type: "json" };

/** `same`: in the precision of the model's author. `sibling`: another model of the same task. */
type Relation = "same" | "quantised" | "sibling";

/** Of one path segment: they become folders and files. */
const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
/** Models of ONNX are in a folder of their repository. */
export const ONNX_FOLDER = "onnx";
export const FileName = z.string().refine((name) => SEGMENT.test(name.replace(`${ONNX_FOLDER}/`, "")));
export const Repository = z
	.string()
	.refine((name) => name.split("/").length === 2 && name.split("/").every((part) => SEGMENT.test(part)));
export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** The name that Git gives to the content of a file: SHA-1 of `blob {size}`, a zero byte and the content. */
export const GitBlob = z.string().regex(/^[0-9a-f]{40}$/);
/** The name of a commit, or a folder for files that came from none. */
export const Revision = z.string().regex(/^[A-Za-z0-9]{1,64}$/);

/** Tasks of the engine of ONNX models, which llama-server lacks. */
const ONNX_USES = [
	"text-classification",
	"image-classification",
	"object-detection",
	"translation",
	"summarization",
	"speech-recognition",
	"text-to-speech",
] as const satisfies readonly EngineTask[];

const WeightFile = z.strictObject({
	name: FileName,
	/** Approximate. */
	megabytes: z.number().positive(),
	/** The part of a model with vision that reads images. */
	part: z.literal("projector").optional(),
	/** Bytes and hash, if the table pins them. */
	size: z.int().positive().optional(),
	sha256: Sha256.optional(),
});

const Weights = z.strictObject({
	/** The id in the catalogue, or the name of the sibling. */
	name: z.string(),
	repository: Repository,
	revision: Revision.optional(),
	files: z.array(WeightFile).min(1),
	licence: z.string(),
	relation: z.enum(["same", "quantised", "sibling"]),
	/** Ids of the catalogue. `chat`: all models that chat and have no other weights. */
	serves: z.array(z.string()).min(1),
	use: z.enum(["chat", "embeddings", "reranking", ...ONNX_USES]),
	/** Which files of `onnx/` these are. */
	dtype: z.enum(["fp32", "fp16", "q8", "q4"]).optional(),
	/** The only language that it speaks. */
	language: z.string().optional(),
	/** How vectors of tokens become one. The first one is the default. */
	pooling: z.array(z.enum(["mean", "cls", "last"])).optional(),
	/** Tokens. llama-server is started with it. */
	context: z.int().positive().optional(),
});
export type Weights = z.output<typeof Weights>;

const Table = z.strictObject({
	licences: z.record(z.string(), z.strictObject({ name: z.string(), accept: z.url().optional() })),
	weights: z.array(Weights),
});

const { licences, weights } = Table.parse(table);

export const WEIGHTS: readonly Weights[] = weights;

/** Whether the engine of `engine/` runs it. llama-server runs the others. */
export const isOnnx = ({ use }: Weights): boolean => (ONNX_USES as readonly string[]).includes(use);

export interface Licence {
	/** Name in the table. */
	id: string;
	name: string;
	/** The address of its text. Absent: it asks for no acceptance. */
	accept?: string | undefined;
}

export const licenceOf = ({ licence }: Weights): Licence => ({
	id: licence,
	...(licences[licence] ?? { name: licence }),
});

const MEGABYTE = 1_000_000;

/** Bytes, from the table. */
export const approximateSize = ({ files }: Weights): number =>
	files.reduce((sum, { megabytes }) => sum + megabytes * MEGABYTE, 0);

/** For buffers of a small model, besides the weights and a cache that grows with them. */
const BASE_BYTES = 200 * MEGABYTE;
const CACHE_SHARE = 0.15;

/** Bytes of memory while the model is loaded, with its context. An estimate. */
export const memoryOf = (size: number): number => Math.ceil(size * (1 + CACHE_SHARE)) + BASE_BYTES;

const isOffered = ({ status, deprecated }: Model, now: number): boolean =>
	status !== "removed" && (deprecated === undefined || Date.parse(deprecated) > now);

/** Models that answer in the form of their own, which a chat model does not have. */
const isChat = ({ task, input, status }: Model): boolean =>
	task === "Text Generation" && !/^(?:decision|chat-guard)/.test(input) && status !== "gated";

/** What answers for a model of the catalogue. */
export interface ServedModel {
	weights: Weights;
	relation: Relation;
}

/**
 * The models of the catalogue that have weights. A chat model without a row gets the row for all chats or, as long as its files are
 * missing, the smallest chat model that is present. `now`: epoch milliseconds; ended models are left out.
 */
export function servedModels(
	now: number,
	isPresent: (weights: Weights) => boolean = () => true,
): Map<string, ServedModel> {
	const own = new Map(WEIGHTS.flatMap((row) => row.serves.map((id) => [id, row] as const)));
	const forChats = own.get("chat");
	const present = WEIGHTS.filter((row) => row.use === "chat" && isPresent(row));
	const [smallest] = present.sort((a, b) => approximateSize(a) - approximateSize(b));
	const sibling = forChats && (isPresent(forChats) ? forChats : (smallest ?? forChats));
	const models = PRODUCT_MODELS.filter((model) => {
		const weights = own.get(model.id);
		// An ended model runs if someone has its weights.
		return isOffered(model, now) || (weights && isOnnx(weights) && isPresent(weights));
	});
	return new Map(
		models.flatMap((model): [string, ServedModel][] => {
			const weights = own.get(model.id);
			if (weights) return [[model.id, { weights, relation: weights.relation }]];
			return sibling && isChat(model) ? [[model.id, { weights: sibling, relation: "sibling" }]] : [];
		}),
	);
}

/** The name of a row, the ids of the catalogue that it serves, and the last part of each. */
export const namesOfWeights = ({ name, serves }: Weights): string[] =>
	[name, ...serves].flatMap((id) => [id, id.slice(id.lastIndexOf("/") + 1)]);

/** By one of its names. */
export function findWeights(name: string, now: number): Weights | undefined {
	const wanted = name.toLowerCase();
	return (
		servedModels(now).get(name)?.weights ??
		WEIGHTS.find((row) => namesOfWeights(row).some((one) => one.toLowerCase() === wanted))
	);
}

/** For the header `x-ganglion-weights`. `revision`: that of the files. Absent: there are none yet. */
export const labelOf = (
	{ weights: { repository }, relation }: ServedModel,
	revision: string | undefined,
): string => `${repository}${revision === undefined ? "" : `@${revision}`}; ${relation}`;
