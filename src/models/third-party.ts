/**
 * Third-party models, `author/model`: the product's ids that a task here supports, and the tasks of those that none
 * supports. They are found by id; `models/search` and the other lists show only those that this deployment is configured
 * to serve (`servedThirdParties` in `config/index.ts`). As with `catalog.json`, the data is not validated at start-up. A row has only the
 * fields in which models of one task differ.
 *
 * Known differences from the product: some models have no price, and Anthropic's server tools have none. A cache write costs the same
 * for an hour as for five minutes. An image is returned as by the catalogue's own image models, not as a URL. A body has OpenAI's chat
 * format or Anthropic's, or that of Responses for models with this request format (`chatShapesOf`).
 */
import type { Model } from "./model.ts";
import rows from "./third-party.json" with { type: "json" };
import unserved from "./third-party-unserved.json" with { type: "json" };
import { nameUuid } from "./uuid.ts";

type Optional =
	| "contextWindow"
	| "defaults"
	| "input"
	| "inputFields"
	| "output"
	| "prices"
	| "requestFormats";
interface Row extends Pick<Model, "id">, Partial<Pick<Model, Optional>> {
	task: "Text Generation" | keyof typeof MEDIA;
}
const ROWS: ReadonlyMap<string, Row> = new Map((rows as Row[]).map((row) => [row.id, row]));

export const THIRD_PARTY_IDS: readonly string[] = [...ROWS.keys()];

const UNSERVED: ReadonlyMap<string, string> = new Map(Object.entries(unserved));

/** `meta` for `@cf/meta/llama` and `meta/llama`; empty for `llama3.2`. */
export function authorOf(id: string): string {
	const parts = id.split("/");
	if (parts[0]?.startsWith("@")) parts.shift();
	return parts.length > 1 ? (parts[0] ?? "") : "";
}

/** The authors of all known third-party models. */
export const THIRD_PARTY_AUTHORS: ReadonlySet<string> = new Set(
	[...THIRD_PARTY_IDS, ...UNSERVED.keys()].map(authorOf),
);

const OPENAI: Pick<Model, "input" | "output"> = { input: "chat-openai", output: "openai-chat-completion" };
const EITHER: Pick<Model, "input" | "output"> = {
	input: "chat-or-responses",
	output: "completion-or-response",
};
const MESSAGES: Pick<Model, "input" | "output"> = { input: "messages", output: "messages" };

/**
 * The format of a text model's native routes: OpenAI's chat, except for Anthropic, which has its own. A model of which the provider takes
 * requests in the Responses API takes both.
 */
export function chatShapesOf(
	id: string,
	requestFormats: Model["requestFormats"] = [],
): Pick<Model, "input" | "output"> {
	if (id.startsWith("anthropic/")) return MESSAGES;
	return requestFormats.includes("responses") ? EITHER : OPENAI;
}

/** `source` of a model in the product's list of third-party models. */
export const THIRD_PARTY_SOURCE = 3;

/** The shapes of all models of a task. */
const MEDIA = {
	"Text-to-Image": { input: "tti-lucid", output: "image-b64" },
	"Text-to-Speech": { input: "tts-aura", output: "audio-mpeg" },
	"Automatic Speech Recognition": { input: "whisper-b64", output: "transcription-v3" },
} as const satisfies Record<string, Pick<Model, "input" | "output">>;

/** Each call creates an object. */
export function thirdPartyModel(id: string): Model | undefined {
	const row = ROWS.get(id);
	if (!row) return undefined;
	const isChat = row.task === "Text Generation" && row.input === undefined;
	return {
		uuid: nameUuid(id),
		source: THIRD_PARTY_SOURCE,
		author: authorOf(id),
		created: "",
		description: "",
		status: "active",
		...(row.task === "Text Generation" ? chatShapesOf(id, row.requestFormats) : MEDIA[row.task]),
		defaults: {},
		capabilities: isChat ? ["function_calling", "json_mode", "streaming"] : [],
		prices: [],
		tags: ["third-party"],
		...row,
	};
}

/** Matches `author/model`, where the model may contain further slashes; neither `@cf/author/model` nor `llama3.2`. */
export const isThirdPartyId = (id: string): boolean => /^[^@/\s][^/\s]*\/\S+$/.test(id);

/** The task of an existing model that is not supported here: video, music, image editing. */
export const unservedTask = (id: string): string | undefined => UNSERVED.get(id);
