/**
 * The routes for decisions: `/v1/decisions` of OpenAI, which Google's SDK calls too, and `/v1/systemone`. A request whose body has another
 * contract gets the answer of that contract.
 */
import { otherDialects } from "../../dialects/index.ts";
import { AUTHORIZATION, GEMINI_KEYS } from "../../http/credentials.ts";
import { type FailureFormat, GOOGLE_KEY, geminiFailure, openAiFailure } from "../../http/failure-formats.ts";
import type { OpenaiRoute } from "./openai-route.ts";

const CLEF = "@cf/cloudflare/clef";

/** Google's format for a client that sends `x-goog-api-key`. */
const decisionsFailure: FailureFormat = (error, requestId, request) =>
	(request.header(GOOGLE_KEY) === undefined ? openAiFailure : geminiFailure)(error, requestId);

const common = {
	task: "Text Generation",
	decides: true,
	failure: decisionsFailure,
	credentials: [AUTHORIZATION, ...GEMINI_KEYS],
	// Google's SDK names a model so.
	modelOf: (named: string) => named.replace(/^models\//, ""),
} as const;

export const DECISIONS: OpenaiRoute = {
	...common,
	dialect: async () => (await otherDialects()).decisionsDialect("openai"),
	summary: "Answers questions about an input with probabilities",
	example: {
		model: CLEF,
		input: "The package arrived broken.",
		questions: [{ type: "predicate", name: "complaint", instructions: "The customer complains." }],
	},
};

export const SYSTEM_ONE: OpenaiRoute = {
	...common,
	dialect: async () => (await otherDialects()).decisionsDialect("systemone"),
	summary: "Answers questions about a state with probabilities",
	example: {
		model: CLEF,
		state: "The package arrived broken.",
		questions: { complaint: { type: "noul", instructions: "The customer complains." } },
	},
};

/** Below `/v1beta`. */
export const GOOGLE_DECISIONS: OpenaiRoute = {
	...common,
	failure: geminiFailure,
	dialect: async () => (await otherDialects()).decisionsDialect("google"),
	summary: "Answers questions about an input, as Gemini's API does",
	example: {
		model: `models/${CLEF}`,
		input: "The package arrived broken.",
		questions: { complaint: { type: "noul", instructions: "The customer complains." } },
	},
};
