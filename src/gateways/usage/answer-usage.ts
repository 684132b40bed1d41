/**
 * The usage and the model in a provider's answer, which is complete or consists of events. The format is detected by the fields, because a
 * custom provider or a cloud may have the API of any other provider.
 */
import { isRecord } from "../../core/json.ts";
import { isCounted, laterUsage, type Usage } from "../../core/usage.ts";
import {
	hasMessagesCounts,
	laterCounts,
	messagesUsage,
	plainUsage,
	type SentCounts,
	usageOfAnyFormat,
	withThoughts,
} from "../../core/usage-formats.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The fields with counts. The last one is Bedrock's, in the last event of every model. */
const COUNTS = ["usage", "usageMetadata", "meta", "metrics", "amazon-bedrock-invocationMetrics"] as const;
/** Longer names are ignored. */
const MAX_MODEL_CHARACTERS = 256;

export class AnswerUsage {
	#usage: Usage | undefined;
	/** The counts of Messages or Responses in the events so far. */
	#counts: SentCounts | undefined;
	#model: string | undefined;

	/** `undefined`: the provider has sent no counts yet. */
	get usage(): Usage | undefined {
		return isCounted(this.#usage) ? this.#usage : undefined;
	}

	/** The provider's name of the model, as in the answer. */
	get model(): string | undefined {
		return this.#model;
	}

	/** Reads a complete answer, or one event. Returns whether it has counts. */
	add(answer: Fields): boolean {
		let hasCounts = false;
		for (const holder of holdersIn(answer)) {
			const { model, modelVersion } = holder;
			const name = model ?? modelVersion ?? answer.model;
			const counts = COUNTS.map((name) => holder[name]).find(isRecord) ?? {};
			if (!this.#addCounts(counts, holder, name)) continue;
			hasCounts = true;
			if (typeof name === "string" && name.length <= MAX_MODEL_CHARACTERS) this.#model = name;
		}
		return hasCounts;
	}

	#addCounts(counts: SentCounts, holder: Fields, model: unknown): boolean {
		if (hasMessagesCounts(counts)) {
			this.#counts = laterCounts(this.#counts, counts);
			this.#usage = messagesUsage(this.#counts);
			return true;
		}
		const usage = usageOfAnyFormat(counts) ?? plainUsage(holder);
		this.#usage = laterUsage(this.#usage, usage && withThoughts(usage, model));
		return usage !== undefined;
	}
}

/** The objects of an answer that may have the usage. Other objects may have fields of the same names: text of a model, or of a tool. */
function holdersIn(answer: Fields): Fields[] {
	const { type, event_type } = answer;
	const isResponsesEvent = typeof type === "string" && type.startsWith("response.");
	const others = [
		// Anthropic's first event.
		type === "message_start" && answer.message,
		// The last events of OpenAI's Responses, and of Cohere's first API.
		(isResponsesEvent || event_type === "stream-end") && answer.response,
		// Cohere's last event.
		type === "message-end" && answer.delta,
		// Cloudflare's envelope.
		"success" in answer && answer.result,
		// Groq's last event, if the caller did not request the usage.
		answer.x_groq,
	];
	return [answer, ...others.filter(isRecord)];
}
