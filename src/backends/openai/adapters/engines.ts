/**
 * How engines take LoRA adapters, by the setting `adapters.engine` of a backend.
 *
 * vLLM: docs.vllm.ai/en/latest/features/lora. SGLang: docs.sglang.ai/advanced_features/lora. llama.cpp:
 * github.com/ggml-org/llama.cpp/tree/master/tools/server.
 */
import type { AdapterSettings } from "../../adapters.ts";

export interface AdapterEngine {
	/** The routes that load and unload. Absent: the engine finds the files by the name of the model. */
	routes?: { load: string; unload: string; isBelowRoot: boolean };
	/** The `model` of a request with the adapter. */
	modelOf(base: string, adapter: string): string;
	/** What the engine needs to load adapters, for the refusal of one that cannot. */
	needs: string;
	/** A refusal of a load or of a request that says that the adapter is not loaded. */
	absent: RegExp;
}

const LOADED_ALREADY = /already (?:been )?(?:loaded|exists?)|already exists/i;

/** The engine has the adapter already. */
export const isLoadedAlready = (message: string): boolean => LOADED_ALREADY.test(message);

export const ADAPTER_ENGINES: Readonly<
	Record<Exclude<AdapterSettings["engine"], "llama.cpp">, AdapterEngine>
> = {
	vllm: {
		routes: { load: "/load_lora_adapter", unload: "/unload_lora_adapter", isBelowRoot: false },
		modelOf: (_, adapter) => adapter,
		needs: "--enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True",
		absent: /does not exist|cannot be found/i,
	},
	"vllm-resolver": {
		modelOf: (_, adapter) => adapter,
		needs: "--enable-lora, VLLM_PLUGINS=lora_filesystem_resolver and VLLM_LORA_RESOLVER_CACHE_DIR",
		absent: /does not exist|cannot be found/i,
	},
	sglang: {
		routes: { load: "/load_lora_adapter", unload: "/unload_lora_adapter", isBelowRoot: true },
		modelOf: (base, adapter) => `${base}:${adapter}`,
		needs: "--enable-lora",
		absent: /never been loaded|not loaded|does not exist|not found/i,
	},
};
