/**
 * Classifies an engine's error by its type, code and message. The status alone does not show whose mistake it is:
 * llama.cpp answers 500 to an image for a text model, vLLM 400 to a context that is too long, OpenAI 429 to an empty
 * account. Pure.
 */
import type { FailureKey } from "../../core/errors.ts";
import { lacksModel } from "./absent-model.ts";
import type { SentError } from "./sent-error.ts";

export const NOT_IMPLEMENTED = 501;

/** Types and codes that decide, whatever the status. */
const KEY_OF_CODE = new Map<string | undefined, FailureKey>([
	// OpenAI, Azure
	["content_filter", "refusedByModel"],
	["content_policy_violation", "refusedByModel"],
	["moderation_blocked", "refusedByModel"],
	["bio_policy", "refusedByModel"],
	["misalignment_policy_violation", "refusedByModel"],
	["image_content_policy_violation", "refusedByModel"],
	["context_length_exceeded", "contextWindowExceeded"],
	// llama.cpp
	["exceed_context_size_error", "contextWindowExceeded"],
	// Z.ai
	["model_context_window_exceeded", "contextWindowExceeded"],
	["string_above_max_length", "contextWindowExceeded"],
	["1261", "contextWindowExceeded"],
	["1301", "refusedByModel"],
	// Azure, Alibaba, MiniMax
	["ResponsibleAIPolicyViolation", "refusedByModel"],
	["data_inspection_failed", "refusedByModel"],
	["DataInspectionFailed", "refusedByModel"],
	["1026", "refusedByModel"],
	["1027", "refusedByModel"],
]);

/** OpenAI: the account of the key has no credit left. Waiting does not help. */
const QUOTA_CODES: ReadonlySet<string | undefined> = new Set([
	"insufficient_quota",
	"billing_hard_limit_reached",
	"billing_not_active",
	// Alibaba, Zhipu, MiniMax
	"Arrearage",
	"1113",
	"1008",
]);
/** Anthropic has no code for it: 400, `invalid_request_error`. */
const QUOTA_MESSAGE = /credit balance is too low/i;

