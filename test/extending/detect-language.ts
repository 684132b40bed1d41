/** A model family: `{text}` in, `{language, score}` out. */
import * as z from "zod";
import type { NativeWriter, Reader } from "../../src/dialects/dialect.ts";
import { outputValue } from "../../src/dialects/output-value.ts";
import type { InputFamily, OutputFamily } from "../../src/models/families.ts";
import type { DetectLanguageOutput } from "./language-detection/index.ts";

export const inputRow = {
	task: "Text Classification",
	outputs: ["language" as never],
} as const satisfies InputFamily;
export const outputRow: OutputFamily = {};

const Inputs = z.object({ text: z.string().min(1) });
export const detectLanguageReader: Reader = {
	schema: () => Inputs,
	read: ({ text }: z.output<typeof Inputs>) => ({ task: "language-detection" as never, input: { text } }),
};

const Reply = z.object({ language: z.string(), score: z.number() });
export const languageWriter: NativeWriter = {
	schema: Reply,
	write(answer) {
		const value: DetectLanguageOutput = outputValue("language-detection" as never, answer);
		return { kind: "json", value };
	},
};
