/**
 * OpenAI-compatible routes: `/client/v4/accounts/{account}/ai/v1/…`, for the `openai` SDK with only its `baseURL` changed,
 * and `/v1/…` for the account of the token. Replies have no envelope. Failures are in the v4 envelope, as in the product,
 * with OpenAI's `error` added; `/responses` and `/messages` have the formats of OpenAI and Anthropic. The request's id is
 * also in the header that the SDK reads.
 *
 * Not in the product: `GET /models`, streaming `responses` for every chat model, `messages` for models of all authors,
 * `messages/count_tokens`, `responses/input_tokens`, `rerank`, images and audio. Routes of OpenAI that this gateway does
 * not have are refused with a reason (`openai-absent.ts`).
 *
 * Difference from Anthropic: `count_tokens` returns the gateway's own estimate, not the count of the model's tokenizer.
 */
import type { Context } from "hono";
import { otherDialects } from "../../dialects/index.ts";
import { OPENAI_CHAT } from "../../dialects/route-dialect.ts";
import { ANTHROPIC_KEY, AUTHORIZATION, AZURE_KEY } from "../../http/credentials.ts";
import { REQUEST_ID } from "../../http/envelope.ts";
import { messagesFailure, openAiFailure } from "../../http/failure-formats.ts";
import { BY_MODEL, type RouteGroup } from "../../http/route.ts";
import { inputFamily } from "../../models/family.ts";
import { withWebSearch } from "../../websearch/with-web-search.ts";
import { answer } from "../answer.ts";
import { AI, below, V1 } from "../bases.ts";
import { BATCHES } from "../jobs/batch-routes.ts";
import { FILES } from "../jobs/file-routes.ts";
import { messageBatchRoutes } from "../jobs/message-batch-routes.ts";
import { CONVERSATIONS } from "../responses/conversation-routes.ts";
import { RESPONSE_ROUTES, RESPONSES } from "../responses/response-routes.ts";
import { STORED_RESPONSES } from "../responses/stored-routes.ts";
import { type AppCall, type AppRoute, type AppRouteDeclaration, defineRoutes } from "../route.ts";
import { STANDALONE_SEARCH } from "../websearch/standalone-search.ts";
import { countBody } from "./count-tokens.ts";
import { DECISIONS, SYSTEM_ONE } from "./decision-routes.ts";
import { runEach } from "./image-batch.ts";
import { MODEL_ROUTES, MODELS } from "./model-routes.ts";
import { dialectRoute, formRoute, type OpenaiRoute } from "./openai-route.ts";

/** For examples. */
const CHAT_MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const WHISPER = "@cf/openai/whisper";
const HELLO = [{ role: "user", content: "Hello, who are you?" }];

const MESSAGES: OpenaiRoute = {
	dialect: async () => (await otherDialects()).anthropicMessages,
	task: "Text Generation",
	summary: "Answers a request of Anthropic's Messages API",
	example: { model: CHAT_MODEL, max_tokens: 64, messages: HELLO },
	failure: messagesFailure,
	withHeaders: withBetas,
	run: withWebSearch("messages"),
};

/** Anthropic's SDKs send features in a header, which belongs to fields of the body. Its other APIs have them in the body. */
function withBetas(fields: Record<string, unknown>, headers: Headers): Record<string, unknown> {
	const inHeader =
		headers
			.get("anthropic-beta")
			?.split(/\s*,\s*/)
			.filter(Boolean) ?? [];
	if (inHeader.length === 0) return fields;
	const inBody = Array.isArray(fields.betas) ? fields.betas : [];
	return { ...fields, betas: [...new Set([...inBody, ...inHeader])] };
}

export const EMBEDDINGS: OpenaiRoute = {
	dialect: async () => (await otherDialects()).openaiEmbeddings,
	task: "Text Embeddings",
	summary: "Embeds texts",
	example: { model: "@cf/baai/bge-m3", input: ["Hello"] },
};

export const RERANK: OpenaiRoute = {
	dialect: async () => (await otherDialects()).rerankRoute,
	task: "Text Classification",
	summary: "Orders documents by their relevance for a query",
	accepts: (model) => inputFamily(model).reranks ?? false,
	example: {
		model: "@cf/baai/bge-reranker-base",
		query: "What is a Durable Object?",
		documents: ["A recipe", "A Durable Object has storage."],
	},
};

