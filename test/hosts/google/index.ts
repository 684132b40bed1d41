/** Gemini's `generateContent` and `streamGenerateContent` (https://ai.google.dev/api/generate-content). */
import * as z from "zod";
import { faultOf } from "../faults.ts";
import {
	bytesOf,
	type Conversation,
	type FailureName,
	type Host,
	RETRY_AFTER_S,
	Refusal,
	type Turn,
} from "../script.ts";
import { contentReply, GOOGLE_SIGNATURE } from "./reply.ts";

export const GOOGLE_KEY = "AIza-test";

/** Gemini CLI compresses conversations of unknown models with the first one. */
const MODELS = [
	"gemini-3.1-pro-preview-customtools",
	"gemini-3-flash-preview",
	"gemini-3.8-flash",
	"gemini-3.8-pro",
];
/** Documented for calls that the API did not make. */
const NO_SIGNATURE = "skip_thought_signature_validator";

const record = z.record(z.string(), z.unknown());
const Blob = z.strictObject({
	mimeType: z.string(),
	data: z.base64(),
	displayName: z.string().optional(),
});
const Part = z.strictObject({
	text: z.string().optional(),
	thought: z.boolean().optional(),
	thoughtSignature: z.string().optional(),
	inlineData: Blob.optional(),
	fileData: z.strictObject({ mimeType: z.string().optional(), fileUri: z.string() }).optional(),
	functionCall: z
		.strictObject({ id: z.string().optional(), name: z.string(), args: record.optional() })
		.optional(),
	functionResponse: z
		.strictObject({
			id: z.string().optional(),
			name: z.string(),
			response: record,
			parts: z.array(z.strictObject({ inlineData: Blob })).optional(),
		})
		.optional(),
});
const Content = z.strictObject({ role: z.enum(["user", "model"]).optional(), parts: z.array(Part).min(1) });

const ContentBody = z.strictObject({
	contents: z.array(Content).min(1),
	systemInstruction: z.strictObject({ role: z.string().optional(), parts: z.array(Part).min(1) }).optional(),
	generationConfig: z
		.strictObject({
			temperature: z.number().min(0).max(2).optional(),
			topP: z.number().optional(),
			topK: z.int().optional(),
			maxOutputTokens: z.int().min(1).optional(),
			stopSequences: z.array(z.string()).optional(),
			seed: z.int().optional(),
			candidateCount: z.int().optional(),
			presencePenalty: z.number().optional(),
			frequencyPenalty: z.number().optional(),
			responseMimeType: z.string().optional(),
			responseSchema: z.looseObject({}).optional(),
			responseJsonSchema: z.unknown().optional(),
			responseModalities: z.array(z.string()).optional(),
			responseLogprobs: z.boolean().optional(),
			logprobs: z.int().optional(),
			mediaResolution: z.string().optional(),
			thinkingConfig: z
				.strictObject({
					thinkingLevel: z
						.enum(["minimal", "low", "medium", "high", "MINIMAL", "LOW", "MEDIUM", "HIGH"])
						.optional(),
					thinkingBudget: z.int().optional(),
					includeThoughts: z.boolean().optional(),
				})
				.optional(),
		})
		.optional(),
	safetySettings: z.array(z.looseObject({})).optional(),
	cachedContent: z.string().optional(),
	labels: z.record(z.string(), z.string()).optional(),
	tools: z
		.array(
			z.strictObject({
				functionDeclarations: z
					.array(
						z.strictObject({
							name: z.string().regex(/^[A-Za-z_][\w.:-]{0,127}$/),
							description: z.string().optional(),
							parameters: z.looseObject({}).optional(),
							parametersJsonSchema: z.unknown().optional(),
							behavior: z.string().optional(),
						}),
					)
					.optional(),
				googleSearch: z.looseObject({}).optional(),
				urlContext: z.looseObject({}).optional(),
				codeExecution: z.looseObject({}).optional(),
			}),
		)
		.optional(),
	toolConfig: z
		.strictObject({
			functionCallingConfig: z
				.strictObject({
					mode: z.enum(["AUTO", "ANY", "NONE", "VALIDATED"]).optional(),
					allowedFunctionNames: z.array(z.string()).optional(),
				})
				.optional(),
			includeServerSideToolInvocations: z.boolean().optional(),
		})
		.optional(),
});
type ContentBody = z.output<typeof ContentBody>;

const PATH = /^\/v1(?:beta)?\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

const refusal = (code: number, status: string, message: string, details?: object[]): Refusal =>
	new Refusal(code, { error: { code, message, status, ...(details && { details }) } });
const invalid = (message: string): Refusal => refusal(400, "INVALID_ARGUMENT", message);

