/** A kind of backend: a server that detects languages, `POST /detect`. */
import * as z from "zod";
import type { Backend, CallContext } from "../../src/backends/backend.ts";
import { postJson } from "../../src/backends/transport/http.ts";
import type { DetectLanguageInput } from "./language-detection/index.ts";

const Reply = z.looseObject({ language: z.string(), confidence: z.number() });

export const lingua: Backend = (target, services) => {
	const tasks = {
		async "language-detection"({ text }: DetectLanguageInput, context: CallContext) {
			const reply = await postJson({ ...context, target, services }, "/detect", { text }, Reply);
			return { kind: "value", output: { language: reply.language, score: reply.confidence } };
		},
	};
	return tasks as object;
};
