/** What a task gets for a run of items in a loaded model. */
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
