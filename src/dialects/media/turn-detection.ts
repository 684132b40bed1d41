/** Smart Turn: detects whether a speaker has finished. */
import * as z from "zod";
import type { Reader, Writer } from "../dialect.ts";
import { modelFields, perModel, present } from "../fields.ts";
import { outputValue } from "../output-value.ts";
import { audioOf, decodeBase64, Wrapped } from "./media.ts";

const SMART_TURN = {
	audio: z.union([Wrapped, z.string()]),
	dtype: z.enum(["uint8", "float32", "float64"]).optional(),
};
type SmartTurn = z.output<z.ZodObject<typeof SMART_TURN>>;

export const turnReader: Reader = {
	schema: perModel((model) => modelFields(SMART_TURN, model)),
	body: { field: "audio", as: "wrapped" },
	read: ({ audio, dtype }: SmartTurn) => ({
		task: "turn-detection",
		input: {
			audio: audioOf(typeof audio === "string" ? decodeBase64(audio) : audio),
			...present({ dtype }),
		},
	}),
};

const Turn = z.object({ is_complete: z.boolean(), probability: z.number() });

export const turnWriter: Writer = {
	schema: Turn,
	write(answer) {
		const { is_complete, probability } = outputValue("turn-detection", answer);
		const value: z.output<typeof Turn> = { is_complete, probability };
		return { kind: "json", value };
	},
};
