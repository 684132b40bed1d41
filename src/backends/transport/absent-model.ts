/**
 * Recognizes the refusals of engines that do not have the model. Another target may have it, so such a refusal is not the
 * caller's mistake, although many engines send 400. Pure.
 */
import type { SentError } from "./sent-error.ts";

/** Codes and types that decide, whatever the status. */
const CODES: ReadonlySet<string | undefined> = new Set([
	// LM Studio: 400, OpenAI: 404
	"model_not_found",
	// Groq; Azure
	"model_decommissioned",
	"model_terms_required",
	"model_permission_blocked_org",
	"model_permission_blocked_project",
	"DeploymentNotFound",
	"unknown_model",
	"unavailable_model",
	// Mistral, Together, Hugging Face's router, LiteLLM, Portkey
	"invalid_model",
	"model_not_available",
	"model_not_supported",
	"key_model_access_denied",
	"model_not_allowed",
	// Alibaba, Zhipu, SiliconFlow
	"ModelNotFound",
	"1211",
	"20012",
]);

/** "not found" alone may be about a file. */
const MESSAGES: readonly RegExp[] = [
	/\bmodel:? ?["'`]?[^\s"'`]{1,200}["'`]? (?:was |is )?(?:not found|not loaded|not deployed|does not exist|not supported by this|is not available)/i,
	/\b(?:no such|unknown|invalid|unsupported) model\b|\bmodel not (?:exist|found|supported)\b|\bnot a valid model id\b/i,
	/\bno endpoints found for\b|\bmodel .{1,200} does not exist\b|\bunable to access (?:non-serverless )?model\b/i,
	// vLLM
	/\blora adapter .{1,200} cannot be found\b/i,
	// TabbyAPI, llama-swap
	/\bcould not find (?:the model|suitable handler for|real modelID for)\b/i,
	// Gemini
	/\bunexpected model name format\b/i,
	// Bedrock
	/\bmodel identifier is invalid\b|\binvocation of model ID .{1,200} isn.t supported\b/i,
	/\baccess to (?:the )?model\b/i,
	// LiteLLM
	/\bno healthy deployments for this model\b/i,
	// Infinity
	/\bModelNotDeployedError\b/,
];

/** Statuses whose message may be about the name of the model. */
const STATUSES: ReadonlySet<number> = new Set([400, 403, 404, 422, 500, 503]);

/** `param`: the field that the engine blames. A message about another field may quote anything. */
export const lacksModel = (
	status: number,
	{ code, type, message = "", param = "model" }: SentError,
): boolean =>
	CODES.has(code) ||
	CODES.has(type) ||
	(STATUSES.has(status) && param === "model" && MESSAGES.some((pattern) => pattern.test(message)));
