/**
 * Third-party models, `author/model`: the product's ids that a task here supports, and the tasks of those that none
 * supports. They are found by id; `models/search` and the other lists show only those that this deployment is configured
 * to serve (`config/authors.ts`). As with `catalog.json`, the data is not validated at start-up.
 *
 * Known differences from the product: only a few models have prices; cache writes and Anthropic's server tools have none.
 * An image is returned as by the catalogue's own image models, not as a URL. A body has OpenAI's chat format, or
 * Anthropic's.
 */
import type { Model } from "./model.ts";
import rows from "./third-party.json" with { type: "json" };
import unserved from "./third-party-unserved.json" with { type: "json" };

export const THIRD_PARTY_MODELS: readonly Model[] = rows as Model[];

const UNSERVED: ReadonlyMap<string, string> = new Map(Object.entries(unserved));

/** The authors of all known third-party models. */
export const THIRD_PARTY_AUTHORS: ReadonlySet<string> = new Set(
	[...THIRD_PARTY_MODELS.map(({ id }) => id), ...UNSERVED.keys()].map((id) => id.slice(0, id.indexOf("/"))),
);

const OPENAI: Pick<Model, "input" | "output"> = { input: "chat-openai", output: "openai-chat-completion" };
const MESSAGES: Pick<Model, "input" | "output"> = { input: "messages", output: "messages" };

/** The format of a text model's native routes: OpenAI's chat, except for Anthropic, which has its own. */
export const chatShapesOf = (id: string): Pick<Model, "input" | "output"> =>
	id.startsWith("anthropic/") ? MESSAGES : OPENAI;

/** `source` of a model in the product's list of third-party models. */
export const THIRD_PARTY_SOURCE = 3;

/** Matches `author/model`, where the model may contain further slashes; neither `@cf/author/model` nor `llama3.2`. */
export const isThirdPartyId = (id: string): boolean => /^[^@/\s][^/\s]*\/\S+$/.test(id);

/** The task of an existing model that is not supported here: video, music, image editing. */
export const unservedTask = (id: string): string | undefined => UNSERVED.get(id);
