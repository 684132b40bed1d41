import type OpenAI from "openai";
import type * as Zod from "zod";
import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { chatCompletions } from "../library/openai-sdk.ts";

/** A request without `response_model` is one of the SDK that it wraps. */
type Instructor = (options: { client: OpenAI; mode: "TOOLS" | "JSON_SCHEMA" }) => Pick<OpenAI, "chat"> & {
	chat: { completions: { create(request: object): Promise<Record<string, unknown>> } };
};

export const client: Library = {
	title: "@instructor-ai/instructor",
	packages: ["@instructor-ai/instructor", "openai", "zod@3"],
	models: [...OPENAI_MODELS, KIMI],
	async open({ base, load, model, token }) {
		const { default: Client } = await load<{ default: typeof OpenAI }>("openai");
		const { default: Instruct } = await load<{ default: Instructor }>("@instructor-ai/instructor");
		const { z } = await load<typeof Zod>("zod");
		const openai = new Client({ baseURL: `${base}/v1`, apiKey: token });
		const client = Instruct({ client: openai, mode: "TOOLS" });
		return {
			...chatCompletions(client, model),
			async extract(content) {
				const { name, age } = await client.chat.completions.create({
					model,
					messages: [{ role: "user", content }],
					response_model: { schema: z.object({ name: z.string(), age: z.number() }), name: "Person" },
				});
				return { name, age };
			},
		};
	},
};
