/**
 * Reads requests of `generateContent` (https://ai.google.dev/api/generate-content) for any chat model.
 *
 * Google's own tools (`googleSearch`, `codeExecution`) are dropped and listed in `ChatInput.dropped`; a request without
 * another tool is refused. `safetySettings`, `labels`, `mediaResolution` and `serviceTier` are accepted and ignored. Fields that Google
 * does not know are refused, as by Google.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { own } from "../../core/own.ts";
import { present } from "../../core/present.ts";
import { THINKING_BUDGETS } from "../../models/gemini-wire.ts";
import type { Model } from "../../models/model.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import { jsonSchemaFormat } from "../chat/json-mode.ts";
import { contentRules } from "../chat/messages.ts";
import { chooseTools, readTools } from "../chat/tools.ts";
import { invalidInput } from "../invalid-input.ts";
import { readContents, SentContent } from "./contents.ts";
import { camelKeys } from "./keys.ts";
import { refuseUnknownFields } from "./known-fields.ts";
import { jsonSchemaOf } from "./schema.ts";
import { withSurfaceFields } from "./surface-fields.ts";

const anyObject = z.record(z.string(), z.unknown());
const count = z.number().int();

const Declaration = z.looseObject({
	name: z.string().min(1),
	description: z.string().nullish(),
	parameters: anyObject.nullish(),
	parametersJsonSchema: anyObject.nullish(),
});
const Tool = z.looseObject({ functionDeclarations: z.array(Declaration).nullish() });

const GenerationConfig = z.looseObject({
	temperature: z.number().min(0).max(2).nullish(),
	topP: z.number().min(0).max(1).nullish(),
	topK: z.number().min(0).nullish(),
	maxOutputTokens: count.min(1).nullish(),
	candidateCount: count.min(1).max(8).nullish(),
	stopSequences: z.array(z.string()).nullish(),
	seed: count.nullish(),
	presencePenalty: z.number().min(-2).max(2).nullish(),
	frequencyPenalty: z.number().min(-2).max(2).nullish(),
	responseLogprobs: z.boolean().nullish(),
	logprobs: count.min(0).max(20).nullish(),
	responseMimeType: z.string().nullish(),
	responseSchema: anyObject.nullish(),
	responseJsonSchema: anyObject.nullish(),
	responseModalities: z.array(z.string()).nullish(),
	thinkingConfig: z
		.looseObject({
			includeThoughts: z.boolean().nullish(),
			thinkingBudget: count.min(-1).nullish(),
			thinkingLevel: z.string().nullish(),
		})
		.nullish(),
});
type GenerationConfig = z.output<typeof GenerationConfig>;

const Fields = z.looseObject({
	contents: z.array(SentContent).min(1),
	systemInstruction: SentContent.nullish(),
	tools: z.array(Tool).nullish(),
	toolConfig: z
		.looseObject({
			functionCallingConfig: z
				.looseObject({
					mode: z.enum(["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"]).nullish(),
					allowedFunctionNames: z.array(z.string()).nullish(),
				})
				.nullish(),
		})
		.nullish(),
	generationConfig: GenerationConfig.nullish(),
	cachedContent: z.string().nullish(),
	/** `surface-fields.ts` */
	stream: z.boolean().optional(),
	counted: z.boolean().optional(),
});
export type GeminiRequest = z.output<typeof Fields>;

export const GeminiRequest = z.preprocess((sent) => {
	refuseUnknownFields(sent);
	return camelKeys(sent);
}, Fields);

/** Throws 5006 for content that the model does not accept, 8001 for unsupported fields. */
export function readRequest(request: GeminiRequest, model: Model): ChatInput {
	const config = request.generationConfig ?? {};
	if (request.cachedContent) throw invalidInput("cachedContent: nothing is stored here");
	const modality = config.responseModalities?.find((name) => name.toUpperCase() !== "TEXT");
	if (modality !== undefined)
		throw invalidInput("generationConfig.responseModalities: only TEXT is supported");
	const messages = readContents(request.contents, request.systemInstruction, {
		isPart: request.counted ?? false,
		rules: contentRules(model),
	});
	if (!messages.some(({ role }) => role !== "system"))
		throw invalidInput("contents: there is nothing in them");
	const effort = effortOf(config.thinkingConfig);
	return {
		messages,
		stream: request.stream ?? false,
		...present({
			temperature: config.temperature,
			top_p: config.topP,
			max_tokens: config.maxOutputTokens,
			seed: config.seed,
			presence_penalty: config.presencePenalty,
			frequency_penalty: config.frequencyPenalty,
		}),
		...(config.topK && { top_k: Math.round(config.topK) }),
		...((config.candidateCount ?? 1) > 1 && { n: config.candidateCount ?? 1 }),
		...(config.stopSequences?.length && { stop: config.stopSequences }),
		...(config.responseLogprobs && { logprobs: true, top_logprobs: config.logprobs ?? 0 }),
		...responseFormat(config),
		...toolFields(request),
		...(effort !== undefined && { reasoning_effort: effort }),
		...(showsThoughts(request) && { reasoning_summary: "auto" as const }),
	};
}

