/**
 * Gemini's `generateContent` as documented, as far as these tests go (https://ai.google.dev/api/generate-content): it
 * refuses what the API refuses, and answers with its candidates, whole or one event after the other.
 */
import * as z from "zod";
import type { Asked, Said } from "./asked.ts";
import { type Answer, pieces, type Question, type Turn, think } from "./mind.ts";

const args = z.record(z.string(), z.unknown());
const Part = z.strictObject({
	text: z.string().optional(),
	thoughtSignature: z.string().optional(),
	functionCall: z.strictObject({ id: z.string().optional(), name: z.string(), args }).optional(),
	functionResponse: z
		.strictObject({ id: z.string().optional(), name: z.string(), response: args })
		.optional(),
});
const Content = z.strictObject({ role: z.enum(["user", "model"]), parts: z.array(Part).min(1) });

const Request = z.strictObject({
	contents: z.array(Content).min(1),
	systemInstruction: z.strictObject({ parts: z.array(Part).min(1) }).optional(),
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
			responseJsonSchema: z.unknown().optional(),
			thinkingConfig: z
				.strictObject({
					thinkingLevel: z.enum(["minimal", "low", "medium", "high"]),
					includeThoughts: z.boolean().optional(),
				})
				.optional(),
		})
		.optional(),
	tools: z
		.array(
			z.strictObject({
				functionDeclarations: z.array(
					z.strictObject({
						name: z.string(),
						description: z.string().optional(),
						parametersJsonSchema: z.unknown().optional(),
					}),
				),
			}),
		)
		.optional(),
	toolConfig: z
		.strictObject({
			functionCallingConfig: z.strictObject({
				mode: z.enum(["AUTO", "ANY", "NONE", "VALIDATED"]),
				allowedFunctionNames: z.array(z.string()).optional(),
			}),
		})
		.optional(),
});
type Request = z.output<typeof Request>;

const SIGNATURE = "c2lnLW9mLWdlbWluaQ==";
/** Documented for calls that the API did not make. */
const NO_SIGNATURE = "skip_thought_signature_validator";

const PATH = /^\/v1(?:beta)?\/models\/(gemini-[\w.-]+):(generateContent|streamGenerateContent)$/;

export function gemini({ path, query, headers, body }: Asked): Said {
	if (headers["x-goog-api-key"] !== "AIza-test")
		return refusal(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.");
	const [, modelVersion, method] = PATH.exec(path) ?? [];
	if (!modelVersion) return refusal(404, "NOT_FOUND", `models/${path} is not found`);
	const { data, error } = Request.safeParse(body);
	if (!data) return refusal(400, "INVALID_ARGUMENT", z.prettifyError(error));
	const wrong = faultOf(data);
	if (wrong) return refusal(400, "INVALID_ARGUMENT", wrong);

	const heading = { modelVersion, responseId: `r-${crypto.randomUUID().slice(0, 8)}` };
	const answer = think(questionOf(data));
	const shows = data.generationConfig?.thinkingConfig?.includeThoughts === true;
	const usageMetadata = {
		promptTokenCount: 20,
		candidatesTokenCount: 9,
		thoughtsTokenCount: 5,
		totalTokenCount: 34,
	};
	if (method === "generateContent") {
		const parts = partsOf(answer, shows);
		return {
			json: {
				candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
				usageMetadata,
				...heading,
			},
		};
	}
	if (query !== "?alt=sse") return refusal(400, "INVALID_ARGUMENT", "these tests read server-sent events");
	const said = partsOf(answer, shows).flatMap((part) =>
		part.text === undefined ? [part] : pieces(part.text).map((text) => ({ ...part, text })),
	);
	const events = [...said.map((part) => ({ content: { role: "model", parts: [part] }, index: 0 })), END];
	return {
		events: events.map(
			(candidate) =>
				`data: ${JSON.stringify({ candidates: [candidate], usageMetadata, ...heading })}\r\n\r\n`,
		),
	};
}

const END = {
	content: { role: "model", parts: [{ text: "", thoughtSignature: SIGNATURE }] },
	finishReason: "STOP",
	index: 0,
};

const refusal = (code: number, status: string, message: string): Said => ({
	status: code,
	json: { error: { code, message, status } },
});

/** What a schema does not say. */
function faultOf({ contents }: Request): string | undefined {
	for (const [place, { role, parts }] of contents.entries()) {
		const responses = parts.flatMap(({ functionResponse }) => functionResponse?.name ?? []);
		const calls = (contents[place - 1]?.parts ?? []).flatMap(({ functionCall }) => functionCall?.name ?? []);
		if (role === "user" && [...calls].sort().join() !== [...responses].sort().join())
			return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
		const first = parts.find(({ functionCall }) => functionCall);
		if (first && ![SIGNATURE, NO_SIGNATURE].includes(first.thoughtSignature ?? ""))
			return `Function call is missing a thought_signature in functionCall parts: ${first.functionCall?.name}`;
	}
	return undefined;
}

function questionOf({
	contents,
	systemInstruction,
	tools = [],
	toolConfig,
	generationConfig,
}: Request): Question {
	const turns = contents.map(
		({ role, parts }): Turn => ({
			role: role === "model" ? "assistant" : "user",
			text: parts.map(({ text = "" }) => text).join(""),
			results: parts.flatMap(({ functionResponse: given }) =>
				given
					? [{ name: given.name, text: String(given.response.output ?? JSON.stringify(given.response)) }]
					: [],
			),
		}),
	);
	const system = systemInstruction?.parts.map(({ text = "" }) => text).join("\n") ?? "";
	const { mode = "AUTO", allowedFunctionNames } = toolConfig?.functionCallingConfig ?? {};
	const [only] = allowedFunctionNames ?? [];
	return {
		turns: [{ role: "system", text: system, results: [] }, ...turns],
		tools: tools.flatMap(({ functionDeclarations }) => functionDeclarations.map(({ name }) => name)),
		choice: mode === "ANY" ? (only ? { name: only } : "any") : mode === "NONE" ? "none" : "auto",
		json: generationConfig?.responseMimeType === "application/json",
	};
}

interface SaidPart {
	text?: string;
	thought?: true;
	thoughtSignature?: string;
	functionCall?: object;
}

const partsOf = ({ text, calls }: Answer, shows: boolean): SaidPart[] => [
	...(shows ? [{ text: "The user wants to be answered.", thought: true } as const] : []),
	...(text ? [{ text }] : []),
	...calls.map(({ name, input }, place) => ({
		functionCall: { id: crypto.randomUUID().slice(0, 8), name, args: input },
		// Of calls that are made together, the first is signed.
		...(place === 0 && { thoughtSignature: SIGNATURE }),
	})),
];
