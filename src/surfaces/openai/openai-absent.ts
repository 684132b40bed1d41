/** Refusals of OpenAI's routes that this gateway does not have, with the reason (docs/choices.md). */
import { FAILURES } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { SLUGS } from "../../gateways/run/provider-names.ts";
import { type FailureFormat, failureOfClient, v4Failure } from "../../http/failure-formats.ts";
import { describeAddress, nearAddresses } from "../../http/near-address.ts";
import { defineUnknown, type UnknownPaths } from "../../http/route.ts";
import { V1 } from "../bases.ts";
import { OPENAI, openAiRoutes } from "./openai.ts";

const STORE = "send the input to /responses, which stores responses and conversations";
const IDS = "ids of responses begin with resp_, ids of conversations with conv_";
const FILES = "files are stored at /files, in one request: send their content with the request of a model";
const FILE_IDS = "ids of files begin with file- or file_";
const LIVE_AUDIO = "live audio is available at /ai/run/{model} over a websocket, for models that support it";
/** Resources of the `openai` SDK 7.59 for which there is no more to say. */
const OTHER_RESOURCES = [
	"agents",
	"chatkit",
	"content_provenance_checks",
	"organization",
	"projects",
	"safety",
	"skills",
	"vaults",
	"webhook_endpoints",
	"webhook_event_types",
];
/** Of Vercel's gateway: https://ai-sdk.dev/providers/ai-sdk-providers/ai-gateway. A model that is a text in the AI SDK is called by it. */
const AI_SDK_GATEWAY =
	"this is the API of @ai-sdk/gateway: use createOpenAICompatible of @ai-sdk/openai-compatible, or @ai-sdk/openai, with the address of this route up to /v1 as baseURL";

/** By the first segments after `/v1/`. */
const REASONS: Readonly<Record<string, string>> = {
	responses: IDS,
	"chat/completions": "chat completions are not stored",
	conversations: IDS,
	assistants: STORE,
	threads: STORE,
	files: FILE_IDS,
	uploads: FILES,
	vector_stores: FILES,
	containers: FILES,
	batches: "ids of batches begin with batch_",
	fine_tuning: "models are not trained here",
	evals: "models are not evaluated here",
	videos: "no model makes videos",
	images: "only images/generations and images/edits are available",
	audio: "only audio/speech, audio/transcriptions and audio/translations are available",
	"language-model": AI_SDK_GATEWAY,
	"embedding-model": AI_SDK_GATEWAY,
	"image-model": AI_SDK_GATEWAY,
	"reranking-model": AI_SDK_GATEWAY,
	"speech-model": AI_SDK_GATEWAY,
	"transcription-model": AI_SDK_GATEWAY,
	"video-model": AI_SDK_GATEWAY,
	realtime: LIVE_AUDIO,
	live: LIVE_AUDIO,
	...Object.fromEntries(
		OTHER_RESOURCES.map((name) => [name, "OpenAI's resource of this name is not available"]),
	),
};

const NO_ROUTE = FAILURES.noRoute.description;

const PROVIDER_ADDRESS = /^\/v1\/[^/]+\/[^/]+\/([^/]+)\/?$/;

/** The address of a gateway's provider without a path of its API: an incomplete base address, or the address of its websocket. */
function providerWithoutPath(path: string): string | undefined {
	const [, provider = ""] = PROVIDER_ADDRESS.exec(path) ?? [];
	if (!SLUGS.has(provider)) return undefined;
	return `${NO_ROUTE}: after ${provider} the path of its API is missing, and its websockets are not relayed`;
}

const nearAddress = lazy(() => nearAddresses(openAiRoutes.map(({ path }) => path)));

/** The address of the route of OpenAI that a path means. */
export const openAiAddress = (path: string): string | undefined => describeAddress(nearAddress()(path));

const DESCRIPTIONS = Object.entries(REASONS).map(([segments, reason]) => ({
	pattern: `/${segments}/*`,
	start: `${V1.path}/${segments}/`,
	description: `${NO_ROUTE}: ${reason}`,
}));

/**
 * The reason for a path below `/v1` that is misspelled, or that only OpenAI has. Some have the form of a gateway's address: `/v1/chat/completion`,
 * `/v1/responses/compact`.
 */
export function absentReason(path: string): string | undefined {
	return openAiAddress(path) ?? DESCRIPTIONS.find(({ start }) => path.startsWith(start))?.description;
}

const FIRST_SEGMENTS = lazy(
	() =>
		new Set(
			[...openAiRoutes.map(({ path }) => path), ...DESCRIPTIONS.map(({ start }) => start)]
				.filter((path) => path.startsWith(`${V1.path}/`))
				.map((path) => path.split("/")[2]),
		),
);

/** Whether a path begins like one of OpenAI, such as `/v1/chat/`. Cheap, for refusals of strangers: no search for the address that is meant. */
export const beginsAsOpenAi = (path: string): boolean => FIRST_SEGMENTS().has(path.split("/", 3)[2]);

const absent = [
	...DESCRIPTIONS.map(({ pattern, description }) => ({ path: pattern, explain: () => description })),
	{ path: "/*", explain: providerWithoutPath },
].map((paths) => ({ ...paths, explained: failureOfClient }));

/** AI Gateway's addresses are also below `/v1`. Therefore a path there without a reason is refused in the v4 envelope. */
const belowV1: FailureFormat = (error, requestId, request) =>
	(error.key === "noRoute" ? v4Failure : failureOfClient)(error, requestId, request);

export const openAiUnknown: readonly UnknownPaths[] = OPENAI.bases.flatMap((base) =>
	defineUnknown({ ...OPENAI, bases: [base], failure: base === V1 ? belowV1 : failureOfClient }, absent),
);

/** All other paths. */
export const anyUnknown: readonly UnknownPaths[] = defineUnknown({ bases: [{ path: "" }], tag: "" }, [
	{ path: "*", explained: failureOfClient },
]);