function responseFormat(config: GenerationConfig): Pick<ChatInput, "response_format"> {
	const { responseSchema, responseJsonSchema, responseMimeType: type = "text/plain" } = config;
	const schema = responseJsonSchema ?? (responseSchema && jsonSchemaOf(responseSchema));
	if (type === "text/x.enum")
		throw invalidInput("generationConfig.responseMimeType: text/x.enum is not supported");
	if (schema) return { response_format: jsonSchemaFormat(schema, "generationConfig.responseSchema") };
	return type === "application/json" ? { response_format: { type: "json_object" } } : {};
}

function toolFields({
	tools,
	toolConfig,
}: GeminiRequest): Pick<ChatInput, "tools" | "tool_choice" | "dropped"> {
	const functions = (tools ?? []).flatMap(({ functionDeclarations }) => functionDeclarations ?? []);
	const hosted = (tools ?? []).flatMap(({ functionDeclarations: _, ...others }) =>
		Object.keys(others).filter((name) => others[name] != null),
	);
	const [first] = hosted;
	if (first !== undefined && functions.length === 0)
		throw invalidInput(
			`tools: "${first.slice(0, 64)}" is a tool of Google's own, which this model does not have`,
		);
	const read = readTools(
		functions.map(({ name, description, parameters, parametersJsonSchema }) => ({
			name,
			description,
			parameters: parametersJsonSchema ?? (parameters && jsonSchemaOf(parameters)),
		})),
	);
	const dropped = [...new Set(hosted)]
		.filter((name) => /^\w{1,64}$/.test(name))
		.map((name) => `tools.${name}`);
	return { ...chooseTools(read, choiceOf(toolConfig)), ...(dropped.length > 0 && { dropped }) };
}

/** The tool choice in chat's form. `undefined` if the model may choose. */
function choiceOf(config: GeminiRequest["toolConfig"]): unknown {
	const { mode, allowedFunctionNames: names } = config?.functionCallingConfig ?? {};
	if (mode === "NONE") return "none";
	const allowed = (names ?? []).map((name) => ({ type: "function", function: { name } }));
	if (mode !== "ANY") return undefined;
	if (allowed.length === 0) return "required";
	return allowed.length === 1
		? allowed[0]
		: { type: "allowed_tools", allowed_tools: { mode: "required", tools: allowed } };
}

const LEVELS: Readonly<Record<string, ChatInput["reasoning_effort"]>> = {
	MINIMAL: "minimal",
	LOW: "low",
	MEDIUM: "medium",
	HIGH: "high",
};

/** `undefined` for a budget of -1: the model chooses its effort. */
function effortOf(config: GenerationConfig["thinkingConfig"]): ChatInput["reasoning_effort"] {
	const { thinkingBudget: budget, thinkingLevel } = config ?? {};
	const level = own(LEVELS, thinkingLevel?.toUpperCase());
	if (level !== undefined) return level;
	if (budget === 0) return null;
	if (budget == null || budget < 0) return undefined;
	if (budget <= THINKING_BUDGETS.low) return "low";
	return budget <= THINKING_BUDGETS.medium ? "medium" : "high";
}

/** Whether the reply has thoughts. */
export const showsThoughts = (request: GeminiRequest): boolean =>
	request.generationConfig?.thinkingConfig?.includeThoughts === true;

/** `countTokens` accepts `contents`, or a complete request in `generateContentRequest`. */
export function countedRequest(body: unknown): unknown {
	if (!isRecord(body)) return body;
	const inner = body.generateContentRequest ?? body.generate_content_request;
	return withSurfaceFields(isRecord(inner) ? inner : body, { counted: true });
}
