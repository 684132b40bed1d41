/** `adapters` of a backend: how its engine gets the LoRA adapters of accounts. */
import * as z from "zod";
import type { AdapterSettings } from "../backends/adapters.ts";
import { lazy } from "../core/lazy.ts";
import { positiveCount } from "./amounts.ts";

/** Adapters that a replica keeps loaded. vLLM and SGLang hold them in the memory of their machine. */
const DEFAULT_LOADED = 16;

const folder = z
	.string()
	.regex(/^\/(?:.*[^/])?$/, 'expected an absolute path without a "/" at its end, found another text');

/** The value of `adapters`. */
export const AdaptersSetting = lazy(() =>
	z
		.strictObject({
			engine: z.enum(["vllm", "vllm-resolver", "sglang", "llama.cpp"]),
			folder: folder.optional(),
			seen_as: folder.optional(),
			max_loaded: positiveCount.default(DEFAULT_LOADED),
		})
		.transform(({ engine, folder: own, seen_as, max_loaded }, context): AdapterSettings => {
			const seenAs = seen_as ?? own;
			if (engine === "llama.cpp" && seenAs !== undefined)
				context.addIssue(
					'expected no folder beside the engine "llama.cpp", which takes adapters at its start',
				);
			if ((engine === "vllm" || engine === "sglang") && seenAs === undefined)
				context.addIssue("expected folder or seen_as, found neither");
			return {
				...{ engine, seenAs: seenAs ?? "", maxLoaded: max_loaded },
				...(own !== undefined && { folder: own }),
			};
		}),
);
