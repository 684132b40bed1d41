import type { Content, GoogleGenAI } from "@google/genai";
import { GEMINI_MODELS, KIMI, type Library, PERSON_SCHEMA, WEATHER_SCHEMA } from "../library/client.ts";

export const client: Library = {
	title: "@google/genai",
	packages: ["@google/genai"],
	models: [...GEMINI_MODELS, "gpt-6-luna", KIMI],
	async open({ base, load, model, token }) {
		const module = await load<{ GoogleGenAI: typeof GoogleGenAI }>("@google/genai");
		const { models } = new module.GoogleGenAI({ apiKey: token, httpOptions: { baseUrl: base } });
		return {
			async converse(prompts) {
				const contents: Content[] = [];
				const answers: string[] = [];
				for (const text of prompts) {
					contents.push({ role: "user", parts: [{ text }] });
					const response = await models.generateContent({ model, contents });
					const content = response.candidates?.[0]?.content;
					if (content) contents.push(content);
					answers.push(response.text ?? "");
				}
				return answers;
			},
			async *stream(contents, abortSignal) {
				const chunks = await models.generateContentStream({ model, contents, config: { abortSignal } });
				for await (const { text = "" } of chunks) yield text;
			},
			async callTools(text, { description, name, run }) {
				const contents: Content[] = [{ role: "user", parts: [{ text }] }];
				const declaration = { name, description, parametersJsonSchema: WEATHER_SCHEMA };
				for (;;) {
					const response = await models.generateContent({
						model,
						contents,
						config: { tools: [{ functionDeclarations: [declaration] }] },
					});
					const content = response.candidates?.[0]?.content;
					const calls = response.functionCalls ?? [];
					if (calls.length === 0 || !content) return response.text ?? "";
					contents.push(content, {
						role: "user",
						parts: calls.map(({ args, id, name: called = "" }) => ({
							functionResponse: {
								...(id !== undefined && { id }),
								name: called,
								response: { output: run(String(args?.city)) },
							},
						})),
					});
				}
			},
			async extract(contents) {
				const { text = "" } = await models.generateContent({
					model,
					contents,
					config: { responseMimeType: "application/json", responseJsonSchema: PERSON_SCHEMA },
				});
				return JSON.parse(text);
			},
			async describe(text, png) {
				const data = Buffer.from(png).toString("base64");
				const response = await models.generateContent({
					model,
					contents: [{ role: "user", parts: [{ text }, { inlineData: { mimeType: "image/png", data } }] }],
				});
				return response.text ?? "";
			},
		};
	},
};
