/** Translates the events of a prediction (`start`, `output`, `log`, `metric`, `completed`, `error`) to OpenAI's chunks. */
import * as z from "zod";
import type { Usage } from "../../core/usage.ts";
import type { ChatChunk, ChatDelta } from "../../tasks/text-generation/types.ts";
import type { Translator, UpstreamEvent } from "../transport/translated-stream.ts";
import { type Call, failureOfInterruption, failureOfShape } from "../transport/upstream-failure.ts";
import { usageOf } from "./outputs.ts";
import { Prediction, succeeded } from "./predictions.ts";

const Output = z.looseObject({ chunk: z.unknown() });

export const heading = ({ target, model, services }: Call) => ({
	id: `chatcmpl-${services.uuid()}`,
	created: Math.floor(services.now() / 1000),
	model: target.model || model.id,
});

export class PredictionTranslator implements Translator {
	done = false;
	readonly #call: Call;
	readonly #heading: ReturnType<typeof heading>;
	#hasBegun = false;
	#usage: Usage | undefined;

	constructor(call: Call) {
		this.#call = call;
		this.#heading = heading(call);
	}

	translate({ event, data }: UpstreamEvent): ChatChunk[] {
		const sent: unknown = JSON.parse(data);
		switch (event) {
			case "output": {
				const { chunk } = Output.parse(sent);
				if (typeof chunk !== "string") throw failureOfShape(this.#call, "a stream of text");
				return chunk === "" ? [] : [...this.#begin(), this.#chunk({ content: chunk })];
			}
			case "completed":
				this.#usage = usageOf(succeeded(Prediction.parse(sent), this.#call));
				this.done = true;
				return [];
			case "error":
				throw failureOfInterruption(this.#call);
			default:
				return [];
		}
	}

	end(): ChatChunk[] | undefined {
		if (!this.done) return undefined;
		return [
			...this.#begin(),
			this.#chunk({}, "stop"),
			...(this.#usage ? [{ ...this.#chunk({}), choices: [], usage: this.#usage }] : []),
		];
	}

	#begin(): ChatChunk[] {
		if (this.#hasBegun) return [];
		this.#hasBegun = true;
		return [this.#chunk({ role: "assistant", content: "" })];
	}

	#chunk(delta: ChatDelta, finish_reason: string | null = null): ChatChunk {
		return {
			...this.#heading,
			object: "chat.completion.chunk",
			choices: [{ index: 0, delta, logprobs: null, finish_reason }],
		};
	}
}