/** The prompt and `max_tokens` do not fit. Each engine has its own sentence, and most have no code for it. */
const CONTEXT_MESSAGES: readonly RegExp[] = [
	// OpenAI and vLLM ("However, you requested …"); SGLang ("exceeds the model's maximum context length of …").
	/maximum context length (?:is|of) \d+/i,
	// vLLM 1
	/longer than the maximum model length of \d+/i,
	/too long to fit into the model/i,
	// Newer vLLM: "You passed 5001 input tokens … However, the model's context length is only 4096 tokens, …"
	/model's context length is only \d+/i,
	// SGLang
	/longer than the model's context length/i,
	/exceeds the maximum allowed length/i,
	// Text Generation Inference
	/`inputs` must have less than \d+ tokens/,
	/`inputs` tokens \+ `max_new_tokens` must be <= \d+/,
	// llama.cpp
	/exceeds? the available context size/i,
	/too big compared to KV size/i,
	// Its embeddings: "input (12000 tokens) is too large to process. increase the physical batch size …"
	/\btoo large to process\b/i,
	// Ollama
	/input length exceeds (?:the |maximum )?context length/i,
	/prompt too long; exceeded (?:max )?context length/i,
	// LM Studio
	/model is loaded with context length of only|greater than the context length/i,
	// Anthropic
	/prompt is too long: \d+ tokens/i,
	/input length and `max_tokens` exceed context limit/i,
	// Gemini
	/input token count.* exceeds the maximum number of tokens/i,
	// OpenAI's Responses, MiniMax
	/exceeds the context window|context window exceeds limit/i,
	// Mistral, Fireworks
	/too large for model with \d+ maximum context length|model maximum context length: \d+/i,
	// xAI, Moonshot
	/maximum prompt length is \d+|exceeded model token limit/i,
	// Alibaba, Z.ai, Cohere
	/range of input length should be|^prompt exceeds max length|^too many tokens: /i,
	// Bedrock
	/input is too long for requested model/i,
	// OpenRouter, DeepInfra, LiteLLM, NVIDIA
	/maximum context length (?:of|is) (?:the )?(?:model|endpoint|\d)|endpoint's maximum context length/i,
	/context (?:window|length|size)(?: limit)? (?:is |has been |was )?exceeded|exceed(?:s|ed)? (?:the )?(?:model's )?(?:maximum )?context (?:window|length|size|limit)/i,
];

/** The service has no room at the moment, whatever the status. */
const OVERLOADED_MESSAGE =
	/\b(?:is|are|currently|temporarily|server|engine|service) overloaded\b|\boverloaded_error\b|\b(?:no|insufficient) capacity\b|\bat capacity\b|\bserver (?:is )?busy\b|\bqueue is full\b|\brate limit(?:ed)? (?:exceeded|reached)\b|\btoo many requests\b/i;
const MAY_BE_OVERLOAD: ReadonlySet<number> = new Set([500, 502, 503, 529]);

/** Statuses whose body may be about the length of the context. */
const MAY_BE_CONTEXT: ReadonlySet<number> = new Set([400, 413, 422, 500]);

/** Types of a caller's mistake. Engines put them beside a 5xx status, too. */
const REFUSAL_TYPES: ReadonlySet<string | undefined> = new Set([
	"invalid_request_error",
	"BadRequestError",
	"ValueError",
	"UnprocessableEntityError",
	"not_supported_error",
	"NotImplementedError",
]);

/**
 * Messages about the request that come with status 500. Messages about the engine, or about the model's output, are not
 * here: such a request may succeed when it is retried.
 */
const REFUSAL_MESSAGES: readonly RegExp[] = [
	// llama.cpp: "image input is not supported - hint: …", "This server does not support embeddings. …"
	/\b(?:is|are) not supported\b/i,
	/\bdoes not support\b/i,
	// llama.cpp: "tools param requires --jinja flag"
	/\brequires? --[a-z]/,
	// llama.cpp: "Failed to parse messages: …", "Failed to parse tools: …"
	/^Failed to parse (?:messages|tools|chat template|grammar)\b/i,
	// Older llama.cpp: media, grammars, schemas, and combinations of fields
	/^Failed to (?:load image|download image|tokenize prompt|initialize samplers)\b/i,
	/^JSON schema conversion failed\b|^Cannot use (?:custom )?grammar|^Cannot have 2 or more assistant/i,
	/\bincompatible with enable_thinking\b|^Invalid tool_choice\b|^unsupported content\[\]/i,
	// vLLM before 0.7
	/\bis not a multimodal model\b/i,
	/\bjson\.exception\./,
	// Chat templates that refuse the order of the roles: llama.cpp, vLLM, Ollama
	/\bjinja exception\b|\braise_exception\b|\broles must alternate\b|\bsystem message must be\b/i,
	// Ollama: a schema that is not valid
	/\binvalid (?:JSON schema in )?format\b/i,
	// Ollama: an image that is not valid
	/\binvalid image\b|\bimage: unknown format\b|\bmissing data required for image input\b/i,
];

/** llama.cpp: the requests that run at the same time share the context. */
const SHARED_CONTEXT_MESSAGE = /^Context size has been exceeded/;
/** OpenAI sends 429 for a single request above the limit of tokens per minute. Waiting does not help. */
const TOO_LARGE_MESSAGE = /^Request too large\b/i;
/** OpenRouter sends 403 for an input that a provider's moderation flags. The key is good. */
const MODERATION_MESSAGE = /\bmoderation\b.*\bflagged\b|\binput was flagged\b/i;

/** Types of errors that come without a status, inside a stream. */
const STATUS_OF_TYPE = new Map<string | undefined, number>([
	["BadRequestError", 400],
	["invalid_request_error", 400],
	["exceed_context_size_error", 400],
	["authentication_error", 401],
	["billing_error", 402],
	["permission_error", 403],
	["not_found_error", 404],
	["request_too_large", 413],
	["rate_limit_error", 429],
	["rate_limit_exceeded", 429],
	["insufficient_quota", 429],
	["not_supported_error", NOT_IMPLEMENTED],
	["overloaded_error", 503],
	["unavailable_error", 503],
	["timeout_error", 504],
	// Google
	["INVALID_ARGUMENT", 400],
	["FAILED_PRECONDITION", 400],
	["UNAUTHENTICATED", 401],
	["PERMISSION_DENIED", 403],
	["NOT_FOUND", 404],
	["RESOURCE_EXHAUSTED", 429],
	["UNAVAILABLE", 503],
	["DEADLINE_EXCEEDED", 504],
	// OpenAI, Mistral, Bedrock, Zhipu
	["server_overloaded", 503],
	["engine_overloaded", 503],
	["engine_overloaded_error", 503],
	["overloaded", 503],
	["service_unavailable", 503],
	["throttlingException", 429],
	["ThrottlingException", 429],
	["Throttling", 429],
	["rate_limit_reached_error", 429],
	["invalid_api_key", 401],
	["invalid_authentication_error", 401],
	["AccessDeniedException", 403],
	["ModelNotReadyException", 503],
	["ServiceUnavailableException", 503],
	["ModelTimeoutException", 504],
	["ValidationException", 400],
	["InvalidParameter", 400],
	["1001", 504],
	["1002", 429],
	["1004", 401],
	["1039", 429],
	["2013", 400],
	["2049", 401],
	["1000", 401],
	["1210", 400],
	["1302", 429],
	["1303", 429],
	["1305", 503],
]);

/** Names that are not in the table, by their family. OpenAI's Responses has a code for each fault of an image. */
const STATUS_OF_FAMILY: readonly (readonly [RegExp, number])[] = [
	[/rate_?limit|too_many_requests|throttl|quota_?violation|spike_?arrest/i, 429],
	[/timeout/i, 504],
	[/^(?:invalid|unsupported|empty)_|_mismatch$|_policy(?:_violation)?$|(?:^|_)image(?:_|$)/i, 400],
];

/** The type of every refusal of a request. The code is more exact. */
const GENERAL_TYPE = "invalid_request_error";

/** The status that an error inside an answer stands for. */
export function statusOf({ code, type, status: named }: SentError): number {
	const status = Number(code);
	if (Number.isInteger(status) && status >= 400 && status <= 599) return status;
	const byType = STATUS_OF_TYPE.get(type);
	const byCode = STATUS_OF_TYPE.get(code);
	const exact = type === GENERAL_TYPE ? (byCode ?? byType) : (byType ?? byCode);
	return exact ?? named ?? familyStatus(code) ?? familyStatus(type) ?? 500;
}

const familyStatus = (name = ""): number | undefined =>
	STATUS_OF_FAMILY.find(([pattern]) => pattern.test(name))?.[1];

/** `undefined`: the status decides. */
export function keyOfRefusal(status: number, sent: SentError): FailureKey | undefined {
	const { code, message = "", type } = sent;
	const byCode = KEY_OF_CODE.get(code) ?? KEY_OF_CODE.get(type);
	if (byCode) return byCode;
	if (isQuota(sent)) return "upstreamUnavailable";
	if (status === 500 && SHARED_CONTEXT_MESSAGE.test(message)) return "outOfCapacity";
	if (MAY_BE_CONTEXT.has(status) && matches(CONTEXT_MESSAGES, message)) return "contextWindowExceeded";
	if (status === 429 && TOO_LARGE_MESSAGE.test(message)) return "requestTooLarge";
	if (status === 403 && MODERATION_MESSAGE.test(message)) return "refusedByModel";
	if (lacksModel(status, sent) || lacksRoute(message)) return "noSuchModel";
	if (MAY_BE_OVERLOAD.has(status) && OVERLOADED_MESSAGE.test(message)) return "outOfCapacity";
	if (status === NOT_IMPLEMENTED && message !== "") return "engineRefused";
	if (status !== 500) return undefined;
	return REFUSAL_TYPES.has(type) || matches(REFUSAL_MESSAGES, message) ? "engineRefused" : undefined;
}

/** The answer of Cloudflare's API and of another Ganglion to an unknown path has the status 400. */
export const lacksRoute = (message = ""): boolean => /\bno route for that uri\b/i.test(message);

export const isQuota = ({ code, message = "", type }: SentError): boolean =>
	QUOTA_CODES.has(code) || QUOTA_CODES.has(type) || QUOTA_MESSAGE.test(message);

const matches = (patterns: readonly RegExp[], message: string): boolean =>
	patterns.some((pattern) => pattern.test(message));
