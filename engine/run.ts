/** A run of items in a loaded model, as the tasks see it. */
import type { Pipeline } from "@huggingface/transformers";
import type { EngineModel } from "./model.ts";

export interface RunContext {
	/** Called for each generated token. */
	token(): void;
	/** Gets a function that ends the generation before its next token. */
	onCancel(interrupt: () => void): void;
}

export interface Run {
	loaded: Pipeline;
	model: EngineModel;
	context: RunContext;
}
