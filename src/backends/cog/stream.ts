/** Translates the events of a prediction (`start`, `output`, `log`, `metric`, `completed`, `error`) to OpenAI's chunks. */
import * as z from "zod";
import type { Usage } from "../../core/usage.ts";
import type { ChatChunk } from "../../tasks/text-generation/types.ts";
import { ChunkWriter, type Heading, headingOf } from "../completion.ts";
import type { Translator, UpstreamEvent } from "../transport/translated-stream.ts";
import { type Call, failureOfInterruption, failureOfShape } from "../transport/upstream-failure.ts";
import { Prediction, succeeded, usageIn } from "./predictions.ts";

const Output = z.looseObject({ chunk: z.unknown() });

/** A target without a model's name is the model of the catalogue. */
export const headingFor = (call: Call): Heading =>
	headingOf(call, { model: call.target.model || call.model.id });

export class PredictionTranslator implements Translator {
	done = false;
	readonly #call: Call;
	readonly #chunks: ChunkWriter;
	#usage: Usage | undefined;

	constructor(call: Call) {
		this.#call = call;
		this.#chunks = new ChunkWriter(headingFor(call), { logprobs: null });
	}

	translate({ event, data }: UpstreamEvent): ChatChunk[] {
		const sent: unknown = JSON.parse(data);
		switch (event) {
			case "output": {
				const { chunk: content } = Output.parse(sent);
				if (typeof content !== "string") throw failureOfShape(this.#call, "a stream of text");
				return content === "" ? [] : [...this.#chunks.begin(), this.#chunks.chunk({ content })];
			}
			case "completed":
				this.#usage = usageIn(succeeded(Prediction.parse(sent), this.#call));
				this.done = true;
				return [];
			case "error":
				throw failureOfInterruption(this.#call);
			default:
				return [];
		}
	}

	end(): ChatChunk[] | undefined {
		return this.done ? this.#chunks.end("stop", this.#usage) : undefined;
	}
}
