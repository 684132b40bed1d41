/** Checks `adapter_config.json`, the configuration of an adapter (huggingface.co/docs/peft: LoraConfig). */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { decodeStrictUtf8 } from "../../media/utf8.ts";
import { expectedName, explain } from "../../schemas/explain.ts";
import { safeParse } from "../../schemas/safe-parse.ts";
import { CONFIG_FILE } from "./records.ts";

/** A configuration names the modules of one model. */
export const MAX_CONFIG_BYTES = 1024 * 1024;
/** Of the product's base models (developers.cloudflare.com/workers-ai/features/fine-tunes/loras). That of Qwen is not documented. */
const PRODUCT_TYPES = ["mistral", "gemma", "llama", "qwen2"] as const;

const AdapterConfig = lazy(() =>
	z.looseObject({
		peft_type: z.literal("LORA").optional(),
		r: z.int().min(1),
		rank_pattern: z.record(z.string(), z.int().min(1)).nullish(),
		model_type: z.string().nullish(),
	}),
);

interface ConfigRules {
	maxRank: number;
	/** The base runs as the product's models do: `model_type` is required. */
	isStrict: boolean;
}

/** Returns the largest rank that it declares. */
export function checkConfig(bytes: Uint8Array, { maxRank, isStrict }: ConfigRules): number {
	const result = safeParse(AdapterConfig(), jsonOf(bytes), { error: explain });
	if (!result.success) {
		const [issue] = result.error.issues;
		throw invalidConfig(`${issue?.path.join(".") || "the file"}: ${issue?.message}`);
	}
	const { r, rank_pattern, model_type } = result.data;
	if (isStrict && !PRODUCT_TYPES.some((type) => type === model_type))
		throw invalidConfig(`model_type: ${expectedName(PRODUCT_TYPES, model_type)}`);
	const rank = Math.max(r, ...Object.values(rank_pattern ?? {}));
	if (rank > maxRank) throw invalidConfig(`r: expected at most ${maxRank}, found ${rank}`);
	return rank;
}

const invalidConfig = (problem: string): AiError =>
	new AiError("invalidRequest", `${CONFIG_FILE}: ${problem}`);

function jsonOf(bytes: Uint8Array): unknown {
	try {
		return JSON.parse(decodeStrictUtf8(bytes));
	} catch {
		throw invalidConfig("expected JSON, found another text");
	}
}
