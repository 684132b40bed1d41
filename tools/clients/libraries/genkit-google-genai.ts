import { GEMINI_MODELS, type Library } from "../library/client.ts";
import { genkit } from "../library/genkit.ts";

type GoogleAi = (options: { apiKey: string; baseUrl: string }) => object;

export const client: Library = {
	title: "genkit, @genkit-ai/google-genai",
	packages: ["@genkit-ai/google-genai", "genkit"],
	models: GEMINI_MODELS,
	// Its errors have the status 500 for each of them (lib/googleai/client.js).
	sentences: { 401: /\[401 /, 404: /\[404 /, 429: /\[429 / },
	async open(context) {
		const { base, load, model, token } = context;
		const { googleAI } = await load<{ googleAI: GoogleAi }>("@genkit-ai/google-genai");
		return genkit(context, googleAI({ apiKey: token, baseUrl: base }), `googleai/${model}`);
	},
};