export const google: Host = ({ body, headers, path, query }, script) => {
	if (headers["x-goog-api-key"] !== GOOGLE_KEY)
		throw invalid("API key not valid. Please pass a valid API key.");
	const [, model = "", method] = PATH.exec(path) ?? [];
	if (!MODELS.includes(model))
		throw refusal(
			404,
			"NOT_FOUND",
			`models/${model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`,
		);
	const { data, error } = ContentBody.safeParse(body);
	if (!data) throw invalid(sentenceOf(error));
	check(data);
	const stream = method === "streamGenerateContent";
	if (stream && query !== "?alt=sse") throw invalid("This host streams server-sent events only.");
	const reply = script(conversationOf(data, model, stream));
	if (reply.kind === "failure") throw failureOf(reply.failure);
	return contentReply(reply, {
		model,
		stream,
		thoughts: data.generationConfig?.thinkingConfig?.includeThoughts === true,
	});
};

function sentenceOf(error: z.ZodError): string {
	const { message, path, unknownField } = faultOf(error);
	if (unknownField === undefined) return `Invalid value at '${path}': ${message}`;
	return `Invalid JSON payload received. Unknown name "${unknownField}"${path === "" ? "" : ` at '${path}'`}: Cannot find field.`;
}

function check({ contents }: ContentBody): void {
	for (const [place, { parts, role }] of contents.entries()) {
		const responses = parts.flatMap(({ functionResponse }) => functionResponse?.name ?? []);
		const calls = (contents[place - 1]?.parts ?? []).flatMap(({ functionCall }) => functionCall?.name ?? []);
		if (role !== "model" && [...calls].sort().join() !== [...responses].sort().join())
			throw invalid(
				"Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
			);
		// Of calls that are made together, the first has the signature.
		const first = parts.find(({ functionCall }) => functionCall);
		if (first && ![GOOGLE_SIGNATURE, NO_SIGNATURE].includes(first.thoughtSignature ?? ""))
			throw invalid(
				`Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`${first.functionCall?.name}\`, position ${place}.`,
			);
	}
}

function conversationOf(body: ContentBody, model: string, stream: boolean): Conversation {
	const { contents, generationConfig, systemInstruction, toolConfig, tools } = body;
	const { allowedFunctionNames = [], mode = "AUTO" } = toolConfig?.functionCallingConfig ?? {};
	const [only] = allowedFunctionNames;
	const text = (parts: readonly z.output<typeof Part>[], separator: string) =>
		parts.map((part) => (part.thought ? "" : (part.text ?? ""))).join(separator);
	const system: Turn[] = systemInstruction
		? [{ role: "system", text: text(systemInstruction.parts, "\n"), images: [], calls: [], results: [] }]
		: [];
	return {
		model,
		turns: [
			...system,
			...contents.map(
				({ parts, role }): Turn => ({
					role: role === "model" ? "assistant" : "user",
					text: text(parts, ""),
					images: parts
						.flatMap((part) => [part, ...(part.functionResponse?.parts ?? [])])
						.flatMap(({ inlineData }) => (inlineData ? [bytesOf(inlineData.data)] : [])),
					calls: parts.flatMap(({ functionCall }) =>
						functionCall ? [{ name: functionCall.name, input: functionCall.args ?? {} }] : [],
					),
					results: parts.flatMap(({ functionResponse }) =>
						functionResponse
							? [
									{
										name: functionResponse.name,
										text: String(
											functionResponse.response.output ?? JSON.stringify(functionResponse.response),
										),
									},
								]
							: [],
					),
				}),
			),
		],
		tools: (tools ?? []).flatMap(({ functionDeclarations = [] }) =>
			functionDeclarations.map(({ name }) => name),
		),
		hosted: (tools ?? []).flatMap(({ googleSearch }) => (googleSearch ? ["web_search"] : [])),
		choice:
			mode === "ANY" ? (only === undefined ? "any" : { name: only }) : mode === "NONE" ? "none" : "auto",
		json: generationConfig?.responseMimeType === "application/json",
		stream,
	};
}

function failureOf(failure: FailureName): Refusal {
	switch (failure) {
		case "rate limit":
			return refusal(
				429,
				"RESOURCE_EXHAUSTED",
				`You exceeded your current quota, please check your plan and billing details. Please retry in ${RETRY_AFTER_S}s.`,
				[{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${RETRY_AFTER_S}s` }],
			);
		case "full context":
		case "no room":
			return invalid(
				"The input token count (1213131) exceeds the maximum number of tokens allowed (1048576).",
			);
		case "server error":
			return refusal(503, "UNAVAILABLE", "The model is overloaded. Please try again later.");
	}
}
