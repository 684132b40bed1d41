/** The catalogue's models, by id. */
import { PRODUCT_MODELS } from "../../../src/models/catalog.ts";
import type { Model } from "../../../src/models/model.ts";

export function modelOf(id: string): Model {
	const model = PRODUCT_MODELS.find((each) => each.id === id);
	if (!model) throw new Error(`no model ${id}`);
	return model;
}

export const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
export const SCOUT = "@cf/meta/llama-4-scout-17b-16e-instruct";
export const KIMI = "@cf/moonshotai/kimi-k2.6";
export const QWEN = "@cf/qwen/qwen3-30b-a3b-fp8";
export const GUARD = "@cf/meta/llama-guard-3-8b";
export const MISTRAL = "@cf/mistralai/mistral-small-3.1-24b-instruct";
export const LEGACY = "@hf/thebloke/zephyr-7b-beta-awq";
export const MOONDREAM = "@cf/moondream/moondream3.1-9B-A2B";