/** Routes with a JSON body. */
export const OPENAI_ROUTES: Readonly<Record<string, OpenaiRoute>> = {
	"/chat/completions": {
		...OPENAI_CHAT,
		summary: "Continues a chat",
		example: { model: CHAT_MODEL, messages: HELLO },
		run: withWebSearch("chat"),
	},
	"/completions": {
		dialect: async () => (await otherDialects()).openaiCompletions,
		task: "Text Generation",
		summary: "Continues a text",
		example: { model: CHAT_MODEL, prompt: "Once upon a time" },
	},
	"/responses": RESPONSES,
	"/messages": MESSAGES,
	// Anthropic's SDKs append `/v1` to their base address, even if it ends with `/v1`.
	"/v1/messages": MESSAGES,
	"/embeddings": EMBEDDINGS,
	"/moderations": {
		dialect: async () => (await otherDialects()).openaiModerations,
		task: "Text Generation",
		summary: "Tells whether texts are harmful, and how",
		accepts: (model) => inputFamily(model).isGuard ?? false,
		example: { model: "@cf/meta/llama-guard-3-8b", input: "I want to kill them." },
		defaultModel: "omni-moderation-latest",
	},
	"/rerank": RERANK,
	"/decisions": DECISIONS,
	"/systemone": SYSTEM_ONE,
	"/images/generations": {
		dialect: async () => (await otherDialects()).openaiImages,
		task: "Text-to-Image",
		summary: "Generates images from a prompt",
		example: { model: "@cf/black-forest-labs/flux-1-schnell", prompt: "A lighthouse" },
		run: runEach,
		splits: true,
	},
	"/audio/speech": {
		dialect: async () => (await otherDialects()).openaiSpeech,
		task: "Text-to-Speech",
		summary: "Speaks a text",
		example: { model: "@cf/deepgram/aura-1", input: "Hello", voice: "asteria" },
	},
};

/** Routes with a form. A value with `@` in an example is a file, as for `curl -F`. */
export const FORM_ROUTES: Readonly<Record<string, OpenaiRoute>> = {
	"/audio/transcriptions": {
		dialect: async () => (await otherDialects()).openaiTranscription,
		task: "Automatic Speech Recognition",
		summary: "Transcribes a recording",
		example: { file: "@recording.mp3", model: WHISPER },
	},
	"/audio/translations": {
		dialect: async () => (await otherDialects()).openaiTranslation,
		task: "Automatic Speech Recognition",
		summary: "Translates a recording to English text",
		example: { file: "@recording.mp3", model: WHISPER },
	},
	"/images/edits": {
		dialect: async () => (await otherDialects()).openaiImageEdit,
		task: "Text-to-Image",
		summary: "Edits an image",
		example: {
			image: "@lighthouse.png",
			prompt: "At night",
			model: "@cf/black-forest-labs/flux-2-klein-4b",
		},
	},
};

/** Messages requires `max_tokens`, which requests for a token count omit. */
const NO_OUTPUT = { max_tokens: 1 };

/** `OPENAI_ROUTES` has the paths of Messages below both of their bases. */
export const OPENAI: RouteGroup = {
	bases: [below(AI, V1.path), V1],
	tag: "OpenAI",
	failure: openAiFailure,
	credentials: [AUTHORIZATION, AZURE_KEY],
};
const ANTHROPIC: RouteGroup = {
	bases: OPENAI.bases,
	tag: "Anthropic",
	failure: messagesFailure,
	credentials: [AUTHORIZATION, ANTHROPIC_KEY],
};

const isMessages = ([, route]: [string, OpenaiRoute]): boolean => route === MESSAGES;

const OPENAI_DECLARATIONS: readonly AppRouteDeclaration[] = [
	...Object.entries(OPENAI_ROUTES)
		.filter((route) => !isMessages(route))
		.map(([path, route]) => ({
			...dialectRoute(path, route),
			failure: route.failure ?? openAiFailure,
		})),
	...RESPONSE_ROUTES,
	...STANDALONE_SEARCH,
	...FILES,
	...BATCHES,
	...STORED_RESPONSES,
	...CONVERSATIONS,
	...Object.entries(FORM_ROUTES).map(([path, route]) => formRoute(path, route)),
];

const MESSAGES_DECLARATIONS: readonly AppRouteDeclaration[] = Object.entries(OPENAI_ROUTES)
	.filter(isMessages)
	.flatMap(([path, route]): AppRouteDeclaration[] => [
		dialectRoute(path, route),
		{
			method: "POST",
			path: `${path}/count_tokens`,
			summary: "Counts the tokens of a request for /messages",
			input: { ...BY_MODEL, example: MESSAGES.example },
			output: answer("messageTokensAnswer"),
			permission: "run",
			lazy: true,
			handler: countMessages,
		},
		...messageBatchRoutes(path),
	]);

export const openAiRoutes: readonly AppRoute[] = [
	...defineRoutes(OPENAI, OPENAI_DECLARATIONS),
	...defineRoutes(ANTHROPIC, MESSAGES_DECLARATIONS),
	...defineRoutes({ ...MODELS, bases: OPENAI.bases }, MODEL_ROUTES),
];

async function countMessages(c: Context, call: AppCall): Promise<Response> {
	const input_tokens = await countBody(c, call, { route: MESSAGES, search: "messages", defaults: NO_OUTPUT });
	return Response.json({ input_tokens }, { headers: { [REQUEST_ID]: call.id, "request-id": call.id } });
}
