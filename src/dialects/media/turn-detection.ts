/** Smart Turn: detects whether a speaker has finished. */
import * as z from "zod";
import { present } from "../../core/present.ts";
import { fieldsReader } from "../fields.ts";
import { jsonWriter } from "../output-value.ts";
import { audioOf, decodeBase64, Wrapped } from "./media.ts";

export const turnReader = fieldsReader(
	{
		audio: z.union([Wrapped, z.string()]),
		dtype: z.enum(["uint8", "float32", "float64"]).optional(),
	},
	({ audio, dtype }) => ({
		task: "turn-detection",
		input: {
			audio: audioOf(typeof audio === "string" ? decodeBase64(audio) : audio),
			...present({ dtype }),
		},
	}),
	{ field: "audio", as: "wrapped" },
);

export const turnWriter = jsonWriter(
	"turn-detection",
	z.object({ is_complete: z.boolean(), probability: z.number() }),
	({ is_complete, probability }) => ({ is_complete, probability }),
);
